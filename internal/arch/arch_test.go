package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/keywright/keywright"

// file is one parsed Go file of the project.
type file struct {
	path    string // from the root of the project
	dir     string
	test    bool
	set     *token.FileSet
	ast     *ast.File
	text    string
	imports []string
}

// load gives every Go file of the project.
func load(t *testing.T) []file {
	t.Helper()
	files, err := parsed()
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}

// parsed reads the project once for all laws.
var parsed = sync.OnceValues(func() ([]file, error) {
	var out []file
	err := walk(func(path, text string) error {
		if !strings.HasSuffix(path, ".go") || strings.Contains(path, "testdata/") {
			return nil
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		f := file{path: path, dir: filepath.Dir(path), test: strings.HasSuffix(path, "_test.go"), set: set, ast: tree, text: text}
		for _, imp := range tree.Imports {
			f.imports = append(f.imports, strings.Trim(imp.Path.Value, `"`))
		}
		out = append(out, f)
		return nil
	})
	return out, err
})

// walk visits every file of text that people write.
func walk(visit func(path, text string) error) error {
	root := os.DirFS("../..")
	return fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", ".bin", ".cache", "node_modules"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		written := []string{".go", ".md", ".yaml", ".json", ".lua", ".sh", ".tsv", ".txt", ".txtar", ".golden", ".mod"}
		if !slices.Contains(written, filepath.Ext(path)) && path != "Makefile" && path != ".ci/run" {
			return nil
		}
		text, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		return visit(path, string(text))
	})
}

// within reports whether dir is one of the folders, or below one.
func within(dir string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return dir == f || strings.HasPrefix(dir, f+"/") })
}

// ownModules are the folders that are modules of their own.
var ownModules = []string{"cmd", "bench", "examples", "metrics", "tracing", "fallback/bbolt"}

// pure are the folders of the domain.
var pure = []string{"keyspace", "gen", "audit", "infer", "finding", "slot", "source", "compare", "plan", "topology", "migrate/phase", "migrate/record"}

func isPure(dir string) bool { return within(dir, pure...) && !within(dir, "source/server") }

func TestWhoMayImportWhom(t *testing.T) {
	laws := []struct {
		name, reason string
		where        func(dir string) bool
		banned       func(path string) bool
	}{
		{"the domain does no I/O", "files come as fs.FS, so that the model can be used anywhere and tested with maps", isPure, func(p string) bool {
			return p == "net" || p == "os" || p == "os/exec" || strings.HasPrefix(p, "net/") || p == "log"
		}},
		{"only the edge knows a connection", "what is not in these folders can be tested without a server", func(dir string) bool {
			return dir != "." && !within(dir, "connect", "internal/wire", "source/server", "keywrighttest", "cmd", "bench", "examples")
		}, func(p string) bool { return p == "net" || p == module+"/internal/wire" || p == module+"/connect" }},
		{"nothing imports the command line", "the library must not inherit what the command line needs", func(dir string) bool { return !within(dir, "cmd") }, func(p string) bool { return strings.HasPrefix(p, module+"/cmd") }},
		{"the domain knows no client", "what should be does not depend on how it is reached", isPure, func(p string) bool {
			return strings.HasPrefix(p, "github.com/redis/") || p == module || p == module+"/typed" || p == module+"/lock" || p == module+"/queue"
		}},
		{"the pattern engine stands alone", "patterns, types and matching know no declaration", func(dir string) bool {
			return within(dir, "keyspace/internal", "keyspace/scalar", "keyspace/pattern", "keyspace/match", "keyspace/route", "keyspace/schedule", "slot")
		}, func(p string) bool {
			return p == module+"/keyspace" || p == module+"/finding" || strings.Contains(p, "yaml")
		}},
		{"a source does not judge", "facts and judgement change for different reasons", func(dir string) bool { return within(dir, "source") }, func(p string) bool {
			return strings.HasPrefix(p, module+"/keyspace") || p == module+"/audit" || p == module+"/finding"
		}},
		{"an audit knows no server", "the same audit runs over a snapshot", func(dir string) bool { return within(dir, "audit") }, func(p string) bool { return p == module+"/source/server" || p == module+"/connect" }},
		{"the library has two dependencies", "who imports the matcher must not get a command line's versions", func(dir string) bool { return !within(dir, ownModules...) }, func(p string) bool {
			first, _, _ := strings.Cut(p, "/")
			return strings.Contains(first, ".") && !strings.HasPrefix(p, module) && p != "go.yaml.in/yaml/v4" && p != "github.com/redis/rueidis"
		}},
		{"testing is for tests", "it registers flags in every program", func(dir string) bool {
			return !within(dir, "keywrighttest", "internal/history/historytest", "internal/mutation", "internal/harm", "internal/soak", "examples/internal/sitetest")
		}, func(p string) bool { return p == "testing" }},
		{"programs do not start test servers", "they would inherit testing's flags", func(dir string) bool {
			return dir != "internal/soak" && dir != "internal/harm" && dir != "examples/internal/sitetest"
		}, func(p string) bool { return p == module+"/keywrighttest" }},
	}
	for _, f := range load(t) {
		if f.test {
			continue
		}
		for _, law := range laws {
			for _, imp := range f.imports {
				if law.where(f.dir) && law.banned(imp) {
					t.Errorf("%s imports %s: %s (%s)", f.path, imp, law.name, law.reason)
				}
			}
		}
	}
}

