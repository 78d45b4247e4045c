// Package declare has the verbs that look at declarations and write what is made of them: init, infer, lint, fmt, gen,
// breaking, diff, explain, match, rules. Of these infer and explain also read servers; none changes one.
package declare

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/spf13/cobra"
)

// Judging holds the flags of the verbs that end with findings.
type Judging struct {
	Output         string
	FailOn         string
	Baseline       string
	UpdateBaseline bool

	known    *finding.Baseline // after check: what the baseline has, also where it is to be written
	Accepted *finding.Settled  // after settle, with a baseline
}

func (j *Judging) Flags(c *cobra.Command, forms ...string) {
	f := c.Flags()
	cli.Outputs(c, &j.Output, forms...)
	f.StringVar(&j.FailOn, "fail-on", "warning", "exit with 1 from this severity on: error, warning, note or never")
	f.StringVar(&j.Baseline, "baseline", "", "JSON file of accepted findings; only others fail")
	f.BoolVar(&j.UpdateBaseline, "update-baseline", false, "write the findings to the baseline and exit with 0")
	cli.Choices(c, "fail-on", "error", "warning", "note", "never")
}

// Severities lists the words of --fail-on.
var Severities = map[string]finding.Severity{"error": finding.Error, "warning": finding.Warning, "note": finding.Note}

// Check refuses what cannot be used, before the work: also a baseline that cannot be
// read, or written.
func (j *Judging) Check() error {
	if err := cli.OneOf("fail-on", j.FailOn, "error", "warning", "note", "never"); err != nil {
		return err
	}
	if j.UpdateBaseline && j.Baseline == "" {
		return cli.Usage("add --baseline FILE", "--update-baseline needs a baseline to write")
	}
	if j.Baseline == "" {
		return nil
	}
	if j.UpdateBaseline {
		if err := cli.Writable(j.Baseline); err != nil {
			return cli.Unwritable("the baseline", err)
		}
		if _, err := os.Stat(j.Baseline); errors.Is(err, fs.ErrNotExist) {
			j.known = &finding.Baseline{}
			return nil
		}
	}
	return j.readBaseline()
}

func (j *Judging) readBaseline() error {
	f, err := os.Open(j.Baseline)
	if err != nil {
		return cli.Usage("write it with --update-baseline", "the baseline cannot be read: %v", err)
	}
	defer f.Close()
	b, err := finding.ReadBaseline(f)
	if err != nil {
		return cli.Usage("restore it, or delete it and write it again with --update-baseline", "%s: %v", j.Baseline, err)
	}
	j.known = &b
	return nil
}

// ApplyBaseline applies the baseline: it returns the findings that count, or writes
// the baseline and returns none. What looked says was not looked for is not gone: it stays.
func (j *Judging) ApplyBaseline(a *cli.App, findings []finding.Finding,
	looked func(finding.BaselineEntry) bool) ([]finding.Finding, error) {
	if j.Baseline == "" {
		return findings, nil
	}
	settled := j.known.Apply(findings, looked)
	j.Accepted = &settled
	if n := len(settled.Unseen); n > 0 {
		a.Say("%s of the baseline not looked for in this run: they stay in it, and are not gone",
			terminal.Plural(int64(n), "finding"))
	}
	if j.UpdateBaseline {
		settled.Known, settled.Fresh, settled.Grown, settled.Gone = findings, nil, nil, nil
		var text bytes.Buffer
		if err := j.known.Update(findings, looked).Write(&text); err != nil {
			return nil, err
		}
		if err := cli.ReplaceText(j.Baseline, text.Bytes()); err != nil {
			return nil, cli.Usage("name a file in a folder that exists", "the baseline cannot be written: %v", err)
		}
		a.Say("wrote %s to %s", terminal.Plural(int64(len(findings)), "finding"), j.Baseline)
		return nil, nil
	}
	if len(settled.Known) > 0 {
		a.Say("%s of the baseline found again%s", terminal.Plural(int64(len(settled.Known)), "finding"),
			ViolationsOf(settled.Violations()))
	}
	if settled.Old > 0 {
		a.Say("note: the baseline has one count for all undeclared keys, so that what took the place of what went is " +
			"accepted, " +
			"too: --update-baseline writes one for each of their groups")
	}
	tellChanges(a, &settled)
	return settled.Fresh, nil
}

// shownParts bounds the lines about what changed against a baseline, of each kind.
const shownParts = 10

// tellChanges says what grew, what is new and what is gone, each group of undeclared keys by its pattern.
func tellChanges(a *cli.App, s *finding.Settled) {
	var grown, fresh, gone []string
	for _, g := range s.Grown {
		grown = append(grown, fmt.Sprintf("grown: %s %s: %s, accepted were %s", g.Code,
			finding.Printable(cmp.Or(g.Group(), g.Message)), terminal.Plural(g.Count, "key"), terminal.Count(g.Accepted)))
	}
	for _, f := range s.Fresh {
		for _, p := range f.Parts {
			if !slices.ContainsFunc(s.Grown, func(g finding.Growth) bool { return g.Code == f.Code && g.Group() == p.Name }) {
				fresh = append(fresh, fmt.Sprintf("new: %s %s: %s", f.Code, finding.Printable(p.Name), terminal.Plural(p.Count,
					"key")))
			}
		}
	}
	for _, e := range s.Gone {
		gone = append(gone, fmt.Sprintf("gone: %s %s", e.Code, finding.Printable(cmp.Or(e.Group, e.Message))))
	}
	for _, list := range [][]string{grown, fresh, gone} {
		for _, line := range list[:min(len(list), shownParts)] {
			a.Say("%s", line)
		}
		if more := len(list) - shownParts; more > 0 {
			a.Say("and %s more %s", terminal.Count(int64(more)), strings.SplitN(list[0], ":", 2)[0])
		}
	}
	if len(gone) > 0 {
		a.Say("%s of the baseline gone (--update-baseline removes it)", terminal.Plural(int64(len(gone)), "finding"))
	}
}

