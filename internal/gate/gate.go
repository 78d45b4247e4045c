// Package gate says how much a test does. The gate (.ci/run) runs the certain part of the tests: each does the same in
// every run, and all of them together take minutes. `make test-all` (ALL_TESTS=1) and `make soak` run the rest too,
// on all brands of servers, with seeds that are new in every run.
//
// It is for tests of this project, runs nothing itself, and imports nothing of the project, so that every package can
// use it.
package gate

import (
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
)

// All reports whether all of the tests run, not the gate alone.
func All() bool { return os.Getenv("ALL_TESTS") != "" || os.Getenv("KEYWRIGHT_SOAK") != "" }

// Skip ends a test that the gate goes without. The reason says what makes the test slow, or what it measures.
func Skip(t testing.TB, reason string) {
	t.Helper()
	if !All() {
		t.Skip("not in the gate; make test-all runs it: " + reason)
	}
}

// Seed returns the seed of a test: that of the variable KEYWRIGHT_TEST_SEED, else in the gate one that follows from the
// test's name, else a new one. The test's log has it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := hash(t.Name())
	if text := os.Getenv("KEYWRIGHT_TEST_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("KEYWRIGHT_TEST_SEED: %v", err)
		}
		seed = n
	} else if All() {
		seed = rand.Uint64()
	}
	t.Logf("KEYWRIGHT_TEST_SEED=%d", seed)
	return seed
}

// Rand returns random numbers from the seed of a test. Each goroutine needs its own.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := Seed(t)
	return rand.New(rand.NewPCG(seed, seed))
}

// Pick returns what a test runs with, such as the brands of servers: in the gate one of the list, which follows from the
// test's name, else all of it.
func Pick[T any](t testing.TB, list []T) []T {
	if All() {
		return list
	}
	return list[hash(t.Name())%uint64(len(list)):][:1]
}

// Count returns how often a test does something: as the variable says, else rest in `make test-all` and few in the gate.
func Count(t testing.TB, variable string, few, rest int) int {
	t.Helper()
	if text := os.Getenv(variable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s: %v", variable, err)
		}
		return n
	}
	if All() {
		return rest
	}
	return few
}

// Fixed returns t for rapid.Check, which in the gate then checks few cases that are the same in every run, unless the
// flags -rapid.seed and -rapid.checks say otherwise.
func Fixed(t *testing.T) *testing.T {
	t.Helper()
	if err := fix(); err != nil {
		t.Fatal(err)
	}
	return t
}

// fix sets the flags of rapid that were not given, once: tests that run in parallel read them.
var fix = sync.OnceValue(func() error {
	if All() {
		return nil
	}
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]string{"rapid.seed": "1", "rapid.checks": "30", "rapid.nofailfile": "true"} {
		if !given[name] {
			if err := flag.Set(name, value); err != nil {
				return err
			}
		}
	}
	return nil
})

// hash returns a number that follows from a text.
func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // it never fails
	return h.Sum64()
}
