package declare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/gitfile"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking"
	"github.com/keywright/keywright/keyspace/breaking/diff"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/spf13/cobra"
)

// comparing holds the flags of breaking.
type comparing struct {
	Judging
	against    string
	categories []string
}

func BreakingCommand(a *cli.App) *cobra.Command {
	var o comparing
	c := &cobra.Command{
		Use:   "breaking --against <git ref|file>",
		Short: "Say what a change of the declaration breaks",
		Long: `Compares the declaration with an older one, a file or what it is in a git
commit, and reports what strands keys on the server, makes stored values
unreadable, breaks promises to readers, or changes generated code that others
call. Whether old keys still match is decided exactly; former patterns under was
count. No server is asked: that there are such keys is assumed.

Categories: KEY, VALUE, POLICY, API; keywright rules lists the codes, KW601 and
up. A finding is silenced like any other (# keywright:ignore KW622 reason); the
comment ends with the change. What is gone and retired is a note.

Exit codes: 0 nothing breaks, 1 findings, 2 usage, or a declaration with errors.`,
		Example: `  keywright breaking --against main
  keywright breaking --against origin/main -o github
  keywright breaking --against old.yaml --category KEY,VALUE`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return findBreaking(a, c, &o) },
	}
	o.Flags(c, "text", "json", "sarif", "github", "junit")
	c.Flags().StringVar(&o.against, "against", "", "the older declaration: a file, a folder, a git ref, or ref:path")
	c.Flags().StringSliceVar(&o.categories, "category", nil, "only these: KEY, VALUE, POLICY, API")
	cli.Choices(c, "category", "KEY", "VALUE", "POLICY", "API")
	return c
}

func findBreaking(a *cli.App, c *cobra.Command, o *comparing) error {
	form, err := a.Form(c, o.Output, "text", "json", "sarif", "github", "junit")
	if err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return err
	}
	if o.against == "" {
		return cli.Usage("run `keywright breaking --against main`",
			"there is nothing to compare with")
	}
	categories, err := categoriesOf(o.categories)
	if err != nil {
		return err
	}
	d, path, err := a.LoadDeclaration()
	if err != nil {
		return err
	}
	old, err := older(c.Context(), a, o.against, path)
	if err != nil {
		return err
	}
	found := d.Moved(breaking.Run(old, d.Keyspace, categories...))
	found = landed(finding.Ignore(found, d.Sources, cli.AllRules(), judged(categories), a.Now()))
	looked := func(e finding.BaselineEntry) bool {
		return len(o.categories) == 0 &&
			slices.ContainsFunc(breaking.Rules(), func(r finding.Rule) bool { return r.Code == e.Code })
	}
	if found, err = o.ApplyBaseline(a, found, looked); err != nil {
		return err
	}
	if err := printFindings(a, form, found, &o.Judging, a.Printing(d, a.Out)); err != nil {
		return err
	}
	counts := finding.Count(found)
	if form == "text" && !a.Quiet {
		if len(found) > 0 {
			fmt.Fprintln(a.Out)
		}
		a.Print("%s against %s%s", breaks(found), o.against, o.acceptance())
	}
	Annotated(a, form, counts)
	return o.Verdict(counts)
}

// judged returns the rules of some categories, all of them if none is named.
func judged(categories []breaking.Category) []finding.Rule {
	return slices.DeleteFunc(breaking.Rules(), func(r finding.Rule) bool {
		return len(categories) > 0 && !slices.Contains(categories, breaking.CategoryOf(r.Code))
	})
}

// landed makes notes of comments that silence nothing: the change that they belonged to has landed, most likely.
func landed(found []finding.Finding) []finding.Finding {
	for i := range found {
		if f := &found[i]; f.Code == "KW090" {
			f.Severity, f.Fix = finding.Note, "remove the comment, if the change that it belonged to has landed"
		}
	}
	return found
}

// breaks returns the summary by category.
func breaks(found []finding.Finding) string {
	var parts []string
	for _, category := range breaking.Categories() {
		n := 0
		for _, f := range found {
			if breaking.CategoryOf(f.Code) == category {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, category))
		}
	}
	if len(parts) == 0 {
		return "Nothing breaks"
	}
	return finding.Summary(finding.Count(found)) + " (" + strings.Join(parts, ", ") + ")"
}

func categoriesOf(words []string) ([]breaking.Category, error) {
	var out []breaking.Category
	for _, w := range words {
		category := breaking.Category(strings.ToUpper(w))
		if !slices.Contains(breaking.Categories(), category) {
			return nil, cli.Usage("write KEY, VALUE, POLICY or API", "--category %q is none", w)
		}
		out = append(out, category)
	}
	return out, nil
}

