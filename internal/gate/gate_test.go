package gate_test

import (
	"flag"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/keywright/keywright/internal/gate"
)

// TestTheGateIsCertain: in the gate a test of one name has one seed and one brand, and tests of many names have all.
func TestTheGateIsCertain(t *testing.T) {
	t.Setenv("ALL_TESTS", "")
	t.Setenv("KEYWRIGHT_SOAK", "")
	t.Setenv("KEYWRIGHT_TEST_SEED", "")
	all := []string{"redis", "valkey"}
	met := map[string]bool{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		t.Run(name, func(t *testing.T) {
			picked := gate.Pick(t, all)
			if len(picked) != 1 || !slices.Equal(picked, gate.Pick(t, all)) {
				t.Fatal(picked)
			}
			met[picked[0]] = true
			first, second := gate.Rand(t), gate.Rand(t)
			if first.Uint64() != second.Uint64() {
				t.Error("two seeds")
			}
		})
	}
	if len(met) != len(all) {
		t.Errorf("only %v are ever tested", met)
	}
}

// TestAllIsNew: `make test-all` has all brands and new seeds, unless the seed is given.
func TestAllIsNew(t *testing.T) {
	t.Setenv("ALL_TESTS", "1")
	t.Setenv("KEYWRIGHT_TEST_SEED", "")
	all := []string{"redis", "valkey"}
	if got := gate.Pick(t, all); !slices.Equal(got, all) {
		t.Error(got)
	}
	if first, second := gate.Seed(t), gate.Seed(t); first == second {
		t.Error("the seed is not new")
	}
	t.Setenv("KEYWRIGHT_TEST_SEED", "7")
	if got := gate.Seed(t); got != 7 {
		t.Error(got)
	}
}

// TestCount: a variable says more than the gate does.
func TestCount(t *testing.T) {
	const variable = "KEYWRIGHT_KILLS"
	t.Setenv("ALL_TESTS", "")
	t.Setenv("KEYWRIGHT_SOAK", "")
	for _, c := range []struct {
		all, number string
		want        int
	}{{"", "", 1}, {"1", "", 10}, {"", "5", 5}, {"1", "5", 5}} {
		t.Setenv("ALL_TESTS", c.all)
		t.Setenv(variable, c.number)
		if got := gate.Count(t, variable, 1, 10); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// TestSkip: the gate goes without what says so, and nothing else does.
func TestSkip(t *testing.T) {
	t.Setenv("KEYWRIGHT_SOAK", "")
	for all, want := range map[string]bool{"": true, "1": false} {
		t.Setenv("ALL_TESTS", all)
		skipped := true
		t.Run("skip", func(t *testing.T) {
			gate.Skip(t, "it is slow")
			skipped = false
		})
		if skipped != want {
			t.Errorf("ALL_TESTS=%s: skipped %v", all, skipped)
		}
	}
}

// TestFixed: in the gate a property has the same cases in every run.
func TestFixed(t *testing.T) {
	t.Setenv("ALL_TESTS", "")
	t.Setenv("KEYWRIGHT_SOAK", "")
	var runs [2][]uint64
	for i := range runs {
		rapid.Check(gate.Fixed(t), func(t *rapid.T) { runs[i] = append(runs[i], rapid.Uint64().Draw(t, "n")) })
	}
	if len(runs[0]) == 0 || !slices.Equal(runs[0], runs[1]) {
		t.Errorf("%d and %d cases, not the same", len(runs[0]), len(runs[1]))
	}
	if flag.Lookup("rapid.seed") == nil {
		t.Error("rapid has no seed")
	}
}
