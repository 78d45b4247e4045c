package keyspace

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// Limits of a declaration; beyond them Load reports KW001 or KW008.
const (
	MaxFileBytes = 1 << 20
	MaxFiles     = 100
	MaxEntries   = 10_000
)

// Load reads the declaration `name` and all it imports from fsys and resolves
// it. It reports every fault of every file, sorted by position; the Keyspace
// holds what could be read and is only to be relied on when no finding is an
// error.
func Load(fsys fs.FS, name string) (*Keyspace, []finding.Finding) {
	l := &loader{fsys: fsys, ks: &Keyspace{}, vars: map[string]*Var{}, ttls: map[string]*NamedTTL{}, places: map[string]Pos{}}
	l.read(path.Clean(name), nil, Pos{})
	l.resolve()
	slices.SortStableFunc(l.findings, func(a, b finding.Finding) int {
		return cmp.Or(cmp.Compare(l.order(a.Pos.File), l.order(b.Pos.File)), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column), cmp.Compare(a.Code, b.Code))
	})
	return l.ks, l.findings
}

// loader gathers the documents of all files first and resolves them together:
// an entry may use a var that a later file declares.
type loader struct {
	fsys     fs.FS
	ks       *Keyspace
	docs     []*document
	findings []finding.Finding
	vars     map[string]*Var
	ttls     map[string]*NamedTTL
	places   map[string]Pos // where each entry, channel and event name was taken
}

// document is one parsed file.
type document struct {
	reader
	root  *yaml.Node
	props map[string]property
	owner string
}

func (l *loader) order(file string) int {
	return slices.IndexFunc(l.ks.Files, func(f File) bool { return f.Name == file })
}

// topLevel are the sections of a file.
var topLevel = []string{"keywright", "package", "doc", "owner", "cluster", "owns", "foreign", "imports", "vars", "ttls", "keys", "channels", "events", "shape", "cleanup"}

// read loads one file and what it imports, depth first. via are the files that
// led here, to name a cycle.
func (l *loader) read(name string, via []string, from Pos) {
	r := reader{file: name, dir: path.Dir(name), out: &l.findings}
	if len(l.ks.Files) >= MaxFiles {
		r.report("KW008", from, "", "a declaration has at most %d files", MaxFiles)
		return
	}
	if from.File == "" {
		from = Pos{File: name}
	}
	text, problem := readFile(l.fsys, name)
	if problem != "" {
		r.report("KW001", from, "", "%s %s", name, problem)
		return
	}
	l.ks.Files = append(l.ks.Files, File{Name: name, Text: text})
	root := r.parse(text)
	if root == nil {
		return
	}
	r.refuse(root)
	d := &document{reader: r, root: root, props: r.known(root, "the file", topLevel)}
	l.docs = append(l.docs, d)
	l.imports(d, append(via, name))
}

func readFile(fsys fs.FS, name string) ([]byte, string) {
	f, err := fsys.Open(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, "does not exist"
		}
		return nil, "cannot be read: " + err.Error()
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, "is not a regular file"
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	switch {
	case err != nil:
		return nil, "cannot be read: " + err.Error()
	case len(text) > MaxFileBytes:
		return nil, fmt.Sprintf("is larger than %d KiB; divide it and use imports", MaxFileBytes>>10)
	}
	return text, ""
}

