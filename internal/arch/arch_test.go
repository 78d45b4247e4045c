package arch

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/keywright/keywright"

// file is one parsed Go file of the project.
type file struct {
	path    string // from the root of the project
	dir     string
	test    bool
	ast     *ast.File
	text    string
	imports []string
}

// load parses every Go file once.
func load(t *testing.T) []file {
	t.Helper()
	var out []file
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != "." || d.Name() == "node_modules" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		f := file{path: path, dir: filepath.Dir(path), test: strings.HasSuffix(path, "_test.go"), ast: parsed, text: string(text)}
		for _, imp := range parsed.Imports {
			f.imports = append(f.imports, strings.Trim(imp.Path.Value, `"`))
		}
		out = append(out, f)
		return nil
	})
	if err != nil || len(out) < 40 {
		t.Fatalf("%d files, %v", len(out), err)
	}
	return out
}

// within reports whether dir is one of the folders, or below one.
func within(dir string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return dir == f || strings.HasPrefix(dir, f+"/") })
}

// pure are the folders of the domain.
var pure = []string{"keyspace", "audit", "finding", "slot", "source"}

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
			return !within(dir, "connect", "internal/wire", "source/server", "keywrighttest", "cmd", "bench", "examples")
		}, func(p string) bool { return p == "net" || p == module+"/internal/wire" || p == module+"/connect" }},
		{"nothing imports the command line", "the library must not inherit what the command line needs", func(dir string) bool { return !within(dir, "cmd") }, func(p string) bool { return strings.HasPrefix(p, module+"/cmd") }},
		{"the pattern engine stands alone", "patterns, types and matching know no declaration", func(dir string) bool {
			return within(dir, "keyspace/internal", "keyspace/scalar", "keyspace/pattern", "keyspace/match", "slot")
		}, func(p string) bool {
			return p == module+"/keyspace" || p == module+"/finding" || strings.Contains(p, "yaml")
		}},
		{"a source does not judge", "facts and judgement change for different reasons", func(dir string) bool { return within(dir, "source") }, func(p string) bool {
			return strings.HasPrefix(p, module+"/keyspace") || p == module+"/audit" || p == module+"/finding"
		}},
		{"an audit knows no server", "the same audit runs over a snapshot", func(dir string) bool { return within(dir, "audit") }, func(p string) bool { return p == module+"/source/server" || p == module+"/connect" }},
		{"the library has one dependency", "who imports the matcher must not get a command line's versions", func(dir string) bool { return !within(dir, "cmd", "bench", "examples") }, func(p string) bool {
			first, _, _ := strings.Cut(p, "/")
			return strings.Contains(first, ".") && !strings.HasPrefix(p, module) && p != "go.yaml.in/yaml/v4"
		}},
		{"testing is for tests", "it registers flags in every program", func(dir string) bool { return !within(dir, "keywrighttest") }, func(p string) bool { return p == "testing" }},
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
		{`\bt\.Skip(f|Now)?\(`, "a skip hides a missing server", func(f file) bool { return f.test }},
		{`"KEYS"`, "KEYS stops the server for as long as it runs; SCAN", func(f file) bool { return !f.test && f.dir != "internal/arch" }},
		{`"FLUSH(ALL|DB)"`, "nothing here may empty a server", func(f file) bool { return !f.test }},
		{`\btime\.Now\(`, "time is an argument in the domain", func(f file) bool { return !f.test && isPure(f.dir) }},
		{`\bpanic\(`, "input never ends in a panic; only MustParse, for tables", func(f file) bool {
			return !f.test && within(f.dir, append(pure, "connect", "internal", "cmd")...) && f.path != "keyspace/pattern/parse.go"
		}},
		{`\bTODO\b|\bFIXME\b|\bXXX\b`, "what is left to do is an issue", func(f file) bool { return f.dir != "internal/arch" }},
		{"/work" + "/", "no path of a private machine", func(file) bool { return true }},
	}
	for _, f := range load(t) {
		for _, ban := range bans {
			if f.path != "internal/arch/arch_test.go" && ban.applies(f) && regexp.MustCompile(ban.pattern).MatchString(f.text) {
				t.Errorf("%s has %s: %s", f.path, ban.pattern, ban.reason)
			}
		}
		if n := strings.Count(f.text, "\n"); !f.test && n > 500 {
			t.Errorf("%s has %d lines; a file of more than 500 is two ideas", f.path, n)
		}
	}
}

func TestCodesAreLiteralsAndUnique(t *testing.T) {
	declared := map[string]string{}
	declaration := regexp.MustCompile(`(?:Code: |\{)"(KW\d{3})"`)
	for _, f := range load(t) {
		if f.test || within(f.dir, "bench", "examples", "cmd") {
			continue
		}
		scanner := bufio.NewScanner(strings.NewReader(f.text))
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			line := scanner.Text()
			m := declaration.FindStringSubmatch(line)
			if m == nil || !strings.Contains(line, "Name: ") && !strings.Contains(line, `", "`) || strings.Contains(line, "Finding{") {
				continue
			}
			if other, taken := declared[m[1]]; taken && other != f.path {
				t.Errorf("%s is declared in %s and in %s", m[1], other, f.path)
			}
			declared[m[1]] = f.path
		}
	}
	if len(declared) < 50 {
		t.Errorf("only %d codes were found: the search is broken", len(declared))
	}
}

func TestInstallableModulesHaveNoReplace(t *testing.T) {
	for _, path := range []string{"../../go.mod", "../../cmd/keywright/go.mod"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "replace") {
			t.Errorf("%s has a replace: `go install …@latest` refuses it", path)
		}
	}
}
