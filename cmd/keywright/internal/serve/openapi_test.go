package serve_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheDescriptionIsComplete: each operation has a name of its own, a summary, all placeholders of its path, and
// answers whose schemas are there; what changes something has the header for it; the ways to sign in are documented.
func TestTheDescriptionIsComplete(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	text := g.text("/api/v1/openapi.json")
	type operation struct {
		OperationID, Summary string
		Parameters           []struct{ Name, In, Description string }
		Responses            map[string]any
	}
	var doc struct {
		Paths      map[string]map[string]operation
		Security   []map[string][]string
		Components struct{ Schemas, SecuritySchemes map[string]any }
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for path, methods := range doc.Paths {
		for method, o := range methods {
			at := method + " " + path
			other, twice := names[o.OperationID]
			if twice || o.OperationID == "" || o.Summary == "" || o.Responses["200"] == nil || o.Responses["default"] == nil {
				t.Errorf("%s: %+v, named as %q", at, o, other)
			}
			names[o.OperationID] = at
			var has []string
			for _, p := range o.Parameters {
				has = append(has, p.In+" "+p.Name)
			}
			for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
				if !slices.Contains(has, "path "+m[1]) {
					t.Errorf("%s does not have %s", at, m[1])
				}
			}
			if changes := method != "get" && !strings.HasSuffix(path, "/session"); changes !=
				slices.Contains(has, "header X-Keywright-CSRF") {
				t.Errorf("%s has %q", at, has)
			}
		}
	}
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/api/v1/events", "/api/v1/now"} {
		if doc.Paths[path] == nil {
			t.Errorf("%s is not described", path)
		}
	}
	for _, m := range regexp.MustCompile(`#/components/schemas/(\w+)`).FindAllStringSubmatch(text, -1) {
		if doc.Components.Schemas[m[1]] == nil {
			t.Errorf("there is no schema %s", m[1])
		}
	}
	for _, way := range doc.Security {
		for name := range way {
			if doc.Components.SecuritySchemes[name] == nil {
				t.Errorf("there is no scheme %s", name)
			}
		}
	}
	if len(names) < 30 || len(doc.Security) < 3 {
		t.Errorf("%d operations, %d ways to sign in", len(names), len(doc.Security))
	}
}
