package saving

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/spf13/cobra"
)

// ArchiveCommand returns the verbs of archives; diff is the one that compares two.
func ArchiveCommand(a *cli.App, diff *cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use:   "archive",
		Short: "Look at the files that backup writes",
		Long: `An archive holds keys with their values and expiries, in blocks by entry, each
with a checksum. A file that was cut is readable up to its last whole block; it is
never called complete.`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return a.UnknownCommand(c, args[0])
			}
			return c.Help()
		},
	}
	c.AddCommand(archiveInfoCommand(a), archiveVerifyCommand(a), archiveListCommand(a), diff, archiveExportCommand(a))
	return c
}

func OneArchive(c *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return cli.Usage("name the file: `"+c.CommandPath()+" FILE`", "%s takes one archive", c.CommandPath())
	}
	return nil
}

// ArchiveReport describes what an archive says of itself; its JSON names are stable.
type ArchiveReport struct {
	File      string    `json:"file"`
	Complete  bool      `json:"complete"`
	Problem   string    `json:"problem,omitempty"` // why it is not complete
	Verified  bool      `json:"verified"`          // every byte was read
	Encrypted bool      `json:"encrypted,omitempty"`
	Archive   string    `json:"archive"`
	Tool      string    `json:"tool"`
	Taken     time.Time `json:"taken"`
	Moment    string    `json:"consistency"`
	Sum       string    `json:"sum,omitempty"` // digest by which an archive that adds to it names it
	// digest of the archive that it adds to: it only has what has changed
	Base   string         `json:"base,omitempty"`
	Chosen []string       `json:"selection,omitempty"`
	Shards []source.Shard `json:"shards"`
	Keys   int64          `json:"keys"`
	Bytes  int64          `json:"bytes"`
	Size   int64          `json:"file_bytes"`
	TornKeys
	Entries []archivePart `json:"entries"`

	Libraries []sources.LibraryPart `json:"libraries,omitempty"` // of functions
}

func archiveInfoCommand(a *cli.App) *cobra.Command {
	return archiveReportCommand(a, inspected, &cobra.Command{
		Use:   "info FILE",
		Short: "Say where an archive is from and what is in it",
		Long: `Reads the header, the index and the footer of an archive: three reads, whatever its
size. It does not read the values; verify does.

` + sources.UnlockHelp + `

Exit codes: 0 shown, 2 usage or no archive, 5 the archive is not whole.`,
		Example: "  keywright archive info all.kwa",
	})
}

func archiveVerifyCommand(a *cli.App) *cobra.Command {
	return archiveReportCommand(a, Verified, &cobra.Command{
		Use:   "verify FILE",
		Short: "Read all of an archive and check every checksum",
		Long: `Reads every block and every record of an archive, and holds the counts and digests
of its index against them. It holds one block in memory.

` + sources.UnlockHelp + `

Exit codes: 0 whole, 2 usage or no archive, 5 the archive is cut or damaged: the
report says how far it is good.`,
		Example: "  keywright archive verify all.kwa",
	})
}

// archiveReportCommand makes a command that shows what read finds in an archive.
func archiveReportCommand(a *cli.App, read func(context.Context, string, archivefile.Keys) (*ArchiveReport, error),
	c *cobra.Command) *cobra.Command {
	var output string
	var keys sources.Unlocking
	c.Args = OneArchive
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := cli.OneOf("output", output, "table", "json"); err != nil {
			return err
		}
		r, err := read(c.Context(), args[0], sources.ArchiveKeys(c.Context(), a, &keys))
		if err == nil {
			err = a.WriteReport(output, r, func() error { return printArchive(a, r) })
		}
		if err == nil && !r.Complete {
			err = &cli.Exit{Code: cli.ExitPartial}
		}
		return err
	}
	keys.Flags(c)
	cli.Outputs(c, &output, "table", "json")
	return c
}

func newArchiveReport(file string, size int64, m archive.Meta, index *archive.Index) *ArchiveReport {
	r := &ArchiveReport{File: file, Archive: m.ID, Tool: m.Tool, Taken: m.Taken, Moment: string(m.Consistency),
		Base: m.Base, Chosen: m.Selection, Shards: append([]source.Shard{}, m.Shards...), Size: size, Entries: partsOf(index),
		Libraries: sources.LibrariesOf(index)}
	r.Keys, r.Bytes = index.Totals()
	r.TornKeys.add(index, everyKey)
	return r
}

