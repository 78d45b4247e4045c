// Package inspect has the verbs that look at a server or a snapshot and change nothing: audit and its parts, merge,
// top,
// ls, doctor, and the demonstration.
package inspect

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/declare"
	"github.com/keywright/keywright/cmd/keywright/internal/htmlreport"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/internal/typo"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/group"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
	"github.com/spf13/cobra"
)

// auditing holds the flags of audit.
type auditing struct {
	declare.Judging
	sources.Sourcing
	audit     audit.Options
	values    string
	top       int
	examples  int
	offending offending

	checkpoint string
	part       string
	showKeys   bool
	onlyDB     int // the database that was read; -1: all
}

func AuditCommand(a *cli.App) *cobra.Command {
	var o auditing
	c := &cobra.Command{
		Use:   "audit [snapshot file | - | URL]",
		Short: "Compare a live server or a snapshot with the declaration",
		Long: `Reads every key of a server and compares it with the declaration: keys that are not
declared, wrong types, TTLs that are missing, too long or should not be there,
and what each entry costs in keys and bytes. It only reads, and of a primary
with a replica in step it reads the replica. All shards of a cluster and all
databases are read.

With --values what is in the keys is looked at, too: of large values a sample
(random members and fields, both ends of lists and streams), with --values=all
all of them. The report says how many elements of how many that were. A value
that is read whole comes in steps of about a MiB or 1,000 elements; --rate
counts these elements, too.

` + sources.SourceHelp + `

A run during which the server restarted, failed over, was flushed, or moved
slots is incomplete, and so is one over a file that is cut or damaged: it exits
with 5 and says why. Ctrl-C prints what has been found so far.

With --checkpoint FILE a scan that was interrupted, killed or cut off goes on where it
was when it is run again with the same flags: about every second the file gets how far
it is and what it found, and it is removed at the end. The report is that of a scan
without a break. A server that was restarted, flushed or is another one is refused.

With -o partial the result is no report but what one is made of: keywright merge makes
one report of the parts, each of which was read where and when it suits. With --part
3/16 an audit of a cluster reads every sixteenth of its shards, and no other.

With --keys-of it prints every key that has a code, as it is met, and no report: those
of one database (--db, the URL's, else 0), or with -o jsonl of all, each with its
database. Keys that a comment or a baseline accepts are among them. The codes of values,
KW508 to KW512, need --values: what was not looked at has no fault.

Exit codes: 0 clean, 1 findings, 2 usage or a bad file, 3 the server cannot be
reached, 4 the server refuses, 5 incomplete, 130 interrupted.`,
		Example: `  keywright audit -u redis://localhost:6379
  keywright audit --snapshot
  keywright audit /var/lib/redis/dump.rdb
  keywright audit --rate 20000 --max-latency 5ms --values
  keywright audit --values=all --rate 5000 --checkpoint audit.checkpoint
  keywright audit --include product_detail --include 'cache:tmp:*' -o json
  keywright audit -o html > audit.html
  keywright audit -u redis+cluster://node:6379 --part 3/16 -o partial > 3.part
  keywright audit --keys-of KW505 --null | xargs -0 redis-cli UNLINK`,
		Args: sources.OneSource,
		RunE: func(c *cobra.Command, args []string) error {
			form, err := a.Form(c, o.Output, auditForms...)
			if err != nil {
				return err
			}
			o.Output = form
			if err := o.offending.Check(form, c.Flags().Changed("output"),
				o.values != "none" && o.values != "false"); err != nil {
				return err
			}
			o.Name = append(args, "")[0]
			return runAudit(c.Context(), a, &o)
		},
	}
	a.ServerFlags(c)
	a.NamespaceFlag(c)
	o.Judging.Flags(c, auditForms...)
	o.Sourcing.Flags(c)
	o.auditFlags(c)
	for _, name := range []string{"include", "exclude"} {
		_ = c.RegisterFlagCompletionFunc(name, a.CompleteEntries)
	}
	cli.Choices(c, "values", cli.ValueWords[:3]...)
	return c
}

// auditForms lists the forms of an audit's report.
var auditForms = []string{"table", "json", "jsonl", "csv", "html", "sarif", "github", "junit", "partial"}

// showKeysFlag adds --show-keys.
func showKeysFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "show-keys", false,
		"in SARIF, JUnit and GitHub's annotations, which others read, name keys with the identifiers in them")
}

