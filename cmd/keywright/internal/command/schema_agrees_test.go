package command

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/schema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	yaml "go.yaml.in/yaml/v4"
)

// editorSchema returns the schema as an editor applies it.
func editorSchema(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///k.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:///k.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// structural lists the codes of faults that a schema can see: unknown properties, wrong
// kinds, what is missing, words that are none of a list. All others are about what
// a text means or refers to: load.File alone knows.
var structural = []string{"KW003", "KW005", "KW006", "KW103", "KW202", "KW302"}

// semantic lists the messages of structural codes that are about what a text means.
var semantic = regexp.MustCompile(`is neither a type nor a var|the type is empty`)

// verdicts returns what the loader and the schema say of a text; ok is false for a text
// that is not comparable: no YAML, or one that the loader refuses before it looks.
func verdicts(t *testing.T, s *jsonschema.Schema, text []byte) (loads, structured, valid, ok bool, why string) {
	t.Helper()
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil {
		return false, false, false, false, ""
	}
	_, found := load.File(fstest.MapFS{"k.yaml": {Data: text}}, "k.yaml")
	loads, structured = true, true
	for _, f := range found {
		if f.Severity != finding.Error {
			continue
		}
		loads = false
		if f.Code == "KW002" || f.Code == "KW004" || f.Code == "KW008" {
			return false, false, false, false, ""
		}
		if slices.Contains(structural, f.Code) && !semantic.MatchString(f.Message) {
			structured = false
			why = f.Code + " " + f.Message
		}
	}
	err := s.Validate(plainJSON(value))
	if err != nil && loads {
		why = err.Error()
	}
	return loads, structured, err == nil, true, why
}

// plainJSON returns a value of YAML as JSON has it.
func plainJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = plainJSON(x)
		}
		return out
	case map[any]any:
		out := map[string]any{}
		for k, x := range v {
			out[fmt.Sprint(k)] = plainJSON(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = plainJSON(x)
		}
		return out
	case int, int64, uint64, float64, bool, string, nil:
		return v
	}
	return fmt.Sprint(v)
}

// mutate changes one node of a declaration.
func mutate(r *rand.Rand, doc *yaml.Node) string {
	var nodes []*yaml.Node
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for i, c := range n.Content {
			if n.Kind != yaml.MappingNode || i%2 == 1 {
				nodes = append(nodes, c)
			}
			walk(c)
		}
	}
	walk(doc)
	n := nodes[r.IntN(len(nodes))]
	scalars := []string{
		"", "42", "1.0", "true", "null", "word", "{}", "[]", "[x]", "{x: y}", "[[]]", "~", "-1", "30s",
		`"42"`, "[42]", "{x: 42}", "0x1F", "1e3", "2026-01-02", "yes",
	}
	switch r.IntN(4) {
	case 0:
		if n.Kind == yaml.MappingNode && len(n.Content) > 1 {
			i := 2 * r.IntN(len(n.Content)/2)
			gone := n.Content[i].Value
			n.Content = slices.Delete(n.Content, i, i+2)
			return "without " + gone
		}
	case 1:
		if n.Kind == yaml.MappingNode && len(n.Content) > 1 {
			i := 2 * r.IntN(len(n.Content)/2)
			was := n.Content[i].Value
			n.Content[i].Value = was + "x"
			return "renamed " + was
		}
	}
	text := scalars[r.IntN(len(scalars))]
	var with yaml.Node
	if err := yaml.Unmarshal([]byte(text), &with); err != nil || len(with.Content) == 0 {
		*n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle}
		return "empty text"
	}
	*n = *with.Content[0]
	return "replaced by " + text
}

// The editor's schema and the loader accept the same files: mutations of real
// declarations. KEYWRIGHT_SOAK is how many of each.
func TestSchemaAndLoaderAcceptTheSame(t *testing.T) {
	rounds := gate.Count(t, "KEYWRIGHT_SOAK", 15, 100)
	for _, d := range disagreements(t, editorSchema(t, schema.JSON), rounds, gate.Seed(t)) {
		t.Error(d)
	}
}

// TestTheCampaignSeesABrokenSchema: each of these schemas takes a file that the loader
// refuses, or refuses one that it takes, and the campaign says so.
func TestTheCampaignSeesABrokenSchema(t *testing.T) {
	gate.Skip(t, "it is about the test above; 10 s of CPU")
	text := string(schema.JSON)
	for name, edit := range map[string][2]string{
		"more properties than there are": {`"additionalProperties": false`, `"additionalProperties": true`},
		"nothing is required":            {`"required": [`, `"required_not": [`},
		"other types":                    {`"const": "hash"`, `"const": "hashes"`},
		"another word":                   {`"hash",`, `"hashes",`},
		"a property less":                {`"owner": {`, `"ownerless": {`},
	} {
		broken := strings.ReplaceAll(text, edit[0], edit[1])
		if broken == text {
			t.Errorf("%s: the schema has no %s", name, edit[0])
			continue
		}
		if len(disagreements(t, editorSchema(t, []byte(broken)), 20, 7)) == 0 {
			t.Errorf("%s: the campaign takes it for right", name)
		}
	}
}

// disagreements returns mutants of real declarations that a schema and the loader judge
// differently, one of each kind.
func disagreements(t *testing.T, s *jsonschema.Schema, rounds int, seed uint64) (differ []string) {
	t.Helper()
	paths, err := filepath.Glob("../../../../examples/*/keyspace.yaml")
	if err != nil || len(paths) < 5 {
		t.Fatal(paths, err)
	}
	seen := map[string]bool{}
	tried := 0
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(uint64(i), seed))
		for range rounds {
			var doc yaml.Node
			if err := yaml.Unmarshal(text, &doc); err != nil {
				t.Fatal(err)
			}
			what := mutate(r, &doc)
			out, err := yaml.Marshal(&doc)
			if err != nil {
				continue
			}
			loads, structured, valid, ok, why := verdicts(t, s, out)
			if !ok {
				continue
			}
			tried++
			if disagree := loads && !valid || !structured && valid; disagree {
				key := strconv.FormatBool(loads) + why[:min(len(why), 60)]
				if !seen[key] && len(seen) < 40 {
					seen[key] = true
					file := filepath.Base(filepath.Dir(path))
					differ = append(differ,
						fmt.Sprintf("%s, %s: loads %v, valid %v: %s", file, what, loads, valid, strings.ReplaceAll(why, "\n", " ")))
				}
			}
		}
	}
	if tried < rounds {
		t.Errorf("only %d declarations were compared", tried)
	}
	return differ
}
