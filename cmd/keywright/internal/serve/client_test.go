package serve_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/serve/auth"
	"github.com/keywright/keywright/internal/expect"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// described represents a client that knows no more of the API than what its description says.
type described struct {
	*guarded
	header  []string
	schemas *jsonschema.Compiler
	paths   map[string]map[string]struct {
		OperationID string
		Parameters  []struct {
			Name, In string
			Required bool
		}
		RequestBody struct {
			Content map[string]struct{ Schema reference }
		}
		Responses map[string]struct {
			Content map[string]struct{ Schema reference }
		}
	}
}

type reference struct {
	Ref string `json:"$ref"`
}

func newDescribed(g *guarded, header ...string) *described {
	g.Helper()
	d := &described{guarded: g, header: header, schemas: jsonschema.NewCompiler()}
	text := g.send("GET", "/api/v1/openapi.json", "", header...).Body.String()
	all, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	expect.NoError(g.T, err)
	expect.NoError(g.T, d.schemas.AddResource("openapi.json", all))
	var doc struct{ Paths any }
	expect.NoError(g.T, json.Unmarshal([]byte(text), &doc))
	paths, err := json.Marshal(doc.Paths)
	expect.NoError(g.T, err)
	expect.NoError(g.T, json.Unmarshal(paths, &d.paths))
	return d
}

// call sends the request of an operation, by its name, and returns the answer. What is sent and what comes back is as
// the description says.
func (d *described) call(operation string, in map[string]string, body string) (answer map[string]any) {
	d.Helper()
	for path, methods := range d.paths {
		for method, o := range methods {
			if o.OperationID != operation {
				continue
			}
			for _, p := range o.Parameters {
				if value, given := in[p.Name]; given && p.In == "path" {
					path = strings.ReplaceAll(path, "{"+p.Name+"}", value)
				} else if p.Required {
					d.Fatalf("%s needs %s", operation, p.Name)
				}
			}
			header := slices.Clone(d.header)
			for kind, content := range o.RequestBody.Content {
				d.fits(content.Schema, body)
				header = append(header, "Content-Type", kind)
			}
			w := d.want(200, "", d.send(strings.ToUpper(method), path, body, header...))
			for _, content := range o.Responses["200"].Content {
				d.fits(content.Schema, w.Body.String())
			}
			expect.NoError(d.T, json.Unmarshal(w.Body.Bytes(), &answer))
			return answer
		}
	}
	d.Fatalf("the description has no %s", operation)
	return nil
}

// fits holds a document against a schema of the description.
func (d *described) fits(of reference, text string) {
	d.Helper()
	s, err := d.schemas.Compile("openapi.json" + of.Ref)
	expect.NoError(d.T, err)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	expect.NoError(d.T, err)
	if err := s.Validate(document); err != nil {
		d.Errorf("%s: %v", of.Ref, err)
	}
}

// TestADescribedClientAppliesAPlan: who knows nothing but the description makes a plan, looks at it, applies it and
// stops it; all that is sent and answered is as described.
func TestADescribedClientAppliesAPlan(t *testing.T) {
	t.Parallel()
	d := newDescribed(newGate(t, auth.Guard{AllowApply: true, TLS: true}), "Authorization", "Bearer bob's secret")
	if me := d.call("getMe", nil, ""); me["role"] != "operator" {
		t.Fatalf("%v", me)
	}
	target := map[string]string{"target": "main"}
	made := d.call("postTargetPlans", target, askable)
	target["id"], _ = made["id"].(string)
	for range 1000 {
		if made = d.call("getTargetPlansId", target, ""); made["state"] != "planning" {
			break
		}
	}
	if made["state"] != "planned" || made["change"] != 1.0 {
		t.Fatalf("%v", made)
	}
	if run := d.call("postTargetPlansIdApply", target, ""); run["state"] != "running" {
		t.Errorf("%v", run)
	}
	if run := d.call("postTargetPlansIdStop", target, ""); run["state"] != "stopping" && run["state"] != "stopped" {
		t.Errorf("%v", run)
	}
	if all := d.call("getTargetRuns", target, ""); all["total"] != 1.0 {
		t.Errorf("%v", all)
	}
}