func (o *auditing) auditFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringSliceVar(&o.audit.Include, "include", nil, "only these entries or key globs")
	f.StringSliceVar(&o.audit.Exclude, "exclude", nil, "all but these entries or key globs")
	f.StringVar(&o.values, "values", "none",
		"check values against their types, fields and members: none, sample (both ends, random members) or all")
	f.Lookup("values").NoOptDefVal = "sample"
	showKeysFlag(c, &o.showKeys)
	f.Int64Var(&o.audit.MinKeys, "min-keys", 1, "fewer keys than that are a finding: is it the right server and database?")
	f.IntVar(&o.audit.Groups, "groups", 50, "how many groups of undeclared keys to report")
	f.StringSliceVar(&o.offending.codes, "keys-of", nil,
		"print every key that has this code, as it is met, instead of a report")
	f.BoolVar(&o.offending.null, "null", false,
		"with --keys-of: end each key with a zero byte, for xargs -0; else each is a line, escaped")
	f.StringVar(&o.checkpoint, "checkpoint", "", "keep in this file how far the scan is, and go on from it if it is there")
	f.StringVar(&o.part, "part", "",
		"with -o partial: which part of how many this is, as in 3/16; of a cluster its shards are dealt out to the parts")
	f.IntVar(&o.top, "top", 10, "how many of the largest keys to list")
	f.IntVar(&o.examples, "examples", 5, "how many keys to show per finding")
}

// prepare checks what flags cannot check themselves.
func (o *auditing) prepare() error {
	o.audit.Top, o.audit.Examples = o.top, o.examples
	if err := cli.OneOf("values", o.values, cli.ValueWords...); err != nil {
		return err
	}
	o.audit.Whole = o.values == "all"
	o.audit.Values = o.audit.Whole || o.values == "sample" || o.values == "true"
	if o.top < 0 || o.examples < 0 || o.audit.Groups < 1 {
		return cli.Usage("write a positive number, or leave it out",
			"--top and --examples cannot be negative, --groups is at least 1")
	}
	if max(o.top, o.examples, o.audit.Groups) > maxKept {
		return cli.Usage("--keys-of CODE prints all keys, --include all of fewer",
			"--top, --examples and --groups keep at most %s", terminal.Count(maxKept))
	}
	if o.audit.MinKeys < 0 {
		return cli.Usage("write --min-keys 0, or leave it out", "--min-keys cannot be negative")
	}
	if err := o.checkPart(); err != nil {
		return err
	}
	return o.Check()
}

// maxKept bounds the keys a report keeps, and so its memory.
const maxKept = 10_000

func runAudit(ctx context.Context, a *cli.App, o *auditing) error {
	if err := o.prepare(); err != nil {
		return err
	}
	d, path, err := a.LoadDeclaration()
	if err != nil {
		return err
	}
	schemas := sha256.New()
	o.audit.Schema = declare.SchemaChecker(path, schemas)
	keys := bufio.NewWriter(a.Out.Raw())
	if err := a.RefuseTerminal(o.offending.null, "--null",
		"pipe it, as in `keywright audit --keys-of KW505 --null | xargs -0 redis-cli UNLINK`"); err != nil {
		return err
	}
	if len(o.offending.codes) > 0 {
		o.audit.Plain = true
		o.audit.Offender = o.offending.printer(a, keys, sources.ChosenDB(a, &o.Sourcing))
	}
	fold, err := audit.New(d.Keyspace, o.audit)
	if err != nil {
		return badFilter(a, d, o, err)
	}
	kept, err := o.resumes(a, d, schemas.Sum(nil), fold)
	if err != nil {
		return err
	}
	o.onlyDB = sources.ChosenDB(a, &o.Sourcing)
	src, req, done, err := sources.OpenSource(a, &o.Sourcing)
	if err != nil {
		return err
	}
	defer done()
	sum, err := fold.Scan(ctx, src, req)
	var report *audit.Report
	if sum.Endpoint != "" || err == nil {
		report = fold.Report(sum, audit.Sampled(req, sum))
	}
	done()
	if err := kept.end(a, report, err); err != nil {
		return err
	}
	if report == nil || errors.Is(err, rdb.ErrNotRDB) {
		return err
	}
	if o.Output == "partial" {
		asked := o.Asked(d, schemas.Sum(nil), sources.ChosenDB(a, &o.Sourcing)) + a.Namespace
		return savePart(ctx, a, o, fold, &sum, asked, audit.Sampled(req, sum), err)
	}
	if len(o.offending.codes) > 0 {
		return o.offending.conclude(ctx, a, keys, report, err, o.Again(report.Incomplete))
	}
	return conclude(ctx, a, o, d, report, err)
}

