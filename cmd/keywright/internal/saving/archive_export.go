package saving

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/archive/export"
	"github.com/keywright/keywright/source/rdb/dump"
	"github.com/spf13/cobra"
)

type exporting struct {
	cli.Selecting
	sources.Chaining
	form    string
	to      string
	target  string
	replace bool
}

// exportForms say what an archive is written as.
var exportForms = map[string]func(context.Context, io.Writer, *archive.Chain, export.Options) (export.Report, error){
	"rdb": export.RDB, "commands": export.Commands, "jsonl": export.JSONLines,
}

func archiveExportCommand(a *cli.App) *cobra.Command {
	var o exporting
	c := &cobra.Command{
		Use:   "export FILE --as rdb|commands|jsonl [--to FILE]",
		Short: "Write the keys of an archive as other programs read them",
		Long: `Writes values and absolute expiries as an RDB file, which a server loads when it
starts; as commands in the protocol of servers, for redis-cli --pipe; or as JSON, an
object a line (docs/archives.md has its form). Without --to it writes to standard
output, if that is no terminal.

An RDB file is for the servers that the archive is from, or for --for redis-6.2: values
of newer forms are written in older ones. Commands delete each key first, so that
sending them twice gives the same. What has no place in a form (a module's value as
commands) is named and left out.

` + cli.SelectionHelp + `

` + sources.LibraryHelp + `

` + sources.ChainHelp + `

Exit codes: 0 exported, 1 some keys have no place in the form (they are named), 2 usage
or no archive, 5 the archive is not whole, 130 interrupted.`,
		Example: `  keywright archive export all.kwa --as rdb --to dump.rdb
  keywright archive export all.kwa --as commands | redis-cli --pipe
  keywright archive export all.kwa --as jsonl --entry user | jq .value`,
		Args: OneArchive,
		RunE: func(c *cobra.Command, args []string) error { return archiveExport(c.Context(), a, args[0], &o) },
	}
	a.SelectionFlags(c, &o.Selecting)
	o.Chaining.Flags(c)
	f := c.Flags()
	f.StringVar(&o.form, "as", "", "rdb, commands or jsonl")
	f.StringVar(&o.to, "to", "", "the file to write")
	f.StringVar(&o.target, "for", "", "with --as rdb: the servers that are to load it, as in redis-7.0 or valkey-8.0")
	f.BoolVar(&o.replace, "replace-file", false, "replace the file if it is there")
	cli.Choices(c, "as", "rdb", "commands", "jsonl")
	return c
}

// rdbFor returns the RDB version of "redis-7.0".
func rdbFor(target string) (int, error) {
	if target == "" {
		return 0, nil
	}
	brand, version, _ := strings.Cut(target, "-")
	var major, minor int
	n, err := fmt.Sscanf(version+".0", "%d.%d", &major, &minor)
	if err != nil || n != 2 || brand != "redis" && brand != "valkey" || major < 1 {
		return 0, cli.Usage("write --for redis-7.0 or --for valkey-8.0", "%q is no server", target)
	}
	return dump.VersionOf(brand == "valkey", major, minor), nil
}

func archiveExport(ctx context.Context, a *cli.App, path string, o *exporting) error {
	write := exportForms[o.form]
	if write == nil {
		return cli.Usage("write --as rdb, --as commands or --as jsonl", "export needs a form")
	}
	if o.to == "-" {
		o.to = ""
	}
	version, err := rdbFor(o.target)
	if err == nil && o.target != "" && o.form != "rdb" {
		err = cli.Usage("leave it out", "--for says nothing about %s", o.form)
	}
	if err == nil {
		err = a.RefuseTerminal(o.to == "", "export", "write --to FILE, or send it to another program")
	}
	if err != nil {
		return err
	}
	sel, ks, err := a.Selection(&o.Selecting)
	if err != nil {
		return err
	}
	in, err := sources.OpenChained(ctx, a, path, &o.Chaining)
	if err != nil {
		return err
	}
	defer in.Close()
	defer cli.LimitMemory()()
	said := TornIn(in.Chain, everyKey)
	torn := said.set()
	options := export.Options{Wants: func(key []byte) bool { _, ok := sel.Moves(key); return ok }, RDB: version,
		Torn:      func(key []byte) bool { return torn[string(key)] },
		Libraries: sources.Whole(a, ks, &o.Selecting, -1), Escape: finding.EscapeJSON}
	report, err := exported(a, o, func(out io.Writer) (export.Report, error) { return write(ctx, out, in.Chain, options) })
	if err != nil {
		return err
	}
	for _, note := range said.Notes() {
		a.Say("%s", note)
	}
	return exportedReport(a, &report, in.Cut)
}

// exported writes to the file, or to standard output.
func exported(a *cli.App, o *exporting, write func(io.Writer) (export.Report, error)) (export.Report, error) {
	if o.to == "" {
		out := bufio.NewWriterSize(a.Out.Raw(), 64<<10)
		report, err := write(out)
		return report, cmp.Or(err, out.Flush())
	}
	file, err := archivefile.Create(o.to, o.replace)
	if errors.Is(err, fs.ErrExist) {
		return export.Report{}, cli.Usage("name another file, or say --replace-file", "%s is there already", o.to)
	}
	if err != nil {
		return export.Report{}, cli.Unwritable("the export", err)
	}
	out := bufio.NewWriterSize(file, 64<<10)
	report, err := write(out)
	if err = cmp.Or(err, out.Flush()); err != nil { // half an export is of no use
		return report, errors.Join(cli.Partial("nothing was exported", "%s could not be written: %v", o.to, err),
			file.Remove())
	}
	return report, file.Finish()
}

// exportedReport says on stderr what was exported, and gives the exit code.
func exportedReport(a *cli.App, r *export.Report, cut error) error {
	for _, n := range r.Reasons[:min(len(r.Reasons), 10)] {
		a.Say("%s (database %d): %s", finding.Key(n.Key), n.DB, finding.Printable(n.Reason))
	}
	if more := r.Refused - int64(min(len(r.Reasons), 10)); more > 0 {
		a.Say("and %s more", terminal.Count(more))
	}
	if len(r.NoLibraries) > 0 {
		a.Say("not exported, since servers of this version have none: %s", sources.LibrariesNamed(r.NoLibraries))
	}
	a.Say("exported %s", terminal.Plural(r.Keys, "key"))
	if len(r.Libraries) > 0 {
		a.Say("exported, too: %s", sources.LibrariesNamed(r.Libraries))
	}
	switch {
	case cut != nil:
		return cli.Partial("what was exported is good: take another copy of the archive for the rest", "%v", cut)
	case r.Refused > 0, len(r.NoLibraries) > 0:
		return &cli.Exit{Code: cli.ExitFindings}
	}
	return nil
}
