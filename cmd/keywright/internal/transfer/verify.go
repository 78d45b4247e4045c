package transfer

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/change"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/parts"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/compare"
	"github.com/spf13/cobra"
)

type verifying struct {
	cli.Selecting
	sources.Mapping
	sources.Placing
	toDB      int
	ttl       string
	slack     time.Duration
	momentary bool
	keysOf    []string
	null      bool
	output    string
	progress  string
	snapshots string // which servers send a snapshot
	byDigest  bool   // of two archives, entries whose digests are equal are not read
}

// snapshotChoices say which servers send a snapshot.
var snapshotChoices = []string{"all", "a", "b"}

var expiryModes = []string{"exact", "present", "ignore"}

func VerifyCommand(a *cli.App) *cobra.Command {
	var o verifying
	c := &cobra.Command{
		Use:   "verify A [B]",
		Short: "Tell whether two places hold the same keys",
		Long: `Compares the keys of any two of servers, archives and snapshots: types, values, and
expiries to the millisecond, in both directions. A and B are URLs or files; without B
it is the server of -u or KEYWRIGHT_URL. It writes to neither.

A file is an archive that keywright backup wrote, or an RDB file of any version,
compressed or not, or the RDB part of an AOF; - is standard input. With --snapshot a
server (--snapshot=a or --snapshot=b: this one only) is not scanned but sends what it
would send a replica: its keys of one moment. What is written after that moment
differs from a server that is scanned.

` + sources.ChainHelp + `

The encoding of a value does not count, nor the order of what has none. Of streams
it compares entries, groups, consumers and pending entries, but not the times at
which consumers were seen. A key that differs is read again, up to three times,
before it counts: what is written, or expires, while it is compared is no
difference. A key that is written to each time it is read is named as changing.

` + sources.MappingHelp + ` A is compared with
what a restore or a copy of A would make in B; keys that get no name in B are not compared.

` + cli.SelectionHelp + `

` + sources.LibraryHelp + `

Locks that are held, workers, and who loads or sweeps only make sense in their
moment: where they differ they are counted apart, unless --momentary is given.

--ttl exact compares expiries (--ttl-slack lets them differ by so much), present only
whether a key expires, ignore not at all.

With --keys-of it prints the keys that differ in that way (missing, extra, type,
value, ttl, changing, unclear, or all), as they are found, and no report.

Memory stays below 64 MiB, whatever is compared: large values are read in parts, and
what has no room is kept in a file in TMPDIR that has no name.

Exit codes: 0 the same, 1 something differs; it could not look: 2 usage or a bad
file, 3 a server cannot be reached, 4 it refuses, 5 not everything was seen, 130
interrupted.`,
		Example: `  keywright verify redis://old:6379 redis://new:6379
  keywright verify all.kwa redis://localhost:6379 --entry user
  keywright verify dump.rdb redis://localhost:6379 --snapshot
  keywright verify monday.kwa tuesday.kwa
  keywright verify all.kwa --keys-of missing,value --null | xargs -0 -n1 echo`,
		Args: placesArgs,
		RunE: func(c *cobra.Command, args []string) error {
			return verify(c.Context(), a, args, &o, c.Flags().Changed("output"))
		},
	}
	a.ServerFlags(c)
	a.SelectionFlags(c, &o.Selecting)
	o.Mapping.Flags(c)
	o.Chaining.Flags(c)
	sources.ScanFlags(c, &o.Scan, &o.Role, placeRate)
	sources.FileFlags(c, &o.Forks, &o.NoCRC, &o.Replay)
	cli.ProgressFlag(c, &o.progress)
	f := c.Flags()
	f.StringVar(&o.snapshots, "snapshot", "", "read what servers send a replica instead of scanning them: all, or a or b")
	f.Lookup("snapshot").NoOptDefVal = "all"
	f.IntVar(&o.toDB, "to-db", -1, "compare the database of --db with this one of B (-1: with the same)")
	f.StringVar(&o.ttl, "ttl", "exact", "what is compared of expiries: exact, present or ignore")
	f.DurationVar(&o.slack, "ttl-slack", 0, "with --ttl exact: how much expiries may differ")
	f.BoolVar(&o.momentary, "momentary", false, "count what only makes sense in its moment as other keys")
	f.StringSliceVar(&o.keysOf, "keys-of", nil,
		"print every key that differs in this way, as it is found, instead of a report")
	f.BoolVar(&o.null, "null", false,
		"with --keys-of: end each key with a zero byte, for xargs -0; else each is a line, escaped")
	cli.Outputs(c, &o.output, "table", "json", "jsonl")
	cli.Choices(c, "ttl", expiryModes...)
	cli.Choices(c, "snapshot", snapshotChoices...)
	return c
}

