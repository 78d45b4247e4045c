package command

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

// namesOfKeys lists the members of documents that are keys of a server, or lists of them.
var namesOfKeys = []string{"key", "example", "item", "of", "queue", "torn_keys", "workers"}

// noKeys are members of such a name that are something else, by the definition they are in.
var noKeys = map[string]string{
	"entryKey.example":        "a key that was made up from the pattern, which is text",
	"explanation.key":         "where a key belongs; the key is in it",
	"differenceClass.example": "a digest",
}

// TestKeysHaveOneForm: what is a key in a document is an object of its text and, where that
// is not all, its bytes: a reader needs no second way to read one.
func TestKeysHaveOneForm(t *testing.T) {
	text, err := schemas.ReadFile("schemas/definitions.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	type property struct {
		Ref   string `json:"$ref"`
		Type  any    `json:"type"`
		Items struct {
			Ref string `json:"$ref"`
		} `json:"items"`
	}
	var root struct {
		Defs map[string]struct {
			Properties map[string]property `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &root); err != nil || len(root.Defs) < 100 {
		t.Fatal(len(root.Defs), err)
	}
	seen := map[string]int{}
	for name, def := range root.Defs {
		for _, member := range namesOfKeys {
			p, there := def.Properties[member]
			switch at := name + "." + member; {
			case !there, noKeys[at] != "":
			case p.Ref == "#/$defs/key" || p.Items.Ref == "#/$defs/key":
				seen[member]++
			default:
				t.Errorf("%s is a key in a form of its own: %+v", at, p)
			}
		}
	}
	for _, member := range namesOfKeys {
		if seen[member] == 0 {
			t.Errorf("no document has a key called %s: %v", member, slices.Sorted(maps.Keys(seen)))
		}
	}
}
