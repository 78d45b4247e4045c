package lock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/mutation"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// pair returns two clients of one server, as two processes are, and one lock of each.
func pair(t *testing.T, o lock.Options) (s *keywrighttest.Server, a, b lock.Lock) {
	s = keywrighttest.Start(t, keywrighttest.Redis)
	o2 := keywright.Options{NoCache: true} // a holder learns nothing by itself
	return s, lock.Open(open(t, s.URL(), o2), "lock:a", o), lock.Open(open(t, s.URL(), o2), "lock:a", o)
}

// overlap returns the history of two holders of whom the first has been looked at when
// the second had the lock.
func overlap(first, second *lock.Lease) []string {
	began := time.Now()
	now := time.Now()
	for !now.After(began) {
		now = time.Now()
	}
	h := &history{holds: []hold{{fence: first.Fence(), began: began.Add(-1)}, {fence: second.Fence(), began: began}}}
	if first.Context().Err() == nil {
		h.holds[0].aliveUntil = now
	}
	return violations(h, nil)
}

// heldIsTaken tries to take a lock that someone holds.
func heldIsTaken(t *testing.T) []string {
	_, a, b := pair(t, lock.Options{})
	first := take(t, t.Context(), a)
	second, err := b.Try(t.Context())
	if errors.Is(err, lock.ErrHeld) {
		return nil
	}
	must(t, err)
	return overlap(first, second)
}

// frozenIsAlive takes the lock of a holder that nothing reaches any more when its
// lease is over.
func frozenIsAlive(t *testing.T) []string {
	s, _, near := pair(t, lock.Options{Lease: 300 * time.Millisecond})
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
	far := lock.Open(open(t, "redis://"+p.Addr(), keywright.Options{NoCache: true}), "lock:a",
		lock.Options{Lease: 300 * time.Millisecond})
	first := take(t, t.Context(), far)
	p.Freeze()
	defer p.Thaw()
	return overlap(first, take(t, t.Context(), near))
}

// oldIsWritten lets a holder write whose lock another one has had since.
func oldIsWritten(t *testing.T) []string {
	s, a, b := pair(t, lock.Options{})
	c := open(t, s.URL(), keywright.Options{})
	first := take(t, t.Context(), a)
	must(t, first.Release(t.Context()))
	second := take(t, t.Context(), b)
	for _, lease := range []*lock.Lease{second, first} {
		if _, err := lock.NewGate(c, "ledger", 0).Do(t.Context(), lease.Fence(), "RPUSH",
			fmt.Sprint(lease.Fence())); err != nil && !errors.Is(err, lock.ErrStale) {
			t.Error(err)
		}
	}
	return violations(&history{}, protectedWrites(t, s))
}

// brokenIsRenewed renews a lock that was broken and that another has.
func brokenIsRenewed(t *testing.T) (wrong []string) {
	_, a, b := pair(t, lock.Options{})
	lease := take(t, t.Context(), a)
	broken, err := a.Break(t.Context(), lease.Token())
	must(t, err)
	other := take(t, t.Context(), b)
	if err := lease.Renew(t.Context()); !broken || !errors.Is(err, lock.ErrLost) || lease.Context().Err() == nil {
		wrong = append(wrong, fmt.Sprintf("broken: %t, renewed: %v", broken, err))
	}
	must(t, other.Release(t.Context()))
	return wrong
}

// othersIsReleased releases a lock that another has taken.
func othersIsReleased(o lock.Options) func(t *testing.T) []string {
	return func(t *testing.T) (wrong []string) {
		s, a, _ := pair(t, o)
		lease := take(t, t.Context(), a)
		s.Do("SET", "lock:a", "somebody else's", "PX", "100000")
		if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrLost) || s.Do("GET", "lock:a") != "somebody else's" {
			wrong = append(wrong, fmt.Sprintf("released: %v", err))
		}
		return wrong
	}
}

// readerIsFirst releases a lock that another caller of the process waits for, after a
// reader of another one: the reader is served.
func readerIsFirst(t *testing.T) (wrong []string) {
	s, a, _ := pair(t, lock.Options{})
	lease := take(t, t.Context(), a)
	ctx, leave := context.WithCancel(t.Context())
	next := make(chan error, 1)
	go func() { _, err := a.Acquire(ctx); next <- err }()
	lock.AwaitLine(t, a, 1, false)
	s.Do("ZADD", "{lock:a}:waiters", "1", "s60000 far/1")
	must(t, lease.Release(t.Context()))
	if s.Do("ZSCORE", "{lock:a}:shared", "far/1") == nil {
		wrong = append(wrong,
			fmt.Sprintf("the reader is not served; there wait %v", s.Do("ZRANGE", "{lock:a}:waiters", "0", "-1")))
	}
	leave()
	<-next
	return wrong
}

