package lint

import (
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace/load"
)

// TestOneCauseIsOneFinding: what one mistake breaks in many places is said once.
func TestOneCauseIsOneFinding(t *testing.T) {
	const text = `keywright: 1
package: p
cluster: true
vars: {tenant: slug, a: slug, lane: hi|lo, id: int}
keys:
  jobs: {key: "jobs:{lane}", type: queue, order: lane, ttl: none}
  s: {type: script, file: s.lua, keys: [x, y, z]}
  x: {key: "x:{a}", type: string, ttl: 1h}
  y: {key: "y:{a}", type: string, ttl: 1h}
  z: {key: "z:{a}", type: string, ttl: 1h}
  item:
    key: "t:{tenant}:item:{id}"
    type: entity
    ttl: none
    fields: {title: text}
    emits: {create: made, update: made, delete: made}
channels:
  made: {channel: "made", message: {id: int}, durable: {maxlen: 1000}}
`
	ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(text)},
		"s.lua": {Data: []byte("return redis.call('PING')")}}, "k.yaml")
	if len(found) > 0 {
		t.Fatal(found)
	}
	got := map[string]int{}
	for _, f := range Run(ks) {
		got[f.Code]++
	}
	for code, want := range map[string]int{"KW321": 2, "KW330": 1, "KW328": 1, "KW401": 1} {
		if got[code] != want {
			t.Errorf("%s: %d findings, want %d", code, got[code], want)
		}
	}
}
