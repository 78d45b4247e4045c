package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"
)

// eachCommand runs visit for every command.
func eachCommand(c *cobra.Command, visit func(c *cobra.Command, name string)) {
	_, name, _ := strings.Cut(c.CommandPath(), " ")
	visit(c, name)
	for _, sub := range c.Commands() {
		eachCommand(sub, visit)
	}
}

// documentsOf returns the names of what a command prints as JSON.
func documentsOf(c *cobra.Command, name string) (out []string) {
	for _, form := range cli.FormsOf(c) {
		switch form {
		case "json":
			out = append(out, name)
		case "jsonl":
			out = append(out, name+" jsonl")
		}
	}
	return out
}

// TestEveryDocumentHasASchema: a command that has a form of JSON has a schema for it,
// and TestDocumentsAreAsTheirSchemas has a run of it.
func TestEveryDocumentHasASchema(t *testing.T) {
	var printed []string
	eachCommand(New(), func(c *cobra.Command, name string) { printed = append(printed, documentsOf(c, name)...) })
	runs := map[string]bool{}
	for _, r := range documentRuns {
		runs[r.document] = true
	}
	for _, name := range printed {
		if _, known := documentNamed(name); !known {
			t.Errorf("%s is printed and has no schema: add it to Documents", name)
		}
		if !runs[name] {
			t.Errorf("%s is printed by no run: add one to documentRuns", name)
		}
	}
	for _, d := range Documents {
		if !slices.Contains(printed, d.Name) {
			t.Errorf("%s has a schema, and no command prints it", d.Name)
		}
	}
}

// documentKeyspace has every kind of entry that a command reports on.
const documentKeyspace = `keywright: 1
package: p
owner: shop
owns: ["app:*"]
foreign: ["bull:*"]
vars: {n: int, prio: high|low, day: date YYYY-MM-DD}
keys:
  # keywright:ignore KW510 until 2020-01-01 long ago
  album: {doc: An album., key: "app:album:{n}", type: hash, ttl: 1h, fields: {title: text, year: int},
	was: ["app:alb:{n}"], readers: [site]}
  hold: {key: "lock:{n}", type: lock, ttl: 30s}
  jobs: {key: "jobs:{prio}", type: queue, order: prio, ttl: none, value: {n: int}}
  item: {key: "item:{id}", type: entity, ttl: 1h, fields: {n: int}, index: {n: "items:n"}}
  secret: {key: "secret:{id}", type: string, ttl: none, value: text encrypted}
  sales: {key: "sales:{day}", type: ranking, member: text, ttl: 7d, cached: 1m}
  moved: {key: "moved:{n}", type: string, ttl: none, value: json}
  worse: {key: "worse:{n}", type: string, ttl: none, value: json}
cleanup:
  - {match: "user:*", idle: 1d}
channels:
  sold: {channel: "app:sold", message: {n: n}}
migrations:
  files:
    sources: {state: {file: state.json}}
    parts:
      good: {moves: [{from: "state:/good/{n}", to: moved, value: .}]}
      bad: {moves: [{from: "state:/bad/[]", to: worse, with: {n: .n}, value: .}]}
`

// documentRun represents a command whose output is held against its schema.
type documentRun struct {
	document string
	code     int
	args     string
	stdin    string
}