// TestLayers: what a package of the library may import of the library. A new
// package, or a new edge, is a decision: write it here.
func TestLayers(t *testing.T) {
	engine := []string{"keyspace/scalar", "keyspace/pattern", "keyspace/match"}
	declared := append([]string{"keyspace", "keyspace/route", "keyspace/schedule", "finding"}, engine...)
	layers := map[string][]string{
		"slot":                         nil,
		"internal/typo":                nil,
		"finding":                      {"internal/jsonbound"},
		"internal/jsonbound":           nil,
		"internal/filelock":            nil,
		"source":                       nil,
		"topology":                     {"source"},
		"keyspace/internal/automaton":  nil,
		"keyspace/scalar":              {"internal/typo", "keyspace/internal/automaton"},
		"keyspace/pattern":             {"keyspace/internal/automaton", "keyspace/scalar", "slot"},
		"keyspace/match":               {"keyspace/internal/automaton", "keyspace/scalar", "keyspace/pattern"},
		"keyspace":                     append([]string{"finding", "slot", "internal/typo", "keyspace/route", "keyspace/schedule"}, engine...),
		"keyspace/format":              {"finding"},
		"keyspace/route":               {"internal/typo"},
		"keyspace/schedule":            {},
		"migrate/record":               append([]string{"key", "value"}, declared...),
		"keyspace/schema":              nil,
		"keyspace/lint":                append([]string{"slot"}, declared...),
		"keyspace/breaking":            append([]string{"keyspace/internal/automaton"}, declared...),
		"internal/gather":              nil,
		"internal/breaker":             nil,
		"internal/lease":               {"internal/lua"},
		"internal/lua":                 nil,
		".":                            {"internal/lua", "connect", "slot", "topology", "internal/gather", "internal/wire"},
		"key":                          {"keyspace/pattern", "keyspace/scalar"},
		"value":                        {"key", "keyspace/scalar"},
		"typed":                        {"internal/lua", "value"},
		"lock":                         {"internal/lua", "slot"},
		"queue":                        {"internal/lua", "slot", "value", "internal/gather"},
		"seal":                         {"internal/filelock"},
		"pressure":                     {"slot", "topology", "internal/lease"},
		"event":                        {"internal/lua", "value"},
		"keyspace/parts":               declared,
		"bind":                         append([]string{"entity", "keyspace/parts", "lock", "queue", "ranking", "typed", "value"}, declared...),
		"seal/reseal":                  append([]string{"internal/lua", "bind", "seal", "source"}, declared...),
		"internal/everykeys":           {"cache", "counter", "entity", "event", "key", "limit", "lock", "pressure", "queue", "ranking", "typed", "value"},
		"internal/tenants":             {"cache", "counter", "entity", "event", "key", "limit", "lock", "pressure", "queue", "ranking", "typed", "value"},
		"limit":                        {"internal/lua"},
		"counter":                      {"internal/lua", "typed", "value", "slot"},
		"entity":                       {"internal/lua", "slot", "value", "internal/lease"},
		"ranking":                      {"internal/lua", "typed", "value", "slot"},
		"cache":                        {"internal/lua", "slot", "typed", "value", "internal/breaker", "internal/lease"},
		"fallback":                     {"internal/breaker", "entity"},
		"fallback/storetest":           {"fallback"},
		"guard":                        append([]string{"keyspace/lint"}, declared...),
		"gen":                          nil,
		"gen/golang":                   append([]string{"gen", "keyspace/parts"}, declared...),
		"gen/portable":                 append([]string{"gen"}, declared...),
		"gen/typescript":               append([]string{"gen", "gen/portable"}, declared...),
		"gen/python":                   append([]string{"gen", "gen/portable"}, declared...),
		"gen/conformance":              append([]string{"gen", "gen/portable"}, declared...),
		"gen/markdown":                 append([]string{"gen"}, declared...),
		"gen/prometheus":               append([]string{"gen"}, declared...),
		"gen/grafana":                  append([]string{"gen"}, declared...),
		"gen/acl":                      append([]string{"gen"}, declared...),
		"audit":                        append([]string{"source", "slot", "internal/typo"}, declared...),
		"internal/arch":                nil,
		"internal/history":             nil,
		"internal/history/chunk":       {"internal/history"},
		"internal/history/link":        {"internal/history", "internal/history/chunk"},
		"internal/history/historytest": {"internal/history"},
		"internal/wire":                nil,
		"internal/pages":               nil,
		"internal/pages/write":         {"internal/pages"},
		"connect":                      {"internal/wire"},
		"source/server":                {"internal/wire", "connect", "slot", "topology", "source", "source/rdb"},
		"source/rdb":                   {"source"},
		"compare":                      {"source", "source/rdb", "source/archive"},
		"apply":                        {"internal/lua", "compare", "entity", "internal/filelock", "internal/jsonbound", "internal/lease", "plan", "finding", "keyspace/selection", "slot", "topology", "source", "source/archive", "source/rdb"},
		"source/archive":               {"source", "source/rdb"},
		"source/archive/export":        {"source", "source/archive", "source/rdb"},
		"plan":                         append([]string{"internal/jsonbound", "keyspace/parts", "keyspace/selection", "source"}, declared...),
		"keyspace/selection":           append([]string{"internal/typo"}, declared...),
		"infer":                        append([]string{"source", "keyspace/lint", "infer/noun", "infer/page", "infer/software"}, declared...),
		"infer/noun":                   nil,
		"infer/files":                  append([]string{"infer/noun", "keyspace/lint", "keyspace/route", "migrate/record"}, declared...),
		"infer/page":                   {"infer/noun", "keyspace/pattern", "keyspace/scalar"},
		"infer/software":               append([]string{"source"}, engine...),
		"keywrighttest":                {"internal/filelock", "internal/wire", "slot"},
		"internal/mutation":            {},
		"internal/soak":                {"keywrighttest"},
		"migrate":                      {"internal/lua", "internal/filelock", "keyspace", "migrate/phase", "migrate/record", "topology", "value"},
		"migrate/repository":           {"migrate", "migrate/record", "value"},
		"internal/movedkeys":           {"key", "migrate", "migrate/repository", "typed", "value"},
		"migrate/phase":                nil,
		"internal/harm":                {"keywrighttest"},
	}
	runtime := []string{"typed", "apply", "bind", "internal/lease", "pressure", "cache", "lock", "queue", "limit", "counter", "ranking", "entity", "seal", "seal/reseal", "event", "fallback", "internal/everykeys", "internal/tenants", "internal/movedkeys", "migrate", "migrate/repository"} // who stands on the client
	for _, f := range load(t) {
		if f.test || within(f.dir, ownModules...) {
			continue
		}
		allowed, known := layers[f.dir]
		if !known {
			t.Errorf("%s: package %s is in no layer: which packages may it import?", f.path, f.dir)
		}
		for _, imp := range f.imports {
			if imp == module && !slices.Contains(runtime, f.dir) {
				t.Errorf("%s imports the runtime, which its layer does not know", f.path)
			}
			if path, ours := strings.CutPrefix(imp, module+"/"); ours && !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s, which its layer does not know", f.path, path)
			}
		}
	}
}

