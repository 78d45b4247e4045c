package arch

import (
	"go/ast"
	"go/token"
	"slices"
	"testing"
)

// TestTestsWaitForConditions: a statement of a test that only lets time pass is in a
// loop that ends when something has happened. One that hopes that a time is enough
// fails on a busy machine, and wastes it on an idle one. In a bubble of synctest time passes when nothing else can happen.
func TestTestsWaitForConditions(t *testing.T) {
	seen := 0
	for _, f := range load(t) {
		if !f.Test {
			continue
		}
		var path []ast.Node
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if n == nil {
				path = path[:len(path)-1]
				return false
			}
			path = append(path, n)
			if stmt, ok := n.(*ast.ExprStmt); ok && passesTime(stmt.X) && !ofSelect(path) {
				if seen++; !looks(path) && !inBubble(path) {
					t.Errorf("%s: a statement that only lets time pass: wait for a condition", f.Set.Position(n.Pos()))
				}
			}
			return true
		})
	}
	if seen < 10 {
		t.Errorf("only %d were found: the search is broken", seen)
	}
}

// ofSelect reports whether a statement is the case of a select, which waits for more.
func ofSelect(path []ast.Node) bool {
	clause, ok := path[len(path)-2].(*ast.CommClause)
	return ok && clause.Comm == path[len(path)-1]
}

// passesTime reports whether an expression is <-time.After(…).
func passesTime(x ast.Expr) bool {
	receive, ok := x.(*ast.UnaryExpr)
	if !ok || receive.Op != token.ARROW {
		return false
	}
	call, ok := receive.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	of, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || of.Sel.Name != "After" {
		return false
	}
	name, ok := of.X.(*ast.Ident)
	return ok && name.Name == "time"
}

// looks reports whether the innermost loop of a function asks for something: it has a
// condition, or is left from within.
func looks(path []ast.Node) bool {
	for i := len(path) - 1; i >= 0; i-- {
		switch n := path[i].(type) {
		case *ast.FuncLit, *ast.FuncDecl:
			return false
		case *ast.ForStmt:
			return n.Cond != nil || left(n.Body)
		case *ast.RangeStmt:
			return left(n.Body)
		}
	}
	return false
}

// inBubble reports whether a path leads through a call of synctest.Test.
func inBubble(path []ast.Node) bool {
	return slices.ContainsFunc(path, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		return ok && callee(call) == "synctest.Test"
	})
}

// left reports whether a loop has a return or a break.
func left(body *ast.BlockStmt) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			found = true
		case *ast.BranchStmt:
			found = found || n.Tok == token.BREAK
		}
		return true
	})
	return found
}
