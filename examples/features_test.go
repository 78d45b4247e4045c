package examples

import (
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// features lists the columns of the table and the lines of a declaration that show them.
var features = []struct {
	name string
	has  func(entry map[string]any) bool
}{
	{"entity", ofType("entity")}, {"cache", ofType("cache")}, {"lock", ofType("lock")}, {"queue", ofType("queue")},
	{"script", ofType("script")}, {"channel", with("channel")}, {"encrypted", mentions("encrypted")},
	{"sliding TTL", mentions("sliding")},
	{"clean-up", top("cleanup")}, {"memory pressure", top("pressure")}, {"namespace", top("namespace")},
	{"migration from files", top("migrations")},
}

func ofType(name string) func(map[string]any) bool {
	return func(entry map[string]any) bool { return entry["type"] == name }
}

// top returns a member of the declaration itself, which count gives as an entry, too.
func top(member string) func(map[string]any) bool {
	inner := with(member)
	return func(entry map[string]any) bool { return entry["keywright"] != nil && inner(entry) }
}

func with(member string) func(map[string]any) bool {
	return func(entry map[string]any) bool { _, ok := entry[member]; return ok }
}

// mentions looks at all values of an entry but its doc.
func mentions(word string) func(map[string]any) bool {
	var in func(v any) bool
	in = func(v any) bool {
		switch v := v.(type) {
		case string:
			return slices.Contains(strings.Fields(v), word)
		case map[string]any:
			for name, inner := range v {
				if name != "doc" && in(inner) {
					return true
				}
			}
		case []any:
			return slices.ContainsFunc(v, in)
		}
		return false
	}
	return func(entry map[string]any) bool { return in(entry) }
}

// TestSideBySide: the table of features in README.md is what the declarations have.
func TestSideBySide(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := []string{"| |", "|---|"}
	for _, team := range teams {
		rows[0] += " " + team + " |"
		rows[1] += "---|"
	}
	for _, f := range features {
		row := "| " + f.name + " |"
		for _, team := range teams {
			if n := count(t, team, f.has); n > 0 {
				row += " " + "●" + " |"
			} else {
				row += " |"
			}
		}
		rows = append(rows, row)
	}
	table := strings.Join(rows, "\n") + "\n"
	before, rest, ok := strings.Cut(string(readme), "<!-- features -->\n\n")
	have, after, ended := strings.Cut(rest, "\n<!-- end of features -->")
	if !ok || !ended {
		t.Fatal("README.md has no table of features")
	}
	if os.Getenv("KEYWRIGHT_UPDATE") != "" {
		if err := os.WriteFile("README.md", []byte(before+"<!-- features -->\n\n"+table+"\n<!-- end of features -->"+after),
			0o644); err != nil {
			t.Fatal(err)
		}
	} else if have != table {
		t.Errorf("the table of features is not what is declared: KEYWRIGHT_UPDATE=1 writes\n%s", table)
	}
}

// count returns how many entries and channels of a team's declaration have a feature.
func count(t *testing.T, team string, has func(map[string]any) bool) (n int) {
	t.Helper()
	text, err := os.ReadFile(team + "/keyspace.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		TTLs           map[string]string `yaml:"ttls"`
		Keys, Channels map[string]map[string]any
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	whole := map[string]any{}
	if err := yaml.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	head := map[string]any{}
	for name, value := range whole {
		if name != "keys" && name != "channels" && name != "vars" && name != "ttls" && name != "doc" {
			head[name] = value
		}
	}
	if has(head) {
		n++
	}
	for _, entries := range []map[string]map[string]any{file.Keys, file.Channels} {
		for _, entry := range entries {
			if named, ok := entry["ttl"].(string); ok && file.TTLs[named] != "" {
				entry["ttl"] = file.TTLs[named]
			}
			if has(entry) {
				n++
			}
		}
	}
	return n
}
