package portable

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	"pgregory.net/rapid"
)

// kinds has one type of each form, and its bounds.
var kinds = []string{
	"text", "text max 1", "text max 3", "text rest", "bytes", "int", "int 0..", "int 1..", "int ..5", "int -3..",
	"int ..-2", "int -12..7", "int 95..1203", "int -1203..-95",
	"int 0..0", "int -9223372036854775808..", "int ..9223372036854775807", "int -9223372036854775808..9223372036854775807",
	"hex", "hex 1", "hex 2", "bool", "a|b|ab|a{|}|a:b",
	"{|{}", "unix_s", "unix_ms", "float", "uuid", "ulid", "slug", "date", "date HH:mm", "timestamp",
	"/[a-z]+-?[0-9]{2,3}/", "/[^:{]é?/", "/(a|b)*c/",
}

// fatal represents a *testing.T or a *rapid.T.
type fatal interface {
	Helper()
	Fatal(args ...any)
}

func step(t fatal, kind string, tagged bool) (pattern.Element, *Place) {
	t.Helper()
	typ, err := scalar.Parse(kind, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := "k:{x}"
	if tagged {
		text = "k:{#{x}}"
	}
	p, err := pattern.Parse(text, func(string) (scalar.Type, bool) { return typ, true })
	if err != nil && typ.Rest {
		p = pattern.MustParse("k:{x}", func(string) (scalar.Type, bool) { return typ, true })
	} else if err != nil {
		t.Fatal(kind, err)
	}
	for i, e := range p.Elements() {
		if e.Placeholder >= 0 {
			return e, Steps(p)[i].Place
		}
	}
	t.Fatal("no placeholder")
	return pattern.Element{}, nil
}

// accepts is what generated code does with a form.
func (p *Place) accepts(text string) bool {
	switch p.Form {
	case AnyText:
		return text != "" && (p.Max == 0 || len(text) <= p.Max) && (p.Crosses || !strings.Contains(text, ":")) &&
			(!p.NoBraces || !strings.ContainsAny(text, "{}"))
	case Integer:
		n, ok := new(big.Int).SetString(text, 10)
		return ok && n.String() == text && (p.Low == "" || n.Cmp(number(p.Low)) >= 0) &&
			(p.High == "" || n.Cmp(number(p.High)) <= 0)
	case HexText:
		return text != "" && strings.Trim(text, "0123456789abcdef") == "" && (p.N == 0 || len(text) == p.N)
	case Words:
		return slices.Contains(p.Words, text)
	}
	return unpack(p.Table).Accepts(text)
}

func number(text string) *big.Int {
	n, _ := new(big.Int).SetString(text, 10)
	return n
}

// unpack reads what Pack writes, as generated code does.
func unpack(text string) *pattern.Table {
	parts := strings.Split(text, "|")
	t := &pattern.Table{}
	for i, c := range numbers(parts[0]) {
		t.Classes[i] = uint8(c)
		t.Width = max(t.Width, int(c)+1)
	}
	t.Next = numbers(parts[1])
	t.Final = make([]bool, len(t.Next)/t.Width)
	for _, s := range numbers(parts[2]) {
		t.Final[s] = true
	}
	return t
}

func numbers(text string) []int32 {
	var out []int32
	for _, run := range strings.Fields(text) {
		value, count, repeated := strings.Cut(run, ".")
		n, v := int64(1), int64(-1)
		if repeated {
			n, _ = strconv.ParseInt(count, 36, 32)
		}
		if value != "-" {
			v, _ = strconv.ParseInt(value, 36, 32)
		}
		out = append(out, slices.Repeat([]int32{int32(v)}, int(n))...)
	}
	return out
}

// TestFormsAreTheAutomaton: every text of up to four characters of an alphabet
// that has what the types divide by.
func TestFormsAreTheAutomaton(t *testing.T) {
	alphabet := []byte("-0129a{:\xc3")
	for _, kind := range kinds {
		for _, tagged := range []bool{false, true} {
			e, place := step(t, kind, tagged)
			table := e.Table()
			var try func(text string)
			try = func(text string) {
				if got, want := place.accepts(text), table.Accepts(text); got != want {
					t.Errorf("%s (in a hash tag: %v): %q is taken: %v, by the automaton: %v", kind, tagged, text, got, want)
				}
				if len(text) < 4 {
					for _, b := range alphabet {
						try(text + string([]byte{b}))
					}
				}
			}
			try("")
		}
	}
}

func TestFormsAreTheAutomatonByChance(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`-?[0-9]{1,20}`), rapid.StringMatching(`[0-9a-f]{0,40}`), rapid.String(),
			rapid.StringMatching(`[0-9]{4}-[0-9]{2}-[0-9]{2}`),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.Map(rapid.Int64(), func(n int64) string { return strconv.FormatInt(n, 10) })).Draw(t, "text")
		for _, kind := range kinds {
			e, place := step(t, kind, false)
			if got, want := place.accepts(text), e.Table().Accepts(text); got != want {
				t.Fatalf("%s: %q is taken: %v, by the automaton: %v", kind, text, got, want)
			}
		}
	})
}