// parse turns text into the root node, nil if it is not one YAML mapping.
func (r *reader) parse(text []byte) *yaml.Node {
	if at := invalidByte(text); at >= 0 {
		line := 1 + bytes.Count(text[:at], []byte("\n"))
		column := 1 + utf8.RuneCount(text[bytes.LastIndexByte(text[:at], '\n')+1:at])
		r.report("KW001", Pos{File: r.file, Line: line, Column: column}, "save the file as UTF-8 without control characters", "byte 0x%02x is not text", text[at])
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	switch err := decode(decoder, &doc); {
	case errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0:
		r.report("KW006", Pos{File: r.file, Line: 1, Column: 1}, "begin with keywright: 1", "the file is empty")
		return nil
	case err != nil:
		r.syntax(err, text)
		return nil
	}
	if err := decode(decoder, &second); !errors.Is(err, io.EOF) {
		pos := Pos{File: r.file, Line: 1, Column: 1}
		if err == nil {
			pos = r.at(&second)
		}
		r.report("KW007", pos, "remove the --- and what follows, or move it to a file of its own", "the file has a second document, which would be ignored")
	}
	return doc.Content[0]
}

// decode keeps a panic of the parser from becoming ours.
func decode(d *yaml.Decoder, into *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the YAML parser failed: %v", p)
		}
	}()
	return d.Decode(into)
}

// invalidByte is the offset of the first byte that is not UTF-8 text, -1 if all
// is well.
func invalidByte(text []byte) int {
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRune(text[i:])
		if c == utf8.RuneError && size == 1 || c < ' ' && c != '\n' && c != '\r' && c != '\t' {
			return i
		}
		i += size
	}
	return -1
}

// syntax reports what the YAML parser refused and explains the usual traps.
func (r *reader) syntax(err error, text []byte) {
	pos := Pos{File: r.file, Line: 1, Column: 1}
	message := err.Error()
	var fault *yaml.LoadError
	if errors.As(err, &fault) {
		pos.Line, pos.Column = max(1, fault.Mark.Line), max(1, fault.Mark.Column)
		message = fault.Message
	}
	line := lineOf(text, pos.Line)
	code, fix := "KW002", ""
	switch {
	case strings.Contains(line, "\t") && strings.Contains(message, "cannot start any token"):
		message, fix = "a tab cannot indent YAML", "indent with spaces"
	case strings.Contains(message, "unknown anchor"):
		message, fix = "a value that begins with * is an alias to YAML", `put quotes around it, as in "poppo:*"`
	case strings.ContainsAny(line, "[{") && strings.Contains(line, ":{"):
		code, message, fix = "KW009", "a pattern inside [ ] or { } is not read as text", `put quotes around it, as in ["x:{id}"]`
	}
	r.report(code, pos, fix, "%s", message)
}

func lineOf(text []byte, n int) string {
	lines := bytes.SplitN(text, []byte("\n"), n+1)
	if n < 1 || len(lines) < n {
		return ""
	}
	return string(lines[n-1])
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
			d.report("KW008", d.at(n), "name a file below the folder of the first file, relative to this one", "the import %q leads outside of the declaration's folder", n.Value)
		case slices.Contains(via, target):
			d.report("KW008", d.at(n), "remove one of the imports", "the imports form a circle: %s → %s", strings.Join(via, " → "), target)
		case l.order(target) >= 0: // already here by another way
		default:
			l.read(target, via, d.at(n))
		}
	}
}

