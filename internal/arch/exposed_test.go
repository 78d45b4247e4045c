package arch

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNoClientLibraryInTheAPI: a program that uses a package of the library need not know the
// client library below it, which may change. Package kernel has it, also under names of its own, and guard wraps it; no
// program imports a room below internal.
func TestNoClientLibraryInTheAPI(t *testing.T) {
	seen, wire := 0, wireNames(t)
	for _, f := range load(t) {
		if f.Test || Within(f.Dir, OwnModules...) && !Within(f.Dir, "metrics", "tracing", "fallback/bbolt") ||
			Within(f.Dir, "kernel", "internal") || strings.Contains(f.Dir, "/internal/") {
			continue
		}
		if !slices.Contains(f.Imports, Module+"/kernel") {
			continue
		}
		seen++
		for _, e := range exposed(f.AST) {
			ast.Inspect(e, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "kernel" && wire[sel.Sel.Name] {
						t.Errorf("%s: %s of the client library is in the API of the package", f.Set.Position(sel.Pos()),
							sel.Sel.Name)
					}
				}
				return true
			})
		}
	}
	if seen < 5 {
		t.Errorf("only %d files know package kernel: the search is broken", seen)
	}
}

// wireNames returns the names that package kernel gives to types of the client library.
func wireNames(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, f := range load(t) {
		if f.Dir != "kernel" || f.Test {
			continue
		}
		for _, m := range regexp.MustCompile(`(?m)^\s+([A-Z]\w+) += rueidis\.`).FindAllStringSubmatch(f.Text, -1) {
			found[m[1]] = true
		}
	}
	if len(found) < 10 {
		t.Fatalf("package kernel names only %v of the client library", found)
	}
	return found
}

// exposed returns what users of a package see of a file: the types of its exported
// declarations.
func exposed(f *ast.File) (out []ast.Node) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || ofExported(d.Recv.List[0].Type)) {
				out = append(out, d.Type)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				out = append(out, exposedOf(s)...)
			}
		}
	}
	return out
}

// ofExported reports whether a receiver is of an exported type.
func ofExported(typ ast.Expr) bool {
	switch typ := typ.(type) {
	case *ast.StarExpr:
		return ofExported(typ.X)
	case *ast.IndexExpr:
		return ofExported(typ.X)
	case *ast.IndexListExpr:
		return ofExported(typ.X)
	case *ast.Ident:
		return typ.IsExported()
	}
	return false
}

func exposedOf(s ast.Spec) (out []ast.Node) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		if s.Names[0].IsExported() {
			if s.Type != nil {
				return []ast.Node{s.Type}
			}
			for _, v := range s.Values {
				out = append(out, v)
			}
		}
	case *ast.TypeSpec:
		if !s.Name.IsExported() {
			return nil
		}
		if s.TypeParams != nil {
			out = append(out, s.TypeParams)
		}
		fields, ok := s.Type.(*ast.StructType)
		if !ok {
			return append(out, s.Type)
		}
		for _, field := range fields.Fields.List {
			if len(field.Names) == 0 || field.Names[0].IsExported() {
				out = append(out, field.Type)
			}
		}
	}
	return out
}
