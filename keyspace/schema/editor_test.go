package schema

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
)

const (
	languageServer = "testdata/lsp/node_modules/yaml-language-server/bin/yaml-language-server"
	install        = "npm ci --prefix keyspace/schema/testdata/lsp --ignore-scripts"
)

// editor represents the real YAML language server, driven as an editor does: JSON-RPC
// over its standard input and output.
type editor struct {
	t       *testing.T
	in      io.WriteCloser
	out     *bufio.Reader
	next    int
	folder  string
	version int
}

type message struct {
	ID     any             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// place represents a position as editors count: from 0.
type place struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type diagnostic struct {
	Range struct {
		Start place `json:"start"`
		End   place `json:"end"`
	} `json:"range"`
	Message string `json:"message"`
}

// start runs the server with the schema beside the files, where `keywright init`
// puts it. A missing server is a failure, not a reason to skip.
func start(t *testing.T) *editor {
	t.Helper()
	if _, err := os.Stat(languageServer); err != nil {
		t.Fatalf("the YAML language server is not installed; run: %s", install)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	server := exec.CommandContext(ctx, "node", languageServer, "--stdio")
	in, err := server.StdinPipe()
	check(t, err)
	out, err := server.StdoutPipe()
	check(t, err)
	check(t, server.Start())
	t.Cleanup(func() { stop(); _ = server.Wait() })
	e := &editor{t: t, in: in, out: bufio.NewReader(out), folder: t.TempDir()}
	check(t, os.Mkdir(filepath.Join(e.folder, ".keywright"), 0o700))
	check(t, os.WriteFile(filepath.Join(e.folder, ".keywright", "keyspace.schema.json"), JSON, 0o600))
	e.call("initialize", map[string]any{"processId": nil, "rootUri": "file://" + e.folder, "capabilities": map[string]any{
		"workspace": map[string]any{"configuration": true},
		"textDocument": map[string]any{
			"completion": map[string]any{"completionItem": map[string]any{"documentationFormat": []string{"markdown"}}}},
	}})
	e.send(message{Method: "initialized", Params: json.RawMessage("{}")})
	return e
}

var check = expect.NoError

func (e *editor) send(m message) {
	e.t.Helper()
	text, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		message
	}{"2.0", m})
	check(e.t, err)
	_, err = fmt.Fprintf(e.in, "Content-Length: %d\r\n\r\n%s", len(text), text)
	check(e.t, err)
}

func (e *editor) receive() message {
	e.t.Helper()
	header, err := textproto.NewReader(e.out).ReadMIMEHeader()
	check(e.t, err)
	length, err := strconv.Atoi(header.Get("Content-Length"))
	check(e.t, err)
	body := make([]byte, length)
	_, err = io.ReadFull(e.out, body)
	check(e.t, err)
	var m message
	check(e.t, json.Unmarshal(body, &m))
	return m
}

// until answers the server's own questions and returns the first message that
// is wanted.
func (e *editor) until(wanted func(message) bool) message {
	e.t.Helper()
	for {
		m := e.receive()
		switch {
		case wanted(m):
			return m
		case m.Method == "workspace/configuration":
			e.send(message{ID: m.ID,
				Result: json.RawMessage(
					`[{"validate": true, "completion": true, "hover": true, "schemaStore": {"enable": false}}, {}, {}, {}, {}]`)})
		case m.ID != nil && m.Method != "":
			e.send(message{ID: m.ID, Result: json.RawMessage("null")})
		}
	}
}

func (e *editor) call(method string, params any) json.RawMessage {
	e.t.Helper()
	e.next++
	text, err := json.Marshal(params)
	check(e.t, err)
	e.send(message{ID: e.next, Method: method, Params: text})
	answer := e.until(func(m message) bool { return m.Method == "" && m.ID == float64(e.next) })
	if answer.Error != nil {
		e.t.Fatalf("%s: %s", method, answer.Error)
	}
	return answer.Result
}

// open shows the server a file that names the schema and returns what it
// underlines.
func (e *editor) open(text string) (uri string, found []diagnostic) {
	e.t.Helper()
	e.version++
	uri = fmt.Sprintf("file://%s/%d.yaml", e.folder, e.version)
	params, err := json.Marshal(
		map[string]any{
			"textDocument": map[string]any{"uri": uri, "languageId": "yaml", "version": 1, "text": modeline + text}})
	check(e.t, err)
	e.send(message{Method: "textDocument/didOpen", Params: params})
	var published struct {
		URI         string       `json:"uri"`
		Diagnostics []diagnostic `json:"diagnostics"`
	}
	e.until(func(m message) bool {
		return m.Method == "textDocument/publishDiagnostics" && json.Unmarshal(m.Params, &published) == nil &&
			published.URI == uri
	})
	return uri, published.Diagnostics
}

const modeline = "# yaml-language-server: $schema=./.keywright/keyspace.schema.json\n"

// at returns the place of a mark in a text that is opened, counted from 0.
func at(text, mark string) place {
	before, _, _ := strings.Cut(modeline+text, mark)
	return place{strings.Count(before, "\n"), len(before) - 1 - strings.LastIndexByte(before, '\n')}
}

