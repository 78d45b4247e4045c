package keyspace

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
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
	return LoadIn(fsys, name, nil)
}

// LoadIn is Load with other names for namespaces: by the declared name, the one
// that patterns, channels and globs are to have; "" is the declared one, and
// BeforeNamespaces none at all. Choose says which names may be.
func LoadIn(fsys fs.FS, name string, names map[string]string) (*Keyspace, []finding.Finding) {
	return loadWithin(maxStates, fsys, name, names)
}

// loadWithin is LoadIn with room for so many automaton states.
func loadWithin(room int, fsys fs.FS, name string, names map[string]string) (*Keyspace, []finding.Finding) {
	l := &loader{
		fsys: fsys, chosen: names, ks: &Keyspace{}, pending: map[string]pendingVar{}, vars: map[string]*Var{}, ttls: map[string]*NamedTTL{},
		places: map[string]Pos{}, priced: map[string]bool{}, room: room,
	}
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
	chosen   map[string]string // names of namespaces, by the declared name
	ks       *Keyspace
	docs     []*document
	findings []finding.Finding
	pending  map[string]pendingVar // vars whose type has not been read yet
	vars     map[string]*Var
	ttls     map[string]*NamedTTL
	places   map[string]Pos  // where each entry, channel and event name was taken
	full     bool            // a file too many was reported
	moves    int             // of all migrations
	priced   map[string]bool // regular expressions whose states are counted
	room     int             // for the automaton states of more of them
}

// pendingVar is a var as it stands in its file.
type pendingVar struct {
	property
	d *document
}

// document is one parsed file.
type document struct {
	reader
	root  *yaml.Node
	props map[string]property
	owner string
	space *Namespace // nil: keys have no namespace
}

func (l *loader) order(file string) int {
	return slices.IndexFunc(l.ks.Files, func(f File) bool { return f.Name == file })
}

// topLevel are the sections of a file.
var topLevel = []string{"keywright", "package", "doc", "namespace", "owner", "cluster", "owns", "foreign", "imports", "vars", "ttls", "keys", "channels", "events", "shape", "cleanup", "pressure", "janitor", "migrations", "gen"}

