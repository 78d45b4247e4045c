package command

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// namesOfKeys lists the members of documents that are keys of a server, or lists of them.
var namesOfKeys = []string{"key", "example", "item", "of", "queue", "torn_keys", "workers"}

// noKeys are members of such a name that are something else, by the definition they are in.
var noKeys = map[string]string{
	"explain.schema.json entryKey.example":               "a key that was made up from the pattern, which is text",
	"explain.schema.json .key":                           "where a key belongs; the key is in it",
	"migrate-diff.schema.json differenceClass.example":   "a digest",
	"migrate-repair.schema.json differenceClass.example": "a digest",
	"migrate-verify.schema.json differenceClass.example": "a digest",
}

// TestKeysHaveOneForm: what is a key in a document is an object of its text and, where that
// is not all, its bytes: a reader needs no second way to read one.
func TestKeysHaveOneForm(t *testing.T) {
	paths, err := filepath.Glob("schemas/*.schema.json")
	if err != nil || len(paths) < 50 {
		t.Fatal(len(paths), err)
	}
	seen := map[string]int{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var root struct {
			Defs map[string]json.RawMessage `json:"$defs"`
		}
		if err := json.Unmarshal(text, &root); err != nil {
			t.Fatal(err)
		}
		defs := maps.Clone(root.Defs)
		if defs == nil {
			defs = map[string]json.RawMessage{}
		}
		defs[""] = text
		for name, def := range defs {
			var d struct {
				Properties map[string]struct {
					Ref   string `json:"$ref"`
					Type  any    `json:"type"`
					Items struct {
						Ref string `json:"$ref"`
					} `json:"items"`
				} `json:"properties"`
			}
			if err := json.Unmarshal(def, &d); err != nil {
				continue // a list of types, or a scalar
			}
			for _, member := range namesOfKeys {
				p, there := d.Properties[member]
				if !there {
					continue
				}
				at := filepath.Base(path) + " " + name + "." + member
				switch _, else_ := noKeys[at]; {
				case p.Ref == "#/$defs/key" || p.Items.Ref == "#/$defs/key":
					seen[member]++
				case !else_:
					t.Errorf("%s is a key in a form of its own: %+v", at, p)
				}
			}
		}
	}
	for _, member := range namesOfKeys {
		if seen[member] == 0 {
			t.Errorf("no document has a key called %s: %v", member, slices.Sorted(maps.Keys(seen)))
		}
	}
}