const sample = `keywright: 1
keys:
  tasks:
    key: tasks:{priority}
    type: queue
    ttl: none
    lease: 30m
`

func TestEditorCompletes(t *testing.T) {
	gate.Skip(t, "npm installs the language server for it")
	e := start(t)
	complete := func(text string) []string {
		open := strings.Replace(text, "|", "", 1)
		uri, _ := e.open(open)
		var list struct {
			Items []struct {
				Label         string
				Documentation any
			}
		}
		check(t, json.Unmarshal(e.call("textDocument/completion",
			map[string]any{"textDocument": map[string]any{"uri": uri}, "position": at(text, "|")}), &list))
		var labels []string
		for _, item := range list.Items {
			labels = append(labels, item.Label)
		}
		return labels
	}
	for _, test := range []struct {
		text      string
		yes, no   []string
		completed string
	}{
		{completed: "sections", text: "keywright: 1\n|", yes: []string{"keys", "vars", "ttls", "owns", "channels", "events", "imports", "cleanup"}},
		{completed: "types", text: "keywright: 1\nkeys:\n  a:\n    type: |\n", yes: []string{"string", "cache", "queue", "entity", "ratelimit"}},
		{completed: "properties of the type", text: sample + "    |\n",
			yes: []string{"order", "retry", "dead", "owner", "doc"}, no: []string{"index", "score", "fence"}},
		{completed: "ttls", text: "keywright: 1\nkeys:\n  a:\n    key: a\n    type: string\n    ttl: |\n", yes: []string{"none", "any", "30s"}},
		{completed: "skip", text: sample + "    skip: [|]\n", yes: []string{"shape", "owns"}},
	} {
		labels := complete(test.text)
		for _, want := range test.yes {
			if !slices.Contains(labels, want) {
				t.Errorf("%s: %s is not offered, only %v", test.completed, want, labels)
			}
		}
		for _, not := range test.no {
			if slices.Contains(labels, not) {
				t.Errorf("%s: %s is offered, but belongs to another type", test.completed, not)
			}
		}
	}
}

func TestEditorExplainsOnHover(t *testing.T) {
	gate.Skip(t, "npm installs the language server for it")
	e := start(t)
	uri, _ := e.open(sample)
	for mark, want := range map[string]string{"ttl:": "How long a key lives", "lease:": "How long a worker may keep a job",
		"key:": "A key pattern, written in full", "keys:": "The entries"} {
		var hover struct{ Contents struct{ Value string } }
		check(t, json.Unmarshal(e.call("textDocument/hover",
			map[string]any{"textDocument": map[string]any{"uri": uri}, "position": at(sample, mark)}), &hover))
		if !strings.Contains(hover.Contents.Value, want) {
			t.Errorf("hover on %s says %q, not %q", mark, hover.Contents.Value, want)
		}
	}
}

func TestEditorUnderlinesFaults(t *testing.T) {
	gate.Skip(t, "npm installs the language server for it")
	e := start(t)
	for _, test := range []struct{ text, mark, want string }{
		{sample + "    ordr: priority\n", "ordr", "Property ordr is not allowed"},
		{strings.Replace(sample, "type:", "tpye:", 1), "tpye", "Property tpye is not allowed"},
		{strings.Replace(sample, "queue", "quue", 1), "quue", "Value is not accepted"},
		{strings.Replace(sample, "none", "5", 1), "5", "Incorrect type"},
		{strings.Replace(sample, "none", "1mo", 1), "1mo", "a duration with a unit"},
		{strings.Replace(sample, "30m", "30", 1), "30\n", "Incorrect type"},
		{strings.Replace(sample, "type: queue", "type: set", 1), "lease", "Property lease is not allowed"},
		{strings.Replace(sample, "    ttl: none\n", "", 1), "tasks:", `Missing property "ttl"`},
		{strings.Replace(sample, "keywright: 1", "keywright: 2", 1), "2", "Value must be 1"},
	} {
		_, found := e.open(test.text)
		if !slices.ContainsFunc(found, func(d diagnostic) bool {
			return strings.Contains(d.Message, test.want) && d.Range.Start == at(test.text, test.mark)
		}) {
			t.Errorf("%q is not underlined at %v, but %+v", test.want, at(test.text, test.mark), found)
		}
	}
}

// What the loader accepts the editor does not underline.
func TestEditorAcceptsTheExamples(t *testing.T) {
	gate.Skip(t, "npm installs the language server for it")
	e := start(t)
	paths, err := filepath.Glob("../../examples/*/keyspace.yaml")
	check(t, err)
	if len(paths) < 5 {
		t.Fatalf("the examples are not there: %v", paths)
	}
	var texts []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		check(t, err)
		texts = append(texts, string(text))
	}
	constructs, err := os.ReadFile("../load/testdata/constructs.txt")
	check(t, err)
	_, file, _ := strings.Cut(string(constructs), "-- k.yaml --\n")
	file, _, _ = strings.Cut(file, "\n-- ")
	paths, texts = append(paths, "constructs.txt"), append(texts, file+"\n")
	for i, text := range texts {
		if _, found := e.open(text); len(found) > 0 {
			t.Errorf("%s: %+v", paths[i], found)
		}
	}
}
