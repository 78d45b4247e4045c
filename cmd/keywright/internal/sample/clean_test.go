package sample

import (
	"strconv"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/source"
)

// optional is a keyspace whose keys may have none of their fields.
const optional = `keywright: 1
package: p
owner: o
vars: {n: int, state: open|closed}
keys:
  a: {key: "a:{n}", type: hash, ttl: 1h, fields: {x: int optional, y: text optional}}
  b: {key: "b:{n}", type: stream, ttl: 1h, maxlen: 100, fields: {x: bool optional}}
  c: {key: "c:{n}", type: entity, ttl: none, fields: {x: state optional, y: timestamp optional}, index: {x: "c:x:{x}"}}
  d: {key: "d:{n}", type: string, ttl: 1h, value: {x: bytes optional, y: json optional, z: float, b: bool, t: text, h: hex 8, u: uuid, e: state, k: bytes encrypted}}
  e: {key: "e:{n}", type: hash, ttl: 1h, field: int, value: unix_ms}
  f: {key: "f:{n}", type: zset, ttl: 1h, member: date, score: unix_s}
  g: {key: "g:{n}", type: hash, ttl: 1h, fields: {only: text optional}}
  q: {key: "q:{n}", type: queue, ttl: none, value: {x: int optional}}
  s: {key: "s:{n}", type: string, ttl: 1h, value: text encrypted}
channels:
  made: {channel: "made:{n}", message: {x: int optional}, durable: {maxlen: 100}}
`

// TestSamplesAreClean: an audit of all values finds nothing in what was made, whatever
// the seed: no undeclared field, and no key without content.
func TestSamplesAreClean(t *testing.T) {
	t.Parallel()
	small, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(optional)}}, "k.yaml")
	if len(found) > 0 {
		t.Fatal(found)
	}
	for name, ks := range map[string]*keyspace.Keyspace{"small": small, "examples": examples(t)} {
		for seed := range uint64(5) {
			a, err := audit.New(ks, audit.Options{Values: true, Whole: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range Generate(ks, Options{Keys: 1500, Seed: seed, Now: now}) {
				for _, row := range k.Rows {
					if len(row) == 0 {
						t.Errorf("%s, seed %d: %q has a row without content", name, seed, k.Name)
					}
				}
				live := source.Key{Name: k.Name, Kind: kindOf[k.Kind], TTL: k.TTL, Value: valueOf(t, k)}
				if k.TTL == 0 {
					live.TTL = source.NoTTL
				}
				a.Add([]source.Key{live})
			}
			for _, f := range a.Report(source.Summary{}, false).Findings {
				t.Errorf("%s, seed %d: %s %s, as in %q", name, seed, f.Code, f.Message, f.Examples[0].Key)
			}
		}
	}
}

var kindOf = map[keyspace.Kind]source.Kind{
	keyspace.String: source.String, keyspace.Hash: source.Hash, keyspace.List: source.List,
	keyspace.Set: source.Set, keyspace.ZSet: source.ZSet, keyspace.Stream: source.Stream,
}

// valueOf returns the content of a key as a source gives it.
func valueOf(t *testing.T, k Key) *source.Value {
	v := &source.Value{}
	for _, row := range k.Rows {
		switch k.Kind {
		case keyspace.String:
			v.Str = row[0]
		case keyspace.ZSet:
			for i := 0; i+1 < len(row); i += 2 {
				score, err := strconv.ParseFloat(string(row[i]), 64)
				if err != nil {
					t.Fatal(err)
				}
				v.Scores, v.Elements = append(v.Scores, score), append(v.Elements, row[i+1])
			}
		default:
			v.Elements = append(v.Elements, row...)
			v.Ends = append(v.Ends, len(v.Elements))
		}
	}
	return v
}
