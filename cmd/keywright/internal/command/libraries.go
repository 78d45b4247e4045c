package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/compare"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/plan"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/server"
)

// libraryHelp explains what becomes of libraries of functions.
const libraryHelp = `Libraries of functions (Redis 7) belong to no key: they are meant where all keys are.`

// whole reports whether libraries of functions are meant: they belong to no key, and to no database.
func whole(a *cli.App, ks *keyspace.Keyspace, s *cli.Selecting, db int) bool {
	return len(a.AskedFor(ks, s)) == 0 && db < 0
}

// libraryPart describes a library of functions in an archive; its JSON names are stable.
type libraryPart struct {
	Library string `json:"library"`
	Engine  string `json:"engine"`
	Bytes   int64  `json:"bytes"`
	Digest  string `json:"digest"`
}

// librariesOf returns the libraries of an archive.
func librariesOf(index *archive.Index) (out []libraryPart) {
	for _, l := range index.Libraries {
		digest, _ := l.Digest.MarshalText()
		out = append(out, libraryPart{l.Name, l.Engine, l.Bytes, string(digest)})
	}
	return out
}

// tellLibraries says which libraries an archive has.
func tellLibraries(a *cli.App, all []libraryPart) {
	if len(all) == 0 {
		return
	}
	var names []string
	for _, l := range all {
		names = append(names, l.Library)
	}
	a.Print("%s", librariesNamed(names))
}

// librariesNamed counts and names libraries of functions.
func librariesNamed(names []string) string {
	names = slices.Sorted(slices.Values(names))
	return fmt.Sprintf("libraries of functions: %s (%s)", terminal.Count(int64(len(names))),
		finding.Printable(source.Named(names)))
}

// library takes a library of functions of the server that is backed up.
func (b *backupRun) library(at string, code []byte) error {
	lib, fresh := b.libraries.Add(at, code)
	if !fresh || !whole(b.App, b.ks, &b.Selecting, b.scan.OnlyDB) {
		return nil
	}
	err := b.w.AddLibrary(&lib)
	if errors.Is(err, source.ErrLibrary) {
		return cli.Usage("remove "+b.to+archivefile.Part+" to begin again",
			"%s was begun before the library of functions %q was changed",
			b.to+archivefile.Part, lib.Name)
	} else if err != nil {
		return notWritten(b.to, err)
	}
	return nil
}

// libraryFindings are the reasons and notes about libraries of functions: none was asked for where some keys were.
func (b *backupRun) libraryFindings(sum *source.Summary) {
	if whole(b.App, b.ks, &b.Selecting, b.scan.OnlyDB) {
		sum.Incomplete = sum.Incomplete.Add(b.libraries.Reasons...)
		if some := b.libraries.Scattered(len(b.meta.Shards)); len(some) > 0 {
			sum.Notes = append(sum.Notes, "not at every shard: "+librariesNamed(some))
		}
		return
	}
	sum.Incomplete = slices.DeleteFunc(sum.Incomplete, func(why source.Reason) bool {
		if why.Code == source.LibrariesDenied {
			sum.Notes = append(sum.Notes, "not all keys were asked for: "+why.String())
		}
		return why.Code == source.LibrariesDenied
	})
	if len(b.libraries.Facts) > 0 {
		sum.Notes = append(sum.Notes, "not all keys were asked for, so these are not saved: "+
			librariesNamed(namesOf(b.libraries.Facts)))
	}
}

func namesOf(all []source.LibraryFact) (out []string) {
	for _, l := range all {
		out = append(out, l.Name)
	}
	return out
}

// collecting makes a request give libraries of functions to a list.
func collecting(req server.ContentsRequest) (server.ContentsRequest, *source.Libraries) {
	all := &source.Libraries{}
	req.Library = func(at string, code []byte) error {
		all.Add(at, code)
		return nil
	}
	return req, all
}

// librariesAt returns the libraries of functions of a server.
func librariesAt(r *server.Reader) func(context.Context) (*source.Libraries, error) {
	return func(ctx context.Context) (*source.Libraries, error) {
		all := &source.Libraries{}
		why, err := r.Libraries(ctx, func(at string, code []byte) error {
			all.Add(at, code)
			return nil
		})
		all.Reasons = all.Reasons.Add(why...)
		return all, err
	}
}

// librariesIn returns the libraries of functions of archives.
func librariesIn(c *archive.Chain) func(context.Context) (*source.Libraries, error) {
	return func(context.Context) (*source.Libraries, error) {
		all := &source.Libraries{}
		return all, c.Libraries(func(lib source.Library) error {
			all.Add("", lib.Code)
			return nil
		})
	}
}

// compareLibraries compares the libraries of functions of both places, where all keys are compared.
func (v *verifyRun) compareLibraries(ctx context.Context) (_ *compare.Libraries, why source.Reasons, err error) {
	if !whole(v.App, v.sel.ks, &v.Selecting, v.scan.OnlyDB) || v.mapping.from != "" {
		return nil, nil, nil
	}
	var of [2]*source.Libraries
	for i, p := range v.sides {
		if of[i], err = p.libraries(ctx); err != nil {
			return nil, why, err
		}
		why = why.Add(of[i].Reasons...)
	}
	out := compare.OfLibraries(of[0].Facts, of[1].Facts)
	for i, p := range v.sides {
		if p.reader != nil {
			out.Scatter(of[i].Scattered(len(p.reader.Shards())))
		}
	}
	if out.Same+out.Differ() == 0 {
		return nil, why, nil
	}
	return &out, why, nil
}

