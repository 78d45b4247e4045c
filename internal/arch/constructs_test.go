package arch

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
)

// TestEachConstructHasItsRows: a table that says something of constructs says it of each, and no switch does.
func TestEachConstructHasItsRows(t *testing.T) {
	files := load(t)
	if all := Constructs(files); len(all) < 10 {
		t.Fatalf("constructs: %v", all)
	}
	for path, missing := range MissingRows(files) {
		t.Errorf("%s: %s", path, strings.Join(missing, ", "))
	}
	for _, place := range Switches(files) {
		t.Errorf("%s tells constructs apart in a switch: make it a table with a row for each", place)
	}
}

// edit is what a step does to a file: it writes a text before another one, or all of a new file.
type edit struct{ file, before, text string }

// latch is a toy: it opens when enough have come. Its steps are those of CONTRIBUTING.
var latch = []edit{
	{"keyspace/construct.go", "\tScript    Construct = ", "\tLatch Construct = \"latch\"\n"},
	{"keyspace/construct.go", "\t{construct: Script},\n", "\t{construct: Latch, inStep: true},\n"},
	{"keyspace/construct.go", "// RateLimitSpec is",
		"// LatchSpec is what a latch has.\ntype LatchSpec struct {\n\tNeeds int64\n}\n\n"},
	{"keyspace/entry.go", "\tRateLimitSpec\n", "\tLatchSpec\n"},
	{"keyspace/load/internal/construct/latch.go", "", `package construct

import (
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

// latch is a number: how many have come. Beside it is who waits.
func (b *builder) latch() {
	b.e.Needs = b.d.Number(b.props, "needs", 1)
	b.addMain(&keyspace.Key{Value: &scalar.Type{Kind: scalar.Int}})
	b.addRole(&keyspace.Key{Role: "waiting", Kind: keyspace.ZSet, TTL: b.e.TTL, Member: &scalar.Type{},
		Score: &scalar.Type{Kind: scalar.UnixMS}, Doc: "Who waits for " + b.e.Name + "."}, b.main, "waiting")
}
`},
	{"keyspace/load/internal/construct/entry.go", "\tkeyspace.Script:    {",
		"\tkeyspace.Latch: {keyspace.String, []string{\"needs\", \"waiting\"}, (*builder).latch},\n"},
	{"keyspace/schema/keyspace.schema.json", "            \"counter\",\n", "            \"latch\",\n"},
	{"keyspace/schema/keyspace.schema.json", latchSchema[:strings.Index(latchSchema, `"latch"`)] + `"counter"`,
		latchSchema},
	{"keyspace/schema/keyspace.schema.json", untypedSchema, // what an entry without a type may have
		"              \"needs\": {},\n              \"waiting\": {},\n"},
	{"keyspace/parts/parts.go", "keyspace.Script: nil,\n",
		"keyspace.Latch: {main, {\"Waiting\", \"waiting\", Whole, momentary}},\n"},
	{"keyspace/parts/options.go", "keyspace.Script: nil,\n", "keyspace.Latch: nil, "},
	{"keyspace/breaking/forms.go", "keyspace.Script: {},", "keyspace.Latch: {},"},
	{"keyspace/breaking/words_test.go", "\t\"ScriptSpec.File\":",
		"\t\"LatchSpec.Needs\": \"- each process opens by its own number\",\n"},
	{"gen/golang/constructs.go", "keyspace.Script: nil,\n", "keyspace.Latch: nil, "},
	{"gen/acl/acl.go", "keyspace.Script: {reads: read},\n", "keyspace.Latch: {reads: read}, "},
	{"apply/plan/rule.go", "keyspace.Script: {},\n", "keyspace.Latch: {}, "},
	{"cmd/keywright/internal/sample/share.go", "keyspace.Script: 0,", "keyspace.Latch: 1, "},
	{"docs/language.md", "| `ratelimit` | string | ", "| `latch` | string | `needs`: how many; `waiting` |\n"},
	{"keyspace/load/testdata/constructs.txt", "  limit: {key: \"l:{ip}\"",
		"  latch: {key: \"latch:{id}\", type: latch, needs: 3, ttl: 1h}\n"},
}

// untypedSchema is in the branch of the schema of an entry without a type, and in no other one.
const untypedSchema = `              "shared": {
                "$ref": "#/definitions/property_shared"
              },
              "order": {
`

