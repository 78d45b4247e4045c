package transfer

import (
	"context"
	"fmt"

	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/compare"
)

// compareLibraries compares the libraries of functions of both places, where all keys are compared.
func (v *verifyRun) compareLibraries(ctx context.Context) (_ *compare.Libraries, why source.Reasons, err error) {
	if !sources.Whole(v.App, v.sel.Schema, &v.Selecting, v.Scan.OnlyDB) || v.Mapping.From != "" {
		return nil, nil, nil
	}
	var of [2]*source.Libraries
	for i, p := range v.sides {
		if of[i], err = p.Libraries(ctx); err != nil {
			return nil, why, err
		}
		why = why.Add(of[i].Reasons...)
	}
	out := compare.OfLibraries(of[0].Facts, of[1].Facts)
	for i, p := range v.sides {
		if p.Reader != nil {
			out.Scatter(of[i].Scattered(len(p.Reader.Shards())))
		}
	}
	if out.Same+out.Differ() == 0 {
		return nil, why, nil
	}
	return &out, why, nil
}

// loadLibraries loads the libraries of functions of the archive, or says what would become of them.
func (r *restoreRun) loadLibraries(ctx context.Context, planned bool) error {
	if r.opened == nil {
		return nil
	}
	if n := len(r.opened.Newest().Index.Libraries); n == 0 || r.Mapping.From != "" ||
		!sources.Whole(r.App, r.sel.Schema, &r.Selecting, -1) {
		r.out.OtherLibs = n
		return nil
	}
	return r.load(ctx, &r.moving, r.opened.Libraries, planned)
}

// loadLibraries loads the libraries of functions of the source, or says what would become of them.
func (r *copyRun) loadLibraries(ctx context.Context) (err error) {
	if !sources.Whole(r.App, r.sel.Schema, &r.Selecting, r.Scan.OnlyDB) || r.Mapping.From != "" {
		return nil
	}
	var had source.Libraries
	var denied source.Reasons
	all := func(each func(source.Library) error) (err error) {
		denied, err = r.from.Reader.Libraries(ctx, func(at string, code []byte) error {
			if lib, fresh := had.Add(at, code); fresh {
				return each(lib)
			}
			return nil
		})
		return err
	}
	err = r.load(ctx, &r.moving, all, !r.apply)
	r.unread = denied.Add(had.Reasons...)
	return err
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
			a.Print("%s: %s", part.what, sources.LibrariesNamed(part.names))
		}
	}
	if l.Same > 0 {
		a.Print("libraries of functions that are the same: %s", terminal.Count(l.Same))
	}
}

// load loads libraries of functions, or finds what would become of them.
func (t *target) load(ctx context.Context, o *moving, all func(func(source.Library) error) error, planned bool) error {
	client, err := t.clients.Client(max(o.toDB, 0))
	if err != nil {
		return err
	}
	report, err := restore.Libraries(ctx, client, all, restore.Existing(o.existing), planned)
	if report.Total > 0 {
		t.libraries = &report
	}
	return err
}

// tellLoaded says what became of libraries of functions.
func tellLoaded(a *cli.App, r *restore.LibraryReport, applied bool) {
	if r == nil {
		return
	}
	for _, part := range []struct{ change, did, would string }{
		{restore.LibraryLoaded, "loaded", "to load"},
		{restore.LibraryReplaced, "replaced", "to replace"},
		{restore.LibrarySame, "there with the same code", "there with the same code"},
		{restore.LibraryExisting, "there with another code, and left", "there with another code, and to be left"},
		{restore.LibraryRefused, "not loaded", "not to be loaded"},
	} {
		var names []string
		for _, l := range r.Libraries {
			if l.Change == part.change {
				names = append(names, l.Name)
			}
		}
		if word := didOrWould(applied, part.did, part.would); len(names) > 0 {
			a.Print("%s: %s", word, sources.LibrariesNamed(names))
		}
	}
	for _, l := range r.Libraries {
		if l.Why != "" && l.Why != r.Unable {
			a.Print("%s: %s", finding.Printable(l.Name), finding.Printable(l.Why))
		}
	}
}

// notLoaded says that no library of functions can be loaded; "": they can.
func notLoaded(r *restore.LibraryReport) string {
	if r == nil || r.Unable == "" {
		return ""
	}
	return fmt.Sprintf("the server, or the user, loads no libraries of functions, and there are %d: %s (the user needs "+
		"+function|list and +function|load, and the server to be Redis 7 or Valkey)", r.Total, r.Unable)
}

// librariesFailed reports whether a library of functions is not as it should be in the end.
func librariesFailed(r *restore.LibraryReport, existing string) bool {
	return r != nil && (r.Refused > 0 || r.Existing > 0 && existing == string(restore.Fail))
}