// placeRate explains --rate of verbs that read from two places.
const placeRate = "keys per second at most, over all shards of each server (0: as fast as it answers)"

func placesArgs(c *cobra.Command, args []string) error {
	if len(args) < 1 || len(args) > 2 || slices.Contains(args, "") {
		return cli.Usage("write `"+c.CommandPath()+" A B`: files or URLs", "%s takes two places", c.CommandPath())
	}
	if len(args) == 2 && args[0] == "-" && args[1] == "-" {
		return cli.Usage("name a file", "standard input can be read once")
	}
	return nil
}

func (o *verifying) Check(formGiven bool) error {
	err := cmp.Or(cli.OneOf("ttl", o.ttl, expiryModes...), cli.OneOf("output", o.output, "table", "json", "jsonl"),
		cli.CheckProgress(o.progress), sources.CheckRole(&o.Scan, o.Role))
	if o.snapshots != "" {
		err = cmp.Or(err, cli.OneOf("snapshot", o.snapshots, snapshotChoices...))
	}
	switch {
	case err != nil:
		return err
	case o.Forks < 1:
		return cli.Usage("write --forks 1", "--forks must be above zero")
	case o.Scan.Rate < 0 || o.Scan.MaxLatency < 0 || o.slack < 0:
		return cli.Usage("write a positive number, or leave it out",
			"--rate, --max-latency and --ttl-slack cannot be negative")
	case o.Scan.OnlyDB < -1 || o.toDB < -1:
		return cli.Usage("write --db 0, or leave it out", "a database has a number from 0")
	case o.toDB >= 0 && o.Scan.OnlyDB < 0:
		return cli.Usage("say with --db which database of A is compared", "--to-db needs --db")
	case o.null && len(o.keysOf) == 0:
		return cli.Usage("write --keys-of missing --null", "--null needs --keys-of")
	case len(o.keysOf) > 0 && formGiven && o.output == "json":
		return cli.Usage("leave out -o, or write -o jsonl", "--keys-of prints keys, in the form of lines or jsonl")
	case o.null && o.output == "jsonl":
		return cli.Usage("leave out one of them", "--null and -o jsonl exclude each other")
	case o.output == "jsonl" && len(o.keysOf) == 0:
		o.keysOf = []string{"all"}
	}
	var ways []string
	for _, w := range compare.Whats {
		ways = append(ways, string(w))
	}
	for _, w := range o.keysOf {
		if w != "all" && !slices.Contains(ways, w) {
			return cli.Usage("write "+strings.Join(ways, ", ")+" or all", "--keys-of %q is no way in which keys differ", w)
		}
	}
	return nil
}

func verify(ctx context.Context, a *cli.App, args []string, o *verifying, formGiven bool) error {
	if err := o.Check(formGiven); err != nil {
		return err
	}
	if err := a.RefuseTerminal(o.null, "--null",
		"pipe it, as in `keywright verify A B --keys-of missing --null | xargs -0 -n1 echo`"); err != nil {
		return err
	}
	if len(args) == 2 && sources.IsURL(args[0]) && sources.IsURL(args[1]) && a.Given("url", "-u") {
		return cli.Usage("name two places", "a server is named three times: two are compared")
	}
	defer cli.LimitMemory()()
	sel, err := mapped(a, &o.Selecting, &o.Mapping)
	if err != nil {
		return err
	}
	v := &verifyRun{verifying: o, App: a, sel: sel, declaration: cli.DeclarationDigest(sel.Schema), started: a.Now()}
	if err := v.open(ctx, append(args, "")); err != nil {
		return err
	}
	defer v.Close()
	return v.run(ctx)
}

