package node

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"go.yaml.in/yaml/v4"
)

// opened returns a reader of a text, with what it found in the text itself.
func opened(text string) (*Reader, *yaml.Node) {
	r := &Reader{File: "k.yaml", Lines: strings.Split(text, "\n"), Out: &[]finding.Finding{}}
	return r, r.Parse([]byte(text))
}

// said writes the findings: line:column-end code message [fix].
func said(r *Reader) string {
	var out []string
	for _, f := range *r.Out {
		end := ""
		if f.Pos.EndColumn > 0 {
			end = fmt.Sprintf("-%d", f.Pos.EndColumn)
		}
		fix := ""
		if f.Fix != "" {
			fix = " [" + f.Fix + "]"
		}
		out = append(out, fmt.Sprintf("%d:%d%s %s %s%s", f.Pos.Line, f.Pos.Column, end, f.Code, f.Message, fix))
	}
	return strings.Join(out, "\n")
}

// TestTextsThatAreNoYAML: what is no text, no YAML or more than one document, at its place, with what to do.
func TestTextsThatAreNoYAML(t *testing.T) {
	const save = " [save the file as UTF-8 with LF or CRLF line ends and without control characters]"
	const again = "1:1 KW007 the file has a second document, which would be ignored" +
		" [remove the --- and what follows, or move it to a file of its own]"
	for _, c := range []struct{ text, want string }{
		{"a: 1", ""}, {"\ufeffa: 1\r\nb: 2\r\n", ""},
		{"", "1:1 KW006 the file is empty [begin with keywright: 1]"},
		{"# nothing\n", "1:1 KW006 the file is empty [begin with keywright: 1]"},
		{"a: \xff", "1:4 KW001 byte 0xff is not text" + save}, {"a: b\n  é\x00", "2:4 KW001 byte 0x00 is not text" + save},
		{"a: b\rc: d", "1:5 KW001 a carriage return without a line feed is not text" + save},
		{"a: b\r", "1:5 KW001 a carriage return without a line feed is not text" + save},
		{"a: \x7f", "1:4 KW001 the character U+007F is not text" + save},
		{"a: \u0085", "1:4 KW001 the character U+0085 is not text" + save},
		{"a: \u2028", "1:4 KW001 the character U+2028 is not text" + save},
		{"a: \ufeffb", "1:4 KW001 the character U+FEFF is not text" + save},
		{"a: 1\n--- \nb: 2", strings.Replace(again, "1:1", "2:1", 1)},
		{"a: 1\n\tb: 2", "2:1 KW002 a tab cannot indent YAML [indent with spaces]"},
		{"a: @b", "1:4 KW002 a value cannot begin with @, ` or % [put quotes around it]"},
		{"a: *b", `1:4 KW002 a value that begins with * is an alias to YAML [put quotes around it, as in "poppo:*"]`},
		{"a: b: c", "1:5 KW002 a colon and a space inside a value begin a mapping [put quotes around the value]"},
		{"a\nb: c", "1:1-2 KW002 a name without a colon [did you mean a:?]"},
		{"a: \"b", "1:6 KW002 a quote is not closed [close it]"},
		{`a: "\q"`, "1:5 KW002 a backslash in \"…\" begins an escape that does not exist " +
			"[use '…' or no quotes: a backslash is itself there]"},
		{"a: {x}:b", `1:7 KW009 a value that begins with { is not read as text [put quotes around it, as in "{id}:x"]`},
		{"a: [x:{id}]", `1:7 KW009 a pattern inside [ ] or { } is not read as text [put quotes around it, as in ["x:{id}"]]`},
	} {
		r, _ := opened(c.text)
		got := said(r)
		if c.want == "" && got != "" || c.want != "" && got != c.want {
			t.Errorf("%q:\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
	deep := strings.Repeat("[", 10_001)
	if r, root := opened("a: " + deep); root != nil || !strings.Contains(said(r), "nested deeper than 10000 levels") {
		t.Errorf("deep: %.200s", said(r))
	}
}

// TestValuesOfEachForm: what each reader makes of each value, and what it says of one of another form.
func TestValuesOfEachForm(t *testing.T) {
	value := func(read func(r *Reader, n *yaml.Node) any) func(r *Reader, n *yaml.Node) any { return read }
	text := value(func(r *Reader, n *yaml.Node) any { s, ok := r.Text(n, "x"); return fmt.Sprint(s, ok) })
	list := value(func(r *Reader, n *yaml.Node) any { return r.Texts(n, "x") })
	choice := value(func(r *Reader, n *yaml.Node) any { return r.Choice(n, "x", []string{"high", "low"}) })
	number := value(func(r *Reader, n *yaml.Node) any {
		return r.Number(map[string]Property{"x": {"x", n, n}}, "x", 1)
	})
	truth := value(func(r *Reader, n *yaml.Node) any { return r.Truth(map[string]Property{"x": {"x", n, n}}, "x") })
	duration := value(func(r *Reader, n *yaml.Node) any {
		return r.Duration(map[string]Property{"x": {"x", n, n}}, "x")
	})
	mapping := value(func(r *Reader, n *yaml.Node) any {
		var names []string
		for _, p := range r.Mapping(n, "x") {
			names = append(names, p.Name+"="+p.Value.Value)
		}
		return names
	})
	for _, c := range []struct {
		yaml string
		read func(r *Reader, n *yaml.Node) any
		want any
		said string
	}{
		{"b", text, "btrue", ""}, {"'5'", text, "5true", ""}, {"''", text, "true", ""},
		{"5", text, "5false", `1:4-5 KW005 x must be text, and YAML reads 5 as a number [quote it: "5"]`},
		{"1.5", text, "1.5false", `1:4-7 KW005 x must be text, and YAML reads 1.5 as a number [quote it: "1.5"]`},
		{"true", text, "truefalse", `1:4-8 KW005 x must be text, and YAML reads true as true or false [quote it: "true"]`},
		{"", text, "false", "1:3 KW005 x must be text, not empty"},
		{"~", text, "false", "1:4-5 KW005 x must be text, not empty"},
		{"[b]", text, "false", "1:4 KW005 x must be text, not a list"},
		{"{b}", text, "false", "1:4 KW009 x begins with {, which YAML reads as a mapping [put quotes around the " +
			"whole value]"},
		{"\n  b: c", text, "false", "2:3 KW005 x must be text, not a mapping"},
		{"[b, c]", list, []string{"b", "c"}, ""}, {"b", list, []string{"b"}, ""}, {"[]", list, []string(nil), ""},
		{"[b, 5]", list, []string{"b"}, `1:8-9 KW005 an item of x must be text, and YAML reads 5 as a number ` +
			`[quote it: "5"]`},
		{"5", list, []string(nil), `1:4-5 KW005 x must be text, and YAML reads 5 as a number [quote it: "5"]`},
		{"{b: c}", list, []string(nil), "1:4 KW005 x must be a list, not a mapping"},
		{"", list, []string(nil), "1:3 KW005 x must be a list, not empty"},
		{"low", choice, "low", ""}, {"hihg", choice, "", `1:4-8 KW301 "hihg" is nothing that x knows [did you mean high?]`},
		{"other", choice, "", `1:4-9 KW301 "other" is nothing that x knows [one of: high, low]`},
		{"[low]", choice, "", "1:4 KW005 x must be one of high, low, not a list"},
		{"5", number, int64(5), ""},
		{"'5'", number, int64(5), "1:4-7 KW005 x must be a number, not text [write 5 without quotes]"},
		{"0", number, int64(0), `1:4-5 KW307 x must be a whole number of at least 1, not "0"`},
		{"10k", number, int64(0), `1:4-7 KW307 x must be a whole number of at least 1, not "10k" [did you mean 10000?]`},
		{"2M", number, int64(0), `1:4-6 KW307 x must be a whole number of at least 1, not "2M" [did you mean 2000000?]`},
		{"[5]", number, int64(0), "1:4 KW307 x must be a whole number of at least 1, not a list"},
		{"true", truth, true, ""}, {"False", truth, false, ""},
		{"yes", truth, false, `1:4-7 KW005 x must be true or false, not "yes" [write true or false]`},
		{"'true'", truth, false, `1:4-10 KW005 x must be true or false, not "true" [write true or false]`},
		{"90s", duration, 90 * time.Second, ""},
		{"{a: 1, b: 2}", mapping, []string{"a=1", "b=2"}, ""},
		{"{a: 1, a: 2}", mapping, []string{"a=1"}, `1:11-12 KW004 "a" is there twice in x [remove one of them]`},
		{"{[a]: 1, b: 2}", mapping, []string{"b=2"}, "1:5 KW005 a name in x must be text [write a plain name]"},
		{"{<<: 1}", mapping, []string(nil), "1:5-7 KW007 merge keys are not supported [write the properties out]"},
		{"[a]", mapping, []string(nil), "1:4 KW005 x must be a mapping of names to values, not a list" +
			" [write a line `name: …` for each, without the -]"},
	} {
		r, root := opened("a: " + c.yaml)
		if root == nil {
			t.Errorf("%q: %s", c.yaml, said(r))
			continue
		}
		if got := c.read(r, root.Content[1]); fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", c.want) || said(r) != c.said {
			t.Errorf("%q: %#v\n%s\nwant %#v\n%s", c.yaml, got, said(r), c.want, c.said)
		}
	}
}

// TestNames: what can be a name, what is said of what cannot, and what was meant.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		name  string
		camel bool
		want  string
	}{
		{"user_9", false, ""}, {"_", false, ""}, {"userName", true, ""}, {strings.Repeat("x", 64), false, ""},
		{"", false, "1:1 KW010 the name of a thing has 1 to 64 characters"},
		{strings.Repeat("x", 65), false, "1:1 KW010 the name of a thing has 1 to 64 characters"},
		{"userName", false, `1:1 KW010 "userName" cannot name a thing because of 'N': lower-case letters, digits and _, ` +
			"not beginning with a digit [did you mean user_name?]"},
		{"9x", true, `1:1 KW010 "9x" cannot name a thing because of '9': letters, digits and _, not beginning with a digit`},
		{"a-b", true, `1:1 KW010 "a-b" cannot name a thing because of '-': letters, digits and _, not beginning ` +
			`with a digit` +
			" [did you mean a_b?]"},
		{"usеr", true, `1:1 KW010 "usеr" cannot name a thing because of 'е' (U+0435): letters, digits and _, ` +
			"not beginning with a digit"},
	} {
		r, _ := opened("a: 1")
		ok := r.Name(Property{Name: c.name, Key: &yaml.Node{Line: 1, Column: 1}}, "a thing", c.camel)
		if ok != (c.want == "") || said(r) != c.want {
			t.Errorf("%q: %t %s", c.name, ok, said(r))
		}
	}
}

