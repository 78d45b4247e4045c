package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/apply/plan"
)

// codesOf returns the codes of reasons, in order.
func codesOf(all []plan.Reason) string {
	var out []string
	for _, r := range all {
		out = append(out, string(r.Code))
	}
	return strings.Join(out, " ")
}

// TestListedChanges: of a list each change must be as it was; some may be done by now, and
// what came later does not matter.
func TestListedChanges(t *testing.T) {
	list := func(befores ...string) *plan.Plan {
		p, tally := &plan.Plan{}, plan.NewTally()
		for i, before := range befores {
			if before != "" {
				tally.List(plan.Change{Verb: "retry", Entry: "jobs", Key: []byte{'a' + byte(i)}, Before: before})
			}
		}
		tally.Into(p)
		return p
	}
	was := list("1", "1", "1", "1")
	for name, c := range map[string]struct {
		now  *plan.Plan
		t    plan.Tolerance
		want string
	}{
		"as it was":         {list("1", "1", "1", "1"), plan.Tolerance{}, ""},
		"one changed":       {list("1", "2", "1", "1"), plan.Tolerance{Share: 1, Least: 10}, "other-change"},
		"one gone":          {list("1", "", "1", "1"), plan.Tolerance{Least: 10, Share: 0.1}, "other-change"},
		"one of four":       {list("1", "", "1", "1"), plan.Tolerance{Least: 10, Share: 0.25}, ""},
		"done before":       {list("1", "", "1", "1"), plan.Tolerance{Done: map[string]int64{"jobs": 1}}, ""},
		"maybe done":        {list("1", "", "1", "1"), plan.Tolerance{Maybe: map[string]int64{"jobs": 2}}, ""},
		"maybe and not":     {list("1", "1", "1", "1"), plan.Tolerance{Maybe: map[string]int64{"jobs": 2}}, ""},
		"done and not":      {list("1", "1", "1", "1"), plan.Tolerance{Done: map[string]int64{"jobs": 2}}, "other-counts"},
		"one came later":    {list("1", "1", "1", "1", "1"), plan.Tolerance{Least: 10}, ""},
		"many came later":   {list("1", "1", "1", "1", "1"), plan.Tolerance{}, "other-counts"},
		"more than we name": {list("", "", "", ""), plan.Tolerance{Least: 10, Share: 0.5}, "other-change"},
	} {
		if got := codesOf(was.Drift(c.now, c.t)); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

// TestOtherRing: a plan that seals holds for the key that was active.
func TestOtherRing(t *testing.T) {
	with := func(id string) *plan.Plan {
		return &plan.Plan{Request: plan.Request{Options: map[string]string{plan.ActiveKey: id}}}
	}
	if got := codesOf(with("a").Drift(with("b"), plan.Tolerance{})); got != "other-ring" {
		t.Error(got)
	}
	if got := codesOf(with("a").Drift(with("a"), plan.Tolerance{})); got != "" {
		t.Error(got)
	}
}

// TestTally: the parts add up to the total, and reasons to what is left alone.
func TestTally(t *testing.T) {
	tally := plan.NewTally()
	tally.Change("b", 3, []byte("x"), 1)
	tally.List(plan.Change{Verb: "break", Entry: "a", Key: []byte("y")})
	tally.Leave("b", plan.Left{Code: plan.NotHeld, Keys: 2, Examples: []plan.Example{{Key: []byte("z")}}})
	tally.Leave("c", plan.Left{Code: plan.NotHeld, Keys: 1})
	p := &plan.Plan{}
	tally.Into(p)
	sum := plan.Counts{}
	for _, e := range p.Entries {
		sum.Keys, sum.Change, sum.Leave = sum.Keys+e.Keys, sum.Change+e.Change, sum.Leave+e.Leave
	}
	if sum != p.Total || p.Total.Keys != 7 || p.Total.Change != 4 || p.Total.Leave != 3 {
		t.Errorf("%+v, %+v", sum, p.Total)
	}
	names := []string{p.Entries[0].Entry, p.Entries[1].Entry, p.Entries[2].Entry}
	if !slices.Equal(names, []string{"b", "a", "c"}) || len(p.Changes) != 1 || len(p.Left) != 1 || p.Left[0].Keys != 3 ||
		p.Left[0].What == "" {
		t.Errorf("%v, %v, %v", names, p.Changes, p.Left)
	}
}