// resolve turns the documents into the model. Vars and TTLs come first, since
// everything else refers to them.
func (l *loader) resolve() {
	for i, d := range l.docs {
		l.header(d, i == 0)
	}
	for _, d := range l.docs {
		l.sectionVars(d)
		l.sectionTTLs(d)
	}
	for _, d := range l.docs {
		l.sectionChannels(d)
	}
	for _, d := range l.docs {
		l.sectionKeys(d)
	}
	for _, d := range l.docs {
		l.sectionShape(d)
		l.sectionCleanup(d)
		l.sectionEvents(d)
	}
	l.references()
	for _, name := range sortedKeys(l.vars) {
		l.ks.Vars = append(l.ks.Vars, *l.vars[name])
	}
	for _, name := range sortedKeys(l.ttls) {
		l.ks.TTLs = append(l.ks.TTLs, *l.ttls[name])
	}
	byPlace := func(a, b Pos) int {
		return cmp.Or(cmp.Compare(l.order(a.File), l.order(b.File)), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	}
	slices.SortFunc(l.ks.Vars, func(a, b Var) int { return byPlace(a.Pos, b.Pos) })
	slices.SortFunc(l.ks.TTLs, func(a, b NamedTTL) int { return byPlace(a.Pos, b.Pos) })
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// header reads the scalar sections. The first file names the package; an
// imported file's owner is the default of its own entries.
func (l *loader) header(d *document, first bool) {
	if v, ok := d.props["keywright"]; !ok {
		d.report("KW006", Pos{File: d.file, Line: 1, Column: 1}, "begin with keywright: 1", "the file does not say which version of the language it is in")
	} else if v.value.Value != "1" {
		d.report("KW011", d.at(v.value), "write keywright: 1", "version %s of the language is not known to this keywright", kindName(v.value))
	}
	read := func(name string, into *string) {
		if p, ok := d.props[name]; ok {
			*into, _ = d.text(p.value, name)
		}
	}
	read("owner", &d.owner)
	if first {
		read("package", &l.ks.Package)
		read("doc", &l.ks.Doc)
		l.ks.Owner = d.owner
	}
	if p, ok := d.props["cluster"]; ok {
		l.ks.Cluster = l.ks.Cluster || p.value.Value == "true"
		if p.value.Value != "true" && p.value.Value != "false" {
			d.report("KW005", d.at(p.value), "write true or false", "cluster must be true or false, not %s", kindName(p.value))
		}
	}
	l.ks.Owns = append(l.ks.Owns, l.globs(d, "owns")...)
	l.ks.Foreign = append(l.ks.Foreign, l.globs(d, "foreign")...)
}

func (l *loader) globs(d *document, section string) []Glob {
	p, ok := d.props[section]
	if !ok {
		return nil
	}
	var out []Glob
	for _, n := range d.list(p.value, section) {
		if g, ok := d.glob(n); ok {
			out = append(out, g)
		}
	}
	return out
}

// typeOf resolves the text of a scalar type; use marks the var as used.
func (l *loader) typeOf(d *document, n *yaml.Node, what string) (scalar.Type, bool) {
	text, ok := d.text(n, what)
	if !ok {
		return scalar.Type{}, false
	}
	t, err := scalar.Parse(text, l.useVar)
	var fault *scalar.SyntaxError
	if errors.As(err, &fault) {
		word := strings.Fields(text[fault.Offset:] + " .")[0]
		fix := proposal(fault.Proposal)
		if near := nearest(word, sortedKeys(l.vars)); fix == "" && near != "" {
			fix = proposal(near)
		}
		d.report("KW103", d.within(n, fault.Offset, len(word)), fix, "%s: %s", what, fault.Message)
		return t, false
	}
	if t.Kind == scalar.JSON && t.File != "" {
		target := path.Join(d.dir, strings.SplitN(t.File, "#", 2)[0])
		if !l.exists(target) {
			d.report("KW308", d.at(n), "create it, or write json without a file", "%s: the schema file %s does not exist", what, target)
		}
		t.File = path.Join(d.dir, t.File)
	}
	return t, true
}

func proposal(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s?", text)
}

func (l *loader) useVar(name string) (scalar.Type, bool) {
	v, ok := l.vars[name]
	if !ok {
		return scalar.Type{}, false
	}
	v.Used = true
	t := v.Type
	t.Var = name
	return t, true
}

func (l *loader) exists(name string) bool {
	if !fs.ValidPath(name) {
		return false
	}
	_, err := fs.Stat(l.fsys, name)
	return err == nil
}

// take claims a name; two things of one kind cannot share it.
func (l *loader) take(d *document, kind string, p property) bool {
	key := kind + " " + p.name
	if at, taken := l.places[key]; taken {
		d.report("KW004", d.at(p.key), "rename one of them", "the %s %q is already declared at %s:%d", kind, p.name, at.File, at.Line)
		return false
	}
	l.places[key] = d.at(p.key)
	return true
}
