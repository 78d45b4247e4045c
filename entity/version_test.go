package entity

import (
	"math"
	"strconv"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

// TestLargeVersions: versions are exact up to the last one, beyond what a Lua number
// holds; what comes after that is refused, and changes nothing.
func TestLargeVersions(t *testing.T) {
	t.Parallel()
	try := func(t *testing.T, notes *Store[string, note], set func(version string)) {
		ctx := t.Context()
		item, err := notes.Create(ctx, "1", a("k", 5))
		must(t, err)
		for _, version := range []int64{1, 9, 999_999_999, 1<<53 - 1, 1 << 53, 1<<53 + 1, 999_999_999_999_999_999,
			5_000_000_000_999_999_999, math.MaxInt64 - 4} {
			set(strconv.FormatInt(version, 10))
			got, err := notes.UpdateIf(ctx, "1", version, setText.Set("x"))
			if err != nil || got != version+1 {
				t.Fatalf("an update of %d: %d, %v", version, got, err)
			}
			item.Version = version + 1
			if item, err = notes.Save(ctx, item); err != nil || item.Version != version+2 {
				t.Fatalf("a save of %d: %d, %v", version+1, item.Version, err)
			}
			if put, err := notes.Put(ctx, "1", a("k", 6)); err != nil || put.Version != version+3 {
				t.Fatalf("a put of %d: %d, %v", version+2, put.Version, err)
			}
			if read, err := notes.Get(ctx, "1"); err != nil || read.Version != version+3 {
				t.Fatalf("read: %d, %v", read.Version, err)
			}
		}
		for _, version := range []string{strconv.FormatInt(math.MaxInt64, 10), "18446744073709551616", "-1", "x", ""} {
			set(version)
			if _, err := notes.Update(ctx, "1", setKind.Set("other")); err == nil {
				t.Errorf("an update of %q: no error", version)
			}
			if _, err := notes.Put(ctx, "1", a("other", 1)); err == nil {
				t.Errorf("a put of %q: no error", version)
			}
		}
		set("7")
		same(t, "kind k", notes.listed(t, Query[note]{Of: notes.By("kind", "k"), Whole: true}), []string{"1"})
		sound(t, notes)
	}
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		s.WatchScripts()
		try(t, notes, func(version string) { s.Do("HSET", "n:item:1", "version", version) })
		spec := noteSpec("w")
		other := storeOf(open(t, s.URL()), spec)
		other.writer.Putter = nil
		try(t, other, func(version string) { s.Do("HSET", "w:item:1", "version", version) })
	})
	clusters(t, func(t *testing.T, c *keywrighttest.Cluster) {
		try(t, spread(t, c.URL(), "n"),
			func(version string) { serverOf(c, "n:item:1").Do("HSET", "n:item:1", "version", version) })
	})
}
