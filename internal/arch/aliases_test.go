package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestTypesAreDeclaredWhereUsersSeeThem: an exported type of a package that users import is no other name of a type
// below internal: go doc would show its fields, methods and constants nowhere.
func TestTypesAreDeclaredWhereUsersSeeThem(t *testing.T) {
	seen := 0
	for _, f := range load(t) {
		if f.Test || Within(f.Dir, OwnModules...) && !Within(f.Dir, "metrics", "tracing", "fallback/bbolt") ||
			below(f.Dir) {
			continue
		}
		for _, s := range types(f.AST) {
			seen++
			if from := hidden(f.AST, s); from != "" {
				t.Errorf("%s: %s is a type of %s: declare it here, or in a package that users can import",
					f.Set.Position(s.Pos()), s.Name.Name, from)
			}
		}
	}
	if seen < 300 {
		t.Errorf("only %d types were found: the search is broken", seen)
	}
}

// TestHiddenTypesAreFound shows what the search takes for a type below internal.
func TestHiddenTypesAreFound(t *testing.T) {
	for text, want := range map[string]string{
		`import "a/internal/b"; type Options = b.Options`:       "a/internal/b",
		`import "a/internal/b"; type Options b.Options`:         "a/internal/b",
		`import "a/internal/b"; type ( Options = *b.Options )`:  "a/internal/b",
		`import c "a/internal/b"; type Options = c.Options`:     "a/internal/b",
		`import "a/internal/b"; type Options[T any] = b.Of[T]`:  "a/internal/b",
		`import "a/internal/b"; type Options = b.Of[int, bool]`: "a/internal/b",
		`import "internal/b"; type Options = b.Options`:         "internal/b",
		`import "a/internal/b"; type options = b.Options`:       "",
		`import "a/internal/b"; type Options struct{ b.Parts }`: "",
		`import "a/b"; type Options = b.Options`:                "",
		`import "a/internals/b"; type Options = b.Options`:      "",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p; "+text, 0)
		must(t, err)
		got := ""
		for _, s := range types(file) {
			got += hidden(file, s)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// types returns the exported types of a file.
func types(f *ast.File) (found []*ast.TypeSpec) {
	for _, d := range f.Decls {
		if d, ok := d.(*ast.GenDecl); ok {
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() {
					found = append(found, s)
				}
			}
		}
	}
	return found
}

// hidden returns the package below internal that declares what a type is another name of; "": there is none.
func hidden(f *ast.File, s *ast.TypeSpec) string {
	typ := s.Type
	for {
		switch of := typ.(type) {
		case *ast.StarExpr:
			typ = of.X
		case *ast.IndexExpr:
			typ = of.X
		case *ast.IndexListExpr:
			typ = of.X
		case *ast.SelectorExpr:
			for _, i := range f.Imports {
				from, _ := strconv.Unquote(i.Path.Value)
				name := path.Base(from)
				if i.Name != nil {
					name = i.Name.Name
				}
				if of.X.(*ast.Ident).Name == name && below(from) {
					return from
				}
			}
			return ""
		default:
			return ""
		}
	}
}

// below reports whether a package is one that only packages beside it may import.
func below(dir string) bool { return slices.Contains(strings.Split(dir, "/"), "internal") }
