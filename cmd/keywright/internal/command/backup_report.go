package command

import (
	"fmt"

	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
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

func (a *app) printBackup(r *backupReport) error {
	if err := a.printParts(r.Entries); err != nil {
		return err
	}
	for _, n := range r.Notes {
		a.tell("note: %s", finding.Printable(n))
	}
	if r.Gone > 0 {
		a.tell("%s expired or were deleted while they were read", terminal.Plural(r.Gone, "key"))
	}
	if r.Expired > 0 {
		a.tell("%s of the snapshot had expired at its moment, and are not saved", terminal.Plural(r.Expired, "key"))
	}
	a.tellLibraries(r.Libraries)
	if r.Torn > 0 {
		a.tell("%s",
			a.out.Paint(terminal.Yellow,
				fmt.Sprintf("%s were written to each time they were read in parts: `keywright archive info %s` names them",
					terminal.Plural(r.Torn, "key"), r.File)))
	}
	if r.Base != "" {
		a.tell("%s not changed, and not in this archive", terminal.Plural(r.Unchanged, "key"))
		if r.Deleted > 0 {
			a.tell("%s saved as deleted: not there any more", terminal.Plural(r.Deleted, "key"))
		}
	}
	if r.Earlier > 0 {
		a.tell("%s were saved by the run before", terminal.Plural(r.Earlier, "key"))
	}
	if r.Unsure > 0 {
		a.tell("%s", unsure(r.Unsure))
	}
	a.tell("%s", momentOf(r.Consistency, r.Shards))
	what := fmt.Sprintf("%s (%s) in %s, %s on disk", terminal.Plural(r.Keys, "key"), terminal.Bytes(r.Bytes), r.File,
		terminal.Bytes(r.Size))
	if r.Complete {
		a.tell("%s", a.out.Paint(terminal.Green, "Saved "+what+"."))
		return nil
	}
	a.tell("%s", a.out.Paint(terminal.Red, "INCOMPLETE: "+finding.Printable(r.Incomplete.String())))
	a.tell("saved so far: %s", what)
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
func (a *app) printParts(parts []archivePart) error {
	var rows [][]string
	for _, p := range parts {
		name := p.Entry
		if name == "" {
			name = undeclaredName
		}
		rows = append(rows, []string{name, terminal.Count(p.Keys), terminal.Bytes(p.Bytes)})
	}
	if len(rows) == 0 {
		return nil
	}
	if err := terminal.Table(a.out, []terminal.Column{{Title: "entry", Least: 24}, {Title: "keys", Right: true},
		{Title: "bytes", Right: true}}, rows); err != nil {
		return err
	}
	a.tell("")
	return nil
}