type verifyRun struct {
	*verifying
	*cli.App
	sel         *sources.Mapped
	declaration string // its digest
	sides       [2]*sources.Place
	started     time.Time
	out         *bufio.Writer
	printed     int64
	libraries   *compare.Libraries // of functions; nil: they were not compared
	unread      int64              // keys of entries whose digests are equal
}

// open opens both places.
func (v *verifyRun) open(ctx context.Context, names []string) error {
	for i := range v.sides {
		o := v.Placing
		if i == 1 && v.toDB >= 0 {
			o.Scan.OnlyDB = v.toDB
		}
		o.Snapshot = v.snapshots == "all" || v.snapshots == string('a'+rune(i))
		o.Others = []string{names[1-i]}
		sel, err := sources.MapNames(v.App, &v.Selecting, &v.Mapping) // one for each goroutine
		if err != nil {
			return err
		}
		p, err := sources.OpenPlace(ctx, v.App, names[i], o, sel.Request(i == 1))
		if err != nil {
			v.Close()
			return err
		}
		v.sides[i] = p
	}
	return nil
}

func (v *verifyRun) Close() { closePlaces(v.sides[:]...) }

func closePlaces(places ...*sources.Place) {
	for _, p := range places {
		if p != nil {
			p.Close()
		}
	}
}

func (v *verifyRun) run(ctx context.Context) error {
	bar := terminal.NewProgress(v.ProgressMode(v.progress), v.App.Err, v.started)
	v.out = bufio.NewWriterSize(v.App.Out.Raw(), 64<<10)
	o := compare.Options{
		Meant: v.meant, Momentary: v.momentary, Spill: sources.Spill, Expiries: v.expiries(),
		Progress: func(done int64) {
			if done%256 == 0 {
				bar.Show(terminal.State{What: "keys", Done: done, Elapsed: v.Now().Sub(v.started)}, v.Now())
			}
		},
	}
	if len(v.keysOf) > 0 {
		o.Each = v.printKey
	}
	if v.byDigest {
		o.Known = v.alike()
	}
	if v.toDB >= 0 || v.sel.Renamed != nil {
		o.To, o.From = v.To, v.from
	}
	r, err := compare.Run(ctx, v.sel.Shown(v.sides[0].Side), v.sides[1].Side, o)
	if err == nil {
		var why source.Reasons
		v.libraries, why, err = v.compareLibraries(ctx)
		r.B.Incomplete = r.B.Incomplete.Add(why...)
	}
	bar.Clear()
	return v.conclude(ctx, &r, err)
}

// To returns where B has a key of A.
func (v *verifyRun) To(k compare.Key) compare.Key {
	if v.toDB >= 0 {
		k.DB = v.toDB
	}
	k.Name, _ = v.sel.To(k.Name)
	return k
}

// from returns the reverse.
func (v *verifyRun) from(k compare.Key) (compare.Key, bool) {
	return oldKey(v.sel, k, v.Scan.OnlyDB, v.toDB)
}

// oldKey returns the key that one of the target is, or would be, a copy of: of another database if those of one go to
// another one.
func oldKey(sel *sources.Mapped, k compare.Key, db, toDB int) (compare.Key, bool) {
	name, ok := sel.Old(k.Name)
	if toDB < 0 {
		return compare.Key{DB: k.DB, Name: name}, ok
	}
	return compare.Key{DB: db, Name: name}, ok && k.DB == toDB
}

