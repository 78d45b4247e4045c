package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/bench/harness/harnesstest"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/wirecount"
)

// Everybody gets through everything.
func TestEverybodyRuns(t *testing.T) {
	harnesstest.Shows(t, benchmark(),
		"-rounds 1 -slice 10ms -shots 1 -clients 2 -waiters 2 -rushes 1 -steady 100ms -local 100", "Uncontended",
		"One-shot: 2 clients × 2 waiters", "Steady", "keywright, fair", "bare rueidis", "redsync", "redislock",
		"rueidislock", "Jain's index", "Local: 100 waiters", "keywright, readers")
}

func TestWrongArguments(t *testing.T) {
	harnesstest.Refuses(t, benchmark, nil)
}

// A lock that lets everybody in is found out.
func TestALockThatIsNoneFailsTheRun(t *testing.T) {
	server, err := live.Start(t.Context(), "redis-server")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	open := contestant{"open door",
		func(context.Context, string, *wirecount.Counter) (client, error) {
			none := func(context.Context) error { return nil }
			return client{func(string) mutex { return mutex{none, none} }, func() {}}, nil
		}}
	f := newField()
	f.server, f.clients, f.waiters, f.hold, f.steady = server, 2, 2, 20*time.Millisecond, 50*time.Millisecond
	const want = "held by two at once"
	if _, err := f.drain(t.Context(), open); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("one-shot: %v", err)
	}
	if _, err := f.rushOnce(t.Context(), open); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("steady: %v", err)
	}
}

// A waiter without a turn is counted, and is no part of the waits.
func TestSum(t *testing.T) {
	released := time.Unix(100, 0)
	at := func(ms int) time.Time { return released.Add(time.Duration(ms) * time.Millisecond) }
	s, err := sum([]turn{
		{from: at(1), to: at(3), held: time.Millisecond, served: true},
		{},
		{from: at(5), to: at(7), held: 2 * time.Millisecond, served: true},
	}, released)
	if err != nil || s.never != 1 || len(s.waits) != 2 || s.drain != 7*time.Millisecond || s.ideal != 3*time.Millisecond {
		t.Errorf("%+v, %v", s, err)
	}
	runs := []shot{s, s, {drain: time.Second, ideal: time.Second, never: 2}}
	if drain, never := shotFigures[0].Value(runs), shotFigures[6].Value(runs); never != 4 || drain != 7 {
		t.Errorf("never served: %v, drain: %v ms", never, drain)
	}
}
