package arch

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestTestsShareHelpers: a function that the tests of two packages have is in one of the packages that tests share:
// expect, servertest, declared, keywrighttest. Numbers and texts do not count, and a function of one statement may be
// written twice.
func TestTestsShareHelpers(t *testing.T) {
	first, seen := map[string]string{}, 0
	for _, f := range load(t) {
		for _, fn := range helpers(f) {
			seen++
			place := f.Set.Position(fn.Pos()).String()
			text := shape(source(f, fn.Body))
			if other := first[text]; other != "" && folder(other) != folder(place) {
				t.Errorf("%s: %s is also at %s: it goes to a package that tests share", place, fn.Name.Name, other)
			}
			first[text] = place
		}
	}
	if seen < 500 {
		t.Errorf("only %d helpers were found: the search is broken", seen)
	}
}

// TestTestsWaitInOnePlace: a loop that asks until a time is over is in package expect.
func TestTestsWaitInOnePlace(t *testing.T) {
	for _, f := range load(t) {
		for _, fn := range helpers(f) {
			if asks(fn.Type) && loops(fn.Body) {
				t.Errorf("%s: %s waits by itself: use expect.Eventually", f.Set.Position(fn.Pos()), fn.Name.Name)
			}
		}
	}
}

// TestCopiesAreFound shows what the search for copies takes for one.
func TestCopiesAreFound(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"x := 1; y(x)", "x := 2\ny(x) // why", true},
		{"x := 1; y(x)", "x := 1; z(x)", false},
		{`if err != nil { t.Fatal("a", err) }`, `if err != nil { t.Fatal("b", err) }`, true},
		{"a + b", "a - b", false},
		{"return", "", false},
	} {
		if same := shape(c.a) == shape(c.b); same != c.same {
			t.Errorf("%q and %q: %v", c.a, c.b, same)
		}
	}
}

// TestWaitsAreFound shows what the search for loops takes for one that waits.
func TestWaitsAreFound(t *testing.T) {
	for text, want := range map[string]bool{
		"func f(ok func() bool) { for !ok() { <-time.After(1) } }": true,
		"func f(ok func() bool) { for !ok() { g() } }":             false,
		"func f(ok bool) { for !ok { <-time.After(1) } }":          false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p; "+text, 0)
		must(t, err)
		if fn := file.Decls[0].(*ast.FuncDecl); (asks(fn.Type) && loops(fn.Body)) != want {
			t.Errorf("%s: want %v", text, want)
		}
	}
}

// helpers returns the functions of a test file that are not tests themselves and have two statements or more.
func helpers(f File) (found []*ast.FuncDecl) {
	if !f.Test {
		return nil
	}
	for _, d := range f.AST.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && fn.Recv == nil && fn.Body != nil && statements(fn.Body) > 1 && !startedByGo(fn.Name.Name) {
			found = append(found, fn)
		}
	}
	return found
}

// startedByGo reports whether go test runs a function by its name.
func startedByGo(name string) bool {
	return slices.ContainsFunc([]string{"Test", "Benchmark", "Fuzz", "Example"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// statements counts the statements of a function, those within others too.
func statements(body *ast.BlockStmt) (n int) {
	ast.Inspect(body, func(x ast.Node) bool {
		if _, block := x.(*ast.BlockStmt); !block {
			if _, ok := x.(ast.Stmt); ok {
				n++
			}
		}
		return true
	})
	return n
}

// shape returns the tokens of a piece of source, without comments, and without its numbers and texts.
func shape(source string) string {
	var b strings.Builder
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile("", set.Base(), len(source)), []byte(source), nil, 0)
	for {
		_, tok, text := s.Scan()
		switch {
		case tok == token.EOF:
			return b.String()
		case tok.IsLiteral() && tok != token.IDENT:
			text = tok.String()
		case text == "" || text == "\n":
			text = tok.String()
		}
		b.WriteString(text + " ")
	}
}

// source returns the text of a node.
func source(f File, n ast.Node) string {
	return f.Text[f.Set.Position(n.Pos()).Offset:f.Set.Position(n.End()).Offset]
}

// asks reports whether a function takes a condition: func() bool.
func asks(fn *ast.FuncType) bool {
	return slices.ContainsFunc(fn.Params.List, func(p *ast.Field) bool {
		given, ok := p.Type.(*ast.FuncType)
		if !ok || given.Results == nil || len(given.Params.List) > 0 || len(given.Results.List) != 1 {
			return false
		}
		result, ok := given.Results.List[0].Type.(*ast.Ident)
		return ok && result.Name == "bool"
	})
}

// loops reports whether a function has a loop that looks at the time.
func loops(body *ast.BlockStmt) (found bool) {
	ast.Inspect(body, func(x ast.Node) bool {
		if loop, ok := x.(*ast.ForStmt); ok {
			found = found || names(loop, "time")
		}
		return true
	})
	return found
}

// names reports whether a node has a name in it.
func names(n ast.Node, name string) (found bool) {
	ast.Inspect(n, func(x ast.Node) bool {
		id, ok := x.(*ast.Ident)
		found = found || ok && id.Name == name
		return true
	})
	return found
}

// folder returns the folder of a place.
func folder(place string) string { return place[:max(strings.LastIndexByte(place, '/'), 0)] }
