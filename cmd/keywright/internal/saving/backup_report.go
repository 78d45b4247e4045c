package saving

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
)

// partsOf returns the entries of which an archive has keys.
func partsOf(index *archive.Index) []archivePart {
	out := []archivePart{}
	for _, e := range index.Entries {
		if e.Keys > 0 {
			digest, _ := e.Digest.MarshalText()
			out = append(out, archivePart{e.Name, e.Keys, e.Bytes, string(digest)})
		}
	}
	return out
}

func printBackup(a *cli.App, r *BackupReport) error {
	if err := printParts(a, r.Entries); err != nil {
		return err
	}
	for _, n := range r.Notes {
		a.Print("note: %s", finding.Printable(n))
	}
	a.PrintKeys(r.Gone, "%s expired or were deleted while they were read")
	a.PrintKeys(r.Expired, "%s of the snapshot had expired at its moment, and are not saved")
	sources.TellLibraries(a, r.Libraries)
	if r.Torn > 0 {
		a.PrintAs(terminal.Yellow,
			"%s were written to each time they were read in parts: `keywright archive info %s` names them",
			terminal.Plural(r.Torn, "key"), r.File)
	}
	if r.Base != "" {
		a.Print("%s not changed, and not in this archive", terminal.Plural(r.Unchanged, "key"))
		a.PrintKeys(r.Deleted, "%s saved as deleted: not there any more")
	}
	a.PrintKeys(r.Earlier, "%s were saved by the run before")
	if r.Unsure > 0 {
		a.Print("%s", unsure(r.Unsure))
	}
	a.Print("%s", momentOf(r.Consistency, r.Shards))
	what := fmt.Sprintf("%s (%s) in %s, %s on disk", terminal.Plural(r.Keys, "key"), terminal.Bytes(r.Bytes), r.File,
		terminal.Bytes(r.Size))
	if r.Complete {
		a.PrintAs(terminal.Green, "Saved %s.", what)
		return nil
	}
	a.PrintIncomplete(r.Incomplete.String())
	a.Print("saved so far: %s", what)
	return nil
}

// momentOf says of which moment values are.
func momentOf(consistency string, shards int) string {
	switch {
	case consistency != string(archive.OneMoment):
		return "values are those of their own moment each"
	case shards > 1:
		return "values are those of one moment for each shard"
	}
	return "values are those of one moment"
}

// printParts returns the table of an archive's entries.
func printParts(a *cli.App, parts []archivePart) error {
	var rows [][]string
	for _, p := range parts {
		rows = append(rows, []string{cmp.Or(p.Entry, cli.UndeclaredName), terminal.Count(p.Keys), terminal.Bytes(p.Bytes)})
	}
	return a.PrintTable([]terminal.Column{{Title: "entry", Least: 24}, {Title: "keys", Right: true},
		{Title: "bytes", Right: true}}, rows)
}

// library takes a library of functions of the server that is backed up.
func (b *backupRun) library(at string, code []byte) error {
	lib, fresh := b.libraries.Add(at, code)
	if !fresh || !sources.Whole(b.App, b.ks, &b.Selecting, b.Scan.OnlyDB) {
		return nil
	}
	err := b.w.AddLibrary(&lib)
	if errors.Is(err, source.ErrLibrary) {
		return cli.Usage("remove "+b.To+archivefile.Part+" to begin again",
			"%s was begun before the library of functions %q was changed", b.To+archivefile.Part, lib.Name)
	} else if err != nil {
		return sources.NotWritten(b.To, err)
	}
	return nil
}

// libraryFindings are the reasons and notes about libraries of functions: none was asked for where some keys were.
func (b *backupRun) libraryFindings(sum *source.Summary) {
	if sources.Whole(b.App, b.ks, &b.Selecting, b.Scan.OnlyDB) {
		sum.Incomplete = sum.Incomplete.Add(b.libraries.Reasons...)
		if some := b.libraries.Scattered(len(b.meta.Shards)); len(some) > 0 {
			sum.Notes = append(sum.Notes, "not at every shard: "+sources.LibrariesNamed(some))
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
			sources.LibrariesNamed(sources.NamesOf(b.libraries.Facts)))
	}
}
