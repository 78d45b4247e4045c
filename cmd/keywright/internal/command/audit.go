package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
	"github.com/spf13/cobra"
)

type auditOptions struct {
	judging
	audit    audit.Options
	scan     server.Options
	role     string
	noBytes  bool
	sample   int64
	progress string
}

func (a *app) auditCommand() *cobra.Command {
	var o auditOptions
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
  keywright audit --include 'product_*' --include product_detail -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.audit(cmd.Context(), &o) },
	}
	f := c.Flags()
	a.serverFlags(f)
	o.flags(f, "table, json, jsonl, csv, sarif or github")
	f.StringSliceVar(&o.audit.Include, "include", nil, "only these entries or key globs")
	f.StringSliceVar(&o.audit.Exclude, "exclude", nil, "all but these entries or key globs")
	f.BoolVar(&o.audit.Values, "values", false, "read values, and check them against their types, fields and members")
	f.IntVar(&o.audit.Top, "top", 10, "how many of the largest keys to list")
	f.IntVar(&o.audit.Examples, "examples", 5, "how many keys to show per finding")
	f.Int64Var(&o.sample, "sample", 0, "look at about so many keys from random places only")
	f.IntVar(&o.scan.Rate, "rate", 0, "keys per second at most, over all shards (0: as fast as the server answers)")
	f.DurationVar(&o.scan.MaxLatency, "max-latency", 0, "pause while the server needs longer than this to answer a PING (0: never)")
	f.StringVar(&o.role, "read-from", "auto", "auto (a replica in step, where there is one), primary or replica")
	f.IntVar(&o.scan.OnlyDB, "db", -1, "this database only (-1: all)")
	f.BoolVar(&o.noBytes, "no-bytes", false, "do not ask for MEMORY USAGE: a third less work for the server")
	f.StringVar(&o.progress, "progress", "auto", "auto, plain (a line every 10 s) or none")
	for _, name := range []string{"include", "exclude"} {
		_ = c.RegisterFlagCompletionFunc(name, a.completeEntries)
	}
	return c
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usage("run `"+cmd.CommandPath()+" --help`", "%s takes no argument, but got %q", cmd.CommandPath(), args[0])
}

// prepare checks what flags cannot check themselves.
func (o *auditOptions) prepare() error {
	o.scan.Role = server.Role(o.role)
	switch {
	case !slices.Contains([]string{"auto", "primary", "replica"}, o.role):
		return usage("write auto, primary or replica", "--read-from %q is nothing keywright knows", o.role)
	case !slices.Contains([]string{"auto", "plain", "none"}, o.progress):
		return usage("write auto, plain or none", "--progress %q is nothing keywright knows", o.progress)
	case o.scan.Rate < 0 || o.sample < 0 || o.scan.MaxLatency < 0 || o.audit.Top < 0 || o.audit.Examples < 0:
		return usage("", "a rate, a sample, a latency and a number of keys cannot be negative")
	case slices.Contains(o.audit.Include, "") || slices.Contains(o.audit.Exclude, ""):
		return usage("", "--include and --exclude take an entry or a glob, not an empty text")
	}
	return o.check()
}

func (a *app) audit(ctx context.Context, o *auditOptions) error {
	form, err := a.form(o.output, "table", "json", "jsonl", "csv", "sarif", "github")
	if err != nil {
		return err
	}
	if err := o.prepare(); err != nil {
		return err
	}
	path, err := a.find()
	if err != nil {
		return err
	}
	d, err := a.usable(path)
	if err != nil {
		return err
	}
	config, err := a.server()
	if err != nil {
		return err
	}
	config.Name = "keywright"
	return a.auditServer(ctx, o, d, path, form, server.New(config, o.scan))
}