// programs lists the guards of the program, as those are of the scripts.
var programs = map[string]func(*testing.T){
	"holders trust a lease for longer than it lasts": lock.MutateMargin,
	"a strict lock is handed on unconfirmed":         lock.MutateAsk,
	"a claim is all that is not renewed":             lock.MutateAsk,
	"a late renewal revives a lease":                 lock.MutateLate,
	"a message says how long the claim is":           lock.MutateForeign,
}

// TestMutations: each suite is green, and red with the guard taken out. A suite
// that stays green without a guard does not guard it; one that needs luck to turn
// red does not either.
func TestMutations(t *testing.T) {
	for name, m := range map[string]struct {
		suite  func(*testing.T) []string
		guards []string // none: the one of the program, below
	}{
		"the owner is not asked at the release": {othersIsReleased(lock.Options{Announce: true}),
			[]string{"if holder == token then held = 1 end", "held = 1", "texts[1] == token", "texts[1]"}},
		"the owner is not asked, nobody waits": {othersIsReleased(lock.Options{}),
			[]string{"token == ARGV[i + 1] and 1", "token and 1"}},
		"the owner is not asked at the renewal": {brokenIsRenewed,
			[]string{"if read('GET', hold) ~= token then return {0, 0, 0, 0} end", ""}},
		"a held lock is taken": {heldIsTaken, []string{"if holder and holder ~= token then", "if false then"}},
		"a held lock is taken, the short way": {heldIsTaken,
			[]string{"call('EXISTS', KEYS[k - 3], KEYS[k - 1], KEYS[k]) == 0", "true", "'NX', 'PX'", "'PX'"}},
		"tokens do not grow": {clockIsBehind,
			[]string{"return math.max(last + 1, micros)", "return micros"}},
		"the gate lets old tokens in": {oldIsWritten, []string{"if tonumber(ARGV[1]) < seen then", "if false then"}},
		"waiters are not looked for, the short way": {overtaken,
			[]string{"KEYS[k - 3], KEYS[k - 1], KEYS[k]) == 0", "KEYS[k - 3], KEYS[k]) == 0"}},
		"readers are not looked for, the short way": {overtaken,
			[]string{"KEYS[k - 3], KEYS[k - 1], KEYS[k]) == 0", "KEYS[k - 3], KEYS[k - 1]) == 0"}},
		"a full server keeps the leases of readers": {fullMemory,
			[]string{"  redis.call('PEXPIRE', hold, math.max(tonumber(ARGV[4]), tonumber(lease), " +
				"redis.call('PTTL', hold)))\n", ""}},
		"a full server hands no lock on to its process": {fullMemory,
			[]string{"-- First what needs no memory.\n", "if next ~= '' then join(next, micros) end\n"}},
		"a fence of another form is written over": {strangeKeys,
			[]string{"string.find(text, '^%d+$') and tonumber(text)", "(tonumber(text) or 0)"}},
		"a place of a newer form at the end shows late": {newerLast,
			[]string{"if next ~= '' or mode == 'fast' then last_waiter() end", ""}},
		"a place of a newer form is taken for ours": {newerForm,
			[]string{"if member and not place_of(member) then", "if false then"}},
		"a reader at the head is handed the lock alone": {readerIsFirst,
			[]string{"if not string.find(member, '^x[1-9]%d?%d?%d?%d?%d?%d?%d?%d?%d?%d? .') then -- a reader",
				"if false then -- a reader"}},
		"a reader at the head loses its place": {readerIsFirst,
			[]string{"        redis.call('ZADD', KEYS[3], head[2], member)\n", ""}},
		"the place beside a reader is taken twice": {readerIsFirst,
			[]string{"        redis.call('ZREM', KEYS[3], next)\n        return {2, 0, 0, 0}", "        return {1, 0, 0, 0}"}},
		"holders trust a lease for longer than it lasts": {frozenIsAlive, nil},
		"a strict lock is handed on unconfirmed":         {unconfirmedIsHeld, nil},
		"a claim is all that is not renewed":             {claimIsAll, nil},
		"a late renewal revives a lease":                 {revived, nil},
		"a message says how long the claim is":           {forged, nil},
	} {
		t.Run(name+", with the guard", func(t *testing.T) {
			t.Parallel() // when all that is mutated below is whole again
			if wrong := m.suite(t); len(wrong) > 0 {
				t.Error(wrong)
			}
		})
		if !mutation.All() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if m.guards == nil {
				programs[name](t)
			} else {
				lock.Mutate(t, m.guards...)
			}
			wrong := m.suite(t)
			if len(wrong) == 0 {
				t.Error("the suite stays green without this guard")
			}
			t.Log(wrong)
		})
	}
}
