package entity

import (
	"strings"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
)

// TestApartRefused: in several slots, too, an item that cannot be made leaves no
// hash (K1), and what frees memory works on full servers, its event included.
func TestApartRefused(t *testing.T) {
	t.Parallel()
	cluster := keywrighttest.StartCluster(t, keywrighttest.Redis, 3, 0)
	all := func(words ...string) {
		for _, n := range cluster.Nodes {
			n.Do(words...)
		}
	}
	all("ACL", "SETUSER", "app", "reset", "on", ">pw", "~*", "&*", "+@all", "-pexpire")
	limited := storeOf(open(t, strings.Replace(cluster.URL(), "//", "//app:pw@", 1)), noteSpec("n"))
	if _, err := limited.Create(t.Context(), "1", a("k", 5)); err == nil {
		t.Error("made without a TTL")
	}
	for _, n := range cluster.Nodes {
		if left := keysOf(n, "n:item:"); len(left) > 0 {
			t.Errorf("left: %s", left)
		}
	}

	spec := noteSpec("m")
	spec.Prefix = "{i}:item:"
	spec.Key = func(id string) (string, error) { return part(spec.Prefix, id) }
	spec.Parse = func(key string) (string, bool) { return strings.CutPrefix(key, spec.Prefix) }
	// The books share a slot, and it is another one.
	spec.Expires, spec.Records, spec.Lease = "{m}:expiry", "{m}:ledger", "{m}:sweep"
	spec.OnDelete = []Event{{Mode: Append, Channel: "{i}:log", Data: []Part{{Name: "gone"}}}}
	notes := storeOf(open(t, cluster.URL()), spec)
	if _, err := notes.Create(t.Context(), "1", a("k", 5)); err != nil || !notes.core.CrossSlot {
		t.Fatalf("apart is %v: %v", notes.core.CrossSlot, err)
	}
	all("CONFIG", "SET", "maxmemory", "1000000")
	if _, err := notes.Create(t.Context(), "2", a("k", 5)); err == nil {
		t.Error("made on a full server")
	} else if class, _ := keywright.ClassOf(err); class != keywright.NotApplied {
		t.Errorf("on a full server: %v", err)
	}
	if ok, err := notes.Delete(t.Context(), "1"); err != nil || !ok {
		t.Errorf("delete on a full server: %v %v", ok, err)
	}
	all("CONFIG", "SET", "maxmemory", "0")
	told := 0
	for _, n := range cluster.Nodes {
		if len(keysOf(n, "{i}:log")) > 0 {
			told += len(readLog(n, "{i}:log"))
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}