// read loads one file and what it imports, depth first. via are the files that
// led here, to name a cycle.
func (l *loader) read(name string, via []string, from Pos) {
	r := reader{file: name, dir: path.Dir(name), out: &l.findings}
	if len(l.ks.Files) >= MaxFiles {
		if !l.full {
			r.report("KW008", from, "", "a declaration has at most %d files", MaxFiles)
		}
		l.full = true
		return
	}
	if from.File == "" {
		from = Pos{File: name}
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
	l.ks.Files = append(l.ks.Files, File{Name: name, Text: text})
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
	d := &document{reader: r, root: root, props: r.known(root, "the file", topLevel)}
	l.docs = append(l.docs, d)
	l.imports(d, append(via, name))
}

// readFile asks what the name leads to before it opens it: opening a pipe would
// wait for a writer.
func readFile(fsys fs.FS, name string) ([]byte, string) {
	info, err := fs.Stat(fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "does not exist"
	case err != nil:
		return nil, "cannot be read: " + err.Error()
	case !info.Mode().IsRegular():
		return nil, "is not a regular file"
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, "cannot be read: " + err.Error()
	}
	defer f.Close()
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
	if at, what := notText(text); what != "" {
		line := 1 + bytes.Count(text[:at], []byte("\n"))
		column := 1 + utf8.RuneCount(text[bytes.LastIndexByte(text[:at], '\n')+1:at])
		r.report("KW001", Pos{File: r.file, Line: line, Column: column}, "save the file as UTF-8 with LF or CRLF line ends and without control characters", "%s is not text", what)
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	switch err := decode(decoder, &doc); {
	case errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0:
		r.report("KW006", Pos{File: r.file, Line: 1, Column: 1}, "begin with keywright: 1", "the file is empty")
		return nil
	case err != nil:
		r.syntax(err)
		return nil
	}
	if err := decode(decoder, &second); !errors.Is(err, io.EOF) {
		pos, _ := r.place(err)
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

// notText finds the first byte or character that is no part of a text file: what
// is not UTF-8, control characters, line ends that editors do not agree on, and
// a byte order mark that is not at the beginning, which nobody can see.
func notText(text []byte) (at int, what string) {
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRune(text[i:])
		switch {
		case c == utf8.RuneError && size == 1 || c < ' ' && c != '\n' && c != '\r' && c != '\t':
			return i, fmt.Sprintf("byte 0x%02x", text[i])
		case c == '\r' && (i+1 == len(text) || text[i+1] != '\n'):
			return i, "a carriage return without a line feed"
		case c >= 0x7f && c <= 0x9f || c == '\u2028' || c == '\u2029' || c == '\ufeff' && i > 0:
			return i, fmt.Sprintf("the character %U", c)
		}
		i += size
	}
	return 0, ""
}

// traps are the mistakes behind most syntax errors, each known by what the
// parser says and what the line looks like.
var traps = []struct {
	says               string         // part of the parser's message
	line               *regexp.Regexp // what the line looks like, nil for any
	code, message, fix string
}{
	{"cannot start any token", regexp.MustCompile(`^ *\t`), "KW002", "a tab cannot indent YAML", "indent with spaces"},
	{"cannot start any token", nil, "KW002", "a value cannot begin with @, ` or %", "put quotes around it"},
	{"directive", nil, "KW002", "a line cannot begin with %", "put quotes around it"},
	{"unknown anchor", nil, "KW002", "a value that begins with * is an alias to YAML", `put quotes around it, as in "poppo:*"`},
	{"expected alphabetic or numeric character", nil, "KW002", "a value that begins with * or & is an alias to YAML", `put quotes around it, as in "poppo:*"`},
	{"", regexp.MustCompile(`[\[{].*[^\s"'{\[]:\{`), "KW009", "a pattern inside [ ] or { } is not read as text", `put quotes around it, as in ["x:{id}"]`},
	{"", regexp.MustCompile(`(: +|- +)\{[^}"']*\}[^\s,}\]]`), "KW009", "a value that begins with { is not read as text", `put quotes around it, as in "{id}:x"`},
	{"mapping values are not allowed", nil, "KW002", "a colon and a space inside a value begin a mapping", "put quotes around the value"},
	{"unexpected end of stream", nil, "KW002", "a quote is not closed", "close it"},
	{"expected ',' or", nil, "KW002", "a [, { or quote is not closed, or a comma is missing, in this line or in one above", "close it"},
	{"unknown escape", nil, "KW002", `a backslash in "…" begins an escape that does not exist`, "use '…' or no quotes: a backslash is itself there"},
	{"expected key", nil, "KW002", "the line does not fit the indentation of the lines above", "indent it like its neighbours"},
	{"exceeded max depth", nil, "KW002", "the file is nested deeper than 10000 levels", "a declaration needs six"},
}

// syntax reports what the YAML parser refused and explains the usual traps.
func (r *reader) syntax(err error) {
	pos, message := r.place(err)
	line := unquoted(r.line(pos.Line))
	if at, name, lacks := r.lacksColon(pos.Line); lacks && strings.Contains(message, "mapping values are not allowed") {
		r.report("KW002", at, "did you mean "+name+":?", "a name without a colon")
		return
	}
	for _, trap := range traps {
		if strings.Contains(message, trap.says) && (trap.line == nil || len(line) <= maxLine && trap.line.MatchString(line)) {
			r.report(trap.code, pos, trap.fix, "%s", trap.message)
			return
		}
	}
	r.report("KW002", pos, "", "%s", message)
}

// place is where the parser stopped, and why.
func (r *reader) place(err error) (Pos, string) {
	var fault *yaml.LoadError
	if errors.As(err, &fault) {
		return Pos{File: r.file, Line: max(1, fault.Mark.Line), Column: max(1, fault.Mark.Column)}, fault.Message
	}
	return Pos{File: r.file, Line: 1, Column: 1}, fmt.Sprint(err)
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
	l.sectionVars()
	for i, d := range l.docs {
		l.header(d, i == 0)
	}
	for _, d := range l.docs {
		l.sectionTTLs(d)
	}
	for _, d := range l.docs {
		l.sectionChannels(d)
	}
	for _, d := range l.docs {
		l.sectionKeys(d)
	}
	l.streams()
	for _, d := range l.docs {
		l.sectionShape(d)
		l.sectionCleanup(d)
		l.sectionEvents(d)
	}
	l.sectionPressure()
	l.sectionJanitor()
	for _, d := range l.docs {
		l.sectionMigrations(d)
	}
	l.spaces()
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
	} else if n, err := strconv.ParseFloat(v.value.Value, 64); err != nil || n != 1 || v.value.Tag == "!!str" {
		d.report("KW011", d.at(v.value), "write keywright: 1", "version %s of the language is not known to this keywright", kindName(v.value))
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

func (l *loader) globs(d *document, section string) []Glob {
	p, ok := d.props[section]
	if !ok {
		return nil
	}
	var out []Glob
	for _, n := range d.list(p.value, section) {
		if g, ok := d.glob(n, section); ok {
			out = append(out, g)
		}
	}
	return out
}

// otherNames are types as other languages call them.
var otherNames = map[string]string{
	"string": "text", "str": "text", "varchar": "text", "integer": "int", "number": "int", "int64": "int", "long": "int", "double": "float", "decimal": "float",
	"boolean": "bool", "binary": "bytes", "guid": "uuid", "datetime": "timestamp", "time": "timestamp", "object": "json", "map": "json", "any": "text", "enum": "a|b|c",
}

// typeOf resolves the text of a scalar type and marks its var as used.
func (l *loader) typeOf(d *document, n *yaml.Node, what string) (scalar.Type, bool) {
	text, ok := d.word(n, what)
	if !ok {
		return scalar.Type{}, false
	}
	if l.room <= 0 && strings.HasPrefix(text, "/") { // reading an expression makes its states
		d.report("KW103", d.at(n), simpler, "%s: "+tooManyStates, what, maxStates)
		return scalar.Type{}, false
	}
	t, err := scalar.Parse(text, l.useVar)
	var fault *scalar.SyntaxError
	if errors.As(err, &fault) {
		word := strings.Fields(text[fault.Offset:] + " .")[0]
		fix := proposal(fault.Proposal)
		if fault.Offset == 0 { // the name of the type itself
			fix = cmp.Or(meantType(text, word), nearKey(&d.reader, word, l.vars, scalarNames...), fix)
		}
		d.report("KW103", d.within(n, fault.Offset, len(word)), fix, "%s: %s", what, fault.Message)
		return t, false
	}
	if !d.isText(n, what) { // a var with such a name
		return t, false
	}
	if !l.affords(t) {
		d.report("KW103", d.at(n), simpler, "%s: "+tooManyStates, what, maxStates)
		return t, false
	}
	if t.Kind == scalar.JSON && t.File != "" {
		file, _, _ := strings.Cut(t.File, "#")
		target := path.Join(d.dir, file)
		l.mustExist(d, n, target, what+": the schema file "+target, "create it, or write json without a file")
		t.File = path.Join(d.dir, t.File)
	}
	return t, true
}

// scalarNames are the words a scalar type may begin with.
var scalarNames = func() []string {
	var names []string
	for k := scalar.Text; k <= scalar.JSON; k++ {
		if k != scalar.Enum && k != scalar.Regexp {
			names = append(names, k.String())
		}
	}
	return names
}()

// mustExist reports a file beside the declaration that is not there.
func (l *loader) mustExist(d *document, n *yaml.Node, target, what, fix string) {
	if !fs.ValidPath(target) {
		d.report("KW308", d.at(n), "name a file below the folder of the first file, relative to this one", "%s leads outside of the declaration's folder", what)
		return
	}
	if _, err := fs.Stat(l.fsys, target); err != nil {
		d.report("KW308", d.at(n), fix, "%s does not exist", what)
	}
}

// useVar answers what a name stands for. A var may be declared after its use,
// also in another file; one that refers to itself stays unknown.
func (l *loader) useVar(name string) (scalar.Type, bool) {
	if p, ok := l.pending[name]; ok {
		delete(l.pending, name)
		l.declare(p.d, p.property)
	}
	v, ok := l.vars[name]
	if !ok {
		return scalar.Type{}, false
	}
	v.Used = true
	t := v.Type
	t.Var = name
	return t, true
}

// take claims a name; two things of one kind cannot share it.
func (l *loader) take(d *document, kind string, p property) {
	key := kind + " " + p.name
	if at, taken := l.places[key]; taken {
		d.report("KW004", d.at(p.key), "rename one of them", "the %s %q is already declared at %s:%d", kind, p.name, at.File, at.Line)
		return
	}
	l.places[key] = d.at(p.key)
}
