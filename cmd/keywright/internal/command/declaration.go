package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/doctor"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/internal/filelock"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/keywright/keywright/keyspace/load"
)

// declarationName is the file that is looked for.
const declarationName = "keyspace.yaml"

// find returns the declaration to use: --file, else the nearest keyspace.yaml.
func (a *app) find() (string, error) {
	if a.file != "" {
		return a.file, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		path := filepath.Join(at, declarationName)
		if _, err := os.Stat(path); err == nil {
			if rel, err := filepath.Rel(dir, path); err == nil {
				path = rel
			}
			a.detail("declaration: %s", path)
			return path, nil
		}
		if at == filepath.Dir(at) {
			return "", usage("write one with `keywright init`, or name it with --file",
				"there is no %s here or in a folder above", declarationName)
		}
	}
}

// declaration represents a loaded file with the findings of loading it. Positions in
// the model are relative to the folder of the first file; findings and sources
// have the names of files as the user would write them.
type declaration struct {
	*keyspace.Keyspace
	prefix   string // from here to that folder
	findings []finding.Finding
	sources  map[string][]byte
	root     string   // the first file, as seen from here
	unread   []string // files that have errors, in which lint's own rules have not looked
}

// standardInput is what stands for it as a file, and its name in findings.
const (
	standardInput = "-"
	standardName  = "stdin"
)

// load reads a declaration from a file, or from standard input, which can then be
// read for nothing else; its imports are looked for here.
func (a *app) load(path string) (*declaration, error) {
	if path != standardInput {
		return readDeclaration(path, a.chosen)
	}
	text, err := readAll(a.In, "standard input")
	if err != nil {
		return nil, err
	}
	a.In = taken{}
	root, err := os.OpenRoot(".")
	if err != nil {
		return nil, usage("", "this folder cannot be opened: %v", err)
	}
	defer root.Close()
	ks, found, err := loadIn(withInput{root.FS(), text}, standardName, a.chosen)
	if err != nil {
		return nil, err
	}
	return loaded(ks, found, ".", standardName), nil
}

// choosing says which names namespaces are to have; nil as its answer: as declared.
type choosing func(*keyspace.Keyspace) (map[string]string, error)

// loadIn loads a declaration, and once more if other namespaces are asked for.
func loadIn(fsys fs.FS, name string, choose choosing) (*keyspace.Keyspace, []finding.Finding, error) {
	ks, found := load.File(fsys, name)
	if choose == nil || finding.Count(found).Errors > 0 {
		return ks, found, nil
	}
	names, err := choose(ks)
	if err != nil || names == nil {
		return ks, found, err
	}
	ks, found = load.In(fsys, name, names)
	return ks, found, nil
}

// taken is standard input after the declaration was read from it.
type taken struct{}

func (taken) Read([]byte) (int, error) {
	return 0, usage("put one of them into a file", "standard input is read for the declaration already")
}

// withInput represents a folder with the text of standard input in it.
type withInput struct {
	fs.FS
	text []byte
}

func (f withInput) Open(name string) (fs.File, error) {
	if name == standardName {
		return fstest.MapFS{name: {Data: f.text}}.Open(name)
	}
	return f.FS.Open(name)
}

// readDeclaration reads a declaration. Files are opened below the folder of the first one.
func readDeclaration(path string, choose choosing) (*declaration, error) {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, usage("", "the folder of the declaration cannot be opened: %v", err)
	}
	defer root.Close()
	switch info, err := root.Stat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usage("write one with `keywright init`", "%s does not exist", path)
	case err != nil:
		return nil, usage("", "%v", err)
	case info.IsDir():
		return nil, usage("name the file in it: --file "+shellWord(filepath.Join(path, declarationName)),
			"%s is a folder", path)
	case !info.Mode().IsRegular():
		return nil, usage("name a file", "%s is no regular file", path)
	}
	ks, found, err := loadIn(root.FS(), name, choose)
	if err != nil {
		return nil, err
	}
	return loaded(ks, found, dir, name), nil
}

// loaded returns the declaration that was loaded from a file of a folder.
func loaded(ks *keyspace.Keyspace, found []finding.Finding, dir, name string) *declaration {
	d := &declaration{Keyspace: ks, sources: map[string][]byte{}}
	if prefix := filepath.ToSlash(filepath.Clean(dir)); prefix != "." {
		d.prefix = strings.TrimSuffix(prefix, "/") + "/"
	}
	for _, f := range ks.Files {
		d.sources[d.prefix+f.Name] = f.Text
	}
	d.findings, d.root = d.moved(found), d.prefix+name
	return d
}