var documentRuns = []documentRun{
	{"acl print", 0, "acl print -o json", ""},
	{"acl diff", 1, "acl diff -o json -u URL", ""},
	{"audit", 1, "audit -o json -u URL --values", ""},
	{"audit", 1, "audit -o json -u URL --groups 2 --baseline baseline.json", ""},
	{"audit", 1, "audit -o json dump.rdb", ""},
	{"audit", 1, "audit -o json empty.rdb", ""},
	{"audit jsonl", 1, "audit -o jsonl -u URL", ""},
	{"audit jsonl", 1, "audit -o jsonl dump.rdb --baseline baseline.json", ""},
	{"audit jsonl", 1, "audit -o jsonl --keys-of KW501,KW502 -u URL", ""},
	{"merge", 1, "merge dump.part --parts 1 -o json", ""},
	{"merge jsonl", 1, "merge dump.part --parts 1 -o jsonl", ""},
	{"breaking", 1, "breaking -o json --against old.yaml", ""},
	{"breaking", 1, "breaking -o json --against keyspace.yaml", ""},
	{"diff", 0, "diff -o json old.yaml keyspace.yaml", ""},
	{"diff", 0, "diff -o json keyspace.yaml", ""},
	{"gen", 0, "gen -o json go --out out", ""},
	{"gen", 0, "gen -o json go --out out --check", ""},
	{"doctor", -1, "doctor -o json -u URL", ""},
	{"entities", 0, "entities -o json -u URL", ""},
	{"entities check", 1, "entities check -o json -u URL", ""},
	{"entities check", 1, "entities check -o json -u URL --limit 0", ""},
	{"entities indexes", 0, "entities indexes -o json -u URL", ""},
	{"entities index", 0, "entities index -o json -u URL", ""},
	{"entities repair", 0, "entities repair -o json -u URL --plan repair.plan", ""},
	{"acl apply", 0, "acl apply -o json -u URL", ""},
	{"explain", 0, "explain -o json KW505", ""},
	{"explain", 0, "explain -o json album", ""},
	{"explain", 0, "explain -o json jobs", ""},
	{"explain", 1, "explain -o json --key app:albun:1", ""},
	{"explain", 1, "explain -o json --key app:album:1 -u URL", ""},
	{"explain", 0, "explain -o json --key bull:1", ""},
	{"janitor next", 0, "janitor next -o json --count 2", ""},
	{"lint", 1, "lint -o json bad.yaml", ""},
	{"lint", -1, "lint -o json", ""},
	{"locks", 5, "locks -o json -u URL", ""},
	{"locks break", 0, "locks break -o json -u URL lock:7", ""},
	{"locks break", 0, "locks break -o json -u URL lock:7 --apply", ""},
	{"locks break", 0, "locks break -o json -u URL lock:6", ""},
	{"backup", 0, "backup -o json -u URL --to all.kwa --progress none", ""},
	{"backup", 0, "backup -o json -u URL --to whole.kwa --progress none", ""},
	{"backup", 0, "backup -o json -u URL --to part.kwa --match app:* --progress none", ""},
	{"archive diff", 1, "archive diff -o json all.kwa part.kwa", ""},
	{"archive diff jsonl", 1, "archive diff -o jsonl all.kwa part.kwa", ""},
	{"archive info", 0, "archive info -o json all.kwa", ""},
	{"archive ls jsonl", 0, "archive ls -o jsonl all.kwa", ""},
	{"archive verify", 0, "archive verify -o json all.kwa", ""},
	{"restore", -1, "restore -o json -u URL all.kwa --progress none", ""},
	{"restore", -1, "restore -o json -u URL all.kwa --progress none --apply --existing fail", ""},
	{"verify", -1, "verify -o json all.kwa -u URL --progress none", ""},
	{"verify", 1, "verify -o json all.kwa URL --db 0 --to-db 9 --progress none --momentary", ""},
	{"verify jsonl", 1, "verify -o jsonl all.kwa URL --db 0 --to-db 9 --progress none", ""},
	{"copy", -1, "copy -o json URL URL --db 0 --to-db 9 --progress none", ""},
	{"copy", -1, "copy -o json URL URL --db 0 --to-db 9 --progress none --apply", ""},
	{"delete", 0, "delete -o json -u URL --match app:* --progress none", ""},
	{"delete", 0, "delete -o json -u URL --entry hold --apply --progress none", ""},
	{"ttl", 0, "ttl -o json -u URL --progress none --entry hold --plan ttl.plan", ""},
	{"apply", 0, "apply -o json -u URL --progress none ttl.plan", ""},
	{"clean", 0, "clean -o json -u URL --progress none", ""},
	{"rename", 0, "rename -o json -u URL --progress none --map nosuch:{x}=nosuch2:{x}", ""},
	{"rename", 0, "rename -o json -u URL --progress none --map nosuch:{x}=nosuch2:{x} --apply", ""},
	{"rename", 0, "rename -o json -u URL --progress none --map nosuch:{x}=nosuch2:{x} --apply --phase copy", ""},
	{"ls jsonl", 0, "ls -o jsonl -u URL --progress none", ""},
	{"match jsonl", 1, "match -o jsonl", "app:album:1\n\xff\xfe\nbull:1\r\nzz\n"},
	{"migrate plan", 1, "migrate plan -o json", ""},
	{"migrate status", 0, "migrate status -o json -u URL", ""},
	{"migrate status", 3, "migrate status -o json -u redis://127.0.0.1:1", ""},
	{"migrate advance", 4, "migrate advance bad -o json -u URL", ""},
	{"migrate advance", 0, "migrate advance good -o json -u URL --apply", ""},
	{"migrate import", 0, "migrate import -o json -u URL --progress none", ""},
	{"migrate import", 0, "migrate import -o json -u URL --apply --progress none", ""},
	{"migrate verify", 0, "migrate verify -o json -u URL --backup whole.kwa --progress none", ""},
	{"migrate export", 0, "migrate export -o json -u URL --to exported --progress none", ""},
	{"migrate diff", 0, "migrate diff -o json", ""},
	{"migrate repair", 0, "migrate repair good -o json -u URL --all --progress none", ""},
	{"migrate repair", 0, "migrate repair good -o json -u URL --from files --progress none", ""},
	{"migrate repair", 0, "migrate repair good -o json -u URL --from files --apply --progress none", ""},
	{"migrate rollback", 0, "migrate rollback good -o json -u URL", ""},
	{"migrate rollback", 0, "migrate rollback good -o json -u URL --apply", ""},
	{"queues", 0, "queues -o json -u URL", ""},
	{"queues", 0, "queues jobs -o json -u URL --dead", ""},
	{"queues retry", 0, "queues retry jobs -o json -u URL --all", ""},
	{"queues retry", 0, "queues retry jobs -o json -u URL --all --apply", ""},
	{"queues discard", 1, "queues discard jobs -o json -u URL nosuch --apply", ""},
	{"queues run", 1, "queues run jobs -o json -u URL nosuch --apply", ""},
	{"queues cancel", 0, "queues cancel jobs -o json -u URL --text nosuch --apply", ""},
	{"queues repair", 0, "queues repair jobs -o json -u URL", ""},
	{"queues resume", 0, "queues resume jobs -o json -u URL --apply", ""},
	{"queues pause", 0, "queues pause jobs -o json -u URL --apply", ""},
	{"queues", 0, "queues -o json -u URL", ""},
	{"rankings", 0, "rankings -o json -u URL", ""},
	{"rankings top", 0, "rankings top -o json -u URL sales:2025-01-15 --limit 2", ""},
	{"rankings around", 0, "rankings around -o json -u URL sales:2025-01-15 a", ""},
	{"rules", 0, "rules -o json", ""},
	{"seal status", 1, "seal status -o json -u URL --keys-file ring.json --progress none", ""},
	{"seal rotate", 1, "seal rotate -o json -u URL --keys-file ring.json --progress none", ""},
	{"seal adopt", 0, "seal adopt -o json -u URL --keys-file ring.json --apply --progress none", ""},
	{"infer", 0, "infer -o json -u URL", ""},
	{"status", -1, "status -o json -u URL", ""},
	{"top", 0, "top -o json -u URL", ""},
	{"top", 0, "top -o json dump.rdb --limit 1 --by elements", ""},
	{"version", 0, "version -o json", ""},
}

