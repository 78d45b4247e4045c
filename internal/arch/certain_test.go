package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestTheGateIsCertain: what runs in the gate has the same verdict in every run. Randomness has a seed that the log names,
// no time that has passed fails a test, and a wait says what it waits for. A test that begins with gate.Skip may measure.
func TestTheGateIsCertain(t *testing.T) {
	for _, f := range load(t) {
		if !f.Test || Within(f.Dir, "internal/gate", "bench") {
			continue
		}
		for _, fn := range written(f) {
			for what, at := range uncertain(fn) {
				for _, pos := range at {
					t.Errorf("%s: %s", f.Set.Position(pos), what)
				}
			}
		}
	}
}

// TestUncertainTestsAreFound shows what the search takes for chance and for a verdict of the clock.
func TestUncertainTestsAreFound(t *testing.T) {
	for text, want := range map[string]string{
		`rand.IntN(4)`:                             unseeded,
		`gate.Rand(t).IntN(4)`:                     "",
		`r := rand.New(rand.NewPCG(1, uint64(n)))`: "",
		`r := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))`:         unseeded,
		`seed := time.Now().UnixNano()`:                                        unseeded,
		`rapid.Check(t, f)`:                                                    unfixed,
		`rapid.Check(gate.Fixed(t), f)`:                                        "",
		`if time.Since(began) > time.Second { t.Fatal() }`:                     timed,
		`if took := time.Since(began); took > time.Second { t.Error() }`:       timed,
		`took := end.Sub(began); if ok || time.Second < took { t.Errorf("") }`: timed,
		`took := time.Since(began); if took < time.Second { t.Errorf("") }`:    "",
		`if time.Since(began) > time.Second { return }`:                        "",
		`gate.Skip(t, "it measures"); if time.Since(b) > 1 { t.Fatal() }`:      "",
		`synctest.Test(t, func() { if time.Since(b) > 1 { t.Fatal() } })`:      "",
		`gate.Skip(t, ""); _ = 1`:                                              unreasoned,
		`expect.Eventually(t, "", ok)`:                                         unnamed,
		`expect.Eventually(t, "the lock is free", ok)`:                         "",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p; func TestX(t *testing.T) { "+text+" }", 0)
		must(t, err)
		got := ""
		for what := range uncertain(file.Decls[0].(*ast.FuncDecl)) {
			got += what
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// What makes a test uncertain.
const (
	unseeded   = "random numbers without a seed that the log names: use gate.Rand or gate.Seed"
	unfixed    = "a property with new cases in every run: rapid.Check(gate.Fixed(t), …)"
	timed      = "a test that fails when too much time has passed: assert what happened, move the clock, or begin with gate.Skip"
	unnamed    = "a wait that does not say what it waits for"
	unreasoned = "a test that is left out of the gate without a reason"
)

// written returns the functions of a file that have a body.
func written(f File) (found []*ast.FuncDecl) {
	for _, d := range f.AST.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			found = append(found, fn)
		}
	}
	return found
}

// uncertain returns the places of a function that make a test uncertain, by what is wrong with them.
func uncertain(fn *ast.FuncDecl) map[string][]token.Pos {
	found := map[string][]token.Pos{}
	note := func(what string, n ast.Node) { found[what] = append(found[what], n.Pos()) }
	skipped, elapsed := false, elapsedNames(fn.Body)
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			switch name := callee(n); {
			case name == "synctest.Test":
				return false // time passes there when nothing else can happen
			case name == "gate.Skip" && len(n.Args) > 1:
				skipped = true
				if isEmpty(n.Args[1]) {
					note(unreasoned, n)
				}
			case name == "expect.Eventually" && len(n.Args) > 1 && isEmpty(n.Args[1]):
				note(unnamed, n)
			case name == "rapid.Check" && (len(n.Args) == 0 || callee(n.Args[0]) != "gate.Fixed"):
				note(unfixed, n)
			case strings.HasPrefix(name, "rand.") && !slices.Contains(seeded, outermost(name)):
				note(unseeded, n)
			case strings.HasPrefix(name, "rand.") && slices.ContainsFunc(n.Args, ofTheClock):
				note(unseeded, n)
			}
		case *ast.AssignStmt:
			if name, ok := n.Lhs[0].(*ast.Ident); ok && strings.HasSuffix(name.Name, "seed") && ofTheClock(n.Rhs[0]) {
				note(unseeded, n)
			}
		case *ast.IfStmt:
			if !skipped && fails(n.Body) && bounds(n.Cond, elapsed) {
				note(timed, n)
			}
		}
		return true
	})
	return found
}

