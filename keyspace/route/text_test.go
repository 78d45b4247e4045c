package route

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// said returns a fault in full: what is wrong, where, and what to do about it.
func said(err error) string {
	var fault *SyntaxError
	if !errors.As(err, &fault) {
		return fmt.Sprint(err)
	}
	if fault.Error() != fault.Message {
		return "the error is " + fault.Error()
	}
	return fmt.Sprintf("%d+%d %s|%s", fault.Offset, fault.Length, fault.Message, fault.Fix)
}

// TestFaultsOfPaths: each fault of a path says where it is and what to do.
func TestFaultsOfPaths(t *testing.T) {
	const capture, step = "letters, digits and _, not beginning with a digit", "a step is a name, {capture}, {#place} or [] as a whole"
	for text, want := range map[string]string{
		"a": "0+1 a path begins with /|/a", "/{g}/x/{g}": "7+3 {g} is captured twice|give one of them another name",
		"/{g}/{#g}": "5+4 {g} is captured twice|give one of them another name",
		"/a/b[]":    "3+3 " + step + "|write ~2 for a literal { and ~3 for a literal [",
		"/a/{":      "3+1 " + step + "|write ~2 for a literal { and ~3 for a literal [",
		"/{1a}":     `1+4 "1a" is no name of a capture|` + capture, "/{}": `1+2 "" is no name of a capture|` + capture,
		"/{#}":   `1+3 "" is no name of a capture|` + capture,
		"/~":     "1+1 ~ is followed by 0 (~), 1 (/), 2 ({) or 3 ([)|write ~0 for a literal ~",
		"/a~4/b": "1+3 ~ is followed by 0 (~), 1 (/), 2 ({) or 3 ([)|write ~0 for a literal ~",
		"/a\x7f": "2+1 a path has no control characters|", "/é\x1f": "3+1 a path has no control characters|",
		"/\xff":                              "0+2 a path is UTF-8 text|",
		"/" + strings.Repeat("a", 1024):      "0+1025 a path has at most 1024 bytes|",
		strings.Repeat("/a", 33):             "0+66 a path has at most 32 steps|",
		"/{" + strings.Repeat("a", 65) + "}": `1+67 "` + strings.Repeat("a", 65) + `" is no name of a capture|` + capture,
		"/" + strings.Repeat("a", 1023):      "<nil>", strings.Repeat("/[]", 32): "<nil>", "": "<nil>", "//": "<nil>",
		"/{" + strings.Repeat("aZ_9", 16) + "}": "<nil>", "/{_}/{A}/{z0}": "<nil>", "/a}/]": "<nil>", "/g/{g}/g": "<nil>",
		"/[]/[]": "<nil>",
	} {
		p, err := ParsePath(text)
		if got := said(err); got != want {
			t.Errorf("%.80q: %s, not %s", text, got, want)
		}
		if err != nil && p.Steps != nil {
			t.Errorf("%.80q: %v is left of it", text, p)
		}
	}
	p, _ := ParsePath("/~0~1~2~3/{g}/[]/{#n}")
	if want := []Step{{Member, "~/{["}, {Capture, "g"}, {Element, ""}, {Place, "n"}}; !slices.Equal(p.Steps, want) {
		t.Errorf("%+v", p.Steps)
	}
	for i, in := range []bool{true, true, false, false} {
		if p.Steps[i].InObject() != in {
			t.Errorf("%s: %t", p.Steps[i], !in)
		}
	}
}

