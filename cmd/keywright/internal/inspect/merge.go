package inspect

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/declare"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
	"github.com/spf13/cobra"
)

// maxParts bounds the parts of one report, and the files that are merged at once.
const maxParts = 100_000

// merging holds the flags of merge, and what it has of the files so far.
type merging struct {
	auditing
	parts int

	first string // the file that says what was asked
	asked string
	db    int
	fold  *audit.Audit
	read  summaryRead
	got   []partRead
	notes int // that are left out
	seen  map[string]bool
}

func MergeCommand(a *cli.App) *cobra.Command {
	var o merging
	c := &cobra.Command{
		Use:   "merge FILE…",
		Short: "Make one report of an audit in parts",
		Long: `Makes one report of partial ones, which keywright audit -o partial has written: of
the shards of a cluster, or of servers and files. It asks no server. The report is that
of one audit of all keys: totals, quantiles, groups of undeclared keys, examples.

The parts must be of this version of keywright, of this declaration, and of audits with
the same flags. A part that is there twice is refused, also under another number or of
the same server. One that is missing makes the report incomplete: parts with numbers
(--part 3/16) say how many there are, for others --parts N does. All slots of a cluster
must be in its parts.

With -o partial the result is a larger part, to be merged again. A file may be - for
standard input.

Exit codes: 0 clean, 1 findings, 2 usage or a file that cannot be merged, 5 incomplete,
130 interrupted.`,
		Example: `  keywright merge shards/*.part
  keywright merge a.part b.part --parts 2 -o html > audit.html
  keywright merge rack1/*.part -o partial > rack1.part`,
		RunE: func(c *cobra.Command, args []string) error {
			form, err := a.Form(c, o.Output, auditForms...)
			if err != nil {
				return err
			}
			o.Output = form
			return merge(c.Context(), a, &o, args)
		},
	}
	a.NamespaceFlag(c)
	o.Judging.Flags(c, auditForms...)
	showKeysFlag(c, &o.showKeys)
	f := c.Flags()
	f.IntVar(&o.parts, "parts", 0, "how many parts there must be, where they have no numbers")
	f.Int64Var(&o.audit.MinKeys, "min-keys", 1, "fewer keys than that are a finding: is it the right server and database?")
	f.IntVar(&o.audit.Groups, "groups", 50, "how many groups of undeclared keys to report")
	return c
}

func merge(ctx context.Context, a *cli.App, o *merging, files []string) error {
	switch {
	case len(files) == 0:
		return cli.Usage("as in `keywright merge shards/*.part`", "merge needs the files of the parts")
	case len(files) > maxParts:
		return cli.Usage("merge them in groups with -o partial first",
			"%s files are more than the %s that are merged at once", terminal.Count(int64(len(files))),
			terminal.Count(maxParts))
	case o.audit.Groups < 1 || o.audit.Groups > maxKept || o.parts < 0:
		return cli.Usage("write a positive number, or leave it out", "--groups is 1 to %s, --parts cannot be negative",
			terminal.Count(maxKept))
	}
	if err := o.Check(); err != nil {
		return err
	}
	d, path, err := a.LoadDeclaration()
	if err != nil {
		return err
	}
	for _, file := range files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p, state, err := readPartial(file, a.In)
		if err == nil && o.fold == nil {
			err = o.begin(a, d, path, file, p)
		}
		if err == nil {
			err = o.Add(file, p, state)
		}
		if err != nil {
			return err
		}
	}
	if err := o.all(); err != nil {
		return err
	}
	o.Retry = "make the parts again that are missing or incomplete, and merge again"
	if o.notes > 0 {
		o.read.Notes = append(o.read.Notes, fmt.Sprintf("%d more notes of the parts", o.notes))
	}
	if o.Output == "partial" {
		state, err := o.fold.State()
		if err != nil {
			return err
		}
		err = writePartial(a, &partial{Asked: o.asked, Parts: o.got, Read: o.read, Options: partialOptions{o.audit.Include,
			o.audit.Exclude, o.values, o.top, o.examples, o.NoBytes, o.db}}, state)
		if err == nil && len(o.read.Incomplete) > 0 {
			err = cli.Partial(o.Retry, "the part is incomplete: %s", o.read.Incomplete)
		}
		return err
	}
	o.onlyDB = o.db
	return conclude(ctx, a, &o.auditing, d, o.fold.Report(o.summary(), o.read.Sampled), nil)
}