// older loads the declaration to compare with: a file or folder that is there,
// else a git ref, with the path of the new one unless ref:path names another.
func older(ctx context.Context, a *cli.App, against, path string) (*keyspace.Keyspace, error) {
	if info, err := os.Stat(against); err == nil {
		if info.IsDir() {
			against = filepath.Join(against, cli.DeclarationName)
		}
		d, err := cli.ReadDeclaration(against, nil)
		if err != nil {
			return nil, err
		}
		return d.Keyspace, sound(a, d, against)
	}
	ref, inner, named := strings.Cut(against, ":")
	dir, name := filepath.Split(path)
	tree, err := gitfile.At(ctx, filepath.Clean(dir), ref)
	if err != nil {
		if failed, ok := gitfile.IsError(err); ok {
			return nil, cli.Usage(failed.Hint, "%s", failed.What)
		}
		return nil, err
	}
	if named { // as git reads it: from the root of the repository
		dir, name = filepath.Split(filepath.FromSlash(inner))
		tree = tree.In(filepath.ToSlash(dir))
	}
	ks, found := load.File(tree, filepath.ToSlash(name))
	d := &cli.Declaration{Keyspace: ks, Findings: found, Sources: map[string][]byte{}, Prefix: ""}
	if len(ks.Files) == 0 {
		if _, err := tree.Open(filepath.ToSlash(name)); errors.Is(err, gitfile.ErrLarge) {
			return nil, cli.Usage("name another ref, or a smaller file", "%s of %s cannot be read: %v", name, ref,
				gitfile.ErrLarge)
		}
		return nil, cli.Usage("name another ref, or ref:path if the file has moved", "%s is not in %s", name, ref)
	}
	for i, f := range ks.Files {
		d.Sources[f.Name] = f.Text
		ks.Files[i].Name = ref + ":" + f.Name
	}
	return ks, sound(a, d, against)
}

// sound refuses to compare with a declaration that has errors.
func sound(a *cli.App, d *cli.Declaration, name string) error {
	if c := finding.Count(d.Findings); c.Errors > 0 {
		_ = finding.Text(a.Err, d.Findings, a.Printing(d, a.Err))
		return cli.Usage("compare with one that is sound", "%s has %s", name, finding.Summary(c))
	}
	return nil
}

// diffing holds the flags of diff.
type diffing struct {
	output   string
	exitCode bool
}

func DiffCommand(a *cli.App) *cobra.Command {
	var o diffing
	c := &cobra.Command{
		Use:   "diff <old> [<new>]",
		Short: "List what has changed between two declarations",
		Long: `Lists every change, good or bad: entries, patterns, types, TTLs, owners, indexes,
channels, events. Each side is a file, a folder, a git ref, or ref:path; the new
one is the declaration here if it is not named. What a change breaks follows from
keywright breaking.

Exit codes: 0, or with --exit-code 1 if anything differs; 2 usage.`,
		Example: `  keywright diff main
  keywright diff v1.0 v2.0
  keywright diff old.yaml keyspace.yaml -o json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return cli.Usage("run `keywright diff main`", "diff takes one or two declarations, not %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return difference(c.Context(), a, &o, args) },
	}
	c.Flags().BoolVar(&o.exitCode, "exit-code", false, "exit 1 if anything differs")
	cli.Outputs(c, &o.output, "text", "json")
	return c
}

func difference(ctx context.Context, a *cli.App, o *diffing, args []string) error {
	if err := cli.OneOf("output", o.output, "text", "json"); err != nil {
		return err
	}
	old, new, err := sides(ctx, a, args)
	if err != nil {
		return err
	}
	changes := diff.Of(old, new)
	if err := showDiff(a, o.output, changes); err != nil {
		return err
	}
	if o.exitCode && len(changes) > 0 {
		return &cli.Exit{Code: cli.ExitFindings}
	}
	return nil
}

// sides loads what is compared. The declaration here is needed only where it is
// one side, or says which path a bare git ref means.
func sides(ctx context.Context, a *cli.App, args []string) (old, new *keyspace.Keyspace, err error) {
	path, missing := a.Find()
	if len(args) == 1 {
		d, at, err := a.LoadDeclaration()
		if err != nil {
			return nil, nil, err
		}
		new, path = d.Keyspace, at
	}
	one := func(side string) (*keyspace.Keyspace, error) {
		if _, err := os.Stat(side); err != nil && missing != nil && !strings.Contains(side, ":") {
			return nil, missing
		}
		return older(ctx, a, side, path)
	}
	if len(args) == 2 {
		if new, err = one(args[1]); err != nil {
			return nil, nil, err
		}
	}
	old, err = one(args[0])
	return old, new, err
}

// Difference describes what diff has found; its JSON names are stable.
type Difference struct {
	Changes []diff.Change `json:"changes"`
}

// signs lists the styles of the lines of a diff.
var signs = map[byte]terminal.Style{'+': terminal.Green, '-': terminal.Red, '~': terminal.Yellow}

func showDiff(a *cli.App, form string, changes []diff.Change) error {
	if form == "json" {
		return a.JSON(Difference{append([]diff.Change{}, changes...)})
	}
	for _, c := range changes {
		line := finding.Printable(strings.ReplaceAll(c.String(), "\n", " "))
		a.Print("%s", a.Out.Paint(signs[line[0]], line))
	}
	if len(changes) == 0 {
		a.Say("no difference")
	}
	return nil
}
