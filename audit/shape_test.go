package audit

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/keywright/keywright/source"
)

// TestMembersAreJudgedByTheirForm: a member of a JSON object is what generated code reads: a
// number where one is declared, and a string where text is.
func TestMembersAreJudgedByTheirForm(t *testing.T) {
	ks := loaded(t, `keywright: 1
package: t
owner: o
keys:
  doc: {key: "doc", type: string, ttl: any, value: {id: int, name: text, on: bool optional, at: unix_s optional, x: float optional, b: bytes optional, any: json optional, s: text encrypted optional}}
  free: {key: "free", type: string, ttl: any, value: json}
  job: {key: "job", type: queue, ttl: none, value: {id: int}}
channels:
  told: {channel: "told", durable: {maxlen: 10}, message: {id: int, why: text optional}}
`)
	sealed := `"` + base64.StdEncoding.EncodeToString([]byte("\x01\x02k1"+strings.Repeat("\xfe", 40))) + `"`
	str := func(s string) *source.Value { return &source.Value{Str: []byte(s)} }
	entry := func(data string) *source.Value {
		return &source.Value{Elements: [][]byte{[]byte("timestamp"), []byte("1700000000000"), []byte("data"), []byte(data)},
			Ends: []int{4}}
	}
	const head = "q1 1763774000000 high 0 - -\n"
	for _, c := range []struct {
		key   string
		value *source.Value
		want  string
	}{
		{"doc", str(`{"id":1,"name":"a","on":true,"at":1700000000,"x":1.5e3,"b":"YQ==","any":[1],"s":` + sealed + `}`), ""},
		{"doc", str(`{"id":1,"name":"a","on":null,"at":null,"x":null,"b":null,"any":null,"s":null}`), ""},
		{"doc", str(`{"id":"1","name":"a"}`), "KW508 the field id is a JSON string, not an integer"},
		{"doc", str(`{"id":true,"name":"a"}`), "KW508 the field id is not an integer"},
		{"doc", str(`{"id":1.0,"name":"a"}`), "KW508 the field id is not an integer"},
		{"doc", str(`{"id":1,"name":7}`), "KW508 the field name is a JSON number, not text"},
		{"doc", str(`{"id":1,"name":{}}`), "KW508 the field name is a JSON object, not text"},
		{"doc", str(`{"id":1,"name":["a"]}`), "KW508 the field name is a JSON array, not text"},
		{"doc", str(`{"id":1,"name":false}`), "KW508 the field name is a JSON boolean, not text"},
		{"doc", str(`{"id":1,"name":null}`), "KW510 the field name is missing"},
		{"doc", str(`{"id":1,"name":"a","on":"true"}`), "KW508 the field on is a JSON string, not true or false"},
		{"doc", str(`{"id":1,"name":"a","at":"1700000000"}`),
			"KW508 the field at is a JSON string, not a Unix time in seconds"},
		{"doc", str(`{"id":1,"name":"a","x":"1.5"}`), "KW508 the field x is a JSON string, not a number"},
		{"doc", str("{\"id\":1,\"name\":\"\xff\"}"), "KW508 the value is not JSON"},
		{"free", str("[\"\xff\"]"), "KW508 "},
		{"free", str("[\"\u00ff\"]"), ""},
		{"doc", str(`{"id":1,"name":"a","b":"?"}`), "KW508 the field b is not base64"},
		{"doc", str(`{"id":1,"name":"a","s":"a plain text that is long enough to be sealed"}`),
			"KW508 the field s is not encrypted"},
		{"doc", str(`{"id":1,"name":"a","s":1234567890123456789012345678901234567890}`),
			"KW508 the field s is not encrypted"},
		{"{job}:job:1", str(head + `{"id":1}`), ""},
		{"{job}:job:1", str(head + `{"id":"1"}`), "KW508 the field id is a JSON string, not an integer"},
		{"{job}:job:1", str(head + "{\"id\":1,\"x\":\"\xff\"}"), "KW508 the value is not JSON"},
		{"{job}:job:1", str(head + `{}`), "KW510 the field id is missing"},
		{"told", entry(`{"id":1}`), ""},
		{"told", entry(`{"id":"1"}`), "KW508 the field data.id is a JSON string, not an integer"},
		{"told", entry(`{"id":1,"whi":"a"}`), `KW509 the field data."whi" is not declared`},
		{"told", entry(`{}`), "KW510 the field data.id is missing"},
		{"told", entry("{\"id\":1,\"why\":\"\xff\"}"), "KW508 the field data is not JSON"},
		{"told", entry(`7`), "KW508 the field data is not a JSON object"},
	} {
		a, err := New(ks, Options{Values: true})
		if err != nil {
			t.Fatal(err)
		}
		kind := source.String
		if len(c.value.Ends) > 0 {
			kind = source.Stream
		}
		k := key(c.key, kind, no)
		k.Value = c.value
		a.Add([]source.Key{k})
		var got []string
		for _, f := range a.Report(source.Summary{}, false).Findings {
			if f.Code != "KW503" {
				_, said, _ := strings.Cut(f.Message, ": ")
				got = append(got, f.Code+" "+said)
			}
		}
		if len(got) > 1 || !strings.HasPrefix(strings.Join(got, ""), c.want) || (c.want == "") != (len(got) == 0) {
			t.Errorf("%s %s: %q, want %q", c.key, c.value.Str, got, c.want)
		}
	}
}

