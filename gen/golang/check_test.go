package golang_test

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// noImports makes go/types take every name of an imported package as it is: what is left are faults of the file
// itself, such as a name that is declared twice, or a parameter that hides a package.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not read") }

// unread are faults that there are only because packages are not read.
var unread = regexp.MustCompile(`could not import|type \w+(Handle|Store) has no field or method`)

// faults returns what the Go compiler would refuse about names and imports of a generated file, and what gofmt would
// lay out in another way.
func faults(t testing.TB, text []byte) (out []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "k.go", text, parser.ParseComments)
	if err != nil {
		return []string{err.Error()}
	}
	config := types.Config{Importer: noImports{}, Error: func(err error) {
		if !unread.MatchString(err.Error()) {
			out = append(out, err.Error())
		}
	}}
	_, _ = config.Check("k", set, []*ast.File{file}, nil) // Error has its errors
	used := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				used[x.Name] = true
			}
		}
		return true
	})
	for _, i := range file.Imports {
		if !used[path.Base(strings.Trim(i.Path.Value, `"`))] {
			out = append(out, fmt.Sprintf("%s is imported and not used", i.Path.Value))
		}
	}
	if again, err := format.Source(text); err != nil || string(again) != string(text) {
		out = append(out, fmt.Sprint("gofmt lays it out in another way: ", err))
	}
	return out
}

// printed represents a declaration of a generated file: what it is called and all of it, "no NAME" where there is none.
// Methods are named as in Keyspace.Product.
type printed struct{ name, want string }

// prints holds that the code of a declaration is sound Go, and what some of it is.
func prints(t *testing.T, declaration string, rows []printed) {
	t.Helper()
	text := generate(t, declare(t, declaration))
	for _, fault := range faults(t, text) {
		t.Error(fault)
	}
	all := declarations(t, text)
	for _, row := range rows {
		if got := cmp.Or(all[row.name], "no "+row.name); got != strings.Trim(row.want, "\n") {
			t.Errorf("%s is\n%s\nnot\n%s", row.name, got, row.want)
		}
	}
}

// declarations returns the declarations of a generated file with their comments.
func declarations(t testing.TB, text []byte) map[string]string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "k.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, d := range file.Decls {
		from := d.Pos()
		var name string
		var doc *ast.CommentGroup
		switch d := d.(type) {
		case *ast.FuncDecl:
			name, doc = d.Name.Name, d.Doc
			if d.Recv != nil {
				typ := d.Recv.List[0].Type
				if star, ok := typ.(*ast.StarExpr); ok {
					typ = star.X
				}
				name = typ.(*ast.Ident).Name + "." + name
			}
		case *ast.GenDecl:
			doc = d.Doc
			switch s := d.Specs[0].(type) {
			case *ast.TypeSpec:
				name = s.Name.Name
			case *ast.ValueSpec:
				name = s.Names[0].Name
			}
		}
		if doc != nil {
			from = doc.Pos()
		}
		found[name] = string(text[set.Position(from).Offset:set.Position(d.End()).Offset])
	}
	return found
}

// stringsOf returns the texts that are written in a piece of Go.
func stringsOf(t testing.TB, code string) (out []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "k.go", "package p\n"+code, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if x, ok := n.(*ast.BasicLit); ok && x.Kind == token.STRING {
			text, err := strconv.Unquote(x.Value)
			if err != nil {
				t.Error(err)
			}
			out = append(out, text)
		}
		return true
	})
	return out
}