// ViolationsOf says how many keys the accepted findings have, in sum.
func ViolationsOf(n int64) string {
	if n == 0 {
		return ""
	}
	return ", " + terminal.Plural(n, "violation")
}

// acceptance returns how many findings a baseline accepts, as the end of a sentence.
func (j *Judging) acceptance() string {
	if j.Accepted == nil || len(j.Accepted.Known) == 0 {
		return ""
	}
	return ", " + terminal.Count(int64(len(j.Accepted.Known))) + " accepted by the baseline"
}

// Verdict turns counts into the exit code.
func (j *Judging) Verdict(c finding.Counts) error {
	if j.FailOn != "never" && c.Failing(Severities[j.FailOn]) {
		return &cli.Exit{Code: cli.ExitFindings}
	}
	return nil
}

// Printers lists the forms of findings, other than JSON.
var Printers = map[string]func(io.Writer, []finding.Finding, finding.Options) error{
	"text": finding.Text, "sarif": finding.SARIF, "github": finding.GitHub, "junit": finding.JUnit,
}

// printFindings prints findings that are all there is to print.
func printFindings(a *cli.App, form string, findings []finding.Finding, j *Judging, o finding.Options) error {
	if form != "json" {
		return Printers[form](a.Out.Raw(), findings, o)
	}
	document := finding.NewDocument(findings, o.Rules)
	if j.Accepted != nil {
		document.Baseline = j.Accepted.Balance()
	}
	return a.JSON(document)
}

func LintCommand(a *cli.App) *cobra.Command {
	var j Judging
	c := &cobra.Command{
		Use:   "lint [file or folder…]",
		Short: "Check declarations without a server",
		Long: `Checks declarations: everything that cannot be read, and what is legal but
unwise, such as overlapping patterns or a cache that never expires. A folder
means every keyspace.yaml below it. No server is needed.

Exit codes: 0 clean, 1 findings, 2 usage or a file that does not exist.`,
		Example: `  keywright lint
  keywright lint examples/ -o sarif > keywright.sarif
  keywright lint --baseline .keywright/baseline.json`,
		RunE: func(c *cobra.Command, args []string) error { return lintFiles(a, c, &j, args) },
	}
	j.Flags(c, "text", "json", "sarif", "github", "junit")
	return c
}

func lintFiles(a *cli.App, c *cobra.Command, j *Judging, args []string) error {
	form, err := a.Form(c, j.Output, "text", "json", "sarif", "github", "junit")
	if err != nil {
		return err
	}
	if err := j.Check(); err != nil {
		return err
	}
	paths, err := a.Declarations(args)
	if err != nil {
		return err
	}
	all := &cli.Declaration{Sources: map[string][]byte{}}
	var findings []finding.Finding
	for _, p := range paths {
		found, err := lintOne(a, p, all)
		if err != nil {
			return err
		}
		findings = append(findings, found...)
	}
	looked := func(e finding.BaselineEntry) bool { return lookedFor(all, e) }
	if findings, err = j.ApplyBaseline(a, findings, looked); err != nil {
		return err
	}
	if err := printFindings(a, form, findings, j, a.Printing(all, a.Out)); err != nil {
		return err
	}
	counts := finding.Count(findings)
	if form == "text" && !a.Quiet {
		if len(findings) > 0 {
			fmt.Fprintln(a.Out)
		}
		fmt.Fprintf(a.Out, "%s in %s%s\n", finding.Summary(counts), terminal.Plural(int64(len(paths)), "declaration"),
			j.acceptance())
	}
	Annotated(a, form, counts)
	return j.Verdict(counts)
}

// Annotated says beside annotations, which GitHub takes out of the log, how many
// there are.
func Annotated(a *cli.App, form string, counts finding.Counts) {
	if form == "github" {
		a.Say("%s", finding.Summary(counts))
	}
}

// lookedFor reports whether lint has looked for what a baseline accepts: not in the files that it was
// not given, not with its own rules in those that cannot be read, and never for what an audit finds.
// An older baseline names no files.
func lookedFor(d *cli.Declaration, e finding.BaselineEntry) bool {
	if slices.ContainsFunc(audit.Rules(), func(r finding.Rule) bool { return r.Code == e.Code }) {
		return false
	}
	if _, read := d.Sources[e.File]; e.File != "" && !read {
		_, err := os.Stat(e.File)
		return errors.Is(err, fs.ErrNotExist)
	}
	return !slices.Contains(d.Unread, e.File) ||
		slices.ContainsFunc(load.Rules(), func(r finding.Rule) bool { return r.Code == e.Code })
}

// lintOne checks one declaration, and adds its texts to all.
func lintOne(a *cli.App, path string, all *cli.Declaration) ([]finding.Finding, error) {
	d, err := a.Load(path)
	if err != nil {
		return nil, err
	}
	found, ran := d.Findings, load.Rules()
	whole := finding.Count(found).Errors == 0
	if whole {
		ran = append(ran, lint.Rules()...)
		found = append(found, d.Moved(lint.Run(d.Keyspace))...)
	}
	for name, text := range d.Sources {
		all.Sources[name] = text
		if !whole {
			all.Unread = append(all.Unread, name)
		}
	}
	return finding.Ignore(found, d.Sources, cli.AllRules(), ran, a.Now()), nil
}