// alike leaves out what two archives have of whole entries with equal digests, and says how
// many keys that are. It is for comparisons of all keys: the digests are of whole entries.
func (v *verifyRun) alike() map[int]int64 {
	a, first := v.sides[0].Side.(*compare.Archive)
	b, second := v.sides[1].Side.(*compare.Archive)
	asked := v.AskedFor(v.sel.Schema, &v.Selecting)
	if !first || !second || len(v.Asked()) > 0 || v.toDB >= 0 || v.sel.Renamed != nil ||
		len(asked) > 0 && !(slices.Equal(a.Selection(), asked) && slices.Equal(b.Selection(), asked)) {
		return nil
	}
	names := v.sel.Names()
	if len(names) > 0 && (a.Declaration() != v.declaration || b.Declaration() != v.declaration) {
		return nil // of which entry their keys are now is another question
	}
	known := map[int]int64{}
	for name, keys := range compare.Alike(a, b) {
		known[slices.Index(names, name)] += keys // -1 is that of keys that none declares
		v.unread += keys
	}
	return known
}

// meant says which keys are compared. Files have all databases.
func (v *verifyRun) meant(name []byte) (entry int, momentary, ok bool) {
	entry, declared, ok := v.sel.Find(name)
	if ok = ok && !selection.Working(name); ok {
		_, ok = v.sel.To(name)
	}
	return entry, declared != nil && parts.Momentary(declared), ok
}

// expiries tells whether two expiries are the same.
func (o *verifying) expiries() func(k compare.Key, a, b int64) bool {
	slack := o.slack.Milliseconds()
	return map[string]func(k compare.Key, a, b int64) bool{
		"exact":   func(_ compare.Key, a, b int64) bool { return a == b || a > 0 && b > 0 && max(a, b)-min(a, b) <= slack },
		"present": func(_ compare.Key, a, b int64) bool { return (a > 0) == (b > 0) },
		"ignore":  func(_ compare.Key, a, b int64) bool { return true },
	}[o.ttl]
}

// printKey prints a key that differs, as --keys-of asks for.
func (v *verifyRun) printKey(d compare.Difference) (err error) {
	if !slices.Contains(v.keysOf, "all") && !slices.Contains(v.keysOf, string(d.What)) {
		return nil
	}
	v.printed++
	switch {
	case v.output == "jsonl":
		err = v.WriteLine(v.out, change.Differing(v.sel.Names(), &d))
	case v.null:
		_, err = v.out.Write(append(slices.Clone(d.Key.Name), 0))
	default:
		_, err = fmt.Fprintln(v.out, finding.FullKey(d.Key.Name))
	}
	return err
}

// conclude reports, and gives the exit code.
func (v *verifyRun) conclude(ctx context.Context, r *compare.Report, failed error) error {
	if err := v.out.Flush(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if cut := (*archive.CutError)(nil); failed != nil && r.Keys == 0 && !errors.As(failed, &cut) {
		return failed
	}
	out := v.report(r, failed)
	var err error
	switch {
	case len(v.keysOf) > 0:
		if l := v.libraries; l != nil && l.Differ() > 0 {
			v.Say("differ, too: %s", sources.LibrariesNamed(slices.Concat(l.Missing, l.Extra, l.Different)))
		}
		v.Say("%s of %s differ, %s printed", terminal.Count(r.Differ()), terminal.Plural(r.Keys, "key"),
			terminal.Count(v.printed))
	case v.output == "json":
		err = v.JSON(out)
	default:
		err = v.print(out)
	}
	switch {
	case err != nil:
		return err
	case !out.Complete:
		return cli.Partial(againHint(out.Incomplete), "not everything was compared: %s", out.Incomplete)
	case !out.Same:
		return &cli.Exit{Code: cli.ExitFindings}
	}
	return nil
}

// againHint says what to do about a comparison that did not see everything.
func againHint(why source.Reasons) string {
	if why.Has(source.Damaged) {
		return "what is reported is right; take another copy of the file that is damaged"
	}
	return "what is reported is right; run it again when both sides are at rest"
}
