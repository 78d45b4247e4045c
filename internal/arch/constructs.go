package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
)

// model is the package that names the constructs.
const model = "keyspace"

// Partial lists the tables by construct that need no row for each, with the reason.
var Partial = map[string]string{
	"guard.own": "it has the constructs that send commands to their keys beside their scripts; no row: none",
}

// Constructs returns the constants of type Construct of package keyspace.
func Constructs(files []File) (names []string) {
	for _, f := range files {
		if f.Dir != model || f.Test {
			continue
		}
		for _, d := range f.AST.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range g.Specs {
				if v := s.(*ast.ValueSpec); isName(v.Type, "Construct") {
					names = append(names, v.Names[0].Name)
				}
			}
		}
	}
	return names
}

// isName reports whether a type is written as this name, alone or after that of package keyspace.
func isName(e ast.Expr, name string) bool {
	if s, ok := e.(*ast.SelectorExpr); ok {
		pkg, ok := s.X.(*ast.Ident)
		return ok && pkg.Name == model && s.Sel.Name == name
	}
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// MissingRows returns, by file, the tables that have no row for a construct. A table is a variable of a package: a
// map from constructs, or in package keyspace a list of traits.
func MissingRows(files []File) map[string][]string {
	missing, all := map[string][]string{}, Constructs(files)
	for _, f := range files {
		if f.Test {
			continue
		}
		for name, rows := range tables(f) {
			if Partial[f.AST.Name.Name+"."+name] != "" {
				continue
			}
			for _, c := range all {
				if !slices.Contains(rows, c) {
					missing[f.Path] = append(missing[f.Path], fmt.Sprintf("%s has no row for %s", name, c))
				}
			}
		}
	}
	return missing
}

// tables returns the rows of each table by construct that a file has.
func tables(f File) map[string][]string {
	out := map[string][]string{}
	for _, d := range f.AST.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if len(v.Values) != 1 {
				continue
			}
			if lit, ok := v.Values[0].(*ast.CompositeLit); ok {
				if rows, is := rowsOf(lit, f.Dir == model); is {
					out[v.Names[0].Name] = rows
				}
			}
		}
	}
	return out
}

func rowsOf(lit *ast.CompositeLit, own bool) (rows []string, is bool) {
	switch t := lit.Type.(type) {
	case *ast.MapType:
		if !isName(t.Key, "Construct") || !own && !qualified(t.Key) {
			return nil, false
		}
		for _, e := range lit.Elts {
			rows = append(rows, last(e.(*ast.KeyValueExpr).Key))
		}
		return rows, true
	case *ast.ArrayType:
		if !own || !isName(t.Elt, "trait") {
			return nil, false
		}
		for _, e := range lit.Elts {
			for _, field := range e.(*ast.CompositeLit).Elts {
				if kv := field.(*ast.KeyValueExpr); last(kv.Key) == "construct" {
					rows = append(rows, last(kv.Value))
				}
			}
		}
		return rows, true
	}
	return nil, false
}

func qualified(e ast.Expr) bool {
	_, ok := e.(*ast.SelectorExpr)
	return ok
}

// last returns the name that an expression ends in.
func last(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// Switches returns the places where a switch tells constructs apart: a row of a table does that.
func Switches(files []File) (places []string) {
	found, all := map[string]bool{}, Constructs(files)
	for _, f := range files {
		if f.Test {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			s, ok := n.(*ast.SwitchStmt)
			if !ok || s.Tag == nil {
				return true
			}
			for _, c := range s.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					if qualified(e) && isName(e, last(e)) && slices.Contains(all, last(e)) {
						found[fmt.Sprint(f.Set.Position(s.Pos()))] = true
					}
				}
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(found))
}
