package examples

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/keywright/keywright/keyspace/load"
	_ "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif" // for its schema
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const flawed = `keywright: 1
owns: ["a:*"]
vars: {unused: int}
keys:
  상품: {key: "a:{x}", type: string, ttl: 7}
  one: {key: "a:{x}", type: cache, ttl: none}
  two: {key: "{y}:b", type: lock, ttl: any}
`

// officialSchema returns the schema of OASIS (SARIF 2.1.0, errata 01) as go-sarif
// carries it in its source: the module proxy is where it can be had from.
func officialSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/owenrumney/go-sarif/v3").Output()
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), strings.TrimSpace(string(dir))+"/pkg/report/v210/sarif/schema.go",
		nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && len(lit.Value) > len(text) {
			text = strings.Trim(lit.Value, "`")
		}
		return true
	})
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("sarif.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestSARIFIsValid(t *testing.T) {
	schema := officialSchema(t)
	_, findings := load.File(fstest.MapFS{"k.yaml": {Data: []byte(flawed)}}, "k.yaml")
	sound, _ := load.File(fstest.MapFS{"k.yaml": {Data: bytes.Replace([]byte(flawed), []byte("  상품"), []byte("# 상품"),
		1)}}, "k.yaml")
	findings = append(findings, lint.Run(sound)...)
	findings = append(findings,
		finding.Finding{Code: "KW502", Severity: finding.Warning, Message: "nowhere", Count: 3,
			Examples: []finding.Example{{Key: []byte("a\x1b")}, {DB: 3, Key: []byte{0xff}}}},
		finding.Finding{Code: "KW505", Severity: finding.Error, Entry: "one", Message: "an entry",
			Pos: finding.Position{File: "dir/k.yaml"}},
		finding.Finding{Code: "KW401", Severity: finding.Note, Message: "unknown code's rule is absent",
			Pos: finding.Position{File: "k.yaml", Line: 3}},
	)
	rules := append(append(load.Rules(), lint.Rules()...), audit.Rules()...)
	for name, some := range map[string][]finding.Finding{"many": findings, "none": nil} {
		var out bytes.Buffer
		if err := finding.SARIF(&out, some, finding.Options{Rules: rules, File: "k.yaml",
			Failed: "was flushed"}); err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(&out)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, result := range doc.(map[string]any)["runs"].([]any)[0].(map[string]any)["results"].([]any) {
			located(t, result.(map[string]any))
		}
		doc.(map[string]any)["unheard-of"] = 1
		if schema.Validate(doc) == nil {
			t.Error("the schema takes anything")
		}
	}
	if len(findings) < 8 {
		t.Errorf("only %d findings: the flawed declaration has got better", len(findings))
	}
}

// located: GitHub's code scanning refuses a file in which one result has no
// physical location with a file
// (https://docs.github.com/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning).
func located(t *testing.T, result map[string]any) {
	t.Helper()
	locations, _ := result["locations"].([]any)
	if len(locations) == 0 {
		t.Errorf("%v has no location", result["ruleId"])
		return
	}
	place, _ := locations[0].(map[string]any)["physicalLocation"].(map[string]any)
	file, _ := place["artifactLocation"].(map[string]any)
	if file["uri"] == nil || file["uri"] == "" {
		t.Errorf("%v is in no file", result["ruleId"])
	}
}
