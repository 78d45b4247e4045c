package golang

import (
	"testing"

	"github.com/keywright/keywright/keyspace/scalar"
)

// TestNames: the names of Go that names of a declaration become: initialisms are in capitals, a word that begins with x
// keeps it, and what is no name of Go becomes one.
func TestNames(t *testing.T) {
	for _, c := range []struct{ name, exported, unexported string }{
		{"product_detail", "ProductDetail", "productDetail"}, {"productId", "ProductID", "productID"},
		{"url_id", "URLID", "urlID"}, {"x", "X", "x"}, {"pos_x", "PosX", "posX"}, {"x_pos", "XPos", "xPos"},
		{"feed_xml", "FeedXML", "feedXML"}, {"xs", "Xs", "xs"}, {"a_xss", "AXSS", "aXSS"}, {"func", "Func", "func_"},
		{"entity", "Entity", "entity_"}, {"spec", "Spec", "spec_"}, {"s", "S", "s_"}, {"v", "V", "v_"}, {"1a", "X1a", "x1a"},
		{"상품", "X상품", "상품"}, {"상품_이름", "X상품이름", "상품이름"}, {"_", "X", "x"}, {"-", "X", "x"},
		{"", "X", "x"}, {"\xff", "X", "x"}, {"a b", "AB", "aB"}, {"priority+created_at", "PriorityCreatedAt",
			"priorityCreatedAt"}, {"HTTPServer", "HTTPServer", "httpServer"},
	} {
		if got := exported(c.name); got != c.exported {
			t.Errorf("exported %q: %s, not %s", c.name, got, c.exported)
		}
		if got := unexported(c.name); got != c.unexported {
			t.Errorf("unexported %q: %s, not %s", c.name, got, c.unexported)
		}
	}
}

// TestPackageNames: a package has a name that the go command builds as a package of its own.
func TestPackageNames(t *testing.T) {
	for name, want := range map[string]string{"shop": "shop", "shop_keys": "shopkeys", "func": "funckeys", "": "keys",
		"main": "mainkeys", "documentation": "documentationkeys", "string": "stringkeys", "0a": "k0akeys", "9": "k9keys",
		"-": "keys", "상품": "상품", "a_test": "atest"} {
		if got := packageName(name); got != want {
			t.Errorf("%q: %s, not %s", name, got, want)
		}
	}
}

// TestEnumNames: the constants of an enum have the whole word in their names, and two words that become the same have a
// number.
func TestEnumNames(t *testing.T) {
	e := &enums{names: map[string]*enum{}}
	g := &generator{enums: e}
	size := scalar.Type{Kind: scalar.Enum, Values: []string{"xs", "s", "xl", "XL", "x", "xml", "_", "-", "1", "상품"}, Var: "size"}
	if name := e.take(g, "p_size", size); name != "Size" {
		t.Error(name)
	}
	got := e.constants("Size")
	for i, want := range []string{"SizeXs", "SizeS", "SizeXl", "SizeXl2", "SizeX", "SizeXML", "Size2", "Size3", "Size1",
		"Size상품"} {
		if got[i] != want {
			t.Errorf("%s: %s, not %s", size.Values[i], got[i], want)
		}
	}
	if name := e.take(g, "q_size", size); name != "Size" || len(e.list) != 1 {
		t.Errorf("the same var is %s again", name)
	}
	size.Var = ""
	if a, b := e.take(g, "p_size", size), e.take(g, "q_size", size); a != "PSize" || b != "QSize" {
		t.Errorf("without a var: %s and %s", a, b)
	}
}

// TestTexts: texts are quoted as they are best read, and a byte that Go does not have between marks is a number.
func TestTexts(t *testing.T) {
	for text, want := range map[string]string{"": `""`, "a": `"a"`, "a\nb": "`a\nb`", "a`\nb": "\"a`\\nb\"",
		"a\r\nb": `"a\r\nb"`, "a\tb\n": `"a\tb\n"`, "\xff\n": `"\xff\n"`, "\u2028\n": `"\u2028\n"`} {
		if got := quoteText(text); got != want {
			t.Errorf("%q: %s, not %s", text, got, want)
		}
	}
	for b, want := range map[byte]string{'a': "'a'", ':': "':'", '\'': "0x27", '\\': "0x5c", 0x7f: "0x7f", 0x1f: "0x1f",
		' ': "' '", '~': "'~'", 0xff: "0xff", 0: "0x00"} {
		if got := quoteByte(b); got != want {
			t.Errorf("%q: %s, not %s", b, got, want)
		}
	}
	for percent, want := range map[int]string{1: "0.01", 7: "0.07", 10: "0.10", 99: "0.99"} {
		if got := ratio(percent); got != want {
			t.Errorf("%d%%: %s, not %s", percent, got, want)
		}
	}
	for text, want := range map[string]string{"a\tb": "a b", "a\x00b\x1fc\x7fd\u0085e": "a?b?c?d?e",
		"\ufeff\u2028\u2029\u202a\u202e\u2066\u2069\ufffd": "????????", "\xff": "?", "é語": "é語", "\u202f\u2065": "\u202f\u2065"} {
		if got := printable(text); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}
