package command

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// judging are the flags of the verbs that end with findings.
type judging struct {
	output         string
	failOn         string
	baseline       string
	updateBaseline bool
}

func (j *judging) flags(f *pflag.FlagSet, outputs string) {
	f.StringVarP(&j.output, "output", "o", "", "form of the result: "+outputs+" (default: github in GitHub Actions)")
	f.StringVar(&j.failOn, "fail-on", "warning", "exit with 1 from this severity on: error, warning, note or never")
	f.StringVar(&j.baseline, "baseline", "", "JSON file of accepted findings; only others fail")
	f.BoolVar(&j.updateBaseline, "update-baseline", false, "write the findings to the baseline and exit with 0")
}

// severities are the words of --fail-on.
var severities = map[string]finding.Severity{"error": finding.Error, "warning": finding.Warning, "note": finding.Note}

func (j *judging) check() error {
	if _, ok := severities[j.failOn]; !ok && j.failOn != "never" {
		return usage("write error, warning, note or never", "--fail-on %q is nothing keywright knows", j.failOn)
	}
	if j.updateBaseline && j.baseline == "" {
		return usage("add --baseline FILE", "--update-baseline needs a baseline to write")
	}
	return nil
}

// form is the chosen output, with the default of the surroundings.
func (a *app) form(given string, known ...string) (string, error) {
	standard := known[0]
	if a.Getenv("GITHUB_ACTIONS") == "true" && slices.Contains(known, "github") {
		standard = "github"
	}
	form := cmp.Or(given, standard)
	if !slices.Contains(known, form) {
		return "", usage("write one of "+strings.Join(known, ", "), "--output %q is nothing this command can write", form)
	}
	return form, nil
}

// settle applies the baseline: it returns the findings that count, or writes
// the baseline and returns none.
func (j *judging) settle(a *app, findings []finding.Finding) ([]finding.Finding, error) {
	if j.baseline == "" {
		return findings, nil
	}
	if j.updateBaseline {
		f, err := os.Create(j.baseline)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if err := finding.NewBaseline(findings).Write(f); err != nil {
			return nil, err
		}
		fmt.Fprintf(a.Err, "wrote %d findings to %s\n", len(findings), j.baseline)
		return nil, f.Close()
	}
	f, err := os.Open(j.baseline)
	if err != nil {
		return nil, usage("write it with --update-baseline", "the baseline cannot be read: %v", err)
	}
	defer f.Close()
	b, err := finding.ReadBaseline(f)
	if err != nil {
		return nil, usage("", "%s: %v", j.baseline, err)
	}
	fresh, known, gone := b.Apply(findings)
	if len(known)+len(gone) > 0 && !a.quiet {
		fmt.Fprintf(a.Err, "%d findings are in the baseline; %d of the baseline are gone (--update-baseline removes them)\n", len(known), len(gone))
	}
	return fresh, nil
}

// verdict turns counts into the exit code.
func (j *judging) verdict(c finding.Counts) error {
	if j.failOn != "never" && c.Failing(severities[j.failOn]) {
		return &exit{code: exitFindings}
	}
	return nil
}

// printers are the forms of findings.
var printers = map[string]func(io.Writer, []finding.Finding, finding.Options) error{
	"text": finding.Text, "json": finding.JSON, "sarif": finding.SARIF, "github": finding.GitHub,
}

func (a *app) lintCommand() *cobra.Command {
	var j judging
	c := &cobra.Command{
		Use:   "lint [file or folder…]",
		Short: "Check declarations without a server",
		Long: `Checks declarations: everything that cannot be read, and what is legal but
unwise, such as overlapping patterns or a cache that never expires. A folder
stands for every keyspace.yaml below it. No server is needed.

Exit codes: 0 clean, 1 findings, 2 usage or a file that does not exist.`,
		Example: `  keywright lint
  keywright lint examples/ -o sarif > keywright.sarif
  keywright lint --baseline .keywright/baseline.json`,
		RunE: func(_ *cobra.Command, args []string) error { return a.lint(&j, args) },
	}
	j.flags(c.Flags(), "text, json, sarif or github")
	return c
}

func (a *app) lint(j *judging, args []string) error {
	form, err := a.form(j.output, "text", "json", "sarif", "github")
	if err != nil {
		return err
	}
	if err := j.check(); err != nil {
		return err
	}
	paths, err := a.declarations(args)
	if err != nil {
		return err
	}
	all := &declaration{sources: map[string][]byte{}}
	var findings []finding.Finding
	for _, p := range paths {
		d, err := load(p)
		if err != nil {
			return err
		}
		found := d.findings
		if finding.Count(found).Errors == 0 {
			found = append(found, d.moved(lint.Run(d.Keyspace))...)
		}
		findings = append(findings, finding.Ignore(found, d.sources, AllRules(), a.now())...)
		for name, text := range d.sources {
			all.sources[name] = text
		}
	}
	if findings, err = j.settle(a, findings); err != nil {
		return err
	}
	if err := printers[form](a.Out, findings, a.printing(all, a.Out)); err != nil {
		return err
	}
	counts := finding.Count(findings)
	if form == "text" && !a.quiet {
		if len(findings) > 0 {
			fmt.Fprintln(a.Out)
		}
		fmt.Fprintf(a.Out, "%s in %s\n", finding.Summary(counts), plural(len(paths), "declaration"))
	}
	return j.verdict(counts)
}

func plural(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return terminal.Count(int64(n)) + " " + word
}

// declarations are the files that arguments name.
func (a *app) declarations(args []string) ([]string, error) {
	if len(args) == 0 {
		p, err := a.find()
		return []string{p}, err
	}
	var out []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, usage("", "%s cannot be read: %v", arg, err)
		}
		if !info.IsDir() {
			out = append(out, arg)
			continue
		}
		before := len(out)
		err = filepath.WalkDir(arg, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() && (e.Name() == "node_modules" || e.Name() == ".git") {
				return fs.SkipDir
			}
			if err == nil && e.Name() == declarationName {
				out = append(out, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(out) == before {
			return nil, usage("name the file itself", "there is no %s below %s", declarationName, arg)
		}
	}
	return out, nil
}
