package source

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Bounds of libraries of functions.
const (
	MaxLibrary   = 8 << 20 // bytes of the code of one
	MaxLibraries = 1000
)

// Library represents a library of functions of a server (Redis 7): its code, whose first line has its name and the
// engine that runs it.
type Library struct {
	LibraryFact
	Code []byte
}

// LibraryFact describes a library of functions without its code.
type LibraryFact struct {
	Name   string
	Engine string
	Bytes  int64    // of its code
	Sum    [32]byte // SHA-256 of its code
}

// ErrLibrary reports a library of functions that cannot be taken.
var ErrLibrary = errors.New("a library of functions")

// ParseLibrary returns a library by its code, which it keeps: the first line is #!lua name=NAME.
func ParseLibrary(code []byte) (Library, error) {
	if len(code) > MaxLibrary {
		return Library{}, fmt.Errorf("%w has %d bytes, more than %d", ErrLibrary, len(code), MaxLibrary)
	}
	first, _, _ := bytes.Cut(code, []byte("\n"))
	line, ok := strings.CutPrefix(string(first[:min(len(first), 4096)]), "#!")
	words := strings.Fields(line)
	if !ok || len(words) == 0 {
		return Library{}, fmt.Errorf("%w does not begin with #!, its engine and its name", ErrLibrary)
	}
	l := Library{Code: code, LibraryFact: LibraryFact{Engine: words[0], Bytes: int64(len(code)), Sum: sha256.Sum256(code)}}
	for _, w := range words[1:] {
		if name, value, _ := strings.Cut(w, "="); strings.EqualFold(name, "name") {
			l.Name = value
		}
	}
	if l.Name == "" || strings.ContainsFunc(l.Name, func(c rune) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}) {
		return Library{}, fmt.Errorf("%w has the name %q, which no server takes", ErrLibrary, l.Name)
	}
	return l, nil
}

// Libraries collects the libraries of functions of servers, each once. Its zero value is empty.
type Libraries struct {
	Facts   []LibraryFact // in the order in which they came
	Reasons Reasons       // why some are not among them
	at      map[string]int
	servers [][]string // that have each
}

// Add takes a library by its code. fresh says that it was not there yet; what cannot be taken is a reason. Servers of a
// cluster have the same libraries each: one of the same name with another code cannot be taken, too.
func (l *Libraries) Add(server string, code []byte) (lib Library, fresh bool) {
	lib, err := ParseLibrary(code)
	if err != nil {
		l.Reasons = l.Reasons.Add(Why(NotCarried, server, err))
		return lib, false
	}
	if i, there := l.at[lib.Name]; there {
		if !slices.Contains(l.servers[i], server) {
			l.servers[i] = append(l.servers[i], server)
		}
		if l.Facts[i].Sum != lib.Sum {
			l.Reasons = l.Reasons.Add(Why(NotCarried, server, fmt.Sprintf(
				"library %q: it has another code than at %s", lib.Name, l.servers[i][0])))
		}
		return lib, false
	}
	if len(l.Facts) == MaxLibraries {
		l.Reasons = l.Reasons.Add(Why(NotCarried, server, fmt.Sprintf("libraries of functions after the first %d",
			MaxLibraries)))
		return lib, false
	}
	if l.at == nil {
		l.at = map[string]int{}
	}
	l.at[lib.Name] = len(l.Facts)
	l.Facts, l.servers = append(l.Facts, lib.LibraryFact), append(l.servers, []string{server})
	return lib, true
}

// Scattered returns the names of libraries that fewer than so many servers have.
func (l *Libraries) Scattered(servers int) (names []string) {
	for i := range l.Facts {
		if len(l.servers[i]) < servers {
			names = append(names, l.Facts[i].Name)
		}
	}
	return names
}

// Named returns the names of libraries in a text, of many the first ones.
func Named(names []string) string {
	const most = 10
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
