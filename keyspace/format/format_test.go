package format

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/pattern"
)

const untidy = "\ufeffkeywright:    1\r\n\r\n\r\n# about keys\r\nkeys:\r\n      # the item\r\n      item:   # " +
	"trailing\r\n          doc: >-\r\n            first\r\n\r\n            second  \r\n          key:   \"a:{id}\"   " +
	"# key\r\n          type: hash\r\n          ttl: 1d\r\n          fields:\r\n             가격:  int\r\n            " +
	" b: {x: 1,\r\n                y: 2}\r\n          readers:\r\n            - one   \r\n            - two\r\n\r\n\r\n " +
	" # at the end\r\n\r\n"

const tidy = `keywright: 1

# about keys
keys:
  # the item
  item:   # trailing
    doc: >-
      first

      second  
    key: "a:{id}"   # key
    type: hash
    ttl: 1d
    fields:
      가격: int
      b: {x: 1,
         y: 2}
    readers:
      - one
      - two

# at the end
`

func TestFormat(t *testing.T) {
	got, err := Format([]byte(untidy))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tidy, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestRefuses(t *testing.T) {
	for _, text := range []string{"a: [", "a: 1\n---\nb: 2\n", "", "\xff\xfea\x00", "a: \u2028b\n"} {
		if out, err := Format([]byte(text)); err == nil {
			t.Errorf("Format(%q) = %q", text, out)
		}
	}
}

// examples returns real declarations: formatting them must not change what they
// mean, and they are kept formatted.
func examples(t testing.TB) []string {
	t.Helper()
	found, err := filepath.Glob("../../examples/*/keyspace.yaml")
	if err != nil || len(found) < 5 {
		t.Fatalf("the examples are not there: %v %v", found, err)
	}
	return found
}

func TestExamplesAreFormattedAndKeepTheirMeaning(t *testing.T) {
	for _, path := range examples(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out, err := Format(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(text), string(out)); diff != "" {
			t.Errorf("%s is not formatted:\n%s", path, diff)
		}
		before, _ := load.File(fstest.MapFS{"k.yaml": {Data: text}}, "k.yaml")
		after, _ := load.File(fstest.MapFS{"k.yaml": {Data: out}}, "k.yaml")
		same := cmp.Options{cmpopts.IgnoreTypes(finding.Position{}, keyspace.File{}),
			cmp.Comparer(func(a, b *pattern.Pattern) bool { return a.String() == b.String() })}
		if diff := cmp.Diff(before.Keys, after.Keys, same); diff != "" {
			t.Errorf("%s means something else:\n%s", path, diff)
		}
	}
}

// Flows and quotes have one form, and what is not safe to change stays.
func TestOneForm(t *testing.T) {
	for in, want := range map[string]string{
		"a: {  pid: int }":                  "a: {pid: int}",
		"a: { x: 1,y: 2 , z:   [ a,b ,c ]}": "a: {x: 1, y: 2, z: [a, b, c]}",
		"owner: 'shop'":                     "owner: shop",
		"owner: \"shop\"":                   "owner: shop",
		"key: 'a:{id}'":                     "key: \"a:{id}\"",
		"key: \"a:{id}\"":                   "key: \"a:{id}\"",
		"a: 'yes'":                          "a: \"yes\"",
		"a: \"null\"":                       "a: \"null\"",
		"a: '1'":                            "a: \"1\"",
		"a: 'say \"x\"'":                    "a: 'say \"x\"'",
		"a: 'it''s'":                        "a: \"it's\"",
		"a: 'b\\d'":                         "a: 'b\\d'",
		"a: {b: 'x:  y', c: it's}":          "a: {b: \"x:  y\", c: it's}",
		"a: []":                             "a: []",
		"a: [ ]":                            "a: []",
		"a: { } # {  x }":                   "a: {} # {  x }",
		"'a b':   {  'c': 'd' }":            "\"a b\": {c: d}",
		"a: {x: 1,\n   y: 2}":               "a: {x: 1,\n   y: 2}",
	} {
		got, err := Format([]byte(in))
		if err != nil || string(got) != want+"\n" {
			t.Errorf("%s\n got %swant %s (%v)", in, got, want, err)
		}
		if again, err := Format(got); err != nil || string(again) != string(got) {
			t.Errorf("%s is not at rest: %s (%v)", got, again, err)
		}
	}
}

// blanks and quotes are all that formatting may change.
var blanks = strings.NewReplacer("'", "", "\"", "", " ", "", "\t", "", "\r", "", "\n", "", "\ufeff", "")

func FuzzFormat(f *testing.F) {
	for _, path := range examples(f) {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, seed := range []string{untidy, tidy, "a: |\n  x\n   y  \n", "- a\n-   b: 1\n    c:  2\n", "a:\n# c\n  b: 1\n",
		"? a\n: b\n", "a: 'x\n  y'\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		once, err := Format(src)
		if err != nil {
			return
		}
		a, err1 := parseYAML(string(src))
		b, err2 := parseYAML(string(once))
		if err1 == nil && (err2 != nil || !equal(a, b)) {
			t.Fatalf("%q means something else as %q", src, once)
		}
		if blanks.Replace(string(src)) != blanks.Replace(string(once)) {
			t.Fatalf("more than blanks and quotes changed from %q to %q", src, once)
		}
		twice, err := Format(once)
		if err != nil || string(twice) != string(once) {
			t.Fatalf("formatting is not at rest: %q → %q → %q (%v)", src, once, twice, err)
		}
	})
}