func TestPackagesAreDocumentedAndNamed(t *testing.T) {
	documented, names := map[string]bool{}, map[string]string{}
	for _, f := range load(t) {
		if f.test {
			continue
		}
		names[f.dir] = f.ast.Name.Name
		documented[f.dir] = documented[f.dir] || f.ast.Doc != nil
	}
	for dir, name := range names {
		if !documented[dir] {
			t.Errorf("package %s has no doc comment: what is it, what is it not?", dir)
		}
		if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "types", "misc", "base", "shared"}, name) {
			t.Errorf("package %s: %q says nothing about what is in it", dir, name)
		}
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	for _, f := range load(t) {
		if f.test || within(f.dir, "cmd", "bench", "examples") || f.ast.Name.Name == "main" {
			continue
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
					t.Errorf("%s: %s is not documented", f.path, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.ValueSpec); ok && !d.Lparen.IsValid() && s.Names[0].IsExported() && d.Doc == nil {
						t.Errorf("%s: %s is not documented", f.path, s.Names[0].Name)
					}
					if s, ok := spec.(*ast.TypeSpec); ok && s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
						t.Errorf("%s: %s is not documented", f.path, s.Name.Name)
					}
				}
			}
		}
	}
}

// exportedReceiver: methods of error and Stringer need no words.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	if d.Name.Name == "Error" || d.Name.Name == "String" {
		return false
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}