// begin takes the flags of the first part, and compares its declaration.
func (o *merging) begin(a *cli.App, d *cli.Declaration, path, file string, p *partial) error {
	q := &p.Options
	o.audit.Include, o.audit.Exclude, o.values = q.Include, q.Exclude, q.Values
	o.top, o.examples, o.NoBytes = q.Top, q.Examples, q.NoBytes
	o.first, o.asked, o.db = file, p.Asked, q.DB
	if o.values == "" || min(o.top, o.examples) < 0 || max(o.top, o.examples) > maxKept {
		return cli.Usage("write it again with `keywright audit -o partial`", "%s is damaged", file)
	}
	o.audit.Top, o.audit.Examples, o.audit.Whole = o.top, o.examples, o.values == "all"
	o.audit.Values = o.audit.Whole || o.values == "sample" || o.values == "true"
	schemas := sha256.New()
	o.audit.Schema = declare.SchemaChecker(path, schemas)
	var err error
	if o.fold, err = audit.New(d.Keyspace, o.audit); err != nil {
		return err
	}
	if p.Asked != o.auditing.Asked(d, schemas.Sum(nil), o.db)+a.Namespace {
		return cli.Usage("name the declaration with -f (and --namespace) that the audits had",
			"%s is of another declaration", file)
	}
	return nil
}

// maxNotes bounds the notes of all parts.
const maxNotes = 100

// Add takes one file.
func (o *merging) Add(file string, p *partial, state []byte) error {
	if p.Asked != o.asked && p.Options.DB != o.db {
		return cli.Usage("make all parts with the same database, or of all: parts of one audit are of other shards or slots",
			"%s is of database %d and %s of %d (-1: all)", file, p.Options.DB, o.first, o.db)
	}
	if p.Asked != o.asked {
		return cli.Usage("make all parts with the same declaration and flags",
			"%s is of an audit with another declaration or other flags than %s", file, o.first)
	}
	for _, one := range p.Parts {
		if err := o.once(file, &one); err != nil {
			return err
		}
	}
	if len(o.got)+len(p.Parts) > maxParts {
		return cli.Usage("audit fewer, larger parts", "there are more than %s parts", terminal.Count(maxParts))
	}
	if err := o.fold.Merge(state); err != nil {
		return cli.Usage("write it again with `keywright audit -o partial`", "%s: %v", file, err)
	}
	o.got = append(o.got, p.Parts...)
	r, s := &o.read, &p.Read
	r.Shards, r.Expected, r.Gone, r.Expired = r.Shards+s.Shards, r.Expected+s.Expected, r.Gone+s.Gone, r.Expired+s.Expired
	r.MaxRepeats, r.Elapsed, r.Databases = r.MaxRepeats+s.MaxRepeats, r.Elapsed+s.Elapsed, max(r.Databases, s.Databases)
	r.Estimated, r.Sampled = r.Estimated || s.Estimated, r.Sampled || s.Sampled
	for _, why := range s.Incomplete {
		r.Incomplete = r.Incomplete.Add(why.On(s.Endpoint))
	}
	for _, n := range s.Notes {
		switch {
		case slices.Contains(r.Notes, n):
		case len(r.Notes) < maxNotes:
			r.Notes = append(r.Notes, n)
		default:
			o.notes++
		}
	}
	return nil
}

