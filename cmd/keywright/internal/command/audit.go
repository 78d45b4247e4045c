package command

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/internal/typo"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
	"github.com/spf13/cobra"
)

// auditing are the flags of audit.
type auditing struct {
	judging
	audit    audit.Options
	scan     server.Options
	role     string
	noBytes  bool
	sample   int64
	progress string
	top      int
	examples int
}

func (a *app) auditCommand() *cobra.Command {
	var o auditing
	c := &cobra.Command{
		Use:   "audit",
		Short: "Compare a live server with the declaration",
		Long: `Reads every key of a server and compares it with the declaration: keys nobody
declared, wrong types, TTLs that are missing, too long or should not be there,
and what each entry costs in keys and bytes. It only reads, and of a primary
with a replica in step it reads the replica. All shards of a cluster and all
databases are read.

A run during which the server restarted, failed over, was flushed, or moved
slots is incomplete: it exits with 5 and says why. Ctrl-C prints what has been
found so far.

Exit codes: 0 clean, 1 findings, 2 usage or a bad file, 3 the server cannot be
reached, 4 the server refuses, 5 incomplete, 130 interrupted.`,
		Example: `  keywright audit -u redis://localhost:6379
  keywright audit --rate 20000 --max-latency 5ms --values
  keywright audit --include product_detail --include 'cache:tmp:*' -o json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			form, err := a.form(c, o.output, auditForms...)
			if err != nil {
				return err
			}
			o.output = form
			for _, name := range []string{"include", "exclude"} {
				if f := c.Flags().Lookup(name); f.Changed && f.Value.String() == "[]" {
					return usage("write the name of an entry, or a glob like 'cache:*'", "--%s takes no empty text", name)
				}
			}
			return a.audit(c.Context(), &o)
		},
	}
	a.serverFlags(c)
	o.flags(c, auditForms...)
	o.auditFlags(c)
	for _, name := range []string{"include", "exclude"} {
		_ = c.RegisterFlagCompletionFunc(name, a.completeEntries)
	}
	return c
}

// auditForms are the forms of an audit's report.
var auditForms = []string{"table", "json", "jsonl", "csv", "sarif", "github"}

func (o *auditing) auditFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringSliceVar(&o.audit.Include, "include", nil, "only these entries or key globs")
	f.StringSliceVar(&o.audit.Exclude, "exclude", nil, "all but these entries or key globs")
	f.BoolVar(&o.audit.Values, "values", false, "read values, and check them against their types, fields and members")
	f.IntVar(&o.top, "top", 10, "how many of the largest keys to list")
	f.IntVar(&o.examples, "examples", 5, "how many keys to show per finding")
	f.Int64Var(&o.sample, "sample", 0, "look at about so many keys from random places only")
	f.IntVar(&o.scan.Rate, "rate", 0, "keys per second at most, over all shards (0: as fast as the server answers)")
	f.DurationVar(&o.scan.MaxLatency, "max-latency", 0, "pause while the server needs longer than this to answer a PING (0: never)")
	f.StringVar(&o.role, "read-from", "auto", "auto (a replica in step, where there is one), primary or replica")
	f.IntVar(&o.scan.OnlyDB, "db", -1, "this database only (-1: the one the URL names, all if it names none)")
	f.BoolVar(&o.noBytes, "no-bytes", false, "do not ask for MEMORY USAGE: a third less work for the server")
	f.StringVar(&o.progress, "progress", "auto", "auto, plain (a line every 10 s) or none")
	choices(c, "read-from", "auto", "primary", "replica")
	choices(c, "progress", "auto", "plain", "none")
}

// prepare checks what flags cannot check themselves.
func (o *auditing) prepare() error {
	o.scan.Role = server.Role(o.role)
	o.audit.Top, o.audit.Examples = o.top, o.examples
	if err := cmp.Or(oneOf("read-from", o.role, "auto", "primary", "replica"), oneOf("progress", o.progress, "auto", "plain", "none")); err != nil {
		return err
	}
	for name, n := range map[string]int64{"rate": int64(o.scan.Rate), "sample": o.sample, "max-latency": int64(o.scan.MaxLatency), "top": int64(o.top), "examples": int64(o.examples)} {
		if n < 0 {
			return usage("write a positive number, or leave it out", "--%s cannot be negative", name)
		}
	}
	if o.scan.OnlyDB < -1 {
		return usage("write --db 0, or leave it out for all", "--db %d is no database", o.scan.OnlyDB)
	}
	if max(o.top, o.examples) > maxKept {
		return usage("the form json with --include shows more of less", "--top and --examples keep at most %s keys", terminal.Count(maxKept))
	}
	if slices.Contains(o.audit.Include, "") || slices.Contains(o.audit.Exclude, "") {
		return usage("write the name of an entry, or a glob like 'cache:*'", "--include and --exclude take no empty text")
	}
	return o.check()
}

// maxKept bounds the keys a report keeps, and so its memory.
const maxKept = 10_000

func (a *app) audit(ctx context.Context, o *auditing) error {
	if err := o.prepare(); err != nil {
		return err
	}
	d, path, err := a.usable()
	if err != nil {
		return err
	}
	o.audit.Schema = schemaChecker(path)
	fold, err := audit.New(d.Keyspace, o.audit)
	if err != nil {
		return a.badFilter(d, o, err)
	}
	config, err := a.server()
	if err != nil {
		return err
	}
	mode := o.progress
	if a.quiet {
		mode = "none"
	}
	bar := terminal.NewProgress(mode, a.err, a.now())
	req := source.Request{Bytes: !o.noBytes, Sample: o.sample, Progress: func(p source.Progress) {
		state := terminal.State{What: "keys", Done: p.Keys, Total: p.Total, Elapsed: p.Elapsed}
		if p.Paused {
			state.Note = "waiting for the server to get quicker"
		}
		bar.Show(state, a.now())
	}}
	report, err := fold.Run(ctx, server.New(config, o.scan), req)
	bar.Clear()
	if report == nil {
		return err
	}
	return a.conclude(ctx, o, d, report, err)
}

// badFilter proposes the entry that was meant by --include or --exclude.
func (a *app) badFilter(d *declaration, o *auditing, err error) error {
	for _, word := range slices.Concat(o.audit.Include, o.audit.Exclude) {
		if e, _ := d.Lookup(word); e != nil {
			continue
		}
		if near := typo.Nearest(word, d.Names()); near != "" {
			return usage("did you mean "+near+"?", "%v", err)
		}
	}
	return usage("the entries are: "+strings.Join(entryNames(d.Keyspace), ", "), "%v", err)
}

// conclude silences what is to be silenced, prints the report and picks the
// exit code. An interrupted or incomplete run is never taken for a complete one,
// and does not become a baseline.
func (a *app) conclude(ctx context.Context, o *auditing, d *declaration, r *audit.Report, scanErr error) error {
	kept := finding.Ignore(d.moved(r.Findings), d.sources, AllRules(), nil, a.now())
	r.Findings = slices.DeleteFunc(kept, func(f finding.Finding) bool { return strings.HasPrefix(f.Code, "KW09") }) // lint's to say
	if scanErr != nil {
		r.Complete = false
		if len(r.Incomplete) == 0 {
			r.Incomplete = []string{scanErr.Error()}
		}
	}
	if r.Complete || !o.updateBaseline {
		var err error
		if r.Findings, err = o.settle(a, r.Findings); err != nil {
			return err
		}
	}
	o.cut(r)
	r.Judge()
	if err := a.printReport(o, d, r); err != nil {
		return err
	}
	a.annotated(o.output, r.Summary)
	switch {
	case errors.Is(scanErr, context.Canceled) || ctx.Err() != nil:
		return &exit{exitInterrupted, "interrupted: the report covers what was seen until then", ""}
	case scanErr != nil:
		return scanErr
	case !r.Complete:
		return &exit{exitPartial, "the audit is incomplete: " + strings.Join(r.Incomplete, "; "), "run it again when the server is at rest"}
	}
	return o.verdict(r.Summary)
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

func (a *app) printReport(o *auditing, d *declaration, r *audit.Report) error {
	switch o.output {
	case "json":
		return r.JSON(a.out)
	case "jsonl":
		return r.JSONLines(a.out)
	case "csv":
		return r.CSV(a.out)
	case "table":
		return (&reportTable{a.out, r, !o.noBytes}).print(a.printing(d, a.out))
	}
	how := a.printing(d, a.out)
	how.Failed = strings.Join(r.Incomplete, "; ")
	return printers[o.output](a.out, r.Findings, how)
}