func TestWhatNoFileDoes(t *testing.T) {
	bans := []struct {
		pattern, reason string
		applies         func(file) bool
	}{
		{`\btime\.Sleep\(`, "a sleep in a test hopes; wait for what you wait for", func(f file) bool { return f.test }},
		{`\b(t|b|f|tb)\.Skip(f|Now)?\(`, "a skip hides a missing server", func(f file) bool { return f.test }},
		{`"KEYS"`, "KEYS stops the server for as long as it runs; SCAN", func(f file) bool { return !f.test && f.dir != "internal/arch" && f.dir != "internal/lua" }},
		{`"FLUSH(ALL|DB)"`, "nothing here may empty a server", func(f file) bool { return !f.test }},
		{`\btime\.(Now|Since|Until)\b`, "time is an argument in the domain", func(f file) bool { return !f.test && isPure(f.dir) }},
		{`\bpanic\(`, "input never ends in a panic; only MustParse, for tables", func(f file) bool {
			return !f.test && within(f.dir, append(pure, "connect", "internal", "cmd")...) && f.path != "keyspace/pattern/parse.go" && f.path != "internal/lua/lua.go"
		}},
		{`\bTODO\b|\bFIXME\b|\bXXX\b`, "what is left to do is an issue", func(f file) bool { return f.dir != "internal/arch" }},
	}
	for _, f := range load(t) {
		for _, ban := range bans {
			if f.path != "internal/arch/arch_test.go" && ban.applies(f) && regexp.MustCompile(ban.pattern).MatchString(f.text) {
				t.Errorf("%s has %s: %s", f.path, ban.pattern, ban.reason)
			}
		}
		if n := strings.Count(f.text, "\n"); !f.test && n > 500 && !generated(f) {
			t.Errorf("%s has %d lines; a file of more than 500 is two ideas", f.path, n)
		}
	}
}

// TestWhatStartsNoGoroutine: .ci/run tests these without the race detector, so
// nothing in them may run beside anything else.
func TestWhatStartsNoGoroutine(t *testing.T) {
	alone := []string{"gen", "infer", "finding", "audit", "slot", "keyspace/breaking", "keyspace/format", "keyspace/lint", "keyspace/match", "keyspace/schema", "keyspace/route", "migrate/record"}
	seen := 0
	for _, f := range load(t) {
		if !within(f.dir, alone...) || f.test {
			continue
		}
		seen++
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if started, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s starts a goroutine", f.set.Position(started.Pos()))
			}
			return true
		})
		for _, imported := range f.imports {
			if strings.HasPrefix(imported, "sync") && f.dir != "infer/software" && f.dir != "infer/page" { // tables and forms that are made once
				t.Errorf("%s imports %s", f.path, imported)
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d files were found: the search is broken", seen)
	}
}

// generated files are as long as the declaration makes them.
func generated(f file) bool {
	return strings.HasPrefix(f.text, "// Code generated by keywright; DO NOT EDIT.")
}

func TestCodesAreLiteralsAndUnique(t *testing.T) {
	declared := map[string]string{}
	for _, f := range load(t) {
		if f.test || within(f.dir, "bench", "examples", "cmd") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			row, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			code := declaredCode(row)
			if other, taken := declared[code]; taken && code != "" {
				t.Errorf("%s is declared in %s and in %s", code, other, f.path)
			}
			declared[code] = f.path
			return true
		})
	}
	if len(declared) < 50 {
		t.Errorf("only %d codes were found: the search is broken", len(declared))
	}
}

