package counter

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
)

// TestFormOfExact: what an earlier program stored is read, and today's program
// stores the same: an id is a member, and its score the ms at which it is forgotten.
func TestFormOfExact(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	text, err := os.ReadFile("testdata/exact")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		s.Do(strings.Fields(line)...)
	}
	hour := expires("visits", time.Hour)
	x := New(keywright.Binding{Client: open(t, s.URL(), keywright.Options{}), Entry: hour,
		Key: "c"}).Exactly(keywright.Binding{Entry: hour, Key: "ids"})
	for _, step := range []struct {
		id   string
		want Added
	}{{"order-1", Added{41, true, true}}, {"order-2", Added{42, true, false}}, {"order-3", Added{43, true, false}}} {
		if got, err := x.AddOnce(t.Context(), step.id, 1); err != nil || got != step.want {
			t.Errorf("%s: %+v, %v, want %+v", step.id, got, err, step.want)
		}
	}
	ends, _ := strconv.ParseInt(s.Do("ZSCORE", "ids", "order-3").(string), 10, 64)
	if left := time.Until(time.UnixMilli(ends)); left < 30*time.Minute || left > 61*time.Minute {
		t.Errorf("an id is remembered for %v", left)
	}
}
