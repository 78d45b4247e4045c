// Package load reads a declaration, YAML in files, into the model of package keyspace. It
// reports every fault of every file in one run, each with its line and column and a way
// out.
//
// The rooms below it read each a part: node the YAML of a file, scope what all sections refer to, construct the
// entries, and migration the migrations. Here are the files, their order, and the other sections.
//
// It reads from an fs.FS and does no other I/O, knows no clock and no server. Whether a
// declaration is wise is not decided here but by keyspace/lint.
//
// API: may change until 1.0.
package load

import (
	"cmp"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load/internal/construct"
	"github.com/keywright/keywright/keyspace/load/internal/migration"
	"github.com/keywright/keywright/keyspace/load/internal/node"
	"github.com/keywright/keywright/keyspace/load/internal/scope"
	yaml "go.yaml.in/yaml/v4"
)

// Limits of a declaration; beyond them File reports KW001 or KW008.
const (
	MaxFiles     = 100
	MaxFileBytes = node.MaxFileBytes
	MaxEntries   = scope.MaxEntries
	MaxPatterns  = scope.MaxPatterns  // with those that constructs and old names add
	MaxFields    = scope.MaxFields    // of one mapping
	MaxEnumBytes = scope.MaxEnumBytes // of the words of enums, at each place that has one
)

// File reads the declaration `name` and all it imports from fsys and resolves
// it. It reports every fault of every file, sorted by position; the Keyspace
// holds what could be read and is only to be relied on when no finding is an
// error.
func File(fsys fs.FS, name string) (*keyspace.Keyspace, []finding.Finding) {
	return In(fsys, name, nil)
}

// In works as File does, with other names for namespaces: by the declared name, the one
// that patterns, channels and globs are to have; "" is the declared one, and
// BeforeNamespaces none at all. Keyspace.Choose says which names may be.
func In(fsys fs.FS, name string, names map[string]string) (*keyspace.Keyspace, []finding.Finding) {
	return within(scope.MaxStates, fsys, name, names)
}

// BeforeNamespaces chooses no name for a namespace: what In loads then has fixed names,
// as before the declaration had that namespace.
const BeforeNamespaces = scope.BeforeNamespaces

// within is In with room for so many automaton states.
func within(room int, fsys fs.FS, name string, names map[string]string) (*keyspace.Keyspace, []finding.Finding) {
	l := &loader{Scope: scope.New(fsys, names, room)}
	l.read(path.Clean(name), nil, keyspace.Pos{})
	l.resolve()
	slices.SortStableFunc(l.Findings, func(a, b finding.Finding) int {
		return cmp.Or(cmp.Compare(l.Order(a.Pos.File), l.Order(b.Pos.File)), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column), cmp.Compare(a.Code, b.Code))
	})
	return l.KS, l.Findings
}

// loader gathers the documents of all files first and resolves them together.
type loader struct {
	*scope.Scope
	full bool // a file too many was reported
}

// topLevel lists the sections of a file.
var topLevel = []string{"keywright", "package", "doc", "namespace", "owner", "cluster", "owns", "foreign", "imports",
	"vars", "ttls", "keys", "channels", "events", "shape", "cleanup", "pressure", "janitor", "migrations", "retired",
	"gen"}

// TopLevel returns the sections a file may have.
func TopLevel() []string { return slices.Clone(topLevel) }

// Types returns the words `type` may be, sorted.
func Types() []string { return construct.Types() }

// Properties returns the properties an entry of a type may have.
func Properties(typ string) []string { return construct.Properties(typ) }

// ChildProperties returns the properties of one channel, event, clean-up or pressure
// rule, of a job of the janitor, of `durable`, of `emits`, of `namespace`, of a var, of `retired`, and of what a
// migration is made of: "migrations", "source", "part", "move", "move ttl", "gates", "compare" and "ignore".
func ChildProperties(of string) []string { return slices.Clone(scope.Properties[of]) }

// read loads one file and what it imports, depth first. via are the files that
// led here, to name a cycle.
func (l *loader) read(name string, via []string, from keyspace.Pos) {
	r := node.Reader{File: name, Dir: path.Dir(name), Out: &l.Findings}
	if len(l.KS.Files) >= MaxFiles {
		if !l.full {
			r.Report("KW008", from, "", "a declaration has at most %d files", MaxFiles)
		}
		l.full = true
		return
	}
	if from.File == "" {
		from = keyspace.Pos{File: name}
	}
	text, problem := node.ReadFile(l.FS, name)
	if problem != "" {
		fix := ""
		if problem == "does not exist" {
			fix = "check the path"
		}
		r.Report("KW001", from, fix, "%s %s", name, problem)
		return
	}
	l.KS.Files = append(l.KS.Files, keyspace.File{Name: name, Text: text})
	r.Lines = strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n")
	root := r.Parse(text)
	if root == nil {
		return
	}
	r.Refuse(root)
	if root.Kind != yaml.MappingNode {
		r.WrongKind(root, "the file", "a mapping of sections, beginning with keywright: 1")
		return
	}
	d := &scope.Document{Reader: r, Props: r.Known(root, "the file", topLevel)}
	l.Docs = append(l.Docs, d)
	l.imports(d, append(via, name))
}

func (l *loader) imports(d *scope.Document, via []string) {
	p, ok := d.Props["imports"]
	if !ok {
		return
	}
	for _, n := range d.List(p.Value, "imports") {
		target := path.Join(d.Dir, n.Value)
		switch {
		case path.IsAbs(n.Value) || !fs.ValidPath(target):
			d.Report("KW008", d.At(n), "name a file below the folder of the first file, relative to this one",
				"the import %q leads outside of the declaration's folder", n.Value)
		case slices.Contains(via, target):
			d.Report("KW008", d.At(n), "remove one of the imports", "the imports form a circle: %s → %s",
				strings.Join(via, " → "), target)
		case l.Order(target) >= 0: // already here by another way
		default:
			l.read(target, via, d.At(n))
		}
	}
}