// latchSchema is a branch of the schema, up to the next one.
const latchSchema = `        {
          "if": {
            "properties": {
              "type": {
                "const": "latch"
              }
            },
            "required": [
              "type"
            ]
          },
          "then": {
            "additionalProperties": false,
            "required": [
              "key",
              "ttl"
            ],
            "properties": {
              "doc": {
                "$ref": "#/definitions/property_doc"
              },
              "key": {
                "$ref": "#/definitions/property_key"
              },
              "type": {
                "const": "latch",
                "description": "A number that opens something when it is reached."
              },
              "ttl": {
                "$ref": "#/definitions/property_ttl"
              },
              "owner": {
                "$ref": "#/definitions/property_owner"
              },
              "readers": {
                "$ref": "#/definitions/property_readers"
              },
              "was": {
                "$ref": "#/definitions/property_was"
              },
              "skip": {
                "$ref": "#/definitions/property_skip"
              },
              "needs": {
                "type": "integer",
                "description": "How many must come."
              },
              "waiting": {
                "type": "string",
                "description": "The key of who waits."
              }
            }
          }
        },
`

// used is a program for which all that is made of a declaration knows the toy.
const used = `package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"

	"github.com/keywright/keywright/gen/golang"
	"github.com/keywright/keywright/gen/markdown"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/match"
)

func main() {
	ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte("keywright: 1\npackage: doors\nkeys:\n" +
		"  gate: {doc: The gate., key: \"door:{id}\", type: latch, needs: 3, ttl: 1h}\n")}}, "k.yaml")
	fmt.Println("load", found, ks.Entries[0].Construct, ks.Entries[0].Needs, ks.Keys[1].Pattern)
	for _, f := range lint.Run(ks) {
		fmt.Println("lint", f.Code, f.Entry)
	}
	items, targets := ks.Items()
	m, _, err := match.Compile(items)
	if err != nil {
		panic(err)
	}
	var seen match.Captures
	fmt.Println("match", targets[m.Match([]byte("{door:7}:waiting"), &seen)].Key.Name)
	pages, err := markdown.Generate(ks)
	if err != nil {
		panic(err)
	}
	fmt.Println("docs", strings.Contains(string(pages[0].Text), "latch"))
	code, err := golang.Generate(ks)
	if err != nil {
		panic(err)
	}
	for _, f := range code {
		if err := os.WriteFile(filepath.Join(os.Args[1], f.Name), f.Text, 0o600); err != nil {
			panic(err)
		}
	}
}
`

// built is a program that builds a key with what was generated.
const built = `package main

import (
	"fmt"

	"github.com/keywright/keywright/internal/added/doors"
)

func main() { fmt.Println(doors.GateKey("7")) }
`

// step is a file of a step of "Adding a construct".
var step = regexp.MustCompile("`([a-z]+/[A-Za-z_./]+\\.[a-z]+)`")

