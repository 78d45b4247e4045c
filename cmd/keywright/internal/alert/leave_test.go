package alert

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestLeaveForgetsAll: of a target that is left nothing is kept, also not what there was no room for; of others all is.
// The file is written when something has changed, and only then.
func TestLeaveForgetsAll(t *testing.T) {
	t.Parallel()
	written := 0
	b, err := Open(filepath.Join(t.TempDir(), "alerts.json"), time.Now,
		func(string, []byte) error { written++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"a", "a/b", "ab"} {
		b.kept.Known[target], b.kept.Seen[target] = map[string]int64{"x": 1}, time.Now()
		b.kept.Open[target] = &open{Condition: Condition{ID: target, Target: target}}
		b.kept.Beyond[target+"/"+string(NewViolation)] = 7
	}
	for range 3 {
		if err := b.Leave("a"); err != nil {
			t.Fatal(err)
		}
	}
	if left := slices.Sorted(maps.Keys(b.kept.Beyond)); !slices.Equal(left,
		[]string{"a/b/" + string(NewViolation), "ab/" + string(NewViolation)}) {
		t.Errorf("beyond: %q", left)
	}
	if len(b.kept.Open) != 2 || len(b.kept.Known) != 2 || len(b.kept.Seen) != 2 {
		t.Errorf("%d open, %d known, %d seen, of two targets", len(b.kept.Open), len(b.kept.Known), len(b.kept.Seen))
	}
	if written != 1 {
		t.Errorf("the file was written %d times, for one change", written)
	}
}
