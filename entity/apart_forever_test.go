package entity

import (
	"fmt"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/entity/internal/crossslot"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/keywrighttest"
)

// forever makes an entity whose items never expire.
func forever(spec *Spec[string, note]) {
	entry := *spec.entry
	entry.TTL = keywright.TTL{Policy: keywright.Forever, Text: "none"}
	spec.entry = &entry
	spec.Expires, spec.Lease, spec.Pending, spec.IndexTTL = "", "", spec.Records+":pending", 0
}

// home returns the server with the index records.
func home(c *keywrighttest.Cluster, s *Store[string, note]) *keywrighttest.Server {
	return c.Nodes[int(slot.Of([]byte(s.core.Spec.Records)))*c.Primaries/16384]
}

// TestOpenIntentsCostLittle: a write under 10,000 open intents sends as little as
// with none, and no step of it or of the sweep holds the server.
func TestOpenIntentsCostLittle(t *testing.T) {
	t.Parallel()
	clusters(t, func(t *testing.T, c *keywrighttest.Cluster) {
		s := spread(t, c.URL(), "n", forever)
		s.core.Windows.Due = time.Hour // however long the sweep takes, those opened here are not due
		ctx := t.Context()
		server := home(c, s)
		_, err := s.Create(ctx, "x", a("k", 5)) // the scripts are known
		must(t, err)
		work := func(id string) (commands, bytes int) {
			w := server.RecordScripts()
			must(t, crossslot.Open(ctx, s.core, crossslot.NewIntent(id, crossslot.Writing), ""))
			for _, call := range w.Calls() {
				commands += len(call.Commands)
				for _, command := range call.Commands {
					bytes += len(fmt.Sprint(command))
				}
			}
			return commands, bytes
		}
		commands, bytes := work("y")
		var old [][]string
		for i := range 2_000 {
			id := fmt.Sprint("old", i)
			old = append(old, []string{"ZADD", s.core.Spec.Pending, "1", id}, []string{"HSET", s.core.Spec.Records, id,
				fmt.Sprintf("=#=0:@=0:~=1:-!=%d:t=1:to=1:1k=1:wm=0:", len("t=1:to=1:1k=1:wm=0:"))})
		}
		server.Pipe(old...)
		if more, longer := work("z"); more != commands || longer > bytes+100 {
			t.Errorf("with 2,000 open intents one more takes %d commands of %d bytes, not %d of %d", more, longer,
				commands, bytes)
		}
		_, err = s.Sweep(ctx, SweepOptions{Rate: 1 << 30})
		must(t, err)
		if n := server.Do("ZCARD", s.core.Spec.Pending).(int64); n != 2 { // y and z are not due
			t.Errorf("%d intents are left", n)
		}
	})
}

// TestAnyTextIsAnID: also that of one zero byte, alone and apart.
func TestAnyTextIsAnID(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, _ *keywrighttest.Server, notes *Store[string, note]) {
		_, err := notes.Create(t.Context(), "\x00", a("k", 5))
		must(t, err)
		all(t, notes, "\x00")
	})
	clusters(t, func(t *testing.T, c *keywrighttest.Cluster) {
		s := spread(t, c.URL(), "n", forever)
		s.core.Windows = itemkeys.Windows{Act: time.Second, Due: 2 * time.Second}
		for _, id := range []string{"\x00", "1"} {
			_, err := s.Create(t.Context(), id, a("k", 5))
			must(t, err)
		}
		all(t, s, "\x00", "1")
		if got := sound(t, s); got.Items != 2 {
			t.Errorf("%+v", got)
		}
		must(t, crossslot.Open(t.Context(), s.core, crossslot.NewIntent("\x00", crossslot.Writing), ""))
		eventually(t, "what is open is swept", func() bool {
			_, err := s.Sweep(t.Context(), SweepOptions{})
			return err == nil && home(c, s).Do("ZCARD", s.core.Spec.Pending).(int64) == 0
		})
		all(t, s, "\x00", "1")
	})
}

// all fails unless these items are there.
func all(t *testing.T, s *Store[string, note], ids ...string) {
	t.Helper()
	there := map[string]bool{}
	for item, err := range s.All(t.Context()) {
		must(t, err)
		there[item.ID] = true
	}
	for _, id := range ids {
		if !there[id] {
			t.Errorf("All has not %q", id)
		}
	}
	if len(there) != len(ids) {
		t.Errorf("%d items, not %d", len(there), len(ids))
	}
}
