package arch

import (
	"go/ast"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// load gives every Go file of the project.
func load(t *testing.T) []File {
	t.Helper()
	files, err := parsed()
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}

// parsed reads the project once for all laws.
var parsed = sync.OnceValues(func() ([]File, error) { return Parse(os.DirFS("../..")) })

// walk visits every file of text that people write.
func walk(visit func(path, text string) error) error { return Walk(os.DirFS("../.."), visit) }

// pure lists the folders of the domain.
var pure = []string{"keyspace", "gen", "audit", "infer", "connect/slot", "source", "apply/plan", "connect/topology",
	"migrate/phase", "migrate/record"}

func isPure(dir string) bool { return Within(dir, pure...) && !Within(dir, "source/server") }

func TestWhoMayImportWhom(t *testing.T) {
	laws := []struct {
		name, reason string
		where        func(dir string) bool
		banned       func(path string) bool
	}{
		{"the domain does no I/O", "files come as fs.FS, so that the model can be used anywhere and tested with maps", isPure,
			func(p string) bool {
				return p == "net" || p == "os" || p == "os/exec" || strings.HasPrefix(p, "net/") || p == "log"
			}},
		{"only the edge knows a connection", "what is not in these folders can be tested without a server",
			func(dir string) bool {
				return !Within(dir, "kernel", "connect", "internal/wire", "internal/servertest", "source/server",
					"keywrighttest", "apply/internal/applytest", "cmd", "bench", "examples")
			}, func(p string) bool { return p == "net" || p == Module+"/internal/wire" || p == Module+"/connect" }},
		{"nothing imports the command line", "the library must not inherit what the command line needs",
			func(dir string) bool { return !Within(dir, "cmd") },
			func(p string) bool { return strings.HasPrefix(p, Module+"/cmd") }},
		{"the domain knows no client", "what should be does not depend on how it is reached", isPure, func(p string) bool {
			return strings.HasPrefix(p, "github.com/redis/") || p == Module || p == Module+"/kernel" || p == Module+"/typed" ||
				p == Module+"/lock" || p == Module+"/queue"
		}},
		{"the pattern engine stands alone", "patterns, types and matching know no declaration", func(dir string) bool {
			return Within(dir, "keyspace/internal", "keyspace/scalar", "keyspace/pattern", "keyspace/match", "keyspace/route",
				"keyspace/schedule", "connect/slot")
		}, func(p string) bool {
			return p == Module+"/keyspace" || p == Module+"/keyspace/finding" || strings.Contains(p, "yaml")
		}},
		{"the model reads no YAML", "a declaration is data: keyspace/load alone makes it of text, and format lays text out",
			func(dir string) bool {
				return !Within(dir, "keyspace/load", "keyspace/format", "infer", "cmd", "bench", "examples")
			},
			func(p string) bool { return strings.Contains(p, "yaml") }},
		{"a source does not judge", "facts and judgement change for different reasons",
			func(dir string) bool { return Within(dir, "source") }, func(p string) bool {
				return strings.HasPrefix(p, Module+"/keyspace") || p == Module+"/audit"
			}},
		{"an audit knows no server", "the same audit runs over a snapshot",
			func(dir string) bool { return Within(dir, "audit") && !Within(dir, "audit/doctor") },
			func(p string) bool { return p == Module+"/source/server" || p == Module+"/connect" }},
		{"the library has two dependencies", "who imports the matcher must not get a command line's versions",
			func(dir string) bool { return !Within(dir, append(OwnModules, "apply/internal/applytest")...) },
			func(p string) bool {
				first, _, _ := strings.Cut(p, "/")
				return strings.Contains(first, ".") && !strings.HasPrefix(p, Module) && p != "go.yaml.in/yaml/v4" &&
					p != "github.com/redis/rueidis"
			}},
		{"no template calls methods by their names",
			"the linker would keep every method of every type: the command line had 18 MB more; package internal/layout " +
				"does without",
			func(dir string) bool { return !Within(dir, "bench", "internal/arch") },
			func(p string) bool { return p == "text/template" || p == "html/template" }},
		{"the client library is known in one folder",
			"its types in an API would be a promise that is not ours, and a change of it would touch every construct",
			func(dir string) bool {
				return !Within(dir, "kernel", "bench", "examples", "apply/internal/applytest")
			}, func(p string) bool { return strings.HasPrefix(p, "github.com/redis/") }},
		{"testing is for tests", "it registers flags in every program", func(dir string) bool {
			return !Within(dir, "keywrighttest", "internal/history/historytest", "internal/mutation", "internal/harm",
				"internal/gate", "internal/expect", "internal/servertest", "internal/declared", "examples/internal/sitetest",
				"apply/internal/applytest", "bench/harness/harnesstest")
		}, func(p string) bool { return p == "testing" }},
		{"programs do not start test servers", "they would inherit testing's flags", func(dir string) bool {
			return !slices.Contains([]string{"internal/harm", "internal/servertest",
				"examples/internal/sitetest"},
				dir)
		}, func(p string) bool { return p == Module+"/keywrighttest" }},
	}
	for _, f := range load(t) {
		if f.Test {
			continue
		}
		for _, law := range laws {
			for _, imp := range f.Imports {
				if law.where(f.Dir) && law.banned(imp) {
					t.Errorf("%s imports %s: %s (%s)", f.Path, imp, law.name, law.reason)
				}
			}
		}
	}
}

// TestLayers: a package of the library imports of the library what its row says, and no row
// imports one after it.
func TestLayers(t *testing.T) {
	_, allowed := Rank()
	for _, f := range load(t) {
		if f.Test || Within(f.Dir, OwnModules...) {
			continue
		}
		imports, known := allowed[f.Dir]
		if !known {
			t.Errorf("%s: package %s is in no layer: which packages may it import?", f.Path, f.Dir)
		}
		for _, path := range f.Imports {
			if dir, ours := Folder(path); ours && !slices.Contains(imports, dir) {
				t.Errorf("%s imports %s, which its layer does not know", f.Path, dir)
			}
		}
	}
	for _, edge := range Upward(load(t)) {
		t.Errorf("%s, which is in a later row", edge)
	}
}

func TestPackagesAreNamed(t *testing.T) {
	for _, f := range load(t) {
		if name := f.AST.Name.Name; slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "types", "misc",
			"base", "shared"}, name) {
			t.Errorf("%s: package %s: %q says nothing about what is in it", f.Path, f.Dir, name)
		}
	}
}

