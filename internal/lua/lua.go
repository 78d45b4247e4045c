// Package lua makes the texts of Lua scripts from files. A file begins with a header
// in one form, which says what the script takes, returns and costs; it includes parts by
// name; and where a script has more than five arguments, they are variables of its body, and
// its caller gives them by their names (Set.Args).
//
// It knows neither servers nor clients: it turns text into text. The parts that scripts
// of several packages share are in the folder parts: the server's clock, fencing tokens
// and leases.
//
//	-- take: takes a lease that is free, or makes the caller's own last as long again.
//	-- KEYS[1] lease
//	-- ARGV[1] owner
//	-- ARGV[2] ms: how long it lasts from now
//	-- Returns: {token, "", 0}, or {"", owner, ms left} where another has it
//	-- Bound: O(1)
//	-- Round trips: 1
//	-- include: lease
//
// `KEYS[2]? name` may be left out. `ARGV[3…] id, score` comes any number of times, all of
// its names each time. A line that begins with three spaces goes on with the one before.
// A part has a first line and the line `-- Part.`; what it takes is in the headers of the
// scripts that include it.
package lua

import (
	"crypto/sha1"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed parts/*.lua
var shared embed.FS

// Set represents the scripts of one package, and the parts that they may include: its own, and
// those that all packages share.
type Set struct {
	files fs.FS
	edit  func(name, text string) string

	mu        sync.Mutex
	texts     map[string]string
	arguments map[string][]string // the names of those that are there always
}

// New returns the scripts in the files of a package. A file is a script or a part by the
// name NAME.lua.
func New(files fs.FS) *Set {
	return &Set{files: files, edit: func(_, text string) string { return text }, texts: map[string]string{},
		arguments: map[string][]string{}}
}

// Edit returns the same scripts of other files: edit changes the text of each file before
// it is used. It is for tests.
func (s *Set) Edit(edit func(name, text string) string) *Set {
	before := s.edit
	return &Set{files: s.files, edit: func(name, text string) string { return edit(name, before(name, text)) },
		texts: map[string]string{}, arguments: map[string][]string{}}
}

// Mutant returns the scripts with one text in place of another, in the file of that name
// or, with "", in all files of the package and in the shared parts; n is how many times it
// was there. It is for tests that take a guard out.
func (s *Set) Mutant(name, old, instead string) (mutant *Set, n int) {
	for _, file := range s.names() {
		if _, text, err := s.read(file); err == nil && (name == "" || file == name) {
			n += strings.Count(s.edit(file, text), old)
		}
	}
	return s.Edit(func(file, text string) string {
		if name == "" || file == name {
			text = strings.ReplaceAll(text, old, instead)
		}
		return text
	}), n
}

// Source returns the text of one file.
func (s *Set) Source(name string) (string, error) {
	_, text, err := s.read(name)
	return s.edit(name, text), err
}

// names returns the files of the package and the shared parts.
func (s *Set) names() (out []string) {
	for _, of := range []struct {
		files   fs.FS
		pattern string
	}{{s.files, "*.lua"}, {shared, "parts/*.lua"}} {
		all, _ := fs.Glob(of.files, of.pattern)
		for _, file := range all {
			out = append(out, strings.TrimSuffix(path.Base(file), ".lua"))
		}
	}
	return out
}

// Script returns the text of a script as the server gets it: with what it includes,
// without comments and indentation, and with the numbers of its keys and arguments in
// the last line, see Takes. A file that is missing or has a fault is a panic: a test of
// this package makes all scripts of the project.
func (s *Set) Script(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text, ok := s.texts[name]; ok {
		return text
	}
	text := s.make(name, func(text string) string { return text })
	s.texts[name] = text
	return text
}

// Later returns a function that returns Script of a name.
func (s *Set) Later(name string) func() string { return func() string { return s.Script(name) } }

// Args returns the arguments of a script that have names, given as pairs of name and value, in
// the order of its header, with room for more. A name that is missing, unknown or given twice
// is a panic, as in Script.
func (s *Set) Args(script string, room int, pairs ...string) []string {
	names := s.argumentsOf(script)
	args := make([]string, len(names), len(names)+room)
	for i := 0; i+1 < len(pairs); i += 2 {
		n := i / 2
		if n >= len(names) || names[n] != pairs[i] {
			n = slices.Index(names, pairs[i])
		}
		if n < 0 {
			panic(fmt.Sprintf("lua: the script %s has no argument %s", script, pairs[i]))
		}
		args[n] = pairs[i+1]
	}
	if len(pairs) != 2*len(names) {
		panic(fmt.Sprintf("lua: the script %s has %d arguments, and not %d", script, len(names), len(pairs)/2))
	}
	return args
}

func (s *Set) argumentsOf(script string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names, ok := s.arguments[script]
	if !ok {
		_, header, err := s.Pieces(script, nil)
		if err != nil {
			panic(fmt.Sprintf("lua: %v", err))
		}
		names = header.Args.names()
		s.arguments[script] = names
	}
	return names
}

// Fill is Script of a template: fill changes the text of its file before.
func (s *Set) Fill(name string, fill func(text string) string) string { return s.make(name, fill) }

func (s *Set) make(name string, fill func(text string) string) string {
	pieces, header, err := s.Pieces(name, fill)
	if err != nil {
		panic(fmt.Sprintf("lua: %v", err))
	}
	var all strings.Builder
	for _, p := range pieces {
		all.WriteString(p.Text)
	}
	text := strip(all.String()) + "\n" + mark + header.Keys.form() + " " + header.Args.form()
	made.Store(sha1.Sum([]byte(text)), true)
	return text
}

// made lists the sums of all scripts that this process has put together.
var made sync.Map

// Made reports whether a script is one of this project's, by the sum that servers know it
// under. It is for what has to tell them from the scripts of programs.
func Made(sum [sha1.Size]byte) bool {
	_, ok := made.Load(sum)
	return ok
}

// Piece represents some lines of one file.
type Piece struct {
	File, Text string
	Line       int // the number of its first line
}

// Pieces returns the lines of a script and of what it includes, with their comments, in
// their order. A nil fill leaves its text as it is.
func (s *Set) Pieces(name string, fill func(text string) string) ([]Piece, Header, error) {
	x := expansion{set: s, done: map[string]bool{}, fill: fill, name: name}
	err := x.file(name, nil)
	if err == nil && x.header.Part {
		err = fmt.Errorf("%s.lua is a part, and no script", name)
	}
	return x.pieces, x.header, err
}

// expansion represents a script that is put together.
type expansion struct {
	set    *Set
	name   string
	fill   func(text string) string
	done   map[string]bool
	pieces []Piece
	header Header
}

const include = "-- include: "

// file adds a file, once. within are those that are being added.
func (x *expansion) file(name string, within []string) error {
	for _, outer := range within {
		if outer == name {
			return fmt.Errorf("%s.lua includes itself: %s", name, strings.Join(append(within, name), " → "))
		}
	}
	if x.done[name] {
		return nil
	}
	x.done[name] = true
	file, text, err := x.set.read(name)
	if err != nil {
		if len(within) > 0 {
			err = fmt.Errorf("%s.lua includes %s: %w", within[len(within)-1], name, err)
		}
		return err
	}
	if name == x.name && x.fill != nil {
		text = x.fill(text)
	}
	text = x.set.edit(name, text)
	header, lines, err := Parse(name, text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if name == x.name {
		x.header = header
	} else if !header.Part {
		return fmt.Errorf("%s.lua includes %s, which is no part: its header has no line `-- Part.`",
			within[len(within)-1], name)
	}
	return x.lines(file, text, lines, header, append(within, name))
}

// lines adds the lines of a file; after its header come its arguments by name.
func (x *expansion) lines(file, text string, header int, h Header, within []string) error {
	var piece strings.Builder
	first, n := 1, 0 // the number of the piece's first line; lines before this one
	end := func() {
		if piece.Len() > 0 {
			x.pieces = append(x.pieces, Piece{File: file, Text: piece.String(), Line: first})
		}
		piece.Reset()
		first = n + 2
	}
	for line := range strings.Lines(text) {
		if n == header && h.Named() {
			names := h.Args.names()
			fmt.Fprintf(&piece, "local %s = unpack(ARGV, 1, %d)\n", strings.Join(names, ", "), len(names))
		}
		if part, ok := strings.CutPrefix(strings.TrimSpace(line), include); ok {
			end()
			if err := x.file(part, within); err != nil {
				return err
			}
		} else {
			piece.WriteString(line)
		}
		n++
	}
	end()
	return nil
}

// read returns the file of a script or part and its text: of the package, else of the
// shared parts.
func (s *Set) read(name string) (file, text string, err error) {
	file = name + ".lua"
	own, err := fs.ReadFile(s.files, file)
	common, missing := shared.ReadFile("parts/" + file)
	switch {
	case err == nil && missing == nil:
		return file, "", fmt.Errorf("%s has the name of a shared part", file)
	case err == nil:
		return file, string(own), nil
	case missing == nil:
		return "internal/lua/parts/" + file, string(common), nil
	}
	return file, "", fmt.Errorf("there is no file %s, neither in the package nor among the shared parts", file)
}
