package serve

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"io/fs"
	"net/http"
	"reflect"
	"regexp"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/serve/auth"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
	"github.com/keywright/keywright/cmd/keywright/internal/shape"
)

// openapi says what Describe has written.
//
//go:embed openapi.json
var openapi []byte

// serveOpenAPI answers with the description of the API.
func serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(openapi)
}

type object = map[string]any

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

// plainPaths lists the paths whose answers are no JSON documents of the API.
var plainPaths = []struct {
	path, what, kind string
	schema           object
}{
	{"/api/v1/events", "What changes, as server-sent events: the data of each is an event", "text/event-stream",
		refTo("Event")},
	{"/metrics", "What Prometheus scrapes", "text/plain", object{"type": "string"}},
	{auth.HealthPath, "Whether the process runs", "text/plain", object{"type": "string"}},
	{auth.ReadyPath, "Whether each target has been read, or is known to be away", "text/plain", object{"type": "string"}},
}

// schemes say how a request has its user. Where serve has no users it needs none.
var schemes = object{
	"bearer": object{"type": "http", "scheme": "bearer", "description": "a token of `keywright serve token`"},
	"basic":  object{"type": "http", "scheme": "basic", "description": "a token as the password, with any name"},
	"session": object{"type": "apiKey", "in": "cookie", "name": "keywright-PORT",
		"description": "what signing in on a page gives; PORT is that of the address"},
}

// csrfParam describes the header of what changes something.
var csrfParam = object{"name": auth.CSRFHeader, "in": "header", "required": false, "schema": object{"type": "string"},
	"description": "csrf of /api/v1/me; a bearer needs none"}

// newerParams describe the headers of a client that has an answer already.
var newerParams = []any{
	object{"name": "If-None-Match", "in": "header", "required": false, "schema": object{"type": "string"},
		"description": "the ETag of the answer that the client has"},
	object{"name": "A-IM", "in": "header", "required": false,
		"schema":      object{"type": "string", "enum": []string{reply.RowsOnly}},
		"description": "rows: of lists, only rows that the client does not have"},
}

// newerSchema describes newer.
var newerSchema = object{"type": "object", "required": []string{"rows", "rest"}, "properties": object{
	"rows": object{"type": "object",
		"description": "the lists of rows, by name: a row, or [from, to] for those that the client has at these places of its list",
		"additionalProperties": object{"type": "array", "items": object{"oneOf": []any{object{"type": "object"},
			object{"type": "array", "items": object{"type": "integer"}, "minItems": 2, "maxItems": 2}}}}},
	"rest": object{"type": "object", "description": "all else of the answer"},
}}

// operation returns the name of an operation: its method, and the words of its path.
func operation(method, path string) string {
	name := strings.ToLower(method)
	for _, word := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune("/{}.", r) }) {
		if word != "api" && word != "v1" && word != "t" {
			name += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return name
}

// Describe writes the OpenAPI description of the API from its routes and the types that
// they answer with. root has the source of the module, for the comments.
func Describe(root fs.FS, module string) ([]byte, error) {
	paths := object{}
	fields := []reflect.StructField{{Name: "Problem", Type: reflect.TypeFor[reply.Problem](), Tag: `json:"problem"`},
		{Name: "Event", Type: reflect.TypeFor[Event](), Tag: `json:"event"`}}
	for _, r := range allRoutes {
		if paths[r.path] == nil {
			paths[r.path] = object{}
		}
		paths[r.path].(object)[strings.ToLower(r.method)] = describe(r)
		fields = append(fields,
			reflect.StructField{Name: r.answer.Name(), Type: r.answer, Tag: reflect.StructTag(`json:"` + r.answer.Name() + `"`)})
		if r.takes != nil {
			fields = append(fields, reflect.StructField{Name: r.takes.Name(), Type: r.takes,
				Tag: reflect.StructTag(`json:"` + r.takes.Name() + `"`)})
		}
	}
	for _, p := range plainPaths {
		of := object{"operationId": operation("GET", p.path), "summary": p.what, "responses": object{
			"200":     object{"description": "the answer", "content": object{p.kind: object{"schema": p.schema}}},
			"default": object{"description": "why there is none"}}}
		if auth.Open(p.path) {
			of["security"] = []any{}
		}
		paths[p.path] = object{"get": of}
	}
	all, err := shape.Of(reflect.StructOf(unique(fields)), shape.Source(root, module))
	if err != nil {
		return nil, err
	}
	doc := object{
		"openapi": "3.1.0",
		"info": object{"title": "keywright serve", "version": "1",
			"description": "What a keyspace holds and what is wrong with it. " +
				"Keys are objects: text, and base64 where a key is no UTF-8. Lists are bounded: limit and cursor give the rest, " +
				"format=csv a table."},
		"paths":      paths,
		"components": object{"schemas": all["$defs"], "securitySchemes": schemes},
		"security":   []any{object{"bearer": []any{}}, object{"basic": []any{}}, object{"session": []any{}}, object{}},
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(doc); err != nil {
		return nil, err
	}
	return bytes.ReplaceAll(text.Bytes(), []byte("#/$defs/"), []byte("#/components/schemas/")), nil
}

func unique(fields []reflect.StructField) (out []reflect.StructField) {
	seen := map[string]bool{}
	for _, f := range fields {
		if !seen[f.Name] {
			out = append(out, f)
		}
		seen[f.Name] = true
	}
	return out
}

// refTo refers to the schema of a type; shape begins names with a small letter.
func refTo(name string) object {
	return object{"$ref": "#/components/schemas/" + strings.ToLower(name[:1]) + name[1:]}
}

func describe(r route) object {
	params := []any{}
	for _, m := range pathParam.FindAllStringSubmatch(r.path, -1) {
		params = append(params, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	content := object{"application/json": object{"schema": refTo(r.answer.Name())}}
	for _, p := range r.params {
		params = append(params,
			object{"name": p.name, "in": "query", "required": p.needed, "description": p.what, "schema": object{"type": p.kind}})
		if p == formatParam {
			content["text/csv"] = object{"schema": object{"type": "string"}}
		}
	}
	responses := object{
		"200": object{"description": "the answer", "content": content},
		"default": object{"description": "why there is none",
			"content": object{"application/json": object{"schema": refTo("Problem")}}},
	}
	switch {
	case r.method == http.MethodGet:
		params = append(params, newerParams...)
		responses["226"] = object{"description": "what is other in the answer than in the one that the client has",
			"content": object{"application/json": object{"schema": newerSchema}}}
		responses["304"] = object{"description": "the answer is the one that the client has"}
	case r.path != auth.SessionPath:
		params = append(params, csrfParam)
	}
	out := object{"operationId": operation(r.method, r.path), "summary": r.what, "parameters": params,
		"responses": responses}
	if r.takes != nil {
		out["requestBody"] = object{"required": true,
			"content": object{"application/json": object{"schema": refTo(r.takes.Name())}}}
	}
	return out
}
