package arch

import (
	"go/ast"
	"testing"
)

// TestTheRootIsSmall: package keywright has at most 50 exported names, so that a program
// finds what it needs in the list that an editor shows. What only packages of constructs
// use is in kernel.
func TestTheRootIsSmall(t *testing.T) {
	var names []string
	for _, f := range load(t) {
		if f.Dir == "." && !f.Test {
			names = append(names, rootNames(f.AST)...)
		}
	}
	if len(names) > 50 || len(names) < 20 {
		t.Errorf("package keywright has %d exported names: %v", len(names), names)
	}
}

// rootNames returns the exported names that a file declares, without methods.
func rootNames(file *ast.File) (names []string) {
	for name, object := range file.Scope.Objects {
		if ast.IsExported(name) && object.Kind != ast.Bad {
			names = append(names, name)
		}
	}
	return names
}