// tellDifferentLibraries says which libraries of functions differ.
func tellDifferentLibraries(a *cli.App, l *compare.Libraries) {
	if l == nil {
		return
	}
	for _, part := range []struct {
		names []string
		what  string
	}{{l.Missing, "missing at B"}, {l.Extra, "at B only"}, {l.Different, "with another code, or not at every shard"}} {
		if len(part.names) > 0 {
			a.Print("%s: %s", part.what, librariesNamed(part.names))
		}
	}
	if l.Same > 0 {
		a.Print("libraries of functions that are the same: %s", terminal.Count(l.Same))
	}
}

// loadLibraries loads libraries of functions, or says what would become of them; nil: there is none.
func loadLibraries(ctx context.Context, clients apply.Clients, all func(func(source.Library) error) error,
	existing string, planned bool) (*apply.LibraryReport, error) {
	client, err := clients(0)
	if err != nil {
		return nil, err
	}
	r, err := apply.Libraries(ctx, client, all, apply.Existing(existing), planned)
	if r.Total == 0 {
		return nil, err
	}
	return &r, err
}

// tellLoaded says what became of libraries of functions.
func tellLoaded(a *cli.App, r *apply.LibraryReport, applied bool) {
	if r == nil {
		return
	}
	words := map[string][2]string{
		apply.LibraryLoaded:   {"loaded", "to load"},
		apply.LibraryReplaced: {"replaced", "to replace"},
		apply.LibrarySame:     {"there with the same code", "there with the same code"},
		apply.LibraryExisting: {"there with another code, and left", "there with another code, and to be left"},
		apply.LibraryRefused:  {"not loaded", "not to be loaded"},
	}
	for _, change := range []string{apply.LibraryLoaded, apply.LibraryReplaced, apply.LibrarySame, apply.LibraryExisting,
		apply.LibraryRefused} {
		var names []string
		for _, l := range r.Libraries {
			if l.Change == change {
				names = append(names, l.Name)
			}
		}
		if len(names) > 0 {
			word := words[change][0]
			if !applied {
				word = words[change][1]
			}
			a.Print("%s: %s", word, librariesNamed(names))
		}
	}
	for _, l := range r.Libraries {
		if l.Why != "" && l.Why != r.Unable {
			a.Print("%s: %s", finding.Printable(l.Name), finding.Printable(l.Why))
		}
	}
}

// notLoaded says that no library of functions can be loaded; "": they can.
func notLoaded(r *apply.LibraryReport) string {
	if r == nil || r.Unable == "" {
		return ""
	}
	return fmt.Sprintf("the server, or the user, loads no libraries of functions, and there are %d: %s (the user needs "+
		"+function|list and +function|load, and the server to be Redis 7 or Valkey)", r.Total, r.Unable)
}

// librariesFailed reports whether a library of functions is not as it should be in the end.
func librariesFailed(r *apply.LibraryReport, existing string) bool {
	return r != nil && (r.Refused > 0 || r.Existing > 0 && existing == string(apply.Fail))
}

// plannedLibraries are those that a plan names.
func plannedLibraries(r *apply.LibraryReport) []plan.Library {
	if r == nil {
		return nil
	}
	return r.Libraries
}

// loadLibraries loads the libraries of functions of the archive, or says what would become of them.
func (r *restoreRun) loadLibraries(ctx context.Context, planned bool) (*apply.LibraryReport, error) {
	if r.opened == nil {
		return nil, nil
	}
	if n := len(r.opened.Newest().Index.Libraries); n == 0 || r.mapping.from != "" ||
		!whole(r.App, r.sel.ks, &r.Selecting, -1) {
		r.otherLibs = n
		return nil, nil
	}
	to := func(int) (*keywright.Client, error) { return r.Client(max(r.db, 0)) }
	return loadLibraries(ctx, to, r.opened.Libraries, r.existing, planned)
}

// loadLibraries loads the libraries of functions of the source, or says what would become of them.
func (r *copyRun) loadLibraries(ctx context.Context) (err error) {
	if !whole(r.App, r.sel.ks, &r.Selecting, r.scan.OnlyDB) || r.mapping.from != "" {
		return nil
	}
	var had source.Libraries
	var denied source.Reasons
	all := func(each func(source.Library) error) (err error) {
		denied, err = r.from.reader.Libraries(ctx, func(at string, code []byte) error {
			if lib, fresh := had.Add(at, code); fresh {
				return each(lib)
			}
			return nil
		})
		return err
	}
	r.libraries, err = loadLibraries(ctx, func(int) (*keywright.Client, error) { return r.Client(max(r.toDB, 0)) }, all,
		r.existing, !r.copying.apply)
	r.unread = denied.Add(had.Reasons...)
	return err
}
