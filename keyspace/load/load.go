// Package load reads a declaration, YAML in files, into the model of package keyspace. It
// reports every fault of every file in one run, each with its line and column and a way
// out. A construct is a file here: it says which keys a `type` means.
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

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	yaml "go.yaml.in/yaml/v4"
)

// MaxFiles bounds the files of a declaration.
const MaxFiles = 100

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
	return within(maxStates, fsys, name, names)
}

// within is In with room for so many automaton states.
func within(room int, fsys fs.FS, name string, names map[string]string) (*keyspace.Keyspace, []finding.Finding) {
	l := &loader{scope: newScope(fsys, names, room)}
	l.read(path.Clean(name), nil, keyspace.Pos{})
	l.resolve()
	slices.SortStableFunc(l.findings, func(a, b finding.Finding) int {
		return cmp.Or(cmp.Compare(l.order(a.Pos.File), l.order(b.Pos.File)), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column), cmp.Compare(a.Code, b.Code))
	})
	return l.ks, l.findings
}

// loader gathers the documents of all files first and resolves them together.
type loader struct {
	*scope
	full bool // a file too many was reported
}

// topLevel lists the sections of a file.
var topLevel = []string{"keywright", "package", "doc", "namespace", "owner", "cluster", "owns", "foreign", "imports",
	"vars", "ttls", "keys", "channels", "events", "shape", "cleanup", "pressure", "janitor", "migrations", "retired",
	"gen"}

// TopLevel returns the sections a file may have.
func TopLevel() []string { return slices.Clone(topLevel) }

// read loads one file and what it imports, depth first. via are the files that
// led here, to name a cycle.
func (l *loader) read(name string, via []string, from keyspace.Pos) {
	r := reader{file: name, dir: path.Dir(name), out: &l.findings}
	if len(l.ks.Files) >= MaxFiles {
		if !l.full {
			r.report("KW008", from, "", "a declaration has at most %d files", MaxFiles)
		}
		l.full = true
		return
	}
	if from.File == "" {
		from = keyspace.Pos{File: name}
	}
	text, problem := readFile(l.fsys, name)
	if problem != "" {
		fix := ""
		if problem == "does not exist" {
			fix = "check the path"
		}
		r.report("KW001", from, fix, "%s %s", name, problem)
		return
	}
	l.ks.Files = append(l.ks.Files, keyspace.File{Name: name, Text: text})
	r.lines = strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n")
	root := r.parse(text)
	if root == nil {
		return
	}
	r.refuse(root)
	if root.Kind != yaml.MappingNode {
		r.wrongKind(root, "the file", "a mapping of sections, beginning with keywright: 1")
		return
	}
	d := &document{reader: r, props: r.known(root, "the file", topLevel)}
	l.docs = append(l.docs, d)
	l.imports(d, append(via, name))
}

func (l *loader) imports(d *document, via []string) {
	p, ok := d.props["imports"]
	if !ok {
		return
	}
	for _, n := range d.list(p.value, "imports") {
		target := path.Join(d.dir, n.Value)
		switch {
		case path.IsAbs(n.Value) || !fs.ValidPath(target):
			d.report("KW008", d.at(n), "name a file below the folder of the first file, relative to this one",
				"the import %q leads outside of the declaration's folder", n.Value)
		case slices.Contains(via, target):
			d.report("KW008", d.at(n), "remove one of the imports", "the imports form a circle: %s → %s",
				strings.Join(via, " → "), target)
		case l.order(target) >= 0: // already here by another way
		default:
			l.read(target, via, d.at(n))
		}
	}
}

// resolve turns the documents into the model. Vars and TTLs come first, since
// everything else refers to them.
func (l *loader) resolve() {
	l.sectionVars()
	for i, d := range l.docs {
		l.header(d, i == 0)
	}
	for _, d := range l.docs {
		l.sectionTTLs(d)
	}
	for _, d := range l.docs {
		readChannels(l.scope, d)
	}
	for _, d := range l.docs {
		readKeys(l.scope, d)
	}
	addStreams(l.scope)
	if !l.over { // else much is missing that the rest refers to
		l.rest()
	}
	for _, name := range slices.Sorted(maps.Keys(l.vars)) {
		l.ks.Vars = append(l.ks.Vars, *l.vars[name])
	}
	for _, name := range slices.Sorted(maps.Keys(l.ttls)) {
		l.ks.TTLs = append(l.ks.TTLs, *l.ttls[name])
	}
	byPlace := func(a, b keyspace.Pos) int {
		return cmp.Or(cmp.Compare(l.order(a.File), l.order(b.File)), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column))
	}
	slices.SortFunc(l.ks.Vars, func(a, b keyspace.Var) int { return byPlace(a.Pos, b.Pos) })
	slices.SortFunc(l.ks.TTLs, func(a, b keyspace.NamedTTL) int { return byPlace(a.Pos, b.Pos) })
}

