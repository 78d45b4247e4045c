package entity

import (
	"strconv"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
)

// slides creates an item for 20 hours where the default is one, and reads it: it
// keeps its life, in step with its expiry time. What is nearly over is renewed.
func slides(t *testing.T, notes *Store[string, note], do func(args ...string) any) {
	t.Helper()
	ends := func() int64 {
		t.Helper()
		at, _ := strconv.ParseInt(do("ZSCORE", notes.spec.Expires, "1").(string), 10, 64)
		return at
	}
	_, err := notes.Create(t.Context(), "1", note{Kind: "a", Context: "b", Priority: 1}, keywright.ExpiresIn(20*time.Hour))
	must(t, err)
	key, before := notes.spec.Prefix+"1", ends()
	_, err = notes.Get(t.Context(), "1")
	must(t, err)
	if left := do("PTTL", key).(int64); left < 19*3600_000 || ends() != before {
		t.Errorf("a life of 20 hours has %v left after a read, and ends at %d instead of %d", time.Duration(left)*time.Millisecond, ends(), before)
	}
	do("PEXPIRE", key, "60000")
	_, err = notes.Get(t.Context(), "1")
	must(t, err)
	if left := do("PTTL", key).(int64); left < 59*60_000 || left > 3600_000 {
		t.Errorf("a life of a minute has %v left after a read", time.Duration(left)*time.Millisecond)
	}
}

func TestAGetNeverShortensALife(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	spec := noteSpec("s")
	spec.Entry.TTL.Sliding = true
	slides(t, New(open(t, s.URL()), spec, nil), s.Do)
}

func TestAGetNeverShortensALifeInACluster(t *testing.T) {
	c := keywrighttest.StartCluster(t, keywrighttest.Valkey, 3, 0)
	notes := spread(t, c.URL(), "s", func(spec *Spec[string, note]) { spec.Entry.TTL.Sliding = true })
	raw := notes.client.Raw()
	slides(t, notes, func(args ...string) any {
		reply, err := raw.Do(t.Context(), raw.B().Arbitrary(args[0]).Keys(args[1]).Args(args[2:]...).Build()).ToAny()
		must(t, err)
		if f, ok := reply.(float64); ok {
			return strconv.FormatFloat(f, 'f', 0, 64)
		}
		return reply
	})
}
