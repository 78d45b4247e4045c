package restore

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/source"
)

// LibraryReport says what became of libraries of functions. Of a plan: what would become of them.
type LibraryReport struct {
	Libraries []plan.Library `json:"libraries"` // in the order in which they came; of very many the first ones
	Total     int64          `json:"total"`
	Loaded    int64          `json:"loaded"`
	Replaced  int64          `json:"replaced,omitempty"` // were there with another code
	Same      int64          `json:"same"`               // were there with the same code
	Existing  int64          `json:"existing"`           // are there with another code, and were left
	Refused   int64          `json:"refused"`            // that the server did not take

	// Unable is why the server, or the user, can load no library at all.
	Unable string `json:"unable,omitempty"`
}

// What becomes of a library.
const (
	LibraryLoaded   = "load"
	LibraryReplaced = "replace"
	LibrarySame     = "same"
	LibraryExisting = "existing"
	LibraryRefused  = "refused"
)

// Libraries loads libraries of functions at each server that takes writes. One that is there with the same code stays;
// with another code it is replaced with Replace and Different, and else left. all calls its argument with each.
func Libraries(ctx context.Context, client *keywright.Client, all func(func(source.Library) error) error,
	existing Existing, planned bool) (LibraryReport, error) {
	l := &loading{existing: existing, planned: planned}
	err := all(func(lib source.Library) error {
		if l.nodes == nil {
			var err error
			if l.nodes, err = client.Primaries(ctx); err != nil {
				return err
			}
		}
		what, why, err := l.load(ctx, &lib)
		if err == nil {
			l.count(plan.Library{Name: lib.Name, Change: what, Why: why})
		}
		return err
	})
	return l.report, err
}

// loading represents one run.
type loading struct {
	existing Existing
	planned  bool
	nodes    map[string]kernel.Raw
	report   LibraryReport
}

// count notes what became of a library.
func (l *loading) count(one plan.Library) {
	r := &l.report
	r.Total++
	*map[string]*int64{LibraryLoaded: &r.Loaded, LibraryReplaced: &r.Replaced, LibrarySame: &r.Same,
		LibraryExisting: &r.Existing, LibraryRefused: &r.Refused}[one.Change]++
	if len(r.Libraries) < source.MaxLibraries {
		r.Libraries = append(r.Libraries, one)
	}
}

// load loads a library where it is not there yet. All servers are asked before the first one is changed.
func (l *loading) load(ctx context.Context, lib *source.Library) (what, why string, err error) {
	if l.report.Unable != "" {
		return LibraryRefused, "", nil
	}
	what = LibrarySame
	var needs []string // addresses
	for _, address := range slices.Sorted(maps.Keys(l.nodes)) {
		there, same, err := hasLibrary(ctx, l.nodes[address], lib)
		switch {
		case err != nil:
			return l.refused(err)
		case same:
			continue
		case there && l.existing != Replace && l.existing != Different:
			return LibraryExisting, "", nil
		case there:
			what = LibraryReplaced
		case what == LibrarySame:
			what = LibraryLoaded
		}
		needs = append(needs, address)
	}
	for _, address := range needs {
		if l.planned {
			break
		}
		node := l.nodes[address]
		words := []string{"FUNCTION", "LOAD"}
		if what == LibraryReplaced {
			words = append(words, "REPLACE")
		}
		if err := node.Do(ctx, node.B().Arbitrary(words...).Args(string(lib.Code)).Build()).Error(); err != nil {
			return l.refused(err)
		}
	}
	return what, "", nil
}

// refused says what an error means: the reply of a server is no reason to end.
func (l *loading) refused(err error) (what, why string, failed error) {
	answer, ok := errors.AsType[*kernel.ServerError](err)
	if !ok {
		return "", "", err
	}
	if what, _ := Judge(err); what == Unknown { // it is loading, or fails over
		return "", "", err
	}
	if unable(answer.Error()) {
		l.report.Unable = answer.Error()
	}
	return LibraryRefused, answer.Error(), nil
}

// hasLibrary tells whether a server has a library of a name, and with the same code.
func hasLibrary(ctx context.Context, node kernel.Raw, lib *source.Library) (there, same bool, err error) {
	list, err := node.Do(ctx, node.B().Arbitrary("FUNCTION", "LIST", "LIBRARYNAME").Args(lib.Name, "WITHCODE").
		ReadOnly()).ToArray()
	if err != nil || len(list) == 0 {
		return false, false, err
	}
	about, err := list[0].AsMap()
	if err != nil {
		return true, false, err
	}
	field := about["library_code"]
	code, err := field.ToString()
	return true, sha256.Sum256([]byte(code)) == lib.Sum, err
}

// unable tells replies after which a server, or a user, takes no library at all.
func unable(answer string) bool {
	return strings.HasPrefix(answer, "NOPERM") || strings.HasPrefix(strings.ToLower(answer), "err unknown command")
}
