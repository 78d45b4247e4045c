package route

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/keywright/keywright/internal/gate"
)

func TestPaths(t *testing.T) {
	for text, captures := range map[string]string{
		"": "", "/": "", "/a": "", "/{g}/{c}/stories/[]": "g c", "/a~1b/~0x/~2y/~3z": "", "/{#n}/{id}": "n id", "//a": "",
	} {
		p, err := ParsePath(text)
		if err != nil || p.String() != text || strings.Join(p.Captures(), " ") != captures {
			t.Errorf("%q: %v %q %v", text, p, p.Captures(), err)
		}
	}
	for text, want := range map[string]string{
		"a": "begins with /", "/{g}/{g}": "captured twice", "/{#g}/{g}": "captured twice", "/a[]": "as a whole",
		"/{":  "as a whole",
		"/{}": "no name", "/{a b}": "no name", "/{#}": "no name", "/~": "is followed by", "/~4": "is followed by",
		"/a\x00": "control", "/\xff": "UTF-8",
		strings.Repeat("/a", 40): "at most 32", "/" + strings.Repeat("a", 2000): "at most 1024",
	} {
		_, err := ParsePath(text)
		var fault *SyntaxError
		if !errors.As(err, &fault) || !strings.Contains(fault.Message, want) || fault.Offset+fault.Length > len(text)+1 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFiles(t *testing.T) {
	f, err := ParseFile("guilds/{g}-{c}.json")
	if err != nil || f.String() != "guilds/{g}-{c}.json" {
		t.Fatal(f, err)
	}
	for name, want := range map[string]string{"guilds/1-2.json": "1 2", "guilds/1-2-3.json": "1 2-3", "guilds/-2.json": "",
		"guilds/1-.json": "", "guilds/a/b-c.json": "", "guilds/1-2.jsonx": "", "x": ""} {
		if got, ok := f.Match(name); strings.Join(got, " ") != want || ok != (want != "") {
			t.Errorf("%s: %q %v", name, got, ok)
		}
	}
	for g, ok := range map[string]bool{"1": true, "1-2": false, "": false, "a/b": false, "..": true} {
		if name, fault := f.Build(map[string]string{"g": g, "c": "9"}); (fault == "") != ok {
			t.Errorf("%q: %q %v", g, name, fault)
		}
	}
	for _, text := range []string{"", "/a", "a/../b", "a//b", "./a", `a\b`, "{", "a}", "{a}{b}", "{a}/{a}", "{1}"} {
		if _, err := ParseFile(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestTerms(t *testing.T) {
	for _, text := range []string{
		".", ".a", ".a.b-c", `."a b"."{"`, "{name}", "slug({name})", "iso8601(.at)", "rename(.x, a=b, c=d)",
		`default(.x, "")`, `default(.x, "a, b")`,
		"const(open)", "minutes(.h)", "minutes(.h, .m)", "null(default(text(.x), 0))", ".日本",
	} {
		term, err := ParseTerm(text)
		if err != nil || term.String() != text {
			t.Errorf("%q: %q %v", text, term, err)
		}
	}
	for text, want := range map[string]string{
		"": "is missing", "a": "begins with", "slug": "takes something in brackets", "slgu(.a)": "no conversion",
		"slug()": "slug takes", "slug(.a, b)": "is written slug(…)",
		".a.": "is missing", ".a x": "nothing follows", "{a": "a capture is", "{1}": "a capture is",
		`."a`: "a quote is missing", "rename(.a)": "is written", "rename(.a, b)": "old=new",
		"rename(.a, b=x, c=x)": "renamed to one", "rename(.a, b=x, b=y)": "renamed to one",
		"minutes(.a, .b, .c)": "minutes takes", "slug(.a": "a ) is missing", "const(a, b)": "is written",
		strings.Repeat("slug(", 20): "nested at most", "default(.a, )": "a word is missing",
	} {
		_, err := ParseTerm(text)
		var fault *SyntaxError
		if !errors.As(err, &fault) || !strings.Contains(fault.Message, want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if slug, iso := parse(t, "rename(slug(.a), b=c)"),
		parse(t, "null(iso8601(.a))"); slug.Back() || !iso.Back() || !iso.Instant() || slug.Instant() {
		t.Error("what can be had back, and what is a time")
	}
	if got := parse(t, "minutes(.h, text({m}))").References(); len(got) != 2 || got[0].String() != ".h" ||
		got[1].String() != "{m}" {
		t.Error(got)
	}
}

func parse(t *testing.T, text string) Term {
	t.Helper()
	term, err := ParseTerm(text)
	if err != nil {
		t.Fatal(err)
	}
	return term
}

// TestWhatIsBuiltIsMatched: a file name that was built gives its captures back.
func TestWhatIsBuiltIsMatched(t *testing.T) {
	f, _ := ParseFile("a/{x}-{y}/{z}.json")
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.StringMatching(`[a-c/.-]{0,3}`), 3, 3).Draw(t, "values")
		name, fault := f.Build(map[string]string{"x": values[0], "y": values[1], "z": values[2]})
		if fault != "" {
			return
		}
		if got, ok := f.Match(name); !ok || !slices.Equal(got, values) {
			t.Fatalf("%q: %q, not %q", name, got, values)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"/{g}/[]/{#n}", "guilds/{g}.json", `rename(."a b", x=y)`, "minutes(.h, .m)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := ParsePath(text); err == nil && p.String() != text {
			t.Errorf("%q is printed as %q", text, p)
		}
		if p, err := ParseFile(text); err == nil && p.String() != text {
			t.Errorf("%q is printed as %q", text, p)
		}
		term, err := ParseTerm(text)
		if err != nil {
			return
		}
		again, err := ParseTerm(term.String())
		if err != nil || again.String() != term.String() || !utf8.ValidString(term.String()) {
			t.Errorf("%q is printed as %q and read as %q, %v", text, term, again, err)
		}
	})
}