// TestIntsAreTheAutomatonAtTheirBounds, whatever the bounds.
func TestIntsAreTheAutomatonAtTheirBounds(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		kind := "int " + strconv.FormatInt(min(a, b), 10) + ".." + strconv.FormatInt(max(a, b), 10)
		e, place := step(t, kind, false)
		for _, bound := range []int64{a, b, 0} {
			for d := int64(-2); d <= 2; d++ {
				text := new(big.Int).Add(big.NewInt(bound), big.NewInt(d)).String()
				if got, want := place.accepts(text), e.Table().Accepts(text); got != want {
					t.Fatalf("%s: %q is taken: %v, by the automaton: %v", kind, text, got, want)
				}
			}
		}
	})
}

func TestPackIsSmall(t *testing.T) {
	for kind, most := range map[string]int{"uuid": 700, "slug": 60, "date": 600, "timestamp": 1200, "float": 200} {
		_, place := step(t, kind, false)
		if n := len(place.Table); n > most {
			t.Errorf("the automaton of %s is a text of %d bytes, more than %d", kind, n, most)
		}
	}
}

// TestPackHasPatience: an automaton that is not worth being made smaller is
// written as it is.
func TestPackHasPatience(t *testing.T) {
	long := strings.Repeat("abcdefghij", 90)
	e, place := step(t, "/("+long+"|x)y/", false)
	for _, text := range []string{long + "y", "xy", long, "x", "y", "x" + long + "y"} {
		if got, want := place.accepts(text), e.Table().Accepts(text); got != want {
			t.Errorf("%q is taken: %v", text, got)
		}
	}
}

func TestSteps(t *testing.T) {
	types := map[string]scalar.Type{"n": {Kind: scalar.Int, HasMin: true, Low: 1, HasMax: true, High: 9},
		"e": {Kind: scalar.Enum, Values: []string{"a", "{b"}}}
	resolve := func(name string) (scalar.Type, bool) { typ, ok := types[name]; return typ, ok }
	got := Steps(pattern.MustParse("a:{#{e}}:{n}", resolve))
	want := []Step{
		{Literal: "a:{"}, {Place: &Place{Name: "e", Type: types["e"], NoBraces: true, Form: Words, Words: []string{"a"}}},
		{Literal: "}:"},
		{Place: &Place{Name: "n", Type: types["n"], Form: Integer, Low: "1", High: "9"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if places := Places(got); len(places) != 2 || !places[1].Safe() || Binary(got) {
		t.Errorf("%d places, binary %v", len(places), Binary(got))
	}
}

func TestBinaryAndSafe(t *testing.T) {
	for text, want := range map[string]bool{"a": false, `a\xff`: true, `\xc3\xa9`: false, "é{x}": false, "{raw}": true,
		`\xc3{x}`: true} {
		p := pattern.MustParse(text,
			func(name string) (scalar.Type, bool) { return scalar.Type{Kind: scalar.Bytes}, name == "raw" })
		if got := Binary(Steps(p)); got != want {
			t.Errorf("%s: binary %v", text, got)
		}
	}
	for kind, want := range map[string]bool{
		"int": false, "int 1..": false, "int 1..9": true, "int -9007199254740991..9007199254740991": true,
		"int 0..9007199254740992": false, "unix_s": true, "unix_ms": true,
	} {
		if _, place := step(t, kind, false); place.Safe() != want {
			t.Errorf("%s: safe %v", kind, place.Safe())
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ name, camel, pascal, snake string }{
		{"product_detail", "productDetail", "ProductDetail", "product_detail"},
		{"tasks.job", "tasksJob", "TasksJob", "tasks_job"},
		{"item.index.kind+due", "itemIndexKindDue", "ItemIndexKindDue", "item_index_kind_due"},
		{"couponId", "couponId", "CouponId", "coupon_id"},
		{"__proto__", "proto", "Proto", "proto"},
		{"_1a", "n1a", "N1a", "n1a"},
		{"_", "key", "Key", "key"},
		{"", "key", "Key", "key"},
		{"상품", "key", "Key", "key"},
		{"a\nb\"; evil()", "aBEvil", "ABEvil", "a_b_evil"},
		{"ﬁ²x", "x", "X", "x"},
	} {
		if got := [3]string{Camel(c.name), Pascal(c.name), Snake(c.name)}; got != [3]string{c.camel, c.pascal, c.snake} {
			t.Errorf("%q is %v", c.name, got)
		}
	}
}

func TestLines(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, " \n ": nil, "a": {"a"}, "a\nb": {"a", "b"}, "a\r\nb\rc": {"a", "b c"}, "\n  a\n\n  b  \n": {"a", "", "b"},
		"a\u2028b\u2029c\u0085d\x00e\x0cf": {"a b c d e f"},
		"x\u202ey\u2066z\ufeff":            {"x y z"}, "\xffa": {"�a"},
	} {
		if got := Lines(text); !cmp.Equal(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}