// rest reads what refers to keys and channels.
func (l *loader) rest() {
	for _, d := range l.docs {
		l.sectionShape(d)
		l.sectionCleanup(d)
		l.sectionEvents(d)
	}
	l.sectionPressure()
	l.sectionJanitor()
	for _, d := range l.docs {
		readMigrations(l.scope, d)
		l.sectionRetired(d)
	}
	l.spaces()
	l.references()
}

// header reads the scalar sections. The first file names the package; an
// imported file's owner is the default of its own entries.
func (l *loader) header(d *document, first bool) {
	if v, ok := d.props["keywright"]; !ok {
		d.report("KW006", keyspace.Pos{File: d.file, Line: 1, Column: 1}, "begin with keywright: 1",
			"the file does not say which version of the language it is in")
	} else if n, err := strconv.ParseFloat(v.value.Value, 64); err == nil && n == 1 && v.value.Tag == "!!str" {
		d.report("KW011", d.at(v.value), "write keywright: 1, without quotes",
			"the version of the language is a number, and %s is text", kindName(v.value))
	} else if err != nil || n != 1 {
		d.report("KW011", d.at(v.value), "write keywright: 1", "version %s of the language is not known to this keywright",
			kindName(v.value))
	}
	read := func(name string, into *string) (ok bool) {
		if p, there := d.props[name]; there {
			*into, ok = d.text(p.value, name)
		}
		return ok
	}
	read("owner", &d.owner)
	l.namespace(d, first)
	if first {
		if read("package", &l.ks.Package) {
			d.name(property{l.ks.Package, d.props["package"].value, nil}, "a package", false)
		}
		read("doc", &l.ks.Doc)
		l.ks.Owner = d.owner
		l.outputs(d)
	}
	l.ks.Cluster = d.truth(d.props, "cluster") || l.ks.Cluster
	l.ks.Owns = append(l.ks.Owns, l.globs(d, "owns")...)
	l.ks.Foreign = append(l.ks.Foreign, l.globs(d, "foreign")...)
}

func (l *loader) globs(d *document, section string) []keyspace.Glob {
	p, ok := d.props[section]
	if !ok {
		return nil
	}
	var out []keyspace.Glob
	for _, n := range d.list(p.value, section) {
		if !l.affordsPatterns(d.at(n), 1) {
			break
		}
		if g, ok := d.glob(n, section); ok {
			out = append(out, g)
		}
	}
	return out
}

// targets say what `gen` can name.
var targets = []string{"go", "ts", "py", "docs", "acl", "conformance", "prometheus", "grafana"}

// Targets returns the words `gen` may have.
func Targets() []string { return slices.Clone(targets) }

// outputs reads `gen`, of the first file only: an imported file is part of
// output of another program.
func (l *loader) outputs(d *document) {
	p, ok := d.props["gen"]
	if !ok {
		return
	}
	for _, v := range d.mapping(p.value, "gen") {
		folder, _ := d.text(v.value, "the folder of "+v.name)
		switch {
		case !slices.Contains(targets, v.name):
			d.report("KW003", d.at(v.key), cmp.Or(d.near(v.name, targets), "one of: "+strings.Join(targets, ", ")),
				"gen: %q is nothing that can be generated", v.name)
		case folder == "" || path.IsAbs(folder) || strings.ContainsAny(folder, "\\:"):
			d.report("KW308", d.at(v.value), "as in go: internal/keys", "gen: %q is not a folder relative to this file", folder)
		case !fs.ValidPath(path.Clean(folder)):
			d.report("KW308", d.at(v.value),
				"as in go: internal/keys; to write elsewhere, run keywright gen "+v.name+" --out FOLDER",
				"gen: %q is outside of the folder of this file", folder)
		default:
			l.ks.Outputs = append(l.ks.Outputs, keyspace.Output{Target: v.name, Folder: path.Clean(folder), Pos: d.at(v.value)})
		}
	}
}