// TestMeant: what a wrong property, type or list was meant as.
func TestMeant(t *testing.T) {
	for _, c := range [][2]string{{"string", "did you mean text?"}, {"Integer", "did you mean int?"},
		{"uuid?", "did you mean uuid optional?"},
		{"1..5", "did you mean int 1..5?"}, {"-5..", "did you mean int -5..?"}, {"..", ""}, {"enum", "did you mean a|b|c?"},
		{"other", ""}, {"optional", ""}} {
		if got := MeantType(c[0], c[0]); got != c[1] {
			t.Errorf("%s: %s", c[0], got)
		}
	}
	if got := MeantType("optional text max 5", "optional"); got != "did you mean text max 5 optional?" {
		t.Error(got)
	}
	for yaml, want := range map[string]string{"[a, b]": "did you mean f: a|b?", "[a]": "an enum is written as a|b|c",
		"[a, a]": "an enum is written as a|b|c", "[]": "an enum is written as a|b|c",
		"[a, 'b c']": "an enum is written as a|b|c"} {
		_, root := opened("a: " + yaml)
		if got := MeantEnum(root.Content[1], "the type of f"); got != want {
			t.Errorf("%s: %s", yaml, got)
		}
	}
	for _, c := range []struct {
		name, what string
		allowed    []string
		want       string
	}{
		{"pattern", "x", []string{"key", "ttl"}, "did you mean key?"},
		{"expire", "x", []string{"key", "ttl"}, "did you mean ttl?"},
		{"pattern", "x", []string{"ttl"}, "one of: ttl"}, {"kye", "x", []string{"key"}, "did you mean key?"},
		{"lanes", "x", []string{"order"}, laneWay}, {"lanes", "x", []string{"ttl"}, "one of: ttl"},
		{"queues", "the file", []string{"keys"}, "write its entries under keys, each with type: queue"},
		{"entries", "the file", []string{"keys"}, "did you mean keys?"}, {"entries", "x", []string{"keys"}, "one of: keys"},
	} {
		r, root := opened(c.name + ": 1")
		got := r.Known(root, c.what, c.allowed)
		want := fmt.Sprintf("1:1-%d KW003 %s has no property %q [%s]", len(c.name)+1, c.what, c.name, c.want)
		if len(got) != 0 || said(r) != want {
			t.Errorf("%s\nwant %s", said(r), want)
		}
	}
	r, root := opened("kye: 1\ntpye: 2")
	if !Misspelt(root, "key", []string{"key", "type"}) || Misspelt(root, "ttl", []string{"key", "type"}) ||
		!HasKey(root, "x", "kye") || HasKey(root, "key") {
		t.Error("Misspelt, HasKey")
	}
	for range maxProposals + 1 {
		r.Report("KW001", keyspace.Pos{}, "", "one more")
	}
	if got := r.Near("kye", []string{"key"}) + NearKey(r, "kye", map[string]int{"key": 1}); got != "" {
		t.Errorf("after very many faults: %s", got)
	}
	r, _ = opened("a: 1")
	if got := NearKey(r, "kye", map[string]int{"key": 1}, "more"); got != "did you mean key?" {
		t.Error(got)
	}
}