// resolve turns the documents into the model. Vars and TTLs come first, since
// everything else refers to them.
func (l *loader) resolve() {
	l.ReadVars()
	for i, d := range l.Docs {
		l.header(d, i == 0)
	}
	for _, d := range l.Docs {
		l.ReadTTLs(d)
	}
	for _, d := range l.Docs {
		construct.ReadChannels(l.Scope, d)
	}
	for _, d := range l.Docs {
		construct.ReadKeys(l.Scope, d)
	}
	construct.AddStreams(l.Scope)
	if !l.Over { // else much is missing that the rest refers to
		l.rest()
	}
	for _, name := range slices.Sorted(maps.Keys(l.Vars)) {
		l.KS.Vars = append(l.KS.Vars, *l.Vars[name])
	}
	for _, name := range slices.Sorted(maps.Keys(l.TTLs)) {
		l.KS.TTLs = append(l.KS.TTLs, *l.TTLs[name])
	}
	byPlace := func(a, b keyspace.Pos) int {
		return cmp.Or(cmp.Compare(l.Order(a.File), l.Order(b.File)), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column))
	}
	slices.SortFunc(l.KS.Vars, func(a, b keyspace.Var) int { return byPlace(a.Pos, b.Pos) })
	slices.SortFunc(l.KS.TTLs, func(a, b keyspace.NamedTTL) int { return byPlace(a.Pos, b.Pos) })
}

// rest reads what refers to keys and channels.
func (l *loader) rest() {
	for _, d := range l.Docs {
		l.sectionShape(d)
		l.sectionCleanup(d)
		l.sectionEvents(d)
	}
	l.sectionPressure()
	l.sectionJanitor()
	for _, d := range l.Docs {
		migration.Read(l.Scope, d)
		l.sectionRetired(d)
	}
	l.Spaces()
	l.references()
}

// header reads the scalar sections. The first file names the package; an
// imported file's owner is the default of its own entries.
func (l *loader) header(d *scope.Document, first bool) {
	if v, ok := d.Props["keywright"]; !ok {
		d.Report("KW006", keyspace.Pos{File: d.File, Line: 1, Column: 1}, "begin with keywright: 1",
			"the file does not say which version of the language it is in")
	} else if n, err := strconv.ParseFloat(v.Value.Value, 64); err == nil && n == 1 && v.Value.Tag == "!!str" {
		d.Report("KW011", d.At(v.Value), "write keywright: 1, without quotes",
			"the version of the language is a number, and %s is text", node.KindName(v.Value))
	} else if err != nil || n != 1 {
		d.Report("KW011", d.At(v.Value), "write keywright: 1", "version %s of the language is not known to this keywright",
			node.KindName(v.Value))
	}
	read := func(name string, into *string) (ok bool) {
		if p, there := d.Props[name]; there {
			*into, ok = d.Text(p.Value, name)
		}
		return ok
	}
	read("owner", &d.Owner)
	l.Namespace(d, first)
	if first {
		if read("package", &l.KS.Package) {
			d.Name(node.Property{Name: l.KS.Package, Key: d.Props["package"].Value, Value: nil}, "a package", false)
		}
		read("doc", &l.KS.Doc)
		l.KS.Owner = d.Owner
		l.outputs(d)
	}
	l.KS.Cluster = d.Truth(d.Props, "cluster") || l.KS.Cluster
	l.KS.Owns = append(l.KS.Owns, l.globs(d, "owns")...)
	l.KS.Foreign = append(l.KS.Foreign, l.globs(d, "foreign")...)
}

func (l *loader) globs(d *scope.Document, section string) []keyspace.Glob {
	p, ok := d.Props[section]
	if !ok {
		return nil
	}
	var out []keyspace.Glob
	for _, n := range d.List(p.Value, section) {
		if !l.AffordsPatterns(d.At(n), 1) {
			break
		}
		if g, ok := d.Glob(n, section); ok {
			out = append(out, g)
		}
	}
	return out
}

// targets say what `gen` can name.
var targets = []string{"go", "ts", "py", "docs", "acl", "conformance", "prometheus", "grafana"}

// outputs reads `gen`, of the first file only: an imported file is part of
// output of another program.
func (l *loader) outputs(d *scope.Document) {
	p, ok := d.Props["gen"]
	if !ok {
		return
	}
	for _, v := range d.Mapping(p.Value, "gen") {
		folder, _ := d.Text(v.Value, "the folder of "+v.Name)
		switch {
		case !slices.Contains(targets, v.Name):
			d.Report("KW003", d.At(v.Key), cmp.Or(d.Near(v.Name, targets), "one of: "+strings.Join(targets, ", ")),
				"gen: %q is nothing that can be generated", v.Name)
		case folder == "" || path.IsAbs(folder) || strings.ContainsAny(folder, "\\:"):
			d.Report("KW308", d.At(v.Value), "as in go: internal/keys", "gen: %q is not a folder relative to this file", folder)
		case !fs.ValidPath(path.Clean(folder)):
			d.Report("KW308", d.At(v.Value),
				"as in go: internal/keys; to write elsewhere, run keywright gen "+v.Name+" --out FOLDER",
				"gen: %q is outside of the folder of this file", folder)
		default:
			l.KS.Outputs = append(l.KS.Outputs, keyspace.Output{Target: v.Name, Folder: path.Clean(folder), Pos: d.At(v.Value)})
		}
	}
}
