package peers

import (
	"context"
	"strings"
	"testing"

	"github.com/keywright/keywright/bench/dataset"
	"github.com/keywright/keywright/bench/live"
)

// Both loops read the same answers of the same commands.
func TestLoopsAgree(t *testing.T) {
	server, err := live.Start(t.Context(), "redis-server")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	const keys = 20_000
	if _, err := dataset.Load(t.Context(), server.Addr, dataset.Options{Keys: keys, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	var sums []int64
	for name, loop := range map[string]func(context.Context, Load) (Tally, error){"rueidis": Rueidis, "floor": Floor} {
		for _, samples := range []int{-1, 5} {
			tally, err := loop(t.Context(), Load{Addr: server.Addr, Count: 100, Memory: true, Samples: samples})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if tally.Keys != keys {
				t.Errorf("%s: %d keys, want %d", name, tally.Keys, keys)
			}
			sums = append(sums, tally.Bytes)
		}
		if _, err := loop(t.Context(), Load{Addr: server.Addr, Count: 100}); err != nil {
			t.Errorf("%s without MEMORY USAGE: %v", name, err)
		}
	}
	for _, sum := range sums {
		if sum != sums[0] || sum == 0 {
			t.Errorf("sums of MEMORY USAGE differ: %v", sums)
		}
	}
	tally, err := Floor(t.Context(), Load{Addr: server.Addr, Count: 100, Memory: true, Samples: 5, Values: true})
	if err != nil || tally.Keys != keys || tally.Values != keys || tally.Bytes != sums[0] {
		t.Errorf("with values: %+v, %v", tally, err)
	}
	calls, err := server.Calls()
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]int64{"type": 7 * keys, "pttl": 7 * keys, "memory|usage": 5 * keys} {
		if calls[command] != want {
			t.Errorf("%s was called %d times, want %d", command, calls[command], want)
		}
	}
	read := int64(0)
	for _, command := range values {
		read += calls[strings.ToLower(command[0])]
	}
	if read != keys {
		t.Errorf("%d values were read of %d", read, keys)
	}
}
