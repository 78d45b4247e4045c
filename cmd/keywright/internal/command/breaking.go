package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/gitfile"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/spf13/cobra"
)

// comparing holds the flags of breaking.
type comparing struct {
	judging
	against    string
	categories []string
}

func (a *app) breakingCommand() *cobra.Command {
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
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.breaking(c, &o) },
	}
	o.flags(c, "text", "json", "sarif", "github", "junit")
	c.Flags().StringVar(&o.against, "against", "", "the older declaration: a file, a folder, a git ref, or ref:path")
	c.Flags().StringSliceVar(&o.categories, "category", nil, "only these: KEY, VALUE, POLICY, API")
	choices(c, "category", "KEY", "VALUE", "POLICY", "API")
	return c
}

func (a *app) breaking(c *cobra.Command, o *comparing) error {
	form, err := a.form(c, o.output, "text", "json", "sarif", "github", "junit")
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	if o.against == "" {
		return usage("run `keywright breaking --against main`, or set KEYWRIGHT_AGAINST", "there is nothing to compare with")
	}
	categories, err := categoriesOf(o.categories)
	if err != nil {
		return err
	}
	d, path, err := a.usable()
	if err != nil {
		return err
	}
	old, err := a.older(c.Context(), o.against, path)
	if err != nil {
		return err
	}
	found := d.moved(breaking.Run(old, d.Keyspace, categories...))
	found = landed(finding.Ignore(found, d.sources, AllRules(), judged(categories), a.now()))
	looked := func(e finding.BaselineEntry) bool {
		return len(o.categories) == 0 &&
			slices.ContainsFunc(breaking.Rules(), func(r finding.Rule) bool { return r.Code == e.Code })
	}
	if found, err = o.settle(a, found, looked); err != nil {
		return err
	}
	if err := a.printFindings(form, found, &o.judging, a.printing(d, a.out)); err != nil {
		return err
	}
	counts := finding.Count(found)
	if form == "text" && !a.quiet {
		if len(found) > 0 {
			fmt.Fprintln(a.out)
		}
		a.tell("%s against %s%s", breaks(found), o.against, o.acceptance())
	}
	a.annotated(form, counts)
	return o.verdict(counts)
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
			return nil, usage("write KEY, VALUE, POLICY or API", "--category %q is none", w)
		}
		out = append(out, category)
	}
	return out, nil
}

// older loads the declaration to compare with: a file or folder that is there,
// else a git ref, with the path of the new one unless ref:path names another.
func (a *app) older(ctx context.Context, against, path string) (*keyspace.Keyspace, error) {
	if info, err := os.Stat(against); err == nil {
		if info.IsDir() {
			against = filepath.Join(against, declarationName)
		}
		d, err := readDeclaration(against, nil)
		if err != nil {
			return nil, err
		}
		return d.Keyspace, a.sound(d, against)
	}
	ref, inner, named := strings.Cut(against, ":")
	dir, name := filepath.Split(path)
	tree, err := gitfile.At(ctx, filepath.Clean(dir), ref)
	if err != nil {
		if failed, ok := gitfile.IsError(err); ok {
			return nil, usage(failed.Hint, "%s", failed.What)
		}
		return nil, err
	}
	if named { // as git reads it: from the root of the repository
		dir, name = filepath.Split(filepath.FromSlash(inner))
		tree = tree.In(filepath.ToSlash(dir))
	}
	ks, found := load.File(tree, filepath.ToSlash(name))
	d := &declaration{Keyspace: ks, findings: found, sources: map[string][]byte{}, prefix: ""}
	if len(ks.Files) == 0 {
		if _, err := tree.Open(filepath.ToSlash(name)); errors.Is(err, gitfile.ErrLarge) {
			return nil, usage("name another ref, or a smaller file", "%s of %s cannot be read: %v", name, ref, gitfile.ErrLarge)
		}
		return nil, usage("name another ref, or ref:path if the file has moved", "%s is not in %s", name, ref)
	}
	for i, f := range ks.Files {
		d.sources[f.Name] = f.Text
		ks.Files[i].Name = ref + ":" + f.Name
	}
	return ks, a.sound(d, against)
}

// sound refuses to compare with a declaration that has errors.
func (a *app) sound(d *declaration, name string) error {
	if c := finding.Count(d.findings); c.Errors > 0 {
		_ = finding.Text(a.err, d.findings, a.printing(d, a.err))
		return usage("compare with one that is sound", "%s has %s", name, finding.Summary(c))
	}
	return nil
}

// diffing holds the flags of diff.
type diffing struct {
	output   string
	exitCode bool
}

func (a *app) diffCommand() *cobra.Command {
	var o diffing
	c := &cobra.Command{
		Use:   "diff <old> [<new>]",
		Short: "List what has changed between two declarations",
		Long: `Lists every change, good or bad: entries, patterns, types, TTLs, owners, indexes,
channels, events. Each side is a file, a folder, a git ref, or ref:path; the new
one is the declaration here if it is not named. What a change breaks is told by
keywright breaking.

Exit codes: 0, or with --exit-code 1 if anything differs; 2 usage.`,
		Example: `  keywright diff main
  keywright diff v1.0 v2.0
  keywright diff old.yaml keyspace.yaml -o json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usage("run `keywright diff main`", "diff takes one or two declarations, not %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.diff(c.Context(), &o, args) },
	}
	c.Flags().BoolVar(&o.exitCode, "exit-code", false, "exit 1 if anything differs")
	outputs(c, &o.output, "text", "json")
	return c
}

func (a *app) diff(ctx context.Context, o *diffing, args []string) error {
	if err := oneOf("output", o.output, "text", "json"); err != nil {
		return err
	}
	old, new, err := a.sides(ctx, args)
	if err != nil {
		return err
	}
	changes := breaking.Diff(old, new)
	if err := a.showDiff(o.output, changes); err != nil {
		return err
	}
	if o.exitCode && len(changes) > 0 {
		return &exit{code: exitFindings}
	}
	return nil
}

// sides loads what is compared. The declaration here is needed only where it is
// one side, or says which path a bare git ref means.
func (a *app) sides(ctx context.Context, args []string) (old, new *keyspace.Keyspace, err error) {
	path, missing := a.find()
	if len(args) == 1 {
		d, at, err := a.usable()
		if err != nil {
			return nil, nil, err
		}
		new, path = d.Keyspace, at
	}
	one := func(side string) (*keyspace.Keyspace, error) {
		if _, err := os.Stat(side); err != nil && missing != nil && !strings.Contains(side, ":") {
			return nil, missing
		}
		return a.older(ctx, side, path)
	}
	if len(args) == 2 {
		if new, err = one(args[1]); err != nil {
			return nil, nil, err
		}
	}
	old, err = one(args[0])
	return old, new, err
}

// difference describes what diff has found; its JSON names are stable.
type difference struct {
	Changes []breaking.Change `json:"changes"`
}

// signs lists the styles of the lines of a diff.
var signs = map[byte]terminal.Style{'+': terminal.Green, '-': terminal.Red, '~': terminal.Yellow}

func (a *app) showDiff(form string, changes []breaking.Change) error {
	if form == "json" {
		return a.json(difference{append([]breaking.Change{}, changes...)})
	}
	for _, c := range changes {
		line := finding.Printable(strings.ReplaceAll(c.String(), "\n", " "))
		a.tell("%s", a.out.Paint(signs[line[0]], line))
	}
	if len(changes) == 0 {
		a.say("no difference")
	}
	return nil
}
