package schema

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
)

// node describes what the tests look at in a schema.
type node struct {
	Ref                  string           `json:"$ref"`
	Description          string           `json:"description"`
	Pattern              string           `json:"pattern"`
	Const                any              `json:"const"`
	Enum                 []any            `json:"enum"`
	Required             []string         `json:"required"`
	Properties           map[string]*node `json:"properties"`
	AdditionalProperties any              `json:"additionalProperties"`
	Items                *node            `json:"items"`
	If, Then             *node
	AllOf                []*node          `json:"allOf"`
	AnyOf                []*node          `json:"anyOf"`
	Definitions          map[string]*node `json:"definitions"`
}

func parse(t *testing.T) *node {
	t.Helper()
	var root node
	if err := json.Unmarshal(JSON, &root); err != nil {
		t.Fatal(err)
	}
	return &root
}

func names(properties map[string]*node) []string { return slices.Sorted(maps.Keys(properties)) }

func agree(t *testing.T, what string, loader []string, properties map[string]*node) {
	t.Helper()
	if diff := cmp.Diff(slices.Sorted(slices.Values(loader)), names(properties)); diff != "" {
		t.Errorf("%s: loader - schema +\n%s", what, diff)
	}
}

// member follows additionalProperties to the schema of what a mapping holds.
func member(t *testing.T, n *node) *node {
	t.Helper()
	text, err := json.Marshal(n.AdditionalProperties)
	if err != nil {
		t.Fatal(err)
	}
	var out node
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

// The loader and the schema know the same properties, in both directions.
func TestSchemaAgreesWithTheLoader(t *testing.T) {
	root := parse(t)
	agree(t, "the file", load.TopLevel(), root.Properties)
	entry := root.Definitions["entry"]
	branches := map[string]*node{}
	untyped := entry.AllOf[0].Then // of an entry without a type: it may be misspelt
	for _, branch := range entry.AllOf[1:] {
		branches[branch.If.Properties["type"].Const.(string)] = branch.Then
	}
	agree(t, "types", load.Types(), branches)
	shared := load.Properties("string")
	for typ, branch := range branches {
		agree(t, typ, load.Properties(typ), branch.Properties)
		if typ != "script" { // it has no key
			shared = slices.DeleteFunc(shared, func(name string) bool { return branch.Properties[name] == nil })
		}
		if closed, ok := branch.AdditionalProperties.(bool); !ok || closed {
			t.Errorf("a %s may have any property", typ)
		}
	}
	var all []string
	for _, branch := range branches {
		all = append(all, slices.DeleteFunc(names(branch.Properties), func(name string) bool { return name == "type" })...)
	}
	slices.Sort(all)
	agree(t, "an entry without a type", slices.Compact(all), untyped.Properties)
	if closed, ok := untyped.AdditionalProperties.(bool); !ok || closed {
		t.Error("an entry without a type may have any property")
	}
	agree(t, "properties offered before the type is known", shared, entry.Properties)
	var types []string
	for _, word := range entry.Properties["type"].Enum {
		types = append(types, word.(string))
	}
	if diff := cmp.Diff(load.Types(), slices.Sorted(slices.Values(types))); diff != "" {
		t.Errorf("completion of type: %s", diff)
	}
	agree(t, "a channel", load.ChildProperties("channels"), member(t, root.Properties["channels"]).AnyOf[1].Properties)
	agree(t, "durable", load.ChildProperties("durable"),
		member(t, root.Properties["channels"]).AnyOf[1].Properties["durable"].AnyOf[1].Properties)
	agree(t, "an event", load.ChildProperties("events"), member(t, root.Properties["events"]).Properties)
	agree(t, "a clean-up rule", load.ChildProperties("cleanup"), root.Properties["cleanup"].Items.Properties)
	agree(t, "a pressure rule", load.ChildProperties("pressure"), root.Properties["pressure"].Items.Properties)
	agree(t, "a job", load.ChildProperties("janitor"), member(t, root.Properties["janitor"]).Properties)
	migration := member(t, root.Properties["migrations"])
	part := member(t, migration.Properties["parts"])
	move := part.Properties["moves"].Items
	agree(t, "a migration", load.ChildProperties("migrations"), migration.Properties)
	agree(t, "a source", load.ChildProperties("source"), member(t, migration.Properties["sources"]).Properties)
	agree(t, "a part", load.ChildProperties("part"), part.Properties)
	agree(t, "a move", load.ChildProperties("move"), move.Properties)
	agree(t, "the ttl of a move", load.ChildProperties("move ttl"), move.Properties["ttl"].Properties)
	agree(t, "gates", load.ChildProperties("gates"), part.Properties["gates"].Properties)
	agree(t, "a rule of compare", load.ChildProperties("compare"), migration.Properties["compare"].Items.Properties)
	agree(t, "a var", load.ChildProperties("vars"), member(t, root.Properties["vars"]).AnyOf[1].Properties)
	agree(t, "emits", load.ChildProperties("emits"), root.Definitions["property_emits"].Properties)
}

// Every property says on hover what it is.
func TestEverythingIsDescribed(t *testing.T) {
	root := parse(t)
	var walk func(path string, n *node)
	described := func(n *node) bool {
		if n.Description != "" {
			return true
		}
		target := root.Definitions[strings.TrimPrefix(n.Ref, "#/definitions/")]
		for target != nil && target.Description == "" && target.Ref != "" {
			target = root.Definitions[strings.TrimPrefix(target.Ref, "#/definitions/")]
		}
		return target != nil && target.Description != ""
	}
	walk = func(path string, n *node) {
		if n == nil {
			return
		}
		for name, p := range n.Properties {
			if !described(p) {
				t.Errorf("%s.%s has no description", path, name)
			}
			walk(path+"."+name, p)
		}
		for _, branch := range slices.Concat(n.AllOf, n.AnyOf) {
			walk(path, branch.Then)
			if branch.Then == nil {
				walk(path, branch)
			}
		}
		walk(path+"[]", n.Items)
		for name, d := range n.Definitions {
			walk(name, d)
		}
	}
	walk("", root)
}

// What the loader accepts as a ttl the editor does not underline, and the slips
// that are known by their form it does.
func TestTTLPattern(t *testing.T) {
	pattern := regexp.MustCompile(parse(t).Definitions["ttl"].Pattern)
	for _, text := range []string{"30s", "1h30m", "250ms", "15m in 1m..24h", "10m ~10%", "10m ~2.5%", "30m sliding",
		"15m in 1m..24h ~5% sliding", "none", "any"} {
		if _, err := keyspace.ParseTTL(text); err != nil || !pattern.MatchString(text) {
			t.Errorf("%q: loader %v, schema %t", text, err, pattern.MatchString(text))
		}
	}
	for _, text := range []string{"", "5", "0", "-1s", "1.5h", "1mo", "10m ~10", "15m in 1m", "15m in", "30 s",
		"10m slidng"} {
		if _, err := keyspace.ParseTTL(text); err == nil || pattern.MatchString(text) {
			t.Errorf("%q: loader %v, schema %t", text, err, pattern.MatchString(text))
		}
	}
}
