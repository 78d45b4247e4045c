package arch

import (
	"go/ast"
	"strings"
	"testing"
)

// TestFilesWithoutTheRaceDetector: what a file declares that is left out with the race detector is used by such files
// only. Else the tests of its package do not compile with it, which `make test` does not see.
func TestFilesWithoutTheRaceDetector(t *testing.T) {
	without := func(f File) bool {
		first, _, _ := strings.Cut(f.Text, "\n")
		return strings.HasPrefix(first, "//go:build ") && strings.Contains(first, "!race")
	}
	files, declared := load(t), map[string]string{}
	for _, f := range files {
		if !without(f) {
			continue
		}
		for _, d := range f.AST.Decls {
			for _, name := range declaredBy(d) {
				declared[f.Dir+" "+name] = f.Path
			}
		}
	}
	for _, f := range files {
		for _, name := range f.AST.Unresolved { // in this file
			if from := declared[f.Dir+" "+name.Name]; from != "" && !without(f) {
				t.Errorf("%s uses %s of %s, which is left out with the race detector", f.Set.Position(name.Pos()),
					name.Name, from)
			}
		}
	}
	if len(declared) < 20 {
		t.Errorf("only %d names were found: the search is broken", len(declared))
	}
}

// declaredBy returns the names that a declaration adds to its package, methods left out.
func declaredBy(d ast.Decl) (out []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			out = append(out, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				out = append(out, s.Name.Name)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					out = append(out, name.Name)
				}
			}
		}
	}
	return out
}