// TestFaultsOfFiles: each fault of a file's name says where it is and what to do.
func TestFaultsOfFiles(t *testing.T) {
	const form, stays = "letters, digits and _, not beginning with a digit",
		"a file name is relative, slash-separated and stays in its folder|without a leading /, without .. and \\"
	for text, want := range map[string]string{
		"":   "0+1 a source has the name of a file|as in app_state.json or guilds/{guild_id}.json",
		"/a": "0+2 " + stays, "a/": "0+2 " + stays, "a/../b": "0+6 " + stays, "a//b": "0+4 " + stays, "./a": "0+3 " + stays,
		`a\b`: "0+3 " + stays, "a}": "0+2 a } without a {|", "x/{a}}": "5+1 a } without a {|", "}": "0+1 a } without a {|",
		"a/{": "2+1 a capture is {name}|" + form, "a/{1}": "2+3 a capture is {name}|" + form,
		"{}": "0+2 a capture is {name}|" + form, "{a}/x{a}.json": "5+3 {a} is captured twice|give one of them another name",
		"x{a}{b}y": "4+3 two captures side by side can be read in two ways|put a literal between them",
		"a\x00":    "1+1 a file name has no control characters|", "\xff": "0+1 a file name is UTF-8 text|",
		parts(33): fmt.Sprintf("0+%d a file name has at most 32 parts|", len(parts(33))), parts(32): "<nil>",
		"..a/b..": "<nil>", "...": "<nil>", "{a}": "<nil>", "a{b}c": "<nil>",
	} {
		f, err := ParseFile(text)
		if got := said(err); got != want {
			t.Errorf("%.80q: %s, not %s", text, got, want)
		}
		if err != nil && f.Parts != nil {
			t.Errorf("%.80q: %v is left of it", text, f)
		}
	}
}

// parts returns the name of a file of n parts.
func parts(n int) string {
	var b strings.Builder
	for i := range n {
		if i%2 == 0 {
			b.WriteByte('x')
		} else {
			fmt.Fprintf(&b, "{a%d}", i)
		}
	}
	return b.String()
}

// TestFilesInFull: what a name is read as, and which captures no name is built of.
func TestFilesInFull(t *testing.T) {
	for _, c := range []struct{ file, name, want string }{
		{"{a}", "x", "[x] true"}, {"{a}", "", "[] false"}, {"{a}", "x/y", "[] false"}, {"a.json", "a.json", "[] true"},
		{"a.json", "a.jso", "[] false"}, {"{a}.json", ".json", "[] false"}, {"{a}.json", "a.json.json", "[a.json] true"},
		{"{a}-{b}", "--", "[] false"}, {"{a}-{b}", "---", "[- -] true"}, {"{a}-{b}", "1-2-3", "[1 2-3] true"},
		{"x{a}.{b}.json", "x1.2.json", "[1 2] true"}, {"x{a}.{b}.json", "x1.json", "[] false"},
		{"{a}/{b}", "1/2/3", "[] false"}, {"{a}/{b}", "1/2", "[1 2] true"}, {"{a}ab{b}", "aabb", "[a b] true"},
		{"{a}\xc3\xa9", "x\xc3\xa9", "[x] true"},
	} {
		f, err := ParseFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		captures, ok := f.Match(c.name)
		if got := fmt.Sprintf("%v %t", captures, ok); got != c.want {
			t.Errorf("%s: %q is %s, not %s", c.file, c.name, got, c.want)
		}
	}
	f, _ := ParseFile("d/{a}/{b}")
	long := strings.Repeat("x", MaxNamePart)
	for _, c := range []struct{ a, b, want string }{{"1", "2", ""}, {"..", "2", ".."}, {"1", "..", ".."}, {"1", ".", ".."},
		{".", "x", ".."}, {"1\\", "2", "zero byte"}, {"1", "2\x00", "zero byte"}, {"", "2", "{a} is empty"},
		{"1/2", "3", "{a} has a /"}, {"...", "x..", ""}, {"1", "\xff", "UTF-8"}, {long, "2", ""}, {"1", long, ""},
		{long + "x", "2", "240 bytes"}, {"1", long + "x", "240 bytes"}, {".keywright", "2", "own files"},
		{"1", ".KeyWright", "own files"}, {".keywrights", "x.keywright.tmp", ""}, {"1", ".x.keywright.tmp", "own files"}} {
		name, fault := f.Build(map[string]string{"a": c.a, "b": c.b})
		if name != "d/"+c.a+"/"+c.b || !strings.Contains(fault, c.want) || (c.want == "") != (fault == "") {
			t.Errorf("%.9q %.9q: %.9q %q, not %q", c.a, c.b, name, fault, c.want)
		}
	}
	if fault := NameFault(strings.Repeat("123456789/", MaxName/10) + "1"); !strings.Contains(fault, "800 bytes") {
		t.Errorf("a long name: %q", fault)
	}
}

