package phase

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// The table is in order, and no step changes more than it may: the side that gets the
// authority was written before.
func TestTable(t *testing.T) {
	t.Parallel()
	for i, r := range All() {
		if int(r.Phase) != i || r.Name == "" {
			t.Errorf("row %d is %v %q", i, r.Phase, r.Name)
		}
		if p, err := Parse(r.Name); err != nil || p != r.Phase {
			t.Errorf("%s: %v %v", r.Name, p, err)
		}
		if r.Authority == r.Also || r.Authority == None || r.Reads == None || r.Compares == r.Reads ||
			r.Authority != r.Reads {
			t.Errorf("%s: %+v", r.Name, r)
		}
		next, ok := r.Phase.Next()
		if !ok {
			continue
		}
		if n := Of(next); n.Authority != r.Authority && (r.Also != n.Authority || n.Also != r.Authority || r.Lags || n.Lags) {
			t.Errorf("%s to %s: the authority moves to a side that is not written at once", r.Name, n.Name)
		}
		if n := Of(next); n.Authority != r.Authority && (!slices.Contains(r.Forward,
			Marks) || !slices.Contains(n.Back, Marks)) {
			t.Errorf("%s to %s: the authority moves and marks are no gate", r.Name, n.Name)
		}
	}
	if _, err := Parse("beta"); err == nil {
		t.Error("beta is a phase")
	}
}

func TestOneStepAtATime(t *testing.T) {
	t.Parallel()
	for from := Off; from <= Complete; from++ {
		for to := Off; to <= Complete+1; to++ {
			s, err := State{Phase: from, Epoch: 4}.Begin(to)
			near := to == from+1 && to <= Complete || from > Off && to == from-1
			if near != (err == nil) || err != nil && !errors.Is(err, ErrStep) {
				t.Errorf("%s to %d: %v", from, to, err)
			}
			if near && s.MayWrite(4) != ErrChanging {
				t.Errorf("%s to %s: a writer may write while the phase is changed", from, to)
			}
		}
	}
}

// Every gate is red once with facts that do not do, and green with facts that do.
func TestGates(t *testing.T) {
	t.Parallel()
	limits := Limits{Compared: 10, For: time.Hour, Backup: 24 * time.Hour}
	good := Facts{Compared: 10, In: time.Hour, Imported: true, Verified: true, RoundTrip: true, Looked: true,
		Backup: time.Hour}
	bad := map[Gate]func(*Facts){
		Marks:     func(f *Facts) { f.Marks = 1 },
		Imported:  func(f *Facts) { f.Imported = false },
		Verified:  func(f *Facts) { f.Verified = false },
		RoundTrip: func(f *Facts) { f.RoundTrip = false },
		Compared:  func(f *Facts) { f.Compared = 9 },
		Unequal:   func(f *Facts) { f.Unequal = 1 },
		For:       func(f *Facts) { f.In = 59 * time.Minute },
		Backup:    func(f *Facts) { f.Backup = -1 },
		Fit:       func(f *Facts) { f.Unfit = []string{"persistence"} },
		Covered:   func(f *Facts) { f.Misshapen = 1 },
	}
	seen := map[Gate]bool{}
	for _, r := range All() {
		for _, way := range []struct {
			gates []Gate
			to    Phase
		}{{r.Forward, r.Phase + 1}, {r.Back, r.Phase - 1}} {
			if closed := Check(r.Phase, way.to, limits, good); len(way.gates) > 0 && len(closed) > 0 {
				t.Errorf("%s to %s: %v", r.Name, way.to, closed)
			}
			for _, g := range way.gates {
				seen[g] = true
				f := good
				bad[g](&f)
				if closed := Check(r.Phase, way.to, limits, f); len(closed) != 1 || closed[0].Gate != g ||
					closed[0].String() == "" {
					t.Errorf("%s to %s with a bad %s: %v", r.Name, way.to, g, closed)
				}
			}
		}
	}
	for _, f := range []Facts{{}, {Looked: true, Unread: 1}} {
		if _, _, ok := checks[Covered](limits, f); ok {
			t.Errorf("covered by %+v", f)
		}
	}
	if len(seen) != len(gateNames) || len(checks) != len(gateNames) {
		t.Errorf("of %d gates %d are used", len(gateNames), len(seen))
	}
}