func TestWhatNoFileDoes(t *testing.T) {
	bans := []struct {
		pattern, reason string
		applies         func(File) bool
	}{
		{`\btime\.Sleep\(`, "a sleep in a test hopes; wait for what you wait for", func(f File) bool { return f.Test }},
		{`\b(t|b|f|tb)\.Skip(f|Now)?\(`, "a skip hides a missing server", func(f File) bool { return f.Test }},
		{`"KEYS"`, "KEYS stops the server for as long as it runs; SCAN",
			func(f File) bool { return !f.Test && f.Dir != "internal/arch" && f.Dir != "internal/lua" }},
		{`"FLUSH(ALL|DB)"`, "nothing here may empty a server, but the servers of tests",
			func(f File) bool { return !f.Test && f.Dir != "keywrighttest" }},
		{`\btime\.(Now|Since|Until)\b`, "time is an argument in the domain",
			func(f File) bool { return !f.Test && isPure(f.Dir) }},
		{`\bpanic\(`, "input never ends in a panic; only MustParse, for tables", func(f File) bool {
			return !f.Test && Within(f.Dir, append(pure, "connect", "internal", "cmd")...) &&
				f.Path != "keyspace/pattern/parse.go" && f.Path != "internal/lua/lua.go"
		}},
		{`\bTODO\b|\bFIXME\b|\bXXX\b`, "what is left to do is an issue",
			func(f File) bool { return f.Dir != "internal/arch" }},
	}
	for _, f := range load(t) {
		for _, ban := range bans {
			if f.Path != "internal/arch/arch_test.go" && ban.applies(f) && regexp.MustCompile(ban.pattern).MatchString(f.Text) {
				t.Errorf("%s has %s: %s", f.Path, ban.pattern, ban.reason)
			}
		}
		if n := strings.Count(f.Text, "\n"); !f.Test && n > 500 && !f.Generated() {
			t.Errorf("%s has %d lines; a file of more than 500 is two ideas", f.Path, n)
		}
	}
}

// TestWhatStartsNoGoroutine: .ci/run tests these without the race detector, so
// nothing in them may run beside anything else.
func TestWhatStartsNoGoroutine(t *testing.T) {
	alone := []string{"gen", "infer", "keyspace/finding", "audit", "connect/slot", "keyspace/breaking", "keyspace/format",
		"keyspace/lint", "keyspace/match", "keyspace/schema", "keyspace/route", "migrate/record"}
	seen := 0
	for _, f := range load(t) {
		if !Within(f.Dir, alone...) || f.Test {
			continue
		}
		seen++
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if started, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s starts a goroutine", f.Set.Position(started.Pos()))
			}
			return true
		})
		for _, imported := range f.Imports {
			// tables and forms that are made once
			if strings.HasPrefix(imported, "sync") && !Within(f.Dir, "infer/software", "infer/page") {
				t.Errorf("%s imports %s", f.Path, imported)
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d files were found: the search is broken", seen)
	}
}

func TestCodesAreLiteralsAndUnique(t *testing.T) {
	declared := map[string]string{}
	for _, f := range load(t) {
		if f.Test || Within(f.Dir, "bench", "examples", "cmd") {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			row, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			code := declaredCode(row)
			if other, taken := declared[code]; taken && code != "" {
				t.Errorf("%s is declared in %s and in %s", code, other, f.Path)
			}
			declared[code] = f.Path
			return true
		})
	}
	if len(declared) < 50 {
		t.Errorf("only %d codes were found: the search is broken", len(declared))
	}
}

var codeLiteral = regexp.MustCompile(`^"(KW\d{3})"$`)

// declaredCode returns the code of a row in a table of rules: a literal with a Code
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

func TestWhatNoTextSays(t *testing.T) {
	bans := []struct {
		pattern *regexp.Regexp
		ext     string
		reason  string
	}{
		{regexp.MustCompile(`(?m)(^|[\s"'(=:])/(work|home|root|Users)/\w`), "",
			"a path of somebody's machine means nothing on another"},
		{regexp.MustCompile(`(?i)\bp?call\s*\(\s*['"]KEYS['"]`), ".lua",
			"KEYS stops the server for as long as it runs; pass the keys"},
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

// TestModules: a program that imports the library gets exactly what is listed here, and
// `go install …@latest` refuses a go.mod with a replace.
func TestModules(t *testing.T) {
	modules := []struct {
		path     string
		requires []string // all that may be required directly; nil: whatever it needs
	}{
		{"../../go.mod", []string{"go.yaml.in/yaml/v4", "github.com/redis/rueidis", "golang.org/x/sys",
			"github.com/google/go-cmp", "go.uber.org/goleak", "pgregory.net/rapid"}},
		{"../../cmd/keywright/go.mod", nil},
		{"../../cmd/keywrightd/go.mod", nil},
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
