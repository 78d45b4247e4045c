package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
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

// definitions is the file of the types in all documents, which the schemas of documents refer to.
const definitions = "definitions.schema.json"

// Schemas returns the files with the JSON Schemas of documents, by name, with the comments of the source in root.
func Schemas(documents []Document, root fs.FS) (map[string][]byte, error) {
	types, roots := shape.NewSet(shape.Source(root, module)), make([]shape.Schema, len(documents))
	for i, d := range documents {
		roots[i] = types.Add(d.Of)
	}
	defs, err := types.Definitions()
	if err != nil {
		return nil, err
	}
	files := map[string]shape.Schema{definitions: {"title": "keywright's documents",
		"description": "The types in what commands print.", "$defs": defs}}
	for i, d := range documents {
		version := shape.Schema{"const": d.Version, "description": "of this form; see docs/json.md"}
		files[d.File()] = shape.Schema{"title": "keywright " + d.Name, "description": d.What,
			"$ref": definitions + roots[i]["$ref"].(string), "properties": shape.Schema{"version": version},
			"required": []string{"version"}}
	}
	out := map[string][]byte{}
	for name, s := range files {
		s["$schema"], s["$id"] = "https://json-schema.org/draft/2020-12/schema", schemaHome+name
		if out[name], err = encodeSchema(s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Schema returns the schema of a document as one text, of the files that Schemas makes: the definitions that it refers
// to are in it.
func (d Document) Schema(files fs.FS) ([]byte, error) {
	doc, err := readSchema(files, d.File())
	if err != nil {
		return nil, err
	}
	all, err := readSchema(files, definitions)
	if err != nil {
		return nil, err
	}
	defs := all["$defs"].(shape.Schema)
	root := defs[path.Base(doc["$ref"].(string))].(shape.Schema)
	delete(doc, "$ref")
	used := shape.Schema{}
	collectDefinitions(root, defs, used)
	if len(used) > 0 {
		doc["$defs"] = used
	}
	maps.Copy(doc["properties"].(shape.Schema), root["properties"].(shape.Schema))
	if required, some := root["required"].([]any); some {
		doc["required"] = append(doc["required"].([]any), required...)
	}
	doc["type"] = root["type"]
	return encodeSchema(doc)
}

func readSchema(files fs.FS, name string) (s shape.Schema, err error) {
	text, err := fs.ReadFile(files, name)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	return s, err
}

// collectDefinitions adds to used what a part of a schema refers to, and what that refers to.
func collectDefinitions(part any, defs, used shape.Schema) {
	switch part := part.(type) {
	case []any:
		for _, one := range part {
			collectDefinitions(one, defs, used)
		}
	case shape.Schema:
		for _, one := range part {
			collectDefinitions(one, defs, used)
		}
		ref, _ := part["$ref"].(string)
		if name := path.Base(ref); ref != "" && used[name] == nil {
			used[name] = defs[name]
			collectDefinitions(defs[name], defs, used)
		}
	}
}

func encodeSchema(s shape.Schema) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(s)
	return text.Bytes(), err
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

// WriteLine writes a document as a line of a list.
func (a *App) WriteLine(out io.Writer, v any) error {
	line, err := a.WithVersion(v)
	if err == nil {
		_, err = out.Write(finding.EscapeJSON(line))
	}
	return err
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
