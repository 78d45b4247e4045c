package wording_test

import (
	"testing"

	"github.com/keywright/keywright/infer/page/internal/wording"
)

// TestSubjects: a sentence after one with a key is of the key where it goes on about it, names a word of it or an
// entry, or speaks of expiry without a noun.
func TestSubjects(t *testing.T) {
	for _, c := range []struct {
		sentence       string
		goesOn, others bool
	}{
		{"", false, true}, {"It expires after 1 h.", true, false}, {"In Redis it never expires.", true, false},
		{"They are kept for 1 day.", true, false}, {"Cached for 5 minutes.", true, false},
		{"It runs for 20 minutes.", false, true}, {"It runs out after 20 minutes.", true, false},
		{"The worker has a timeout of 90 s.", false, true}, {"The importer keeps its log for 30 days.", false, true},
		{"The session lives for 1 h.", false, false}, {"The entry is gone after 1 h.", false, false},
		{"Die Einträge verfallen nach 1 Tag.", false, false}, {"Der Worker lebt 1 Tag.", false, true},
		{"Users stay for 30 days.", false, true}, {"Sessions are kept for 30 days.", false, false},
		{"Expires after 1 h.", true, false}, {"Clients cache it for 10 s.", false, true}, {"TTL 45 s.", true, false},
		{"Lives for 5 minutes.", false, false},
	} {
		goesOn, others := wording.GoesOn(c.sentence), wording.IsOfAnother(c.sentence, "sess:{id}")
		if goesOn != c.goesOn || others != c.others {
			t.Errorf("%s: %v %v, and not %v %v", c.sentence, goesOn, others, c.goesOn, c.others)
		}
	}
	for text, want := range map[string]int{"": 0, "1 h": 1, "1 h and two days": 2, "1h 30m": 1} {
		if got := wording.CountTimes(text); got != want {
			t.Errorf("%s: %d, and not %d", text, got, want)
		}
	}
}
