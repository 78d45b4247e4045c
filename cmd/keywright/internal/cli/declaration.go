package cli

import (
	"crypto/sha256"
	"encoding/hex"
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
	"github.com/keywright/keywright/audit/doctor"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/internal/filelock"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/breaking"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/keywright/keywright/keyspace/load"
)

// DeclarationName is the file that is looked for.
const DeclarationName = "keyspace.yaml"

// Find returns the declaration to use: --file, else the nearest keyspace.yaml.
func (a *App) Find() (string, error) {
	if a.File != "" {
		return a.File, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		path := filepath.Join(at, DeclarationName)
		if _, err := os.Stat(path); err == nil {
			if rel, err := filepath.Rel(dir, path); err == nil {
				path = rel
			}
			a.detail("declaration: %s", path)
			return path, nil
		}
		if at == filepath.Dir(at) {
			return "", Usage("write one with `keywright init`, or name it with --file",
				"there is no %s here or in a folder above", DeclarationName)
		}
	}
}

// Declaration represents a loaded file with the findings of loading it. Positions in
// the model are relative to the folder of the first file; findings and sources
// have the names of files as the user would write them.
type Declaration struct {
	*keyspace.Keyspace
	Prefix   string // from here to that folder
	Findings []finding.Finding
	Sources  map[string][]byte
	Root     string   // the first file, as seen from here
	Unread   []string // files that have errors, in which lint's own rules have not looked
}

// standardInput is its name as a file, and its name in findings.
const (
	standardInput = "-"
	StandardName  = "stdin"
)

// Load reads a declaration from a file, or from standard input, which can then be
// read for nothing else; its imports are looked for here.
func (a *App) Load(path string) (*Declaration, error) {
	if path != standardInput {
		return ReadDeclaration(path, a.chosen)
	}
	text, err := ReadAll(a.In, "standard input")
	if err != nil {
		return nil, err
	}
	a.In = taken{}
	root, err := os.OpenRoot(".")
	if err != nil {
		return nil, Usage("", "this folder cannot be opened: %v", err)
	}
	defer root.Close()
	ks, found, err := loadIn(WithInput{root.FS(), text}, StandardName, a.chosen)
	if err != nil {
		return nil, err
	}
	return loaded(ks, found, ".", StandardName), nil
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
	return 0, Usage("put one of them into a file", "standard input is read for the declaration already")
}

// WithInput represents a folder with the text of standard input in it.
type WithInput struct {
	fs.FS
	Text []byte
}

func (f WithInput) Open(name string) (fs.File, error) {
	if name == StandardName {
		return fstest.MapFS{name: {Data: f.Text}}.Open(name)
	}
	return f.FS.Open(name)
}

// ReadDeclaration reads a declaration. Files are opened below the folder of the first one.
func ReadDeclaration(path string, choose choosing) (*Declaration, error) {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, Usage("", "the folder of the declaration cannot be opened: %v", err)
	}
	defer root.Close()
	switch info, err := root.Stat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, Usage("write one with `keywright init`", "%s does not exist", path)
	case err != nil:
		return nil, Usage("", "%v", err)
	case info.IsDir():
		return nil, Usage("name the file in it: --file "+ShellWord(filepath.Join(path, DeclarationName)),
			"%s is a folder", path)
	case !info.Mode().IsRegular():
		return nil, Usage("name a file", "%s is no regular file", path)
	}
	ks, found, err := loadIn(root.FS(), name, choose)
	if err != nil {
		return nil, err
	}
	return loaded(ks, found, dir, name), nil
}

// loaded returns the declaration that was loaded from a file of a folder.
func loaded(ks *keyspace.Keyspace, found []finding.Finding, dir, name string) *Declaration {
	d := &Declaration{Keyspace: ks, Sources: map[string][]byte{}}
	if prefix := filepath.ToSlash(filepath.Clean(dir)); prefix != "." {
		d.Prefix = strings.TrimSuffix(prefix, "/") + "/"
	}
	for _, f := range ks.Files {
		d.Sources[d.Prefix+f.Name] = f.Text
	}
	d.Findings, d.Root = d.Moved(found), d.Prefix+name
	return d
}

