package automaton

import (
	"strings"
	"testing"
	"unsafe"
)

// TestLiteralsAreSmall: a large declaration has hundreds of thousands of literals. One is
// its text and no more, and works as the bytes of it one after the other.
func TestLiteralsAreSmall(t *testing.T) {
	text := strings.Repeat("key:", 1000)
	var kept Expr
	if n := testing.AllocsPerRun(10, func() { kept = Literal(text) }); n > 0 || unsafe.Sizeof(kept) > 24 {
		t.Errorf("a literal takes %v allocations and %d bytes", n, unsafe.Sizeof(kept))
	}
	spelt := Seq(One(Of("a")), One(Of("{")), One(Of("b")))
	for name, of := range map[string]func(Expr) Expr{
		"itself":  func(e Expr) Expr { return e },
		"tagged":  func(e Expr) Expr { return e.Tagged(3) },
		"without": func(e Expr) Expr { return e.Without(Of("{}")) },
		"both":    func(e Expr) Expr { return e.Tagged(2).Without(Of("x")) },
		"in more": func(e Expr) Expr { return Alt(Star(e), Plus(Seq(e, e))) },
	} {
		one, err := Compile(of(Literal("a{b")))
		if err != nil {
			t.Fatal(err)
		}
		other, err := Compile(of(spelt))
		if err != nil {
			t.Fatal(err)
		}
		a, b := *one, *other
		if len(a.Sets) != len(b.Sets) || len(a.Sets) == 0 {
			t.Fatalf("%s: %d and %d positions", name, len(a.Sets), len(b.Sets))
		}
		for i := range a.Sets {
			if a.Sets[i] != b.Sets[i] || a.Tags[i] != b.Tags[i] || a.Final[i] != b.Final[i] ||
				len(a.Follow[i]) != len(b.Follow[i]) {
				t.Errorf("%s: position %d differs", name, i)
			}
		}
	}
	if Literal("ab").Bytes() != Of("ba") || Literal("a").Nullable() || !Literal("").Nullable() {
		t.Error("the bytes of a literal, or whether it is empty")
	}
}