// TestPlacesWithinValues: where the bytes of a value are in the file, in every style of YAML.
func TestPlacesWithinValues(t *testing.T) {
	for _, c := range []struct{ yaml, part, want string }{
		{"a: one two", "two", "1:8-11"}, {"a: 'one two'", "two", "1:9-12"}, {`a: "one two"`, "two", "1:9-12"},
		{"a: 'it''s two'", "two", "1:11-14"}, {`a: "\u00e9\x41 two"`, "two", "1:16-19"},
		{`a: "\t\" two"`, "two", "1:10-13"},
		{"a: 가나 two", "two", "1:7-10"}, {"a: |\n  one two\n", "two", "2:7-10"}, {"a: >-\n  one two", "two", "2:7-10"},
		{"a: one", "", "1:4-5"}, {"a: |\n  one\n  two\n", "two", "1:4"}, {"a: one\n  two", "two", "1:4"},
		{"a: " + strings.Repeat("x", maxLine) + " two", "two", "1:4"},
	} {
		r, root := opened(c.yaml)
		n := root.Content[1]
		p := r.Within(n, strings.Index(n.Value, c.part), len(c.part))
		got := fmt.Sprintf("%d:%d", p.Line, p.Column)
		if p.EndColumn > 0 {
			got += fmt.Sprintf("-%d", p.EndColumn)
		}
		if got != c.want || p.File != "k.yaml" {
			t.Errorf("%.40q: %q is at %s, want %s", c.yaml, c.part, got, c.want)
		}
	}
}

