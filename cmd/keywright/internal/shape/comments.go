package shape

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"reflect"
	"strings"
)

// Source reads the comments of types from Go source: of the module named, in root.
func Source(root fs.FS, module string) Comments {
	read := map[string]map[string]string{}
	return func(of reflect.Type, field string) string {
		dir, ours := strings.CutPrefix(of.PkgPath(), module)
		if !ours {
			return ""
		}
		dir = path.Join(".", strings.TrimPrefix(dir, "/"))
		if read[dir] == nil {
			read[dir] = commentsOf(root, dir)
		}
		return read[dir][of.Name()+"."+field]
	}
}

// commentsOf reads a package: by "Type." and "Type.Field".
func commentsOf(root fs.FS, dir string) map[string]string {
	out := map[string]string{}
	files, _ := fs.Glob(root, path.Join(dir, "*.go"))
	for _, name := range files {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			d, ok := n.(*ast.GenDecl)
			if !ok {
				return true
			}
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					typeComments(out, s, d.Doc)
				}
			}
			return true
		})
	}
	return out
}

func typeComments(out map[string]string, s *ast.TypeSpec, doc *ast.CommentGroup) {
	if s.Doc != nil {
		doc = s.Doc
	}
	out[s.Name.Name+"."] = sentence(doc.Text(), s.Name.Name)
	form, ok := s.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range form.Fields.List {
		text := f.Doc.Text()
		if text == "" {
			text = f.Comment.Text()
		}
		for _, name := range f.Names {
			out[s.Name.Name+"."+name.Name] = sentence(text, "")
		}
	}
}

// opens are the verbs that doc comments of types open with.
var opens = []string{" is ", " are ", " describes ", " holds ", " lists ", " represents "}

// sentence returns a comment without the name of the type and its verb, in one line.
func sentence(text, name string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, verb := range opens {
		if rest, ok := strings.CutPrefix(text, name+verb); ok && name != "" {
			return rest
		}
	}
	return text
}