// once refuses a part that was there before.
func (o *merging) once(file string, one *partRead) error {
	twice := func(how string, args ...any) error {
		return cli.Usage("leave out one of them", "%s has a part that was there before: %s", file, fmt.Sprintf(how, args...))
	}
	switch {
	case len(o.got) > 0 && one.Of != o.got[0].Of:
		return cli.Usage("make all parts with --part, of the same number of parts", "%s is %s, and %s has %s", file,
			one.Place(), o.first, o.got[0].Place())
	case one.Of > 0 && !o.fresh("number %d", one.Number):
		return twice("%s", one.Place())
	case one.Digest != "" && !o.fresh("digest %s", one.Digest):
		return twice("%s", finding.Printable(one.Name))
	}
	for _, origin := range one.Origins {
		for _, db := range origin.Databases {
			if origin.ID != "" && !o.fresh("server %s %d", origin.ID, db) {
				return twice("the server %s, or a replica of it", finding.Printable(origin.Address))
			}
		}
		for _, r := range origin.Slots {
			for n := max(r.First, 0); n <= min(r.Last, slot.Count-1); n++ {
				if !o.fresh("slot %d", n) && one.Of > 0 {
					return twice("slot %d: it has moved between the audits of the parts", n)
				}
			}
		}
	}
	return nil
}

// fresh notes something that there may be once, and reports whether it is the first time.
func (o *merging) fresh(format string, args ...any) bool {
	if o.seen == nil {
		o.seen = map[string]bool{}
	}
	name := fmt.Sprintf(format, args...)
	was := o.seen[name]
	o.seen[name] = true
	return !was
}

func (p *partRead) Place() string {
	if p.Of == 0 {
		return "a part without a number"
	}
	return fmt.Sprintf("part %d of %d", p.Number, p.Of)
}

// all checks that nothing is missing: where it is, the report is incomplete. A larger part
// is checked when it is merged.
func (o *merging) all() error {
	if o.Output == "partial" {
		return nil
	}
	of := o.got[0].Of
	switch {
	case of == 0 && o.parts == 0:
		return cli.Usage("write --parts N, or make the parts with --part",
			"the parts have no numbers: how many there must be is not known")
	case of > 0 && o.parts > 0 && of != o.parts:
		return cli.Usage("leave out --parts", "the parts say that there are %d of them, not %d", of, o.parts)
	case of == 0 && len(o.got) > o.parts:
		return cli.Usage("correct --parts", "there are %d parts, not %d", len(o.got), o.parts)
	}
	var missing []string
	for n := 1; n <= of; n++ {
		if !o.seen[fmt.Sprintf("number %d", n)] {
			missing = append(missing, fmt.Sprint(n))
		}
	}
	switch n := max(of, o.parts) - len(o.got); {
	case n > 0 && of > 0:
		o.Lacks("part %s of %d is missing", some(missing), of)
	case n > 0:
		o.Lacks("%d of %d parts are missing", n, o.parts)
	default:
		o.slots()
	}
	return nil
}

// slots says which slots of a cluster are in none of its parts: they have moved meanwhile.
func (o *merging) slots() {
	var missing []string
	for n := range slot.Count {
		if !o.seen[fmt.Sprintf("slot %d", n)] {
			missing = append(missing, fmt.Sprint(n))
		}
	}
	if len(missing) > 0 && len(missing) < slot.Count { // none at all: it is no cluster
		o.Lacks("slot %s of the cluster is in no part", some(missing))
	}
}

func (o *merging) Lacks(format string, args ...any) {
	o.read.Incomplete = o.read.Incomplete.Add(source.Why(source.PartMissing, "", fmt.Sprintf(format, args...)))
}

// some returns the first of a list, and how many more there are.
func some(list []string) string {
	const shown = 5
	if len(list) <= shown {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:shown], ", "), len(list)-shown)
}

// summary returns what was read in all parts together.
func (o *merging) summary() source.Summary {
	r := &o.read
	dbs, names, servers := map[int]bool{}, []string{}, map[string]bool{}
	for _, p := range o.got {
		for _, origin := range p.Origins {
			for _, db := range origin.Databases {
				dbs[db] = true
			}
		}
		if !servers[p.Name] {
			servers[p.Name] = true
			names = append(names, p.Name)
		}
	}
	return source.Summary{Server: terminal.Plural(int64(len(o.got)), "part"), Endpoint: some(names), Shards: r.Shards,
		Databases: max(r.Databases, len(dbs)), Expected: r.Expected, Gone: r.Gone, Expired: r.Expired,
		Estimated: r.Estimated, MaxRepeats: r.MaxRepeats, Elapsed: r.Elapsed, Incomplete: r.Incomplete, Notes: r.Notes}
}