// seeded lists the functions of math/rand/v2 that take a source, or make one of a seed, and those of crypto/rand, whose
// bytes decide nothing.
var seeded = []string{"rand.New", "rand.NewPCG", "rand.NewChaCha8", "rand.NewZipf", "rand.Text", "rand.Read", "rand.Reader"}

// outermost returns the first of the calls that a name chains: rand.New of rand.New().Shuffle.
func outermost(name string) string {
	name, _, _ = strings.Cut(name, "()")
	return name
}

// ofTheClock reports whether an expression is, or is made of, the nanoseconds of the clock.
func ofTheClock(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	return ok && (callee(x) == "time.Now().UnixNano" || slices.ContainsFunc(call.Args, ofTheClock))
}

// callee returns the name of what an expression calls, such as rand.IntN; "" for what is no call.
func callee(x ast.Expr) string {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return ""
	}
	fun := call.Fun
	if of, ok := fun.(*ast.IndexExpr); ok { // of a type
		fun = of.X
	}
	of, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	switch on := of.X.(type) {
	case *ast.Ident:
		return on.Name + "." + of.Sel.Name
	case *ast.CallExpr:
		return callee(on) + "()." + of.Sel.Name
	}
	return ""
}

// isEmpty reports whether an expression is the empty text.
func isEmpty(x ast.Expr) bool {
	text, ok := x.(*ast.BasicLit)
	return ok && len(text.Value) == 2 && text.Kind == token.STRING
}

// elapsedNames returns the variables that are set to a time that has passed.
func elapsedNames(body *ast.BlockStmt) map[string]bool {
	found := map[string]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		set, ok := n.(*ast.AssignStmt)
		if !ok || len(set.Lhs) != len(set.Rhs) {
			return true
		}
		for i, to := range set.Lhs {
			if name, ok := to.(*ast.Ident); ok && isElapsed(set.Rhs[i], nil) {
				found[name.Name] = true
			}
		}
		return true
	})
	return found
}

// isElapsed reports whether an expression is a time that has passed: time.Since, a difference of times, or a name of one.
func isElapsed(x ast.Expr, names map[string]bool) bool {
	if name, ok := x.(*ast.Ident); ok {
		return names[name.Name]
	}
	name := callee(x)
	return name == "time.Since" || strings.HasSuffix(name, ".Sub")
}

// bounds reports whether a condition holds when a time that has passed is too long.
func bounds(cond ast.Expr, elapsed map[string]bool) (found bool) {
	ast.Inspect(cond, func(n ast.Node) bool {
		if c, ok := n.(*ast.BinaryExpr); ok {
			found = found || (c.Op == token.GTR || c.Op == token.GEQ) && isElapsed(c.X, elapsed) ||
				(c.Op == token.LSS || c.Op == token.LEQ) && isElapsed(c.Y, elapsed)
		}
		return true
	})
	return found
}

// fails reports whether a block fails the test.
func fails(body *ast.BlockStmt) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			_, name, _ := strings.Cut(callee(call), ".")
			found = found || slices.Contains([]string{"Error", "Errorf", "Fatal", "Fatalf"}, name)
		}
		return true
	})
	return found
}