// TestAConstructIsAdded adds a toy to a copy of the project by the steps that CONTRIBUTING lists, and by nothing
// else. All tables know it then, and without the steps after the first they say what is missing.
func TestAConstructIsAdded(t *testing.T) {
	text, err := os.ReadFile("../../docs/CONTRIBUTING.md")
	must(t, err)
	_, rest, _ := strings.Cut(string(text), "\n## Adding a construct\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	var listed, edited []string
	for _, m := range step.FindAllStringSubmatch(section, -1) {
		listed = append(listed, strings.Replace(m[1], "NAME", "latch", 1))
	}
	for _, e := range latch {
		edited = append(edited, e.file)
	}
	slices.Sort(listed)
	slices.Sort(edited)
	if listed, edited = slices.Compact(listed), slices.Compact(edited); !slices.Equal(listed, edited) {
		t.Errorf("CONTRIBUTING lists\n%s\nand the toy needs\n%s", strings.Join(listed, "\n"), strings.Join(edited, "\n"))
	}

	named := func(e edit) bool { return e.file == "keyspace/construct.go" }
	coded := func(e edit) bool { return strings.HasSuffix(e.file, ".go") && !strings.HasSuffix(e.file, "_test.go") }
	first := copied(t)
	change(t, first, named)
	var lacking, tables []string
	for path := range MissingRows(read(t, first)) {
		lacking = append(lacking, path)
	}
	for _, e := range latch {
		if coded(e) && !named(e) && e.before != "" && e.file != "keyspace/entry.go" {
			tables = append(tables, e.file)
		}
	}
	slices.Sort(lacking)
	slices.Sort(tables)
	if !slices.Equal(lacking, tables) {
		t.Errorf("without further steps rows are missing in\n%s\nand the steps add some in\n%s",
			strings.Join(lacking, "\n"), strings.Join(tables, "\n"))
	}

	if !gate.All() {
		return // what follows compiles and tests two copies of the project
	}
	holds := []string{"TestConstructs", "TestReferenceIsComplete", "TestSchemaAgreesWithTheLoader",
		"TestEveryPropertyHasAWord"}
	tests := []string{"test", "-vet=off", "-run", "^(" + strings.Join(holds, "|") + ")$", "./keyspace/load",
		"./keyspace/schema", "./keyspace/breaking"}
	whole := copied(t)
	change(t, whole, coded)
	out := string(gotool(t, whole, false, tests...))
	for _, name := range holds {
		if !strings.Contains(out, "--- FAIL: "+name+" ") {
			t.Errorf("without the steps that are no code %s holds:\n%s", name, out)
		}
	}
	change(t, whole, func(e edit) bool { return !coded(e) })
	gotool(t, whole, true, "test", "-vet=off", "-run", "^TestConstructs$", "./keyspace/load", "-update")
	gotool(t, whole, true, tests...)
	for path, missing := range MissingRows(read(t, whole)) {
		t.Errorf("after all steps %s: %s", path, strings.Join(missing, ", "))
	}

	doors := filepath.Join(whole, "internal", "added", "doors")
	must(t, os.MkdirAll(filepath.Join(whole, "internal", "added", "build"), 0o700))
	must(t, os.MkdirAll(doors, 0o700))
	must(t, os.WriteFile(filepath.Join(whole, "internal", "added", "main.go"), []byte(used), 0o600))
	must(t, os.WriteFile(filepath.Join(whole, "internal", "added", "build", "main.go"), []byte(built), 0o600))
	got := string(gotool(t, whole, true, "run", "./internal/added", doors))
	for _, want := range []string{"load [] latch 3 {#door:{id}}:waiting\n", "lint KW401 gate\n", "match gate.waiting\n",
		"docs true\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if key := string(gotool(t, whole, true, "run", "./internal/added/build")); !strings.Contains(key, "door:7") {
		t.Errorf("the generated key is %s", key)
	}
}

var must = expect.NoError

// copied returns a copy of the library, and of what of the command line has tables.
func copied(t *testing.T) string {
	t.Helper()
	dir, root := t.TempDir(), os.DirFS("../..")
	must(t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", ".bin", ".cache", "bench", "examples", "metrics", "tracing", "docs/deploy",
				"node_modules"}, path) {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(dir, path), 0o700)
		}
		if !d.Type().IsRegular() || path == "go.work" || path == "go.work.sum" {
			return nil
		}
		text, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, path), text, 0o600)
	}))
	return dir
}

func read(t *testing.T, dir string) []File {
	t.Helper()
	files, err := Parse(os.DirFS(dir))
	must(t, err)
	return files
}

// change makes the edits that are chosen.
func change(t *testing.T, dir string, chosen func(edit) bool) {
	t.Helper()
	for _, e := range latch {
		if !chosen(e) {
			continue
		}
		path := filepath.Join(dir, e.file)
		if e.before == "" {
			must(t, os.WriteFile(path, []byte(e.text), 0o600))
			continue
		}
		text, err := os.ReadFile(path)
		must(t, err)
		if n := bytes.Count(text, []byte(e.before)); n != 1 {
			t.Fatalf("%s has %q %d times", e.file, e.before, n)
		}
		must(t, os.WriteFile(path, bytes.Replace(text, []byte(e.before), []byte(e.text+e.before), 1), 0o600))
	}
}

// gotool runs the go command in a folder, and fails if its end is not as expected.
func gotool(t *testing.T, dir string, ends bool, args ...string) []byte {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-trimpath", "KEYWRIGHT_MUTATED=1")
	out, err := c.CombinedOutput()
	if (err == nil) != ends {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}
