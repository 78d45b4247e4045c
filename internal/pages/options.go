package pages

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/keywright/keywright/internal/arch"
)

// Width says how wide a line of a page may be.
const Width = 120

// Option represents a field, or some that have one comment, of a struct that callers fill.
type Option struct {
	Names []string
	Type  string
	Doc   string // in one line
}

// Options reads the exported fields of a struct of a package: "lock.Options", or
// "fallback/bbolt.Options". The package at the root is "keywright".
func Options(root fs.FS, name string) ([]Option, error) {
	name = Resolve(root, name)
	dot := strings.LastIndex(name, ".")
	fields, err := structOf(root, folder(name[:dot]), name[dot+1:])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var out []Option
	for _, f := range fields {
		o := Option{Type: types.ExprString(f.Type), Doc: strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")}
		for _, n := range f.Names {
			if n.IsExported() {
				o.Names = append(o.Names, n.Name)
			}
		}
		if len(o.Names) > 0 {
			out = append(out, o)
		}
	}
	return out, nil
}

func folder(pkg string) string {
	if pkg == "keywright" {
		return "."
	}
	return pkg
}

// structOf finds the fields of a struct in the files of a folder.
func structOf(root fs.FS, dir, name string) ([]*ast.Field, error) {
	files, err := Parse(root, dir)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		for _, d := range f.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range decl.Specs {
				if t, ok := s.(*ast.TypeSpec); ok && t.Name.Name == name {
					if body, ok := t.Type.(*ast.StructType); ok {
						return body.Fields.List, nil
					}
				}
			}
		}
	}
	return nil, fmt.Errorf("there is no such struct")
}

// Resolve returns the name of a struct that is the alias of one in another package: entity.SweepOptions is
// entity/maintenance.SweepOptions. Any other name it returns as it is.
func Resolve(root fs.FS, name string) string {
	dot := strings.LastIndex(name, ".")
	files, err := Parse(root, folder(name[:dot]))
	if err != nil {
		return name
	}
	for _, f := range files {
		real := name
		ast.Inspect(f, func(n ast.Node) bool {
			if t, ok := n.(*ast.TypeSpec); ok && t.Name.Name == name[dot+1:] {
				if of, ok := t.Type.(*ast.SelectorExpr); ok && importOf(f, types.ExprString(of.X)) != "" {
					real = importOf(f, types.ExprString(of.X)) + "." + of.Sel.Name
				}
			}
			return true
		})
		if real != name {
			return real
		}
	}
	return name
}

// importOf returns the folder of the package of this module that a file has by a name.
func importOf(f *ast.File, name string) string {
	for _, i := range f.Imports {
		dir, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), arch.Module+"/")
		if ours && path.Base(dir) == name {
			return dir
		}
	}
	return ""
}

// Parse reads the Go files of a folder, tests left out.
func Parse(root fs.FS, dir string) ([]*ast.File, error) {
	names, err := fs.Glob(root, path.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var out []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		out = append(out, file)
	}
	return out, nil
}

// List returns options as a list of Markdown.
func List(options []Option) string {
	var b strings.Builder
	for _, o := range options {
		head := "- `" + strings.Join(o.Names, "`, `") + "`"
		if o.Type != "bool" && !strings.HasPrefix(o.Type, "func(") {
			head += " (" + strings.ReplaceAll(strings.TrimPrefix(o.Type, "time."), "*", `\*`) + ")"
		}
		b.WriteString(Wrap(head+": "+Escape(about(o)), "  ") + "\n")
	}
	return b.String()
}

// about returns the comment without the name that it begins with.
func about(o Option) string {
	for _, n := range o.Names {
		for _, verb := range []string{" is ", " are ", " "} {
			if rest, ok := strings.CutPrefix(o.Doc, n+verb); ok {
				return rest
			}
		}
	}
	return o.Doc
}

// Escape keeps Markdown from reading text as markup.
func Escape(text string) string {
	return strings.NewReplacer("*", `\*`, "_", `\_`, "<", "&lt;").Replace(text)
}

// Wrap breaks a text into lines of at most Width; those after the first are indented.
func Wrap(text, indent string) string {
	var b strings.Builder
	width := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case width+1+n > Width:
			b.WriteString("\n" + indent)
			width = len(indent)
		default:
			b.WriteString(" ")
			width++
		}
		b.WriteString(word)
		width += n
	}
	return b.String()
}

const (
	optionsBegin = "<!-- options: "
	optionsEnd   = "<!-- end of options -->\n"
)

// FillOptions gives the text with the options that its marks name. A mark is
// "<!-- options: lock.Options -->", and the list goes on to "<!-- end of options -->".
func FillOptions(root fs.FS, text string) (string, error) {
	var out strings.Builder
	for {
		at := strings.Index(text, "\n"+optionsBegin)
		if at < 0 {
			out.WriteString(text)
			return out.String(), nil
		}
		line, rest, _ := strings.Cut(text[at+1:], "\n")
		_, rest, ended := strings.Cut(rest, optionsEnd)
		if !ended {
			return "", fmt.Errorf("%s has no end", line)
		}
		name := strings.TrimSuffix(strings.TrimPrefix(line, optionsBegin), " -->")
		options, err := Options(root, name)
		if err != nil {
			return "", err
		}
		out.WriteString(text[:at+1] + line + "\n\n" + List(options) + "\n" + optionsEnd)
		text = rest
	}
}

// Documented returns the structs whose options a text has.
func Documented(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, optionsBegin); ok {
			out = append(out, strings.TrimSuffix(strings.TrimSpace(name), " -->"))
		}
	}
	slices.Sort(out)
	return out
}
