package entity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/entity/internal/scripts"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// raised lets half of the notes of a page be raised to another priority before
// those of the page are shortened or released. Those stay as they are.
func raised(t *testing.T, s func(args ...string) any, notes *Store[string, note]) (wrong []string) {
	fillNotes(t, notes, 40, 1)
	target := notes.Going("priority+created")
	ids, _, err := target.Page(t.Context(), "1", "", 100)
	must(t, err)
	if len(ids) != 40 {
		t.Fatalf("%d ids", len(ids))
	}
	slices.Sort(ids)
	for _, id := range ids[:20] {
		_, err := notes.Update(t.Context(), id, setPriority.Set(9))
		must(t, err)
	}
	changed, err := target.Shorten(t.Context(), "1", ids, 5*time.Minute)
	must(t, err)
	for _, id := range ids[:20] {
		if left, _ := s("PTTL", notes.core.Key(id)).(int64); left < (10 * time.Minute).Milliseconds() {
			wrong = append(wrong, fmt.Sprintf("%s of priority 9 lives for %d ms", id, left))
		}
	}
	gone, err := target.Release(t.Context(), "1", ids)
	must(t, err)
	for _, id := range ids[:20] {
		if s("EXISTS", notes.core.Key(id)) != int64(1) {
			wrong = append(wrong, id+" of priority 9 is gone")
		}
	}
	if changed != 20 || gone != 20 {
		wrong = append(wrong, fmt.Sprintf("%d were shortened and %d released, of 20 with priority 1", changed, gone))
	}
	return wrong
}

// TestRaisedMeanwhile: what was raised after a page was read is neither shortened
// nor released: the step that changes an item compares.
func TestRaisedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		s := keywrighttest.Start(t, brand)
		notes := storeOf(open(t, s.URL()), goingSpec())
		for _, w := range raised(t, s.Do, notes) {
			t.Error(w)
		}
		sound(t, notes)
	}
}

// TestRaisedMeanwhileApart: also where the keys are in several slots.
func TestRaisedMeanwhileApart(t *testing.T) {
	t.Parallel()
	cluster := keywrighttest.StartCluster(t, keywrighttest.Redis, 3, 0)
	c := open(t, cluster.URL())
	notes := spreadOn(t, c, "n")
	ask := func(args ...string) any {
		for _, n := range cluster.Nodes {
			if reply, err := n.Try(args...); err == nil {
				return reply
			}
		}
		return nil
	}
	for _, w := range raised(t, ask, notes) {
		t.Error(w)
	}
}

// TestRaisedMutations: without the comparison the suite turns red.
func TestRaisedMutations(t *testing.T) {
	for _, guard := range []string{
		"if call('HGET', hash, field) ~= text then return {'absent', '', now} end",
		"if call('HGET', hash, field) ~= text then return out end",
	} {
		t.Run(guard, func(t *testing.T) {
			old := scripts.Parts
			defer func() { scripts.Parts = old }()
			found := false
			scripts.Parts = scripts.Parts.Edit(func(_, text string) string {
				found = found || strings.Contains(text, guard)
				return strings.Replace(text, guard, "", 1)
			})
			s := keywrighttest.Start(t, keywrighttest.Redis)
			if wrong := raised(t, s.Do, storeOf(open(t, s.URL()), goingSpec())); len(wrong) == 0 || !found {
				t.Errorf("the suite stays green without this guard, which was found: %v", found)
			}
		})
	}
}