var codeLiteral = regexp.MustCompile(`^"(KW\d{3})"$`)

// declaredCode is the code of a row in a table of rules: a literal with a Code
// and a Name, or with a code and then something else; "" if it is no such row.
func declaredCode(row *ast.CompositeLit) string {
	fields := map[string]string{}
	for i, e := range row.Elts {
		name := []string{"Code", "Name"}[min(i, 1)]
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			id, _ := pair.Key.(*ast.Ident)
			if id == nil {
				return ""
			}
			name, e = id.Name, pair.Value
		} else if i > 1 {
			break
		}
		if lit, ok := e.(*ast.BasicLit); ok {
			fields[name] = lit.Value
		}
	}
	m := codeLiteral.FindStringSubmatch(fields["Code"])
	if m == nil || fields["Name"] == "" || codeLiteral.MatchString(fields["Name"]) {
		return ""
	}
	return m[1]
}

// TestFunctionsAreShort: a long function is rare, and then a table or a story.
func TestFunctionsAreShort(t *testing.T) {
	var lengths []int
	for _, f := range load(t) {
		for _, d := range f.ast.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && !f.test && d.Body != nil {
				lengths = append(lengths, f.set.Position(d.End()).Line-f.set.Position(d.Pos()).Line+1)
			}
		}
	}
	slices.Sort(lengths)
	if median, p90 := lengths[len(lengths)/2], lengths[len(lengths)*9/10]; median > 12 || p90 > 40 {
		t.Errorf("of %d functions half have more than %d lines (12 at most), a tenth more than %d (40 at most)", len(lengths), median, p90)
	}
}

func TestWhatNoTextSays(t *testing.T) {
	bans := []struct {
		pattern *regexp.Regexp
		ext     string
		reason  string
	}{
		{regexp.MustCompile(`(?m)(^|[\s"'(=:])/(work|home|root|Users)/\w`), "", "a path of somebody's machine means nothing on another"},
		{regexp.MustCompile(`(?i)\bp?call\s*\(\s*['"]KEYS['"]`), ".lua", "KEYS stops the server for as long as it runs; pass the keys"},
		{regexp.MustCompile(`(?i)\bp?call\s*\(\s*['"]FLUSH(ALL|DB)['"]`), ".lua", "nothing here may empty a server"},
	}
	seen := 0
	err := walk(func(path, text string) error {
		seen++
		for _, ban := range bans {
			if strings.HasSuffix(path, ban.ext) {
				if found := ban.pattern.FindString(text); found != "" {
					t.Errorf("%s has %q: %s", path, strings.TrimSpace(found), ban.reason)
				}
			}
		}
		return nil
	})
	if err != nil || seen < 100 {
		t.Errorf("%d files, %v", seen, err)
	}
}

// TestModules: whoever imports the library gets exactly what is listed here, and
// `go install …@latest` refuses a go.mod with a replace.
func TestModules(t *testing.T) {
	modules := []struct {
		path     string
		requires []string // all that may be required directly; nil: whatever it needs
	}{
		{"../../go.mod", []string{"go.yaml.in/yaml/v4", "github.com/redis/rueidis", "golang.org/x/sys", "github.com/google/go-cmp", "go.uber.org/goleak", "pgregory.net/rapid"}},
		{"../../cmd/keywright/go.mod", nil},
		{"../../metrics/go.mod", nil},
		{"../../tracing/go.mod", nil},
		{"../../fallback/bbolt/go.mod", nil},
	}
	require := regexp.MustCompile(`(?m)^(?:require )?\s*(\S+\.\S+/\S+) v\S+(?: // indirect)?$`)
	for _, m := range modules {
		text, err := os.ReadFile(m.path)
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(`(?m)^\s*replace\b|=>`).Match(text) {
			t.Errorf("%s has a replace", m.path)
		}
		found := require.FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			t.Errorf("%s: no requirement was found: the search is broken", m.path)
		}
		for _, r := range found {
			if m.requires != nil && !slices.Contains(m.requires, r[1]) {
				t.Errorf("%s requires %s: everybody who imports the library would get it", m.path, r[1])
			}
		}
	}
}