// inspected reads what an archive says of itself. Of one that is not whole it reads
// what is good.
func inspected(ctx context.Context, path string, keys archivefile.Keys) (*ArchiveReport, error) {
	f, err := archivefile.Open(path, keys)
	if err != nil {
		return Verified(ctx, path, keys)
	}
	defer f.Close()
	r := newArchiveReport(path, sizeOf(path), f.Meta, &f.Index)
	if r.Complete = f.Cut == nil; !r.Complete {
		r.Problem = f.Cut.Error()
	}
	r.Encrypted = f.Encrypted
	if r.Complete {
		r.Sum = f.Sum()
	}
	return r, nil
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// Verified reads all of an archive.
func Verified(ctx context.Context, path string, keys archivefile.Keys) (*ArchiveReport, error) {
	defer cli.LimitMemory()()
	in, err := archivefile.Stream(path, keys)
	if err != nil {
		return nil, sources.NoArchive(path, err)
	}
	defer in.Close()
	meta, index, err := archive.Verify(&sources.Cancelled{Ctx: ctx, In: in}, archivefile.Codecs()...)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	headless := errors.Is(err, archive.ErrDamaged) && meta.ID == ""
	if headless || errors.Is(err, archive.ErrNotArchive) || errors.Is(err, archive.ErrNewer) {
		return nil, sources.NoArchive(path, err)
	}
	r := newArchiveReport(path, sizeOf(path), meta, &index)
	r.Encrypted = in.Encrypted
	if r.Verified, r.Complete = true, err == nil; err != nil {
		r.Problem = err.Error()
	}
	return r, nil
}

func printArchive(a *cli.App, r *ArchiveReport) error {
	if r.Archive == "" { // its header is cut
		a.Print("%s", a.Out.Paint(terminal.Red, "NOT WHOLE: "+finding.Printable(r.Problem)))
		a.Print("nothing of it can be read: %s on disk", terminal.Bytes(r.Size))
		return nil
	}
	a.Print("%s, written by %s on %s", r.Archive, finding.Printable(r.Tool), r.Taken.Format(time.RFC3339))
	for _, s := range r.Shards {
		a.Print("from %s %s at %s (%s)", finding.Printable(s.Brand), finding.Printable(s.Version),
			finding.Printable(s.Address), terminal.Plural(s.Keys, "key"))
	}
	for _, s := range r.Chosen {
		a.Print("chosen by %s", finding.Printable(s))
	}
	if r.Sum != "" {
		a.Print("digest %s", r.Sum)
	}
	if r.Base != "" {
		a.Print("only has what has changed since the archive with the digest %s", finding.Printable(r.Base))
	}
	a.Print("")
	if err := printParts(a, r.Entries); err != nil {
		return err
	}
	a.Print("%s", momentOf(r.Moment, len(r.Shards)))
	sources.TellLibraries(a, r.Libraries)
	for _, k := range r.TornKeys.TornKeys {
		a.Print("%s was written to each time it was read in parts", finding.Key(k))
	}
	a.PrintKeys(r.Torn-int64(len(r.TornKeys.TornKeys)), "and %s more")
	if r.Unsure > 0 {
		a.Print("%s", unsure(r.Unsure))
	}
	what := fmt.Sprintf("%s (%s), %s on disk", terminal.Plural(r.Keys, "key"), terminal.Bytes(r.Bytes),
		terminal.Bytes(r.Size))
	switch {
	case !r.Complete:
		a.PrintAs(terminal.Red, "NOT WHOLE: %s", finding.Printable(r.Problem))
		a.Print("good so far: %s", what)
	case r.Verified:
		a.PrintAs(terminal.Green, "Whole, every checksum is right: %s.", what)
	default:
		a.Print("Whole by its footer: %s. `keywright archive verify` reads the values too.", what)
	}
	return nil
}

// unsure says that values in parts may be torn.
func unsure(n int64) string {
	return terminal.Plural(n, "value") +
		" in parts are of a run that was killed: whether they were written to meanwhile is not known"
}

// listing holds the flags of archive ls.
type listing struct {
	cli.Selecting
	sources.Unlocking
	output string
}

func archiveListCommand(a *cli.App) *cobra.Command {
	var o listing
	c := &cobra.Command{
		Use:   "ls FILE",
		Short: "List the keys of an archive",
		Long: `Lists the keys of an archive with entry, database, type and expiry. Only the blocks
of the entries that are asked for are read.

` + cli.SelectionHelp + `

With -o names it prints the bare names, each with a NUL byte after it, for
xargs -0. -o jsonl prints an object in each line.

` + sources.UnlockHelp + `

Exit codes: 0 listed, 2 usage or no archive, 5 the archive is not whole.`,
		Example: `  keywright archive ls all.kwa --entry user
  keywright archive ls all.kwa --where issue=123 -o jsonl`,
		Args: OneArchive,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.OneOf("output", o.output, "table", "jsonl", "names"); err != nil {
				return err
			}
			return archiveList(c.Context(), a, args[0], &o)
		},
	}
	a.SelectionFlags(c, &o.Selecting)
	o.Unlocking.Flags(c)
	cli.Outputs(c, &o.output, "table", "jsonl", "names")
	return c
}

