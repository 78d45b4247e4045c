package migration

import (
	"slices"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/answer/phases"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
)

// TestPartsThatLackSomething: what the server lacks for any part is said, once, also where the last
// part lacks nothing.
func TestPartsThatLackSomething(t *testing.T) {
	lacks := func(what ...string) migrate.PartStatus { return migrate.PartStatus{Facts: phase.Facts{Unfit: what}} }
	if got := phases.Unfit([]migrate.PartStatus{lacks("a"), lacks("b", "a"), lacks()}); !slices.Equal(got,
		[]string{"a", "b"}) {
		t.Errorf("%q", got)
	}
}

// TestThePartThatGoesFirst: it is one that may go now, so that its hint is not refused in turn.
func TestThePartThatGoesFirst(t *testing.T) {
	for _, c := range []struct {
		phases []phase.Phase
		at     int
		to     phase.Phase
		first  string
	}{
		{[]phase.Phase{phase.Off, phase.Off, phase.Off}, 2, phase.DualWrite, "a"},
		{[]phase.Phase{phase.Live, phase.Shadow, phase.Shadow}, 2, phase.Live, "b"},
		{[]phase.Phase{phase.Live, phase.Live, phase.Live}, 0, phase.Shadow, "c"},
		{[]phase.Phase{phase.Live, phase.Live, phase.Shadow}, 0, phase.Shadow, "b"},
		{[]phase.Phase{phase.Live, phase.Live, phase.Live}, 0, phase.RampDown, ""},
		{[]phase.Phase{phase.Live, phase.Live, phase.Live}, 2, phase.Shadow, ""},
		{[]phase.Phase{phase.DualWrite, phase.Live, phase.Live}, 0, phase.Backfill, ""}, // part a was repaired from its files
		{[]phase.Phase{phase.DualWrite, phase.Live, phase.Live}, 2, phase.Shadow, ""},
		{[]phase.Phase{phase.DualWrite, phase.Live, phase.Live}, 1, phase.RampDown, "a"},
		{[]phase.Phase{phase.DualWrite, phase.Live, phase.Live}, 1, phase.Shadow, "c"},
	} {
		var all []migrate.PartStatus
		for i, at := range c.phases {
			s := migrate.PartStatus{Part: string(rune('a' + i))}
			s.State.Phase = at
			all = append(all, s)
		}
		if got := goesFirst(all, c.at, c.to); got != c.first {
			t.Errorf("%v: part %s to %s: %q, want %q", c.phases, all[c.at].Part, c.to, got, c.first)
		}
	}
}

// TestWhatDiffersStill: records with a mark may differ, and none of the sentences says that nothing does.
func TestWhatDiffersStill(t *testing.T) {
	for _, c := range []struct {
		left, marked int64
		want         string
	}{
		{0, 0, "nothing differs any more"},
		{0, 2, "2 records with a mark may differ"},
		{1, 2, "1 record of other classes, that no file can have, or that the files have twice, differ"},
	} {
		if got := differStill(c.left, c.marked); got != c.want {
			t.Errorf("%d left, %d marked: %q", c.left, c.marked, got)
		}
	}
}
