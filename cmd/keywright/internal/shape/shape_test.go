package shape

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keyspace/finding"
)

type inner struct {
	N int64 `json:"n"`
}

type maybe struct {
	Seen *bool `json:"seen"`
}

type name []byte

func (name) MarshalJSON() ([]byte, error) { return []byte(`{"text":""}`), nil }

func (name) JSONShape() any {
	return struct {
		Text string `json:"text"`
	}{}
}

type whole struct {
	inner
	*maybe
	Word string             `json:"word" enum:"a,b"`
	Part *inner             `json:"part,omitempty"`
	List []name             `json:"list"`
	Map  map[string]float64 `json:"map,omitempty"`
	Raw  []byte             `json:"raw,omitempty"`
	own  int
	Out  int `json:"-"`
}

// TestOf: the schema of everything that this package knows.
func TestOf(t *testing.T) {
	_ = whole{own: 1}
	source := fstest.MapFS{
		"x.go": {Data: []byte(
			"package shape\n\n// whole is all of it.\ntype whole struct {\n\tinner\n\t// Word is said.\n\tWord string\n\tPart " +
				"*inner // of it\n}\n")}}
	s, err := Of(reflect.TypeFor[whole](), Source(source, "github.com/keywright/keywright/cmd/keywright/internal/shape"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	const want = `{"$defs":{"inner":{"properties":{"n":{"type":"integer"}},"required":["n"],"type":"object"},` +
		`"name":{"properties":{"text":{"type":"string"}},"required":["text"],"type":"object"}},"description":"all of it.",` +
		`"properties":{"list":{"items":{"$ref":"#/$defs/name"},"type":"array"},"map":{"additionalProperties":{"type":"number"},"type":"object"},` +
		`"n":{"type":"integer"},"part":{"$ref":"#/$defs/inner","description":"of it"},"raw":{"contentEncoding":"base64","type":"string"},` +
		`"seen":{"anyOf":[{"type":"boolean"},{"type":"null"}]},"word":{"description":"Word is said.","enum":["a","b"],"type":"string"}},` +
		`"required":["list","n","word"],"type":"object"}`
	if err != nil || string(text) != want {
		t.Errorf("%v\n%s\n%s", err, text, want)
	}
}

type Counts struct {
	In *Counts `json:"in,omitempty"`
}

type positions struct {
	Here  Counts         `json:"here"`
	There finding.Counts `json:"there"`
}

// TestNamesOfDefinitions: two types of one name have those of their packages, too; a type that is in itself ends.
func TestNamesOfDefinitions(t *testing.T) {
	s := NewSet(Source(fstest.MapFS{}, "x"))
	ref := s.Add(reflect.TypeFor[positions]())
	defs, err := s.Definitions()
	expect.NoError(t, err)
	names := strings.Join(slices.Sorted(maps.Keys(defs)), " ")
	expect.Equal(t, "names", names, "findingCounts positions shapeCounts")
	expect.Equal(t, "reference", ref["$ref"].(string), "#/$defs/positions")
	text, err := json.Marshal(defs["shapeCounts"])
	expect.NoError(t, err)
	expect.Equal(t, "definition", string(text), `{"properties":{"in":{"$ref":"#/$defs/shapeCounts"}},"type":"object"}`)
}

// TestDefName: a name begins with a small word.
func TestDefName(t *testing.T) {
	for name, want := range map[string]string{"JSONKey": "key", "Report": "report", "ACLUsers": "aclUsers", "TTL": "ttl",
		"changeResult": "changeResult"} {
		expect.Equal(t, name, defName(name), want)
	}
}

type odd struct {
	C chan int        `json:"c"`
	J json.RawMessage `json:"j"`
	N int
}

// TestWhatCannotBeDescribed: all of it is reported.
func TestWhatCannotBeDescribed(t *testing.T) {
	_, err := Of(reflect.TypeFor[odd](), Source(fstest.MapFS{}, "x"))
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Error(err)
	}
}