// TestRefused: YAML that the language does without, wherever it is.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"a: b": "", "a: {b: [c, {d: 1}]}": "",
		"a: &x b\nc: *x": "1:4-5 KW007 anchors (&x) are not supported [write the value out where it is used]\n" +
			"2:4 KW007 aliases (*x) are not supported " +
			"[write the value out; for a pattern that begins with *, put quotes around it]",
		"a: [!!str b]": "1:5-6 KW007 explicit tags (!!str) are not supported [remove the tag]",
	} {
		r, root := opened(text)
		r.Refuse(root)
		if got := said(r); !sameButEnds(got, want) {
			t.Errorf("%q:\n%s\nwant\n%s", text, got, want)
		}
	}
}

// sameButEnds compares what was said without where the places end.
func sameButEnds(a, b string) bool {
	cut := func(s string) (out []string) {
		for line := range strings.SplitSeq(s, "\n") {
			place, rest, _ := strings.Cut(line, " ")
			start, _, _ := strings.Cut(place, "-")
			out = append(out, start+" "+rest)
		}
		return out
	}
	return slices.Equal(cut(a), cut(b))
}

// TestFiles: what a name leads to, and what is said of what cannot be read.
func TestFiles(t *testing.T) {
	most := make([]byte, MaxFileBytes)
	fsys := fstest.MapFS{"a": {Data: []byte("text")}, "dir/b": {}, "most": {Data: most}, "more": {Data: append(most, 'x')},
		"pipe": {Mode: fs.ModeNamedPipe}}
	for name, want := range map[string]string{"a": "", "most": "", "none": "does not exist",
		"dir":  "is not a regular file",
		"pipe": "is not a regular file", "more": "is larger than 1024 KiB; divide it and use imports",
		"../a": "does not exist"} {
		text, why := ReadFile(fsys, name)
		if why != want || (text == nil) != (want != "") {
			t.Errorf("%s: %d bytes, %q", name, len(text), why)
		}
	}
	if _, why := ReadFile(broken{}, "a"); why != "cannot be read: broken" {
		t.Error(why)
	}
}

