package declare

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/gen/acl"
	"github.com/keywright/keywright/gen/conformance"
	"github.com/keywright/keywright/gen/golang"
	"github.com/keywright/keywright/gen/grafana"
	"github.com/keywright/keywright/gen/markdown"
	"github.com/keywright/keywright/gen/prometheus"
	"github.com/keywright/keywright/gen/python"
	"github.com/keywright/keywright/gen/typescript"
	"github.com/keywright/keywright/keyspace"
	"github.com/spf13/cobra"
)

// targets say what can be generated, in the order it is written in.
var targets = []struct {
	name, what string
	generate   func(*keyspace.Keyspace) ([]gen.File, error)
}{
	{"go", "a Go package: typed handles, key builders and parsers, scripts as functions", golang.Generate},
	{"ts", "a TypeScript module: key builders and parsers, TTLs, value types", typescript.Generate},
	{"py", "a Python module: key builders and parsers, TTLs, value types", python.Generate},
	{"docs", "a Markdown and an HTML page that replace the wiki's", markdown.Generate},
	{"acl", "an ACL file: a user per owner and reader", acl.Generate},
	{"conformance", "test vectors: what every language must build, read and refuse alike", conformance.Generate},
	{"prometheus", "recording and alert rules for the metrics of keywright serve", prometheus.Generate},
	{"grafana", "a dashboard for Grafana, for the metrics of keywright serve", grafana.Generate},
}

// generating holds the flags of gen.
type generating struct {
	out    string
	check  bool
	output string
}

func GenCommand(a *cli.App) *cobra.Command {
	var o generating
	var names, list []string
	for _, t := range targets {
		names = append(names, t.name)
		list = append(list, "  "+t.name+strings.Repeat(" ", 13-len(t.name))+t.what)
	}
	c := &cobra.Command{
		Use:   "gen [target …]",
		Short: "Write code and documents from the declaration",
		Long: `Writes what the section gen of the declaration lists, or the targets named, into
their folders. The same declaration gives the same bytes on every machine; only
what has changed is written, and a file that was not generated is never touched.

Targets:
` + strings.Join(list, "\n") + `

Exit codes: 0 written, or with --check all fresh; 1 with --check something is
stale; 2 usage, or a declaration that cannot be read. Run lint first: what it finds
beside that does not stop gen.`,
		Example: `  keywright gen
  keywright gen go --out internal/shopkeys
  keywright gen --check`,
		ValidArgs: names,
		RunE:      func(_ *cobra.Command, args []string) error { return generate(a, &o, args) },
	}
	f := c.Flags()
	f.StringVar(&o.out, "out", "",
		"folder to write to, of a single target (default: what gen says, relative to the declaration)")
	f.BoolVar(&o.check, "check", false, "write nothing; exit 1 if a file is not what would be written now")
	cli.Outputs(c, &o.output, "text", "json")
	return c
}

// written represents one file of a run.
type written struct {
	Target string `json:"target"`
	File   string `json:"file"`
	State  string `json:"state" enum:"fresh,written,missing,stale"`
}

func generate(a *cli.App, o *generating, args []string) error {
	if err := cli.OneOf("output", o.output, "text", "json"); err != nil {
		return err
	}
	d, path, err := a.LoadDeclaration()
	if err != nil {
		return err
	}
	chosen, err := chosenOutputs(d.Outputs, filepath.Dir(path), o.out, args)
	if err != nil {
		return err
	}
	var all []written
	for _, out := range chosen {
		done, err := genTarget(d.Keyspace, out, o.check)
		all = append(all, done...)
		if err != nil {
			return errors.Join(err, showWritten(a, o.output, all))
		}
	}
	if err := showWritten(a, o.output, all); err != nil {
		return err
	}
	if o.check && slices.ContainsFunc(all, func(w written) bool { return w.State != "fresh" }) {
		return &cli.Exit{Code: cli.ExitFindings, Message: "generated files are stale",
			Hint: "run `keywright gen` and commit what it writes"}
	}
	return nil
}

// output represents a target and its folder as seen from here.
type output struct {
	target int
	folder string
	inside string // the folder that files must not leave; "": --out says where they go
}