// fillForDocuments writes what makes every command have something to say.
func fillForDocuments(s *keywrighttest.Server) {
	for _, c := range [][]string{
		{"HSET", "app:album:1", "title", "x", "year", "many", "extra", "y"}, {"SET", "app:album:2", "x"},
		{"HSET", "app:alb:3", "title", "x"}, {"SET", "app:albun:1", "x"},
		{"SET", "bull:1", "x"}, {"SET", "\xff\xfe\x00", "x"}, {"SET", "::add-mask::x", "x"},
		{"SET", "a b\"c\\\u202e\n", "x", "EX", "1000"}, {"SET", "user:1", "x"}, {"SET", "user:2", "x"}, {"SET", "zz", "x"},
		{"SET", "lock:7", "w\xff/1", "PX", "60000"}, {"ZADD", "{lock:7}:waiters", "1", "x1000 a"}, {"SET", "lock:8", "w/1"},
		{"SET", "{lock:8}:waiters", "not a lock's"}, {"ZADD", "{lock:9}:shared", "99999999999999", "r1"},
		{"SET", "secret:1", "plain"}, {"HSET", "item:1", "n", "1"}, {"PEXPIRE", "item:1", "600000"},
		{"SADD", "secret:2", "wrong type"},
		{"RPUSH", "jobs:high", "t1", "\xfe"}, {"SET", "{jobs}:job:t1", "q1 1 high 0 - -\n{}"},
		{"SET", "{jobs}:job:t2", "q1 1 high 0 - -\n{}"},
		{"HSET", "{jobs}:runs", "t2", "- 6 5 1 0 0 r1\nno such \x1b host\n"},
		{"ZADD", "sales:2025-01-15", "3", "a", "inf", "b\xff", "-inf", "c"}, {"ZADD", "sales:2025-01-16", "0", "a"},
		{"ZADD", "{jobs}:dead", "1", "t2"}, {"ZADD", "{jobs}:leases", "1", "t9"},
		{"ZADD", "{jobs}:workers", "1", "old-1", "99999999999999", "new-\xff"},
	} {
		s.Do(c...)
	}
}