// TestFaultsOfTerms: each fault of a term says where it is and what to do.
func TestFaultsOfTerms(t *testing.T) {
	const begins = " a term begins with . (the record), { (a capture) or a conversion|" + termForm
	for text, want := range map[string]string{
		"": "0+1 a term is missing|" + termForm, "  ": "2+1 a term is missing|" + termForm, "a": "0+1" + begins,
		"[]": "0+2" + begins, "slug": "0+4 a conversion takes something in brackets|slug(…)",
		"slgu(.a)": `0+4 "slgu" is no conversion|did you mean slug?`,
		"qqqqqqqq(.a)": `0+8 "qqqqqqqq" is no conversion|one of: text, number, id, iso8601, unix_s, unix_ms, minutes, slug, ` +
			"lower, base64, rename, default, null, place, const",
		"slug()":    "0+6 slug takes a text like \"San Diego\"|" + termForm,
		"slug(.a,)": "8+1 a word is missing|write \"\" for the empty text",
		"slug(.a b": "8+1 a ) is missing|", ".a.": "2+1 the name of a member is missing|" + termForm,
		".a..b": "2+1 the name of a member is missing|" + termForm, ".a x": "3+1 nothing follows a term|",
		"{a": "0+2 a capture is {name}|" + termForm, "{}": "0+2 a capture is {name}|" + termForm,
		`."a`: "1+2 a quote is missing|", `."a\"`: "1+4 a quote is missing|",
		`."\x"`: "1+4 this is no text as JSON writes it|", "const(\"a": "6+2 a quote is missing|",
		"rename(.a)":           "0+10 rename is written rename(…, old=new, …)|",
		"rename(.a, =b)":       `0+14 "=b" is not old=new|as in rename({guild_id}, None=global)`,
		"rename(.a, b=)":       `0+14 "b=" is not old=new|as in rename({guild_id}, None=global)`,
		"rename(.a, b=x, c=x)": "0+20 two words are renamed to one, or one to two: c=x|each word once on each side",
		"const()":              "0+7 const is written const(text)|", "place(.a)": "0+9 place is written place()|",
		".a\n": "2+1 a term has no control characters|", strings.Repeat("null(", 9) + ".a": "45+1 conversions are nested at " +
			"most 8 deep|", strings.Repeat("null(", 8) + ".a" + strings.Repeat(")", 8): "<nil>",
		strings.Repeat(".a", 33): "66+1 a reference has at most 32 members|", strings.Repeat(".a", 32): "<nil>",
		"." + strings.Repeat("a", 1024): "0+1025 a term has at most 1024 bytes|", " . ": "<nil>", "default( .a , x y )": "<nil>",
		"place()": "<nil>", `const("")`: "<nil>", ".9": "<nil>", `."a\"b"."\u00e9"`: "<nil>",
	} {
		if _, err := ParseTerm(text); said(err) != want {
			t.Errorf("%.60q: %s, not %s", text, said(err), want)
		}
	}
	term := parse(t, `rename(."a\"b"."é", x=y, "c,d=e f")`)
	if got := term.Of[0].Members; !slices.Equal(got, []string{`a"b`, "é"}) || len(term.Renames()) != 2 ||
		term.Renames()["x"] != "y" || term.Renames()["c,d"] != "e f" || term.String() != `rename(."a\"b".é, x=y, "c,d=e f")` {
		t.Errorf("%q %v %s", got, term.Renames(), term)
	}
}

// TestConversions: the table is given as a copy, each row is found by its name and has the form in which it is read.
func TestConversions(t *testing.T) {
	list := Conversions()
	list[0].Name = "other"
	if Conversions()[0].Name != "text" || len(Names()) != len(list) {
		t.Error("the table can be changed")
	}
	for want, name := range map[string]string{"text(…)": "text", "rename(…, old=new, …)": "rename", "default(…, text)": "default",
		"place()": "place", "const(text)": "const"} {
		if c, ok := ConversionOf(name); !ok || c.Form() != want {
			t.Errorf("%s is %s", name, c.Form())
		}
	}
	if c, ok := ConversionOf(""); ok || c.Name != "" {
		t.Error(c)
	}
}