// TestFaultsNameTheLineOfTheDeclaration: the line of the field, member or score, not that
// of the entry; a merged and a resumed audit say the same.
func TestFaultsNameTheLineOfTheDeclaration(t *testing.T) {
	ks := loaded(t, `keywright: 1
package: t
owner: o
keys:
  h:
    key: "h"
    type: hash
    ttl: any
    fields:
      a: int
      b: text
  o:
    key: "o"
    type: hash
    ttl: any
    field: int
    value: bool
  z:
    key: "z"
    type: zset
    ttl: any
    member: uuid
    score: int 0..9
  j:
    key: "j"
    type: string
    ttl: any
    value:
      n: int
  l:
    key: "l"
    type: string
    ttl: any
    value: int
`)
	a, err := New(ks, Options{Values: true})
	if err != nil {
		t.Fatal(err)
	}
	list := func(elements ...string) *source.Value {
		v := &source.Value{}
		for _, e := range elements {
			v.Elements = append(v.Elements, []byte(e))
		}
		return v
	}
	zset := list("no uuid")
	zset.Scores = []float64{10}
	for _, k := range []struct {
		name  string
		kind  source.Kind
		value *source.Value
	}{
		{"h", source.Hash, list("a", "x", "c", "1")}, {"o", source.Hash, list("x", "x")}, {"z", source.ZSet, zset},
		{"j", source.String, &source.Value{Str: []byte(`{"n":"1","m":1}`)}},
		{"l", source.String, &source.Value{Str: []byte("x")}},
	} {
		one := key(k.name, k.kind, no)
		one.Value = k.value
		a.Add([]source.Key{one})
	}
	other, err := New(ks, Options{Values: true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := a.State()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Restore(text); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"KW508 h: the field a is not an integer": 10, `KW509 h: the field "c" is not declared`: 10,
		"KW510 h: the field b is missing":           11,
		"KW509 o: a field's name is not an integer": 16, "KW508 o: a field's value is not true or false": 17,
		"KW511 z: a member is not a lower-case UUID": 22, "KW512 z: a score is not an integer in 0..9": 23,
		"KW508 j: the field n is a JSON string, not an integer": 29, `KW509 j: the field "m" is not declared`: 29,
		"KW508 l: the value is not an integer": 34,
	}
	for _, one := range []*Audit{a, other} {
		found := one.Report(source.Summary{}, false).Findings
		if len(found) != len(want) {
			t.Errorf("%d findings, want %d", len(found), len(want))
		}
		for _, f := range found {
			if line, ok := want[f.Code+" "+f.Message]; !ok || line != f.Pos.Line {
				t.Errorf("%s %s: line %d, want %d", f.Code, f.Message, f.Pos.Line, line)
			}
		}
	}
}