// TestDocumentsAreAsTheirSchemas: what commands print is what their schemas say, and
// nothing else.
func TestDocumentsAreAsTheirSchemas(t *testing.T) {
	s := documentWorld(t)
	for _, r := range documentRuns {
		t.Run(r.args, func(t *testing.T) {
			text := runDocument(t, s, r)
			check := strictSchema(t, r.document)
			lines := []string{text}
			if strings.HasSuffix(r.document, " jsonl") {
				lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			}
			for _, line := range lines {
				v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
				if err != nil {
					t.Fatalf("%v\n%s", err, line)
				}
				if err := check.Validate(v); err != nil {
					t.Errorf("%v\n%s", err, line)
				}
			}
		})
	}
}

// documentWorld returns a folder and a server of which every command has something to say.
func documentWorld(t *testing.T) *keywrighttest.Server {
	t.Helper()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("keyspace.yaml", documentKeyspace)
	write("old.yaml",
		strings.NewReplacer("year: int", "year: int, gone: int", "1h", "2h", "app:album", "app:disc").Replace(
			documentKeyspace))
	write("state.json", `{"good": {"1": [], "2": null}, "bad": [{"x": 1}]}`)
	write("bad.yaml", strings.Repeat("x: y\n", 3)+documentKeyspace+"  q: {key: [x], type: strin}\n")
	s.Do("SAVE")
	copyFile(t, filepath.Join(s.Dir, "dump.rdb"), "empty.rdb")
	runDocument(t, s, documentRun{"", 0, "seal key ring.json", ""})
	s.Do("SET", "user:1", "x")
	s.Do("SET", "app:zz", "x")
	runDocument(t, s, documentRun{"", 0, "audit -u URL --baseline baseline.json --update-baseline", ""})
	fillForDocuments(s)
	s.Do("SAVE")
	copyFile(t, filepath.Join(s.Dir, "dump.rdb"), "dump.rdb")
	writePart(t, s)
	return s
}