// badFilter proposes the entry that was meant by --include or --exclude.
func badFilter(a *cli.App, d *cli.Declaration, o *auditing, err error) error {
	for _, word := range slices.Concat(o.audit.Include, o.audit.Exclude) {
		if e, _ := d.Lookup(word); e != nil {
			continue
		}
		if near := typo.Nearest(word, d.Names()); near != "" {
			return cli.Usage("did you mean "+near+"?", "%v", err)
		}
	}
	return cli.Usage("the entries are: "+strings.Join(declare.EntryNames(d.Keyspace), ", "), "%v", err)
}

// conclude silences what is to be silenced, prints the report and picks the
// exit code. An interrupted or incomplete run is never taken for a complete one,
// and does not become a baseline.
func conclude(ctx context.Context, a *cli.App, o *auditing, d *cli.Declaration, r *audit.Report, scanErr error) error {
	r.Declaration = a.Declared
	r.Findings, r.NoBytes = cli.Silenced(a, d, r.Findings), r.NoBytes || o.NoBytes
	if scanErr != nil {
		r.Complete = false
		// the others were not counted
		r.Findings = slices.DeleteFunc(r.Findings, func(f finding.Finding) bool { return f.Code == "KW513" })
		if len(r.Incomplete) == 0 {
			r.Incomplete = source.Reasons{source.Why(source.Failed, "", scanErr)}
		}
	}
	if r.Complete || !o.UpdateBaseline {
		var err error
		if r.Findings, err = o.ApplyBaseline(a, r.Findings, o.looked(r)); err != nil {
			return err
		}
	} else {
		a.Say("the baseline is as it was: an audit that is incomplete is none to accept")
	}
	if s := o.Accepted; s != nil {
		r.Baseline = s.Balance()
	}
	finding.Rank(r.Findings)
	o.cut(r)
	r.Judge()
	if err := printReport(a, o, d, r); err != nil {
		return err
	}
	declare.Annotated(a, o.Output, r.Summary)
	switch {
	case errors.Is(scanErr, context.Canceled) || ctx.Err() != nil:
		return &cli.Exit{Code: cli.ExitInterrupted, Message: "interrupted: the report covers what was seen until then",
			Hint: ""}
	case scanErr != nil:
		return scanErr
	case !r.Complete:
		return cli.Partial(o.Again(r.Incomplete), "the audit is incomplete: %s", r.Incomplete)
	}
	return o.Verdict(r.Summary)
}

// looked reports whether an audit has looked for what a baseline accepts: not if it left keys or
// values out, and never for what lint finds.
func (o *auditing) looked(r *audit.Report) func(finding.BaselineEntry) bool {
	whole := r.Complete && !r.Sampled && o.onlyDB < 0 && len(o.audit.Include)+len(o.audit.Exclude) == 0
	part := map[string]bool{} // entries of which values were left out
	for _, e := range r.Entries {
		part[e.Name] = e.Values != nil && !e.Values.All()
	}
	return func(e finding.BaselineEntry) bool {
		ours := slices.ContainsFunc(audit.Rules(), func(rule finding.Rule) bool { return rule.Code == e.Code })
		return whole && ours && (!audit.NeedsValues(e.Code) || r.Values != nil && !part[e.Entry])
	}
}

// cut takes out what --top 0 and --examples 0 do not want; the fold takes zero
// for its default.
func (o *auditing) cut(r *audit.Report) {
	if o.top == 0 {
		r.Largest = nil
	}
	for i := range r.Findings {
		if o.examples == 0 {
			r.Findings[i].Examples = nil
		}
	}
}

func printReport(a *cli.App, o *auditing, d *cli.Declaration, r *audit.Report) error {
	switch o.Output {
	case "json":
		return a.JSON(r)
	case "jsonl":
		for line := range r.Lines() {
			if err := a.JSONLine(line); err != nil {
				return err
			}
		}
		return nil
	case "csv":
		if r.Sampled || !r.Complete {
			a.Say("%s", (&reportTable{r: r}).scope())
		}
		return cli.WriteCSV(a.Out.Raw(), r.Rows())
	case "html":
		return htmlreport.Write(a.Out.Raw(), r, htmlreport.Options{Title: d.Package + " on " + r.Endpoint, At: a.Now(),
			Program: "keywright " + cli.Version().Version, Rules: audit.Rules()})
	case "brief": // of the demo
		return (&reportTable{a.Out, r, !r.NoBytes}).brief()
	case "table":
		return (&reportTable{a.Out, r, !r.NoBytes}).print(a.Printing(d, a.Out))
	}
	how := a.Printing(d, a.Out)
	how.Failed = r.Incomplete.String()
	if !o.showKeys {
		how.Mask = group.Mask
	}
	a.Say("%s", (&reportTable{r: r}).scope()) // these forms have findings only
	return declare.Printers[o.Output](a.Out.Raw(), r.Findings, how)
}
