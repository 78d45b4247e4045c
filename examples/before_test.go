package examples

import (
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// TestClientsBefore: the programs that docs/how-to/redis-py.md and ioredis.md begin with have the faults that
// the pages say: they never find what they have kept, and it never expires.
func TestClientsBefore(t *testing.T) {
	gate.Skip(t, "npm and redis-py make the programs")
	for _, c := range [][]string{{"shop/ts", "node", "build/before.js"}, {"shop/py", "/usr/bin/python3", "before.py"}} {
		if c[0] == "shop/ts" {
			command(t, c[0], "node", "node_modules/typescript/bin/tsc")
		}
		t.Run(c[0], func(t *testing.T) {
			s := keywrighttest.Start(t, keywrighttest.Redis)
			said := command(t, c[0], append(c[1:], s.URL())...)
			if said != "made: {\"id\":42,\"name\":\"shirt\"}\nmade: {\"id\":42,\"name\":\"shirt\"}\n" &&
				said != "made: {\"id\": 42, \"name\": \"shirt\"}\nmade: {\"id\": 42, \"name\": \"shirt\"}\n" {
				t.Errorf("%q", said)
			}
			if ttl := s.Do("TTL", "cache:porduct:detail:42"); ttl != int64(-1) {
				t.Errorf("TTL %v", ttl)
			}
		})
	}
}
