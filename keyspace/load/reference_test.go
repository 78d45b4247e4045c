package load

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load/internal/scope"
)

// The examples of docs/language.md are loaded. One that shows a mistake is
// followed by the comment `<!-- expect CODE … -->` and breaks exactly that rule.
func TestReference(t *testing.T) {
	text, err := os.ReadFile("../../docs/language.md")
	must(t, err)
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```\n(?:<!-- expect (KW\\d{3})[^\n]*-->)?").FindAllStringSubmatch(
		string(text), -1)
	if len(examples) < 10 {
		t.Fatalf("only %d examples", len(examples))
	}
	for _, example := range examples {
		line := 2 + strings.Count(string(text)[:strings.Index(string(text), example[1])], "\n")
		t.Run(fmt.Sprintf("line%d", line), func(t *testing.T) {
			ks, findings := File(fstest.MapFS{
				"k.yaml":                   {Data: []byte(example[1])},
				"schemas/tags.schema.json": {Data: []byte("{}")},
				"scripts/reserve.lua":      {Data: []byte("return 1")},
			}, "k.yaml")
			var codes []string
			for _, f := range findings {
				codes = append(codes, f.Code)
			}
			want := []string{}
			if example[2] != "" {
				want = append(want, example[2])
			}
			if !slices.Equal(codes, want) {
				t.Errorf("want %v, got\n%s", want, print(ks.Files, findings))
			}
		})
	}
}

// The reference names every section, property, type, TTL and limit there is.
func TestReferenceIsComplete(t *testing.T) {
	text, err := os.ReadFile("../../docs/language.md")
	must(t, err)
	reference := string(text)
	words := slices.Concat(TopLevel(), Types(), scope.ScalarNames)
	for _, typ := range Types() {
		words = append(words, Properties(typ)...)
	}
	for of := range scope.Properties {
		words = append(words, ChildProperties(of)...)
	}
	words = append(words, "w", "d", "h", "m", "s", "ms") // the units of durations
	for _, word := range words {
		if !regexp.MustCompile("`[^`\n]*\\b" + word + "\\b[^`\n]*`").MatchString(reference) {
			t.Errorf("the reference does not name %s", word)
		}
	}
}

// The tables of derived keys in the reference are what the loader derives.
func TestReferenceOfDerivedKeys(t *testing.T) {
	text, err := os.ReadFile("../../docs/language.md")
	must(t, err)
	ks, findings := load(head + `vars: {priority: high|normal|low}
keys:
  issue_lock: {key: "lock:issue:{number}", type: lock, ttl: 30m}
  mail: {key: "mail:{priority}", type: queue, order: priority, value: json, lease: 30s, retry: 5, ttl: none}
`)
	if finding.Count(findings).Errors > 0 {
		t.Fatal(findings)
	}
	for _, k := range ks.Keys {
		if row := fmt.Sprintf("| `%s` | `%s` | %s", k.Name, k.Pattern, k.Kind); !strings.Contains(string(text), row) {
			t.Errorf("no row %s", row)
		}
	}
}