// moved returns findings with file names as seen from here.
func (d *declaration) moved(findings []finding.Finding) []finding.Finding {
	move := func(p *finding.Position) {
		if p.File != "" {
			p.File = d.prefix + p.File
		}
	}
	out := slices.Clone(findings)
	for i := range out {
		move(&out[i].Pos)
		out[i].Related = slices.Clone(out[i].Related)
		for j := range out[i].Related {
			move(&out[i].Related[j].Pos)
		}
	}
	return out
}

// usable finds and loads the declaration, and refuses one with errors: nothing
// may be concluded from it.
func (a *app) usable() (*declaration, string, error) {
	path, err := a.find()
	if err != nil {
		return nil, "", err
	}
	d, err := a.load(path)
	if err != nil {
		return nil, "", err
	}
	if c := finding.Count(d.findings); c.Errors > 0 {
		_ = finding.Text(a.err, d.findings, a.printing(d, a.err))
		return nil, "", usage("mend them first; `keywright lint` shows them too", "%s has %s", path, finding.Summary(c))
	}
	a.declared = path
	return d, path, nil
}

// printing returns the options of the printers of findings.
func (a *app) printing(d *declaration, s *terminal.Screen) finding.Options {
	root, _ := os.Getwd()
	return finding.Options{Source: func(file string) []byte { return d.sources[file] }, Rules: AllRules(), Color: s.Color,
		File: d.root, Root: filepath.ToSlash(root) + "/"}
}

// AllRules returns every rule of the product, in the order of the codes.
func AllRules() []finding.Rule {
	all := slices.Concat(load.Rules(), finding.Rules(), lint.Rules(), breaking.Rules(), audit.Rules(),
		doctor.Rules())
	slices.SortFunc(all, func(a, b finding.Rule) int { return strings.Compare(a.Code, b.Code) })
	return all
}

// declarations returns the files that arguments name.
func (a *app) declarations(args []string) ([]string, error) {
	if len(args) == 0 {
		p, err := a.find()
		return []string{p}, err
	}
	var out []string
	for _, arg := range args {
		if arg == standardInput {
			out = append(out, arg)
			continue
		}
		info, err := os.Stat(arg)
		if err != nil {
			return nil, usage("name a declaration, or a folder with some", "%s cannot be read: %v", arg, errors.Unwrap(err))
		}
		if !info.IsDir() {
			out = append(out, arg)
			continue
		}
		found, err := below(arg)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, usage("name the file itself", "there is no %s below %s", declarationName, arg)
		}
		out = append(out, found...)
	}
	return out, nil
}

// below returns every keyspace.yaml in a folder and the folders in it.
func below(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "node_modules" || e.Name() == ".git"):
			return fs.SkipDir
		case e.Name() == declarationName:
			out = append(out, path)
		}
		return nil
	})
	return out, err
}

// readText reads a regular file; a device or pipe could go on for ever.
func readText(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, path)
}

// readAll reads as much as a declaration may have.
func readAll(r io.Reader, name string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, load.MaxFileBytes+1))
	if err == nil && len(text) > load.MaxFileBytes {
		err = fmt.Errorf("%s is larger than %d KiB; divide it and use imports", name, load.MaxFileBytes>>10)
	}
	return text, err
}

// replaceText puts text in the place of a file at once: a reader sees
// the old or the new text, never a half. A link stays a link, and the mode stays.
func replaceText(path string, text []byte) error { return replaceTextAs(path, text, 0o644) }

// replaceTextAs returns replaceText with the mode of a file that is not there yet.
func replaceTextAs(path string, text []byte, mode fs.FileMode) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return filelock.Write(path, text, mode)
}

// writable says why replaceText could not put a text into the place of a file,
// be there one or not. It is asked before the work whose result is written.
func writable(path string) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", path)
	}
	return writableFolder(filepath.Dir(path))
}

// writableFolder asks by writing: permissions alone do not tell.
func writableFolder(dir string) error {
	f, err := os.CreateTemp(dir, ".keywright.*")
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return fmt.Errorf("%s: %w", dir, failed.Err)
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