// broken is a file system that can do nothing.
type broken struct{}

func (broken) Open(string) (fs.File, error) { return nil, errors.New("broken") }

// TestReadersOfAbout: what entries and channels share: the texts for people, the owner of the file where none is said.
func TestReadersOfAbout(t *testing.T) {
	r, root := opened("doc: ' one '\nreaders: [a, b]\nretired: [x]\nwith: [c, d]")
	props := r.Known(root, "x", []string{"doc", "owner", "readers", "retired", "with"})
	doc, own, readers := r.About(props, "team")
	if doc != "one" || own != "team" || !slices.Equal(readers, []string{"a", "b"}) || r.Doc(props) != " one " {
		t.Errorf("%q %q %q", doc, own, readers)
	}
	at := map[string]keyspace.Pos{}
	if names := r.Names(props, "with", "x", at); !slices.Equal(names, []string{"c", "d"}) ||
		at["with.d"] != (keyspace.Pos{File: "k.yaml", Line: 4, Column: 11, EndColumn: 12}) || len(at) != 2 {
		t.Errorf("%q %v", names, at)
	}
	retired := r.Retired(props, "retired")
	if len(retired) != 1 || retired[0].Name != "x" || retired[0].Pos.Line != 3 || r.Retired(props, "none") != nil {
		t.Errorf("%v", retired)
	}
	none := map[string]Property{}
	if r.Number(none, "x", 1) != 0 || r.Truth(none, "x") || r.Duration(none, "x") != 0 || r.Doc(none) != "" ||
		r.Names(none, "x", "y", at) != nil || said(r) != "" {
		t.Errorf("what is not there: %s", said(r))
	}
}
