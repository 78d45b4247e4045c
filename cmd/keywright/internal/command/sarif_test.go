package command

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// officialSARIF returns the JSON Schema of OASIS, which the library that reads SARIF in this
// test carries as a constant.
func officialSARIF(t *testing.T) *jsonschema.Schema {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/owenrumney/go-sarif/v3").Output()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(strings.TrimSpace(string(dir)), "pkg", "report", "v210", "sarif", "schema.go")
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	ast.Inspect(file, func(n ast.Node) bool {
		if constant, ok := n.(*ast.BasicLit); ok && text == "" {
			text, err = strconv.Unquote(constant.Value)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("sarif.json", schema); err != nil {
		t.Fatal(err)
	}
	official, err := compiler.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return official
}

// checkSARIF holds a log against the official JSON Schema of SARIF 2.1.0, and against
// what GitHub asks for beyond it (docs.github.com, "SARIF support for code scanning"):
// a place in a file for each result, rules that are there, a fingerprint, and its limits.
func checkSARIF(t *testing.T, official *jsonschema.Schema, text string) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := official.Validate(v); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	var log sarif.Report
	if err := json.Unmarshal([]byte(text), &log); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if len(text) > 10<<20 || len(log.Runs) != 1 {
		t.Errorf("%d bytes, %d runs", len(text), len(log.Runs))
	}
	for _, run := range log.Runs {
		rules := run.Tool.Driver.Rules
		if len(run.Results) > 25_000 || len(rules) > 25_000 {
			t.Errorf("%d results of %d rules", len(run.Results), len(rules))
		}
		for _, r := range run.Results {
			checkResult(t, r, rules)
		}
	}
}

func checkResult(t *testing.T, r *sarif.Result, rules []*sarif.ReportingDescriptor) {
	t.Helper()
	if len(r.Locations) == 0 || len(r.Locations) > 1000 || len(r.PartialFingerprints) == 0 || *r.Message.Text == "" {
		t.Fatalf("%s: %d locations, %d fingerprints", *r.RuleID, len(r.Locations), len(r.PartialFingerprints))
	}
	at := r.Locations[0].PhysicalLocation
	if at == nil || at.ArtifactLocation == nil || *at.ArtifactLocation.URI == "" || at.Region == nil ||
		*at.Region.StartLine < 1 {
		t.Errorf("%s has no place in a file", *r.RuleID)
	}
	if r.RuleIndex < 0 || r.RuleIndex >= len(rules) || *rules[r.RuleIndex].ID != *r.RuleID {
		t.Errorf("%s is the rule %d of %d", *r.RuleID, r.RuleIndex, len(rules))
		return
	}
	rule := rules[r.RuleIndex]
	if *rule.ShortDescription.Text == "" || *rule.FullDescription.Text == "" || *rule.Help.Text == "" ||
		len(*rule.Name) > 255 {
		t.Errorf("%s is not described", *r.RuleID)
	}
}

// TestSARIFIsAccepted: of every command that prints it, with and without findings, with
// places and without, complete and not, by the official schema and by GitHub's rules.
func TestSARIFIsAccepted(t *testing.T) {
	official := officialSARIF(t)
	s := keywrighttest.Start(t, keywrighttest.Redis)
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"keyspace.yaml": documentKeyspace,
		"old.yaml":      strings.ReplaceAll(documentKeyspace, "app:album", "app:disc"),
		"bad,1:é.yaml":  strings.Repeat("x: y\n", 300) + documentKeyspace + "  q: {key: [x], type: strin}\n",
		"broken.yaml":   "{",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(code int, args string) {
		t.Helper()
		checkSARIF(t, official, runDocument(t, s, documentRun{"", code, args, ""}))
	}
	run(1, "audit -o sarif -u URL") // an empty server: a finding without a place
	fillForDocuments(s)
	run(1, "audit -o sarif -u URL --values --no-bytes")
	s.Do("SAVE")
	copyFile(t, s.Dir+"/dump.rdb", "dump.rdb")
	text, err := os.ReadFile("dump.rdb")
	if err != nil || os.WriteFile("cut.rdb", text[:len(text)-30], 0o600) != nil {
		t.Fatal(err)
	}
	run(5, "audit -o sarif cut.rdb")
	run(0, "audit -o sarif dump.rdb --include secret --min-keys 0 --fail-on never")
	run(1, "breaking -o sarif --against old.yaml")
	run(1, "lint -o sarif bad,1:é.yaml broken.yaml keyspace.yaml")
	var out bytes.Buffer
	if err := finding.SARIF(&out, nil, finding.Options{}); err != nil {
		t.Fatal(err)
	}
	checkSARIF(t, official, out.String())
}
