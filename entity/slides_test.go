package entity

import (
	"strconv"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
)

// slides creates an item for 20 hours where the default is one, and uses it: it
// keeps its life, in step with its expiry time. What is nearly over is renewed.
func slides(t *testing.T, notes *Store[string, note], do func(args ...string) any, use func() error) {
	t.Helper()
	ends := func() int64 {
		t.Helper()
		at, _ := strconv.ParseInt(do("ZSCORE", notes.core.Spec.Expires, "1").(string), 10, 64)
		return at
	}
	_, err := notes.Create(t.Context(), "1", note{Kind: "a", Context: "b", Priority: 1}, keywright.ExpiresIn(20*time.Hour))
	must(t, err)
	key, before := notes.core.Spec.Prefix+"1", ends()
	must(t, use())
	if left := do("PTTL", key).(int64); left < 19*3600_000 || ends() < before-1000 || ends() > before+1000 {
		t.Errorf("a life of 20 hours has %v left after it was used, and ends at %d instead of %d",
			time.Duration(left)*time.Millisecond, ends(), before)
	}
	do("PEXPIRE", key, "60000")
	must(t, use())
	if left := do("PTTL", key).(int64); left < 59*60_000 || left > 3600_000 {
		t.Errorf("a life of a minute has %v left after it was used", time.Duration(left)*time.Millisecond)
	}
}

func TestAGetNeverShortensALife(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	spec := noteSpec("s")
	spec.entry.TTL.Sliding = true
	notes := storeOf(open(t, s.URL()), spec)
	slides(t, notes, s.Do, reads(t, notes))
}

func reads(t *testing.T, notes *Store[string, note]) func() error {
	return func() error { _, err := notes.Get(t.Context(), "1"); return err }
}

// updates changes a field that is in no index.
func updates(t *testing.T, notes *Store[string, note]) func() error {
	return func() error { _, err := notes.Update(t.Context(), "1", setPriority.Set(3)); return err }
}

func TestAnUpdateNeverShortensALife(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	spec := noteSpec("s")
	spec.entry.TTL.Sliding = true
	notes := storeOf(open(t, s.URL()), spec)
	slides(t, notes, s.Do, updates(t, notes))
}

func TestNoUseShortensALifeInACluster(t *testing.T) {
	t.Parallel()
	c := keywrighttest.StartCluster(t, keywrighttest.Valkey, 3, 0)
	for prefix, use := range map[string]func(*testing.T, *Store[string, note]) func() error{"g": reads, "u": updates} {
		notes := spread(t, c.URL(), prefix, func(spec *Spec[string, note]) { spec.entry.TTL.Sliding = true })
		raw := notes.core.Client.Raw()
		slides(t, notes, func(args ...string) any {
			reply, err := raw.Do(t.Context(), raw.B().Arbitrary(args[0]).Keys(args[1]).Args(args[2:]...).Build()).ToAny()
			must(t, err)
			if f, ok := reply.(float64); ok {
				return strconv.FormatFloat(f, 'f', 0, 64)
			}
			return reply
		}, use(t, notes))
	}
}