// auditServer runs the audit over any source and prints its report.
func (a *app) auditServer(ctx context.Context, o *auditOptions, d *declaration, path, form string, src source.Source) error {
	o.audit.Schema = schemaChecker(path)
	fold, err := audit.New(d.Keyspace, o.audit)
	if err != nil {
		return usage("run `keywright explain ENTRY` for the entries", "%v", err)
	}
	mode := o.progress
	if a.quiet {
		mode = "none"
	}
	bar := terminal.NewProgress(mode, a.Err, a.now())
	req := source.Request{Bytes: !o.noBytes, Sample: o.sample, Progress: func(p source.Progress) {
		note := ""
		if p.Paused {
			note = "waiting for the server to get quicker"
		}
		bar.Show("keys", p.Keys, p.Total, p.Elapsed, note, a.now())
	}}
	report, err := fold.Run(ctx, src, req)
	bar.Clear()
	if report == nil {
		return err
	}
	return a.conclude(ctx, o, d, form, report, err)
}

// conclude silences what is to be silenced, prints the report and picks the
// exit code. An interrupted or incomplete run is never taken for a complete one.
func (a *app) conclude(ctx context.Context, o *auditOptions, d *declaration, form string, r *audit.Report, scanErr error) error {
	kept := finding.Ignore(d.moved(r.Findings), d.sources, AllRules(), a.now())
	kept = slices.DeleteFunc(kept, func(f finding.Finding) bool { return strings.HasPrefix(f.Code, "KW09") }) // lint's to say
	var err error
	if r.Findings, err = o.settle(a, kept); err != nil {
		return err
	}
	r.Judge()
	if err := a.printReport(form, d, r); err != nil {
		return err
	}
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

func (a *app) printReport(form string, d *declaration, r *audit.Report) error {
	switch form {
	case "json":
		return r.JSON(a.Out)
	case "jsonl":
		return r.JSONLines(a.Out)
	case "csv":
		return r.CSV(a.Out)
	case "table":
		return a.printTable(a.Out, d, r)
	}
	return printers[form](a.Out, r.Findings, a.printing(d, a.Out))
}

// printTable is the report for people.
func (a *app) printTable(w io.Writer, d *declaration, r *audit.Report) error {
	fmt.Fprintf(w, "%s at %s\n", r.Server, r.Endpoint)
	fmt.Fprintf(w, "%s keys in %s, %s, read in %s (%s keys/s)\n\n", terminal.Count(r.Total.Keys), plural(r.Databases, "database"), terminal.Bytes(r.Total.Bytes),
		terminal.Duration(audit.Duration(r.Seconds)), terminal.Count(int64(float64(r.Total.Keys)/max(r.Seconds, 0.001))))
	steps := []func(io.Writer, *audit.Report) error{tableOfEntries, tableOfForeign, tableOfSuggestions, tableOfLargest}
	for _, step := range steps {
		if err := step(w, r); err != nil {
			return err
		}
	}
	if len(r.Findings) > 0 {
		fmt.Fprintf(w, "Findings\n\n")
		if err := finding.Text(w, r.Findings, a.printing(d, w)); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return closing(w, r)
}

func tableOfEntries(w io.Writer, r *audit.Report) error {
	var rows [][]string
	empty := 0
	for _, e := range r.Entries {
		if e.Keys == 0 {
			empty++
			continue
		}
		rows = append(rows, append([]string{e.Name, shorten(e.Pattern, 44), e.Type}, append(figures(e.Figures), violations(e.Violations))...))
	}
	if len(rows) > 0 {
		if err := terminal.Table(w, []string{"entry", "pattern", "type", "keys", "bytes", "share", "no ttl", "ttl p50 … max", "violations"}, rows, 3, 4, 5, 6); err != nil {
			return err
		}
	}
	if empty > 0 {
		fmt.Fprintf(w, "%s without keys\n", plural(empty, "declared pattern"))
	}
	_, err := fmt.Fprintln(w)
	return err
}

// shorten cuts a long pattern in the middle; its ends tell most.
func shorten(s string, width int) string {
	if finding.Width(s) <= width {
		return s
	}
	r := []rune(s)
	half := (width - 1) / 2
	return string(r[:half]) + "…" + string(r[len(r)-half:])
}

func figures(f audit.Figures) []string {
	ttl := ""
	if f.TTL != nil {
		ttl = terminal.Duration(audit.Duration(f.TTL.P50)) + " … " + terminal.Duration(audit.Duration(f.TTL.Max))
	}
	none := ""
	if f.NoTTL > 0 {
		none = terminal.Count(f.NoTTL)
	}
	return []string{terminal.Count(f.Keys), terminal.Bytes(f.Bytes), terminal.Percent(f.Share), none, ttl}
}

func violations(v map[string]int64) string {
	var out []string
	for code, n := range v {
		out = append(out, code+" "+terminal.Count(n))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func tableOfForeign(w io.Writer, r *audit.Report) error {
	var rows [][]string
	for _, g := range r.Foreign {
		rows = append(rows, append([]string{g.Glob}, figures(g.Figures)...))
	}
	if len(rows) == 0 {
		return nil
	}
	if err := terminal.Table(w, []string{"foreign, not judged", "keys", "bytes", "share", "no ttl", "ttl p50 … max"}, rows, 1, 2, 3, 4); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// shownSuggestions is how many groups of undeclared keys the table lists.
const shownSuggestions = 15

func tableOfSuggestions(w io.Writer, r *audit.Report) error {
	var rows [][]string
	for i, s := range r.Undeclared.Suggestions {
		if i == shownSuggestions {
			rows = append(rows, []string{fmt.Sprintf("and %d more groups", len(r.Undeclared.Suggestions)-i)})
			break
		}
		kinds := make([]string, 0, len(s.Types))
		for k := range s.Types {
			kinds = append(kinds, k)
		}
		slices.Sort(kinds)
		f := figures(s.Figures)
		rows = append(rows, []string{shorten(s.Pattern, 44), strings.Join(kinds, ","), f[0], f[1], f[3], shorten(finding.Key(s.Example), 36), s.Near})
	}
	if len(rows) == 0 {
		return nil
	}
	if err := terminal.Table(w, []string{"undeclared, as patterns", "type", "keys", "bytes", "no ttl", "example", "meant?"}, rows, 2, 3, 4); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

func tableOfLargest(w io.Writer, r *audit.Report) error {
	var rows [][]string
	for _, k := range r.Largest {
		rows = append(rows, []string{shorten(finding.Key(k.Key), 60), k.Type, terminal.Bytes(k.Bytes), k.Entry})
	}
	if len(rows) == 0 {
		return nil
	}
	if err := terminal.Table(w, []string{"largest keys", "type", "bytes", "entry"}, rows, 2); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// closing says what the figures are worth, and the verdict.
func closing(w io.Writer, r *audit.Report) error {
	for _, n := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", finding.Printable(n))
	}
	if r.Sampled {
		fmt.Fprintf(w, "sample: figures are of %s keys from random places, not of all %s\n", terminal.Count(r.Total.Keys), terminal.Count(r.Expected))
	} else {
		fmt.Fprintf(w, "SCAN may repeat a key: at most %s of these (%s) are counted twice, if none was deleted meanwhile\n", terminal.Count(r.MaxRepeats), terminal.Percent(float64(r.MaxRepeats)/float64(max(r.Total.Keys, 1))))
	}
	if r.Gone > 0 {
		fmt.Fprintf(w, "%s expired or were deleted while they were looked at\n", plural(int(r.Gone), "key"))
	}
	switch r.Verdict {
	case "incomplete":
		fmt.Fprintf(w, "INCOMPLETE: %s\n", finding.Printable(strings.Join(r.Incomplete, "; ")))
	case "clean":
		fmt.Fprintf(w, "Clean: %s keys are as declared.\n", terminal.Count(r.Total.Keys))
	}
	_, err := fmt.Fprintf(w, "%s\n", finding.Summary(r.Summary))
	return err
}