// Moved returns findings with file names as seen from here.
func (d *Declaration) Moved(findings []finding.Finding) []finding.Finding {
	move := func(p *finding.Position) {
		if p.File != "" {
			p.File = d.Prefix + p.File
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

// LoadDeclaration finds and loads the declaration, and refuses one with errors: nothing
// may be concluded from it.
func (a *App) LoadDeclaration() (*Declaration, string, error) {
	path, err := a.Find()
	if err != nil {
		return nil, "", err
	}
	d, err := a.Load(path)
	if err != nil {
		return nil, "", err
	}
	if c := finding.Count(d.Findings); c.Errors > 0 {
		_ = finding.Text(a.Err, d.Findings, a.Printing(d, a.Err))
		return nil, "", Usage("mend them first; `keywright lint` shows them too", "%s has %s", path, finding.Summary(c))
	}
	a.Declared = path
	return d, path, nil
}

// Printing returns the options of the printers of findings.
func (a *App) Printing(d *Declaration, s *terminal.Screen) finding.Options {
	root, _ := os.Getwd()
	return finding.Options{Source: func(file string) []byte { return d.Sources[file] }, Rules: AllRules(), Color: s.Color,
		File: d.Root, Root: filepath.ToSlash(root) + "/"}
}

// AllRules returns every rule of the product, in the order of the codes.
func AllRules() []finding.Rule {
	all := slices.Concat(load.Rules(), finding.Rules(), lint.Rules(), breaking.Rules(), audit.Rules(),
		doctor.Rules())
	slices.SortFunc(all, func(a, b finding.Rule) int { return strings.Compare(a.Code, b.Code) })
	return all
}

// Declarations returns the files that arguments name.
func (a *App) Declarations(args []string) ([]string, error) {
	if len(args) == 0 {
		p, err := a.Find()
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
			return nil, Usage("name a declaration, or a folder with some", "%s cannot be read: %v", arg, errors.Unwrap(err))
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
			return nil, Usage("name the file itself", "there is no %s below %s", DeclarationName, arg)
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
		case e.Name() == DeclarationName:
			out = append(out, path)
		}
		return nil
	})
	return out, err
}

// ReadText reads a regular file; a device or pipe could go on for ever.
func ReadText(path string) ([]byte, error) {
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
	return ReadAll(f, path)
}

// ReadAll reads as much as a declaration may have.
func ReadAll(r io.Reader, name string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, load.MaxFileBytes+1))
	if err == nil && len(text) > load.MaxFileBytes {
		err = fmt.Errorf("%s is larger than %d KiB; divide it and use imports", name, load.MaxFileBytes>>10)
	}
	return text, err
}

// ReplaceText puts text in the place of a file at once: a reader sees
// the old or the new text, never a half. A link stays a link, and the mode stays.
func ReplaceText(path string, text []byte) error { return ReplaceTextAs(path, text, 0o644) }

// ReplaceTextAs returns replaceText with the mode of a file that is not there yet.
func ReplaceTextAs(path string, text []byte, mode fs.FileMode) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return filelock.Write(path, text, mode)
}

// Writable says why replaceText could not put a text into the place of a file,
// be there one or not. It is asked before the work whose result is written.
func Writable(path string) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", path)
	}
	return WritableFolder(filepath.Dir(path))
}

// WritableFolder asks by writing: permissions alone do not tell.
func WritableFolder(dir string) error {
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

// DeclarationDigest returns a digest of what a declaration says of keys.
func DeclarationDigest(ks *keyspace.Keyspace) string {
	if ks == nil || len(ks.Entries) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, e := range ks.Entries {
		fmt.Fprintf(sum, "%q %q %v\n", e.Name, e.Construct, e.Type)
		for _, k := range e.Keys {
			fmt.Fprintf(sum, "%q %q\n", k.Role, k.Pattern.String())
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Silenced returns the findings of an audit without those that comments silence.
func Silenced(a *App, d *Declaration, found []finding.Finding) []finding.Finding {
	kept := finding.Ignore(finding.WithFixes(d.Moved(found), AllRules()), d.Sources, AllRules(), nil, a.Now())
	// lint's to say
	return slices.DeleteFunc(kept, func(f finding.Finding) bool { return strings.HasPrefix(f.Code, "KW09") })
}
