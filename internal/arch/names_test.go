package arch

import (
	"go/ast"
	"maps"
	"slices"
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

// sameEverywhere lists the names that unexported functions of five or more packages have, and the one thing that each
// of them does.
var sameEverywhere = map[string]string{
	"main":       "starts a program",
	"run":        "does what its program or its test is for",
	"quote":      "returns a literal that holds a text, in the language of its package",
	"identifier": "returns a legal name, made of a text",
	"newScripts": "returns the scripts of a construct",
	"benchmark":  "describes a program of bench",
}

// TestOneMeaningOfAName: a name that functions of five packages have says too little, or it does the same in each.
func TestOneMeaningOfAName(t *testing.T) {
	folders := map[string]map[string]bool{}
	for _, f := range load(t) {
		for _, d := range f.AST.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && !d.Name.IsExported() && !f.Test {
				if folders[d.Name.Name] == nil {
					folders[d.Name.Name] = map[string]bool{}
				}
				folders[d.Name.Name][f.Dir] = true
			}
		}
	}
	for name, in := range folders {
		if name != "init" && len(in) >= 5 && sameEverywhere[name] == "" {
			t.Errorf("functions of %d packages are called %s: %v", len(in), name, slices.Sorted(maps.Keys(in)))
		}
	}
	for name := range sameEverywhere {
		if len(folders[name]) < 5 {
			t.Errorf("only %d packages have a function %s: take it off the list", len(folders[name]), name)
		}
	}
}