// ArchiveKey represents a key of an archive, a line of JSON each.
type ArchiveKey struct {
	Key     finding.JSONKey `json:"key"`
	Entry   string          `json:"entry,omitempty"`
	DB      int             `json:"db"`
	Type    string          `json:"type"`
	Expires *time.Time      `json:"expires,omitempty"`
	Bytes   int             `json:"bytes"`
	Torn    bool            `json:"torn,omitempty"` // it was written to each time it was read in parts
}

func archiveList(ctx context.Context, a *cli.App, path string, o *listing) error {
	if err := a.RefuseTerminal(o.output == "names", "-o names",
		"pipe it, as in `keywright archive ls A -o names | xargs -0 -n1 echo`"); err != nil {
		return err
	}
	sel, _, err := a.Selection(&o.Selecting)
	if err != nil {
		return err
	}
	defer cli.LimitMemory()()
	keys := sources.ArchiveKeys(ctx, a, &o.Unlocking)
	in, err := archivefile.Stream(path, keys)
	if err != nil {
		return sources.NoArchive(path, err)
	}
	defer in.Close()
	torn, said := tornSet(path, keys)
	r, err := archive.NewReader(&sources.Cancelled{Ctx: ctx, In: in}, archivefile.Codecs()...)
	if err != nil {
		return sources.NoArchive(path, err)
	}
	out := bufio.NewWriter(a.Out.Raw())
	n := int64(0)
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			_ = out.Flush()
			return cli.Partial("the keys above are good", "%s: %v", path, err)
		}
		entry, ok := sel.Of(rec.Key)
		if !ok || rec.More {
			continue
		}
		n++
		if err := listKey(a, out, o.output, rec, cli.EntryOrNone(sel.Names(), entry), torn[string(rec.Key)]); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	a.Say("%s", terminal.Plural(n, "key"))
	for _, note := range said.Notes() {
		a.Say("%s", note)
	}
	if len(r.Libraries) > 0 {
		var names []string
		for _, l := range r.Libraries {
			names = append(names, l.Name)
		}
		a.Say("%s", sources.LibrariesNamed(names))
	}
	return nil
}

// listKey writes one key in a form of output.
func listKey(a *cli.App, out *bufio.Writer, form string, rec *archive.Record, entry string, torn bool) (err error) {
	switch form {
	case "names":
		_, err = out.Write(append(rec.Key, 0))
	case "jsonl":
		k := ArchiveKey{Key: finding.JSONKey(rec.Key), Entry: entry, DB: rec.DB, Type: typeOf(rec), Bytes: len(rec.Payload),
			Expires: cli.Expiry(rec.Expires), Torn: torn}
		err = a.WriteLine(out, k)
	default:
		expires := "never expires"
		if rec.Form == archive.Gone {
			expires = ""
		} else if rec.Expires > 0 {
			expires = "expires " + time.UnixMilli(rec.Expires).UTC().Format(time.RFC3339)
		}
		if torn {
			entry += " TORN"
		}
		_, err = fmt.Fprintf(out, "%s  %-7s  db %-2d  %-28s  %s\n",
			terminal.Pad(terminal.Shorten(finding.Key(rec.Key), cli.KeyWidth), cli.KeyColumn),
			typeOf(rec), rec.DB, expires, entry)
	}
	return err
}

// typeOf returns the type of a key, or that an archive with a base says that it is not there.
func typeOf(rec *archive.Record) string {
	if rec.Form == archive.Gone {
		return "deleted"
	}
	return rec.Kind.String()
}
