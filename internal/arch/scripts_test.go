package arch

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// ofUsers are folders whose scripts are those of users: they are declared in a keyspace.
var ofUsers = []string{"examples", "bench", "internal/everykeys"}

// TestTheTimeIsInOnePlace: scripts ask for the server's time by the part `time`, so that
// all of them have it in the same units, as exactly as a Lua number holds it.
func TestTheTimeIsInOnePlace(t *testing.T) {
	time := regexp.MustCompile(`['"]TIME['"]`)
	asked := 0
	err := walk(func(path, text string) error {
		switch {
		case !strings.HasSuffix(path, ".lua") || Within(path, ofUsers...) || strings.HasPrefix(path, "entity/testdata/"):
		case path == "internal/lua/parts/time.lua":
			asked += len(time.FindAllString(text, -1))
		case time.MatchString(text):
			t.Errorf("%s asks for the time itself: `-- include: time` has clock()", path)
		}
		return nil
	})
	if err != nil || asked != 1 {
		t.Errorf("the shared part asks for the time %d times: %v", asked, err)
	}
}

// TestScriptsAreFiles: a script of the library is a file with a header, put together by
// internal/lua. None is text in Go, and none is cut out of another one by what is written
// in it.
func TestScriptsAreFiles(t *testing.T) {
	makes := map[string]bool{"NewScript": true, "NewReadOnlyScript": true, "NewKeylessScript": true, "NewShared": true}
	cuts := map[string]bool{"Cut": true, "Index": true, "Split": true, "SplitN": true, "Replace": true, "ReplaceAll": true,
		"LastIndex": true}
	program := regexp.MustCompile(`\bredis\.p?call\(`)
	found := 0
	for _, f := range load(t) {
		if f.Test || Within(f.Dir, ofUsers...) || Within(f.Dir, "cmd", "gen", "keywrighttest", "bench", "examples") {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if program.MatchString(n.Value) {
					t.Errorf("%s has a script in its text: make it a file, see internal/lua", f.Set.Position(n.Pos()))
				}
			case *ast.CallExpr:
				name := called(n)
				if !makes[name] || len(n.Args) < 2 {
					return true
				}
				found++
				ast.Inspect(n.Args[len(n.Args)-1], func(inner ast.Node) bool {
					if call, ok := inner.(*ast.CallExpr); ok && cuts[called(call)] {
						t.Errorf("%s changes a script by what is written in it: use parts, see internal/lua", f.Set.Position(call.Pos()))
					}
					return true
				})
			}
			return true
		})
		for _, spec := range f.AST.Imports {
			if spec.Path.Value == `"embed"` && embedsOneScript(f.AST) {
				t.Errorf("%s embeds a script by its name: embed *.lua and make it with internal/lua", f.Path)
			}
		}
	}
	if found < 60 {
		t.Errorf("only %d scripts are made: the search is broken", found)
	}
}

// called returns the name of the function that a call calls.
func called(call *ast.CallExpr) string {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return fun.Sel.Name
	}
	return ""
}

// embedsOneScript reports whether a file embeds one script as text.
func embedsOneScript(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, c := range group.List {
			name, ok := strings.CutPrefix(c.Text, "//go:embed ")
			if ok && strings.HasSuffix(name, ".lua") && name != "*.lua" && name != "parts/*.lua" {
				return true
			}
		}
	}
	return false
}