func chosenOutputs(declared []keyspace.Output, dir, out string, args []string) ([]output, error) {
	if len(args) == 0 && len(declared) == 0 {
		return nil, cli.Usage("add `gen: {go: internal/keys}` to it, or run `keywright gen go --out internal/keys`",
			"the declaration does not say what is generated where")
	}
	if out != "" && len(args) != 1 {
		return nil, cli.Usage("name the target: `keywright gen go --out "+cli.ShellWord(out)+"`",
			"--out goes with one target")
	}
	var chosen []output
	if len(args) == 0 {
		for _, d := range declared {
			args = append(args, d.Target)
		}
	}
	for _, name := range args {
		target, err := targetNamed(name)
		if err != nil {
			return nil, err
		}
		folder, inside := out, ""
		for _, d := range declared {
			if out == "" && d.Target == name {
				folder, inside = filepath.Join(dir, filepath.FromSlash(d.Folder)), dir
			}
		}
		if folder == "" {
			return nil, cli.Usage("add `gen: {"+name+": FOLDER}` to the declaration, or write --out FOLDER",
				"no folder is named for %s", name)
		}
		chosen = append(chosen, output{target, folder, inside})
	}
	return chosen, nil
}

func targetNamed(name string) (int, error) {
	var names []string
	for i, t := range targets {
		if t.name == name {
			return i, nil
		}
		names = append(names, t.name)
	}
	return 0, cli.Usage("the targets are "+strings.Join(names, ", "), "%q is nothing that can be generated", name)
}

func genTarget(ks *keyspace.Keyspace, out output, check bool) ([]written, error) {
	t := targets[out.target]
	files, err := t.generate(ks)
	if err != nil {
		return nil, err
	}
	var all []written
	for _, f := range files {
		if err := stays(out, f); err != nil {
			return all, err
		}
		w, err := genFile(out.folder, f, check)
		w.Target = t.name
		if err != nil {
			return all, err
		}
		all = append(all, w)
	}
	return all, nil
}

var stateNames = map[gen.State]string{gen.Fresh: "fresh", gen.Missing: "missing", gen.Stale: "stale"}

// stays refuses a file that links lead out of the declaration's folder.
func stays(out output, f gen.File) error {
	if out.inside == "" {
		return nil
	}
	root, err := filepath.EvalSymlinks(out.inside)
	if err != nil {
		return cli.Usage("", "%s: %v", out.inside, err)
	}
	path := filepath.Join(out.folder, filepath.FromSlash(f.Name))
	for at := path; ; at = filepath.Dir(at) { // the part of the path that is there
		if real, err := filepath.EvalSymlinks(at); err == nil {
			if rest, err := filepath.Rel(root, real); err != nil || rest != "." && !filepath.IsLocal(rest) {
				return cli.Usage("remove the link, or say --out FOLDER", "%s is a link out of the folder of the declaration", at)
			}
			return nil
		}
		if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return cli.Usage("remove the link", "%s is a link to what is not there", at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

func genFile(folder string, f gen.File, check bool) (written, error) {
	path := filepath.Join(folder, filepath.FromSlash(f.Name))
	state := gen.Check(os.DirFS(folder), f)
	if state == gen.Foreign {
		return written{},
			cli.Usage("choose another folder, or move the file away", "%s was not generated by keywright and is not replaced",
				path)
	}
	w := written{File: filepath.ToSlash(path), State: stateNames[state]}
	if check || state == gen.Fresh {
		return w, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return w, cli.Usage("", "the folder cannot be made: %v", err)
	}
	if err := cli.ReplaceText(path, f.Text); err != nil {
		var failed *fs.PathError
		if errors.As(err, &failed) {
			return w, cli.Usage("", "%s cannot be written: %v", path, failed.Err)
		}
		return w, err
	}
	w.State = "written"
	return w, os.Chmod(path, 0o644)
}

// Generated describes what gen has written; its JSON names are stable.
type Generated struct {
	Files []written `json:"files"`
}

func showWritten(a *cli.App, form string, all []written) error {
	if form == "json" {
		return a.JSON(Generated{append([]written{}, all...)})
	}
	for _, w := range all {
		if w.State != "fresh" || a.Verbose {
			a.Print("%-8s %s", w.State, w.File)
		}
	}
	if !slices.ContainsFunc(all, func(w written) bool { return w.State != "fresh" }) {
		a.Say("%d files, all fresh", len(all))
	}
	return nil
}