// writePart writes a partial report of dump.rdb.
func writePart(t *testing.T, s *keywrighttest.Server) {
	t.Helper()
	text := runDocument(t, s, documentRun{"", 0, "audit dump.rdb -o partial", ""})
	if err := os.WriteFile("dump.part", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// runDocument runs a command; -1 is any exit code.
func runDocument(t *testing.T, s *keywrighttest.Server, r documentRun) string {
	t.Helper()
	var out, errs strings.Builder
	args := strings.Fields(strings.ReplaceAll(r.args, "URL", s.URL()))
	code := Main(t.Context(), args,
		cli.Streams{In: strings.NewReader(r.stdin), Out: &out, Err: &errs, Getenv: func(string) string { return "" }})
	if r.code >= 0 && code != r.code {
		t.Fatalf("exit code %d, not %d\n%s%s", code, r.code, out.String(), errs.String())
	}
	return out.String()
}

// TestPublishedFilesReferToEachOther: the files of the repository, with their addresses, are schemas by themselves.
func TestPublishedFilesReferToEachOther(t *testing.T) {
	files, err := fs.Glob(schemas, "schemas/*")
	expect.NoError(t, err)
	compiler, ids := jsonschema.NewCompiler(), map[string]string{}
	for _, name := range files {
		text, err := schemas.ReadFile(name)
		expect.NoError(t, err)
		file, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		expect.NoError(t, err)
		ids[name] = file.(map[string]any)["$id"].(string)
		expect.NoError(t, compiler.AddResource(ids[name], file))
	}
	for name, id := range ids {
		s, err := compiler.Compile(id)
		expect.NoError(t, err)
		if s.Validate(map[string]any{}) == nil && !strings.Contains(name, "definitions") {
			t.Errorf("%s takes a document without a version", name)
		}
	}
}

// strictSchema returns the published schema of a document, which here allows nothing that
// it does not name: a later version may add.
func strictSchema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	d, _ := documentNamed(name)
	text, err := published(d)
	if err != nil {
		t.Fatal(err)
	}
	published, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("published.json", published); err != nil {
		t.Fatal(err)
	}
	if _, err := compiler.Compile("published.json"); err != nil {
		t.Fatalf("the schema of %s is none: %v", name, err)
	}
	strict, _ := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	closeObjects(strict)
	if err := compiler.AddResource("strict.json", strict); err != nil {
		t.Fatal(err)
	}
	return compiler.MustCompile("strict.json")
}

func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, object := v["properties"].(map[string]any); object && v["type"] == "object" {
			v["additionalProperties"] = false
		}
		delete(v, "$id")
		for _, inner := range v {
			closeObjects(inner)
		}
	case []any:
		for _, inner := range v {
			closeObjects(inner)
		}
	}
}

// TestWhatHasNoSchemaIsNotPrinted: the one way to print JSON refuses it.
func TestWhatHasNoSchemaIsNotPrinted(t *testing.T) {
	var out bytes.Buffer
	a := cli.NewApp(nil, cli.Streams{Out: &out, Err: &out, Getenv: func(string) string { return "" }}, Documents)
	if err := a.JSON(struct{ X int }{1}); err == nil || out.Len() > 0 {
		t.Errorf("%v, printed: %s", err, out.String())
	}
	if err := a.JSON(cli.Version()); err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || fmt.Sprint(back["version"]) != "1" ||
		!strings.HasPrefix(out.String(), "{\n  \"version\": 1,\n") {
		t.Errorf("%v %s", err, out.String())
	}
}

// TestSchemasAreListed: the list has every document, and the name of a command that
// does not print JSON is met with the nearest one that does.
func TestSchemasAreListed(t *testing.T) {
	run := func(want int, args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		if code := Main(t.Context(), append([]string{"schema"}, args...),
			cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs,
				Getenv: func(name string) string { return map[string]string{"KEYWRIGHT_OUTPUT": "json"}[name] }}); code != want {
			t.Fatalf("%q: exit code %d\n%s%s", args, code, out.String(), errs.String())
		}
		return out.String() + errs.String()
	}
	list := run(0, "--output")
	for _, d := range Documents {
		if !strings.Contains(list, d.Name+" ") {
			t.Errorf("%s is not listed:\n%s", d.Name, list)
		}
		if text := run(0, append([]string{"--output"}, strings.Fields(d.Name)...)...); text != run(0, "--output="+d.Name) ||
			!strings.Contains(text, fmt.Sprintf(`"const": %d`, d.Version)) {
			t.Errorf("%s: %.200s", d.Name, text)
		}
	}
	if text := run(0); !strings.Contains(text, "keywright:") && !strings.Contains(text, `"keywright"`) {
		t.Errorf("the schema of the language: %.200s", text)
	}
	if text := run(2, "--output", "audti"); !strings.Contains(text, "schema --output audit") {
		t.Error(text)
	}
}
