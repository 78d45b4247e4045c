package entity

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

type seeded struct{ *rand.Rand }

func (s seeded) below(n int) int { return s.IntN(n) }

// harm represents a world with faults.
type harm struct {
	*world
	t       *testing.T
	server  *keywrighttest.Server
	proxy   *keywrighttest.Proxy
	whole   *Store[string, note] // of a user who may do everything, through the proxy
	lacking []*Store[string, note]
	losing  bool
	until   int // the step at which the server has memory again
}

// TestFaults: whatever goes wrong, what is stored is one of the possibilities that
// a plain model keeps, and items, indexes and events agree. KEYWRIGHT_SOAK is how
// many operations; `make soak` has 100,000.
func TestFaults(t *testing.T) {
	t.Parallel()
	steps, seed := gate.Count(t, "KEYWRIGHT_SOAK", 250, 1500), gate.Seed(t)
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			h := newHarm(t, brand, seed, brand == keywrighttest.Redis == (seed%2 == 0))
			for i := range steps {
				h.hurt(i)
				h.Step()
				h.heal(i)
				if i%250 == 249 || i == steps-1 {
					h.compare()
				}
			}
			h.cleanUp()
			t.Logf("%d operations, %d of them with an unknown outcome", steps, h.unknown)
		})
	}
}

func newHarm(t *testing.T, brand keywrighttest.Brand, seed uint64, tells bool) *harm {
	s := keywrighttest.Start(t, brand, keywrighttest.Config("appendonly", "yes"),
		keywrighttest.Config("appendfsync", "always"))
	h := &harm{t: t, server: s, proxy: keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})}
	through := "redis://" + h.proxy.Addr()
	h.world = newWorld(t, seeded{rand.New(rand.NewPCG(seed, 1))}, s, open(t, through), "s", tells)
	h.whole, h.faulty = h.notes, true
	h.direct = storeOf(open(t, s.URL()), h.notes.typed)
	h.users()
	for i := range denied {
		h.lacking = append(h.lacking,
			storeOf(open(t, strings.Replace(through, "//", fmt.Sprintf("//app%d:pw@", i), 1)), h.notes.typed))
	}
	h.settle = func() { s.Do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes") }
	return h
}

// hurt begins a fault now and then.
func (h *harm) hurt(step int) {
	switch h.below(60) {
	case 0, 1, 2, 3, 4:
		h.proxy.LoseReplyTo([]string{h.prefix + ":ledger", h.prefix + ":item:"}[h.below(2)])
		h.losing = true
	case 5:
		go h.proxy.Cut()
	case 6:
		h.server.Do("SCRIPT", "FLUSH")
	case 7:
		h.server.Do("CONFIG", "SET", "maxmemory", "1000")
		h.until = step + h.below(10)
	case 8, 9:
		h.notes = h.lacking[h.below(len(h.lacking))]
	case 10:
		if h.below(8) == 0 {
			h.kill()
		}
	}
}

// kill ends the server in the middle of a write.
func (h *harm) kill() {
	h.t.Helper()
	h.Write("0", change{what: "put", next: a("fact", 1)}, func() (int64, error) {
		type result struct {
			item Item[string, note]
			err  error
		}
		out := make(chan result, 1)
		go func() {
			item, err := h.whole.Put(h.ctx, "0", a("fact", 1))
			out <- result{item, err}
		}()
		h.server.Kill()
		h.server.Restart()
		h.users()
		r := <-out
		return r.item.Version, r.err
	})
}

var denied = []string{"-pexpire", "-zadd", "-hset", "-evalsha"}

// users are those who may not do everything.
func (h *harm) users() {
	for i, rule := range denied {
		h.server.Do("ACL", "SETUSER", fmt.Sprint("app", i), "reset", "on", ">pw", "~*", "&*", "+@all", rule)
	}
}

func (h *harm) heal(step int) {
	if h.losing && !h.proxy.Lost() {
		h.proxy.LoseReplyTo("nobody says this")
	}
	h.losing = false
	h.notes = h.whole
	if step >= h.until {
		h.server.Do("CONFIG", "SET", "maxmemory", "0")
	}
}

func (h *harm) compare() {
	h.t.Helper()
	h.server.Do("CONFIG", "SET", "maxmemory", "0")
	if _, err := h.direct.Check(h.ctx, CheckOptions{Apply: true, Rate: 1 << 30, Found: func(p Problem) {
		if p.What != "expiry" { // a touch that was refused half way
			h.t.Errorf("%+v", p)
		}
	}}); err != nil {
		h.t.Fatal(err)
	}
	h.swept() // a command of a connection that was cut may have come late
	h.Agree()
	h.announcing(nil)
	if h.t.Failed() {
		h.t.FailNow()
	}
	_, _ = h.server.Try("BGREWRITEAOF") // else a restart takes longer and longer
}
