package server

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"time"

	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/examine"
)

// strand puts a key where its slot is not: the second node takes it while it imports the slot, and the migration ends
// there. It returns what ends the migration.
func strand(t *testing.T, c *keywrighttest.Cluster, key string) (interrupt func()) {
	t.Helper()
	n := strconv.Itoa(int(slot.Of([]byte(key))))
	c.Nodes[1].Do("CLUSTER", "SETSLOT", n, "IMPORTING", c.ID(0))
	c.Nodes[1].Pipe([]string{"ASKING"}, []string{"SET", key, "stale"})
	return func() { c.Nodes[1].Do("CLUSTER", "SETSLOT", n, "STABLE") }
}

// ofFirst returns a key of which the first node has the slot.
func ofFirst(t *testing.T, c *keywrighttest.Cluster) string {
	t.Helper()
	for i := range 10_000 {
		key := fmt.Sprint("session:", i)
		if _, err := c.Nodes[0].Try("GET", key); err == nil {
			return key
		}
	}
	t.Fatal("the first node has no slot")
	return ""
}

// TestOrphans: a key in a slot that its node does not own is left out, counted and named, and what is read is whole.
func TestOrphans(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b keywrighttest.Brand) {
		c := keywrighttest.StartCluster(t, b, 2, 0)
		fillCluster(c, 40)
		key := ofFirst(t, c)
		c.Nodes[0].Do("SET", key, "right")
		interrupt := strand(t, c, key)
		config := servertest.Config(t, c.URL())
		ways := map[string]func() (source.Summary, map[string]string){
			"scan": func() (source.Summary, map[string]string) {
				got, sum, err := scanned(t, config, Options{OnlyDB: -1}, source.Request{Bytes: true})
				return sum, onlyNames(t, got, err)
			},
			"snapshot": func() (source.Summary, map[string]string) {
				got, sum, err := snapshot(t, config, SnapshotOptions{OnlyDB: -1}, source.Request{})
				return sum, onlyNames(t, got, err)
			},
			"contents": func() (source.Summary, map[string]string) {
				got, sum := contentsOf(t, config, ContentsRequest{})
				return sum, values(got)
			},
			"contents of a snapshot": func() (source.Summary, map[string]string) {
				var got []source.Content
				sum, err := NewSnapshot(config, SnapshotOptions{OnlyDB: -1}).Contents(t.Context(), ContentsRequest{},
					func(batch []source.Content) error {
						for _, k := range batch {
							k.Name, k.Payload = slices.Clone(k.Name), slices.Clone(k.Payload)
							got = append(got, k)
						}
						return nil
					})
				if err != nil {
					t.Error(err)
				}
				return sum, values(got)
			},
		}
		for _, way := range []string{"scan", "contents"} {
			if sum, _ := ways[way](); len(sum.Incomplete) == 0 || sum.Orphans > 0 {
				t.Errorf("%s while the slot moves: %+v", way, sum)
			}
		}
		interrupt()
		for way, read := range ways {
			sum, got := read()
			if len(sum.Incomplete) > 0 || sum.Orphans != 1 || sum.Keys != 41 || len(got) != 41 ||
				strings.Contains(got[key], "stale") {
				t.Errorf("%s: %+v, %d keys, %s is %q", way, sum, len(got), key, got[key])
			}
			if notes := strings.Join(sum.Notes, "\n"); !strings.Contains(notes, "which no client can read: 1; they are left out") ||
				!strings.Contains(notes, fmt.Sprintf("%q (slot %d, at %s)", key, slot.Of([]byte(key)), c.Nodes[1].Addr())) {
				t.Errorf("%s: %s", way, notes)
			}
		}
	})
}

// onlyNames returns the names of keys.
func onlyNames(t *testing.T, keys map[string]source.Key, err error) map[string]string {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
	out := map[string]string{}
	for name := range keys {
		out[strings.TrimPrefix(name, "0/")] = ""
	}
	return out
}

// values returns what the payloads of keys are.
func values(contents []source.Content) map[string]string {
	out := map[string]string{}
	for _, c := range contents {
		out[string(c.Name)] = string(c.Payload)
	}
	return out
}

// TestOrphansAreExamined: an examination names them, and the way that the rule tells lets them go.
func TestOrphansAreExamined(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b keywrighttest.Brand) {
		c := keywrighttest.StartCluster(t, b, 2, 0)
		key := ofFirst(t, c)
		n := int(slot.Of([]byte(key)))
		strand(t, c, key)()
		examine := func() []examine.OrphanSlot {
			x, err := examine.Examine(t.Context(), servertest.Config(t, c.URL()), time.Now)
			if err != nil {
				t.Fatal(err)
			}
			var all []examine.OrphanSlot
			for _, p := range x.Patients {
				all = append(all, p.Orphans...)
			}
			return all
		}
		if got := examine(); len(got) != 1 || got[0].Slot != n || got[0].Keys != 1 || got[0].Owner != c.Nodes[0].Addr() ||
			len(got[0].Names) != 1 || got[0].Names[0] != strconv.Quote(key) {
			t.Errorf("%+v", got)
		}
		c.Nodes[1].Do("CLUSTER", "SETSLOT", strconv.Itoa(n), "IMPORTING", c.ID(0))
		c.Nodes[1].Pipe([]string{"ASKING"}, []string{"UNLINK", key})
		c.Nodes[1].Do("CLUSTER", "SETSLOT", strconv.Itoa(n), "STABLE")
		if got := examine(); len(got) > 0 {
			t.Errorf("%+v is left", got)
		}
	})
}
