package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/shape"
	"github.com/keywright/keywright/internal/built"
	"github.com/keywright/keywright/keyspace/finding"
)

// Document represents one form of JSON that a command prints. docs/json.md says what its
// version promises.
type Document struct {
	Name    string // the command, and jsonl for that form: "entities check", "audit jsonl"
	Version int    // grows when something goes or changes its meaning
	What    string
	Of      reflect.Type
}

// module is the path that the packages of the outputs begin with.
const module = "github.com/keywright/keywright"

// schemaHome says where the published schemas are.
const schemaHome = "https://raw.githubusercontent.com/keywright/keywright/main/cmd/keywright/internal/command/schemas/"

// Schema returns the JSON Schema of a document, with the comments of the source in root.
func (d Document) Schema(root fs.FS) ([]byte, error) {
	s, err := shape.Of(d.Of, shape.Source(root, module))
	if err != nil {
		return nil, err
	}
	properties := s["properties"].(shape.Schema)
	properties["version"] = shape.Schema{"const": d.Version, "description": "of this form; see docs/json.md"}
	s["required"] = append([]string{"version"}, required(s)...)
	s["$schema"], s["$id"] = "https://json-schema.org/draft/2020-12/schema", schemaHome+d.File()
	s["title"], s["description"] = "keywright "+d.Name, d.What
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(s)
	return text.Bytes(), err
}

func required(s shape.Schema) []string {
	list, _ := s["required"].([]string)
	return list
}

// File returns the name of the document's schema file.
func (d Document) File() string { return strings.ReplaceAll(d.Name, " ", "-") + ".schema.json" }

// JSON prints a document with its version.
func (a *App) JSON(v any) error { return a.printJSON(v, "  ") }

// JSONLine prints a document as a line.
func (a *App) JSONLine(v any) error { return a.printJSON(v, "") }

func (a *App) printJSON(v any, indent string) error {
	text, err := a.WithVersion(v)
	if err != nil {
		return err
	}
	return finding.WriteJSON(a.Out.Raw(), json.RawMessage(text), indent)
}

// WithVersion returns a document as JSON; its version comes first.
func (a *App) WithVersion(v any) ([]byte, error) {
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	i := slices.IndexFunc(a.documents, func(d Document) bool { return d.Of == t })
	if i < 0 {
		return nil, &Bug{fmt.Sprintf("%s is printed and has no schema", t)}
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	rest := text.Bytes()[1:]
	begin := fmt.Sprintf(`{"version":%d,`, a.documents[i].Version)
	if rest[0] == '}' {
		begin = strings.TrimSuffix(begin, ",")
	}
	return append([]byte(begin), rest...), nil
}

// Build describes what the binary knows of itself.
type Build struct {
	Version  string `json:"keywright"`          // the version of the program
	Revision string `json:"revision,omitempty"` // the commit; of a release the one that it was cut from
	Go       string `json:"go"`
}

func Version() Build {
	b := built.Read()
	return Build{Version: b.Version, Revision: b.Commit, Go: b.Go}
}
