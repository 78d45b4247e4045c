package limit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"go.uber.org/goleak"
)

// rueidis waits up to a second, after Close too, before it asks a cluster for its slots again.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"))
}

func expires(d time.Duration) *keywright.Entry {
	return &keywright.Entry{Name: "api_rate", Pattern: "rate:{ip}", Type: "string",
		TTL: keywright.TTL{Policy: keywright.Expires, Default: d, Min: d, Max: d, Text: d.String()}}
}

var (
	open   = servertest.Open
	brands = servertest.Clients
)

const serverTime = "redis.call('TIME')"

// history represents a limiter whose script takes its time from the test, and what has
// passed so far.
type history struct {
	ctx     context.Context
	s       *keywrighttest.Server
	limiter Limiter
	script  *keywright.Script
	rule    Rule
	now     int64 // us
	passes  []pass
}

type pass struct{ at, n int64 }

// begin makes a history on a new key. edit changes the script's text, to take a
// guard out.
func begin(t *testing.T, s *keywrighttest.Server, c *keywright.Client, r Rule, text string) *history {
	t.Helper()
	s.Do("DEL", "rate:x")
	text = strings.ReplaceAll(text, serverTime, "{ARGV[#ARGV - 1], ARGV[#ARGV]}") + "\n-- takes two more"
	l := New(keywright.Binding{Client: c, Entry: expires(3 * time.Hour)}, r)
	return &history{t.Context(), s, l.Of("rate:x", nil), keywright.NewScript("virtual", text), r,
		1_795_000_000_000_000, nil}
}

func (h *history) ask(n int64) (Result, error) {
	args := append([]string{strconv.FormatInt(n, 10)}, h.limiter.limits.args...)
	args = append(args, strconv.FormatInt(h.now/1e6, 10), strconv.FormatInt(h.now%1e6, 10))
	r, err := h.limiter.op("virtual", keywright.Writes, h.script, args, nil).Do(h.ctx)
	if err == nil && r.Allowed && n > 0 {
		h.passes = append(h.passes, pass{h.now, n})
	}
	return r, err
}

// span says how many may pass in a span of so many us.
type span func(us int64) int64

// check reports whether some span of what has passed holds more than allowed.
func (h *history) check(most span) error {
	for i := range h.passes {
		sum := int64(0)
		for _, p := range h.passes[i:] {
			sum += p.n
			if us := p.at - h.passes[i].at; sum > most(us) {
				return fmt.Errorf("%d passed within %d us, at most %d may", sum, us, most(us))
			}
		}
	}
	return nil
}

// walk asks at random moments for random numbers, and holds every answer against
// the promises.
func (h *history) walk(rnd *rand.Rand, steps int, per int64, most span) error {
	for range steps {
		switch rnd.IntN(6) {
		case 0:
		case 1:
			h.now += rnd.Int64N(2 * per)
		default:
			h.now += rnd.Int64N(per / 20)
		}
		if err := h.step(1 + rnd.Int64N(h.rule.limit)); err != nil {
			return err
		}
	}
	return h.check(most)
}

func (h *history) step(n int64) error {
	seen, err := h.ask(0)
	if err != nil {
		return err
	}
	got, err := h.ask(n)
	if err != nil {
		return err
	}
	switch {
	case got.Allowed != (seen.Remaining >= n):
		return fmt.Errorf("%d asked for with %d remaining: allowed is %v", n, seen.Remaining, got.Allowed)
	case got.Allowed && (got.Remaining != seen.Remaining-n || got.RetryAfter != 0):
		return fmt.Errorf("%d of %d passed, and %+v is said", n, seen.Remaining, got)
	case got.Allowed:
		return h.living()
	case got.RetryAfter <= 0 || got.RetryAfter > got.ResetAfter:
		return fmt.Errorf("refused, and %+v is said", got)
	}
	return h.wait(n, got.RetryAfter.Microseconds())
}

// wait holds RetryAfter to its word: a microsecond before it is too early.
func (h *history) wait(n, us int64) error {
	h.now += us - 1
	if early, err := h.ask(n); err != nil || early.Allowed {
		return fmt.Errorf("allowed a microsecond before RetryAfter: %+v, %v", early, err)
	}
	h.now++
	if late, err := h.ask(n); err != nil || !late.Allowed {
		return fmt.Errorf("refused after RetryAfter: %+v, %v", late, err)
	}
	return nil
}

// living reports whether the key has a TTL within the declared bound.
func (h *history) living() error {
	if ms := h.s.Do("PTTL", "rate:x").(int64); ms < 1 || ms > h.limiter.limits.bound.Entry.TTL.Max.Milliseconds() {
		return fmt.Errorf("the key has a TTL of %d ms", ms)
	}
	return nil
}

const minute = int64(60_000_000)

// promises returns what each rule promises of any span.
func promises() map[string]struct {
	rule Rule
	text string
	most span
} {
	const each = (minute + 6) / 7
	return map[string]struct {
		rule Rule
		text string
		most span
	}{
		"gcra": {GCRA(7, time.Minute, 5), parts.Script("gcra"), func(us int64) int64 { return 5 + us/each }},
		"sliding": {Sliding(10, time.Minute), parts.Script("sliding"), func(us int64) int64 {
			return 10 * (1 + us/(minute+1)*2) // one window of any place, and two more for each that a span is longer
		}},
		"sliding odd": {Sliding(10, time.Minute-7*time.Microsecond), parts.Script("sliding"), func(us int64) int64 {
			return 10 * (1 + us/(minute-6)*2)
		}},
	}
}

func TestNoSpanHoldsMoreThanPromised(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		for name, p := range promises() {
			if strings.Count(p.text, serverTime) != 1 {
				t.Errorf("%s does not take its time from the server once", name)
			}
			for seed := range uint64(12) {
				h := begin(t, s, c, p.rule, p.text)
				if err := h.walk(rand.New(rand.NewPCG(seed, 1)), 60, minute, p.most); err != nil {
					t.Fatalf("%s, seed %d: %v", name, seed, err)
				}
				if len(h.passes) < 20 {
					t.Errorf("%s, seed %d: only %d passed", name, seed, len(h.passes))
				}
			}
		}
	})
}

// TestSlidingIsAlmostExact: it refuses only what the window and two of its
// buckets would be too full with.
func TestSlidingIsAlmostExact(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		h := begin(t, s, c, Sliding(10, time.Minute), parts.Script("sliding"))
		rnd := rand.New(rand.NewPCG(1, 2))
		for range 400 {
			h.now += rnd.Int64N(minute / 8)
			n, before := 1+rnd.Int64N(4), len(h.passes)
			if _, err := h.ask(n); err != nil {
				t.Fatal(err)
			}
			sum := int64(0)
			for _, p := range h.passes {
				if p.at > h.now-minute*61/60 {
					sum += p.n
				}
			}
			if len(h.passes) == before && sum+n <= 10 {
				t.Fatalf("%d refused although only %d passed within a window and a bucket", n, sum)
			}
		}
	})
}

// TestGuardsMatter takes one guard after another out of the scripts: the checks
// above must notice.
func TestGuardsMatter(t *testing.T) {
	t.Parallel()
	mutations := []struct{ rule, what, old, new string }{
		{"gcra", "the TTL", ", 'PX', ttl", ""},
		{"gcra", "the bound of the burst", "local over = after - most", "local over = after - most - each"},
		{"gcra", "the past is no credit", "if ahead < 0 then ahead = 0 end", ""},
		{"gcra", "what passed is written", "string.format('%.0f', now + ahead)", "string.format('%.0f', now)"},
		{"sliding", "the TTL", ", 'PX', ttl)", ")"},
		{"sliding", "a bucket in part counts whole", "local buckets, key = 61", "local buckets, key = 60"},
		{"sliding", "the limit", "fits = total + want <= limit", "fits = total <= limit"},
		{"sliding", "the limit within a bucket", "not behind and total + want <= limit", "not behind and total <= limit"},
		{"sliding", "the shift of the ring", "newest - base\n", "newest - base + 1\n"},
		{"sliding", "the sum within a bucket", "total, first + n))", "total - n, first + n))"},
		{"sliding", "the count within a bucket", "total, first + n))", "total, first))"},
	}
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{})
	for _, m := range mutations {
		p := promises()[m.rule]
		if strings.Count(p.text, m.old) != 1 {
			t.Errorf("%s: %q is not once in the script", m.rule, m.old)
			continue
		}
		text := strings.Replace(p.text, m.old, m.new, 1)
		if red(t, s, c, p.rule, text, p.most) == nil {
			t.Errorf("%s without %s: nothing notices", m.rule, m.what)
		}
	}
}

func red(t *testing.T, s *keywrighttest.Server, c *keywright.Client, r Rule, text string, most span) error {
	for seed := range uint64(12) {
		if err := begin(t, s, c, r, text).walk(rand.New(rand.NewPCG(seed, 1)), 60, minute, most); err != nil {
			return err
		}
	}
	return nil
}

// fixedKeeps returns what Fixed promises of one window.
func fixedKeeps(h *history) error {
	for _, want := range []bool{true, true, false} {
		got, err := h.ask(1)
		if err != nil || got.Allowed != want {
			return fmt.Errorf("%+v, %v", got, err)
		}
		if err := h.living(); err != nil {
			return err
		}
	}
	return nil
}

func TestFixedGuardsMatter(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{})
	rule := Fixed(2, time.Hour)
	if err := fixedKeeps(begin(t, s, c, rule, parts.Script("fixed"))); err != nil {
		t.Fatal(err)
	}
	for what, edit := range map[string][2]string{
		"the TTL":   {"redis.call('PEXPIRE', KEYS[1], math.max(tonumber(ARGV[3]) - 1, 1))", ""},
		"the limit": {"roomHigh == nHigh and roomLow >= nLow", "true"},
		"the count": {"redis.call('INCRBY', KEYS[1], ARGV[1])", ""},
	} {
		if strings.Count(parts.Script("fixed"), edit[0]) != 1 {
			t.Errorf("%q is not once in the script", edit[0])
		}
		if fixedKeeps(begin(t, s, c, rule, strings.Replace(parts.Script("fixed"), edit[0], edit[1], 1))) == nil {
			t.Errorf("without %s: nothing notices", what)
		}
	}
}

// TestClientClocksWouldBreakIt: a script that takes its time from the caller lets
// callers whose clocks differ pass too often. This is why it asks the server.
func TestClientClocksWouldBreakIt(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	h := begin(t, s, open(t, s.URL(), keywright.Options{}), GCRA(10, time.Minute, 10), parts.Script("gcra"))
	real, passed := h.now, 0
	for i := range 40 { // two callers at one moment, one of them two minutes ahead
		h.now = real + int64(i%2)*2*minute
		if r, err := h.ask(1); err != nil {
			t.Fatal(err)
		} else if r.Allowed {
			passed++
		}
	}
	if passed <= 10 {
		t.Errorf("%d passed; the fault that this test shows is gone", passed)
	}
}

// wentBack returns what happens when the clock is put back, or after a failover to a
// machine whose clock is late: a limit that is used up stays so, and recovers
// within a window.
func wentBack(h *history, back time.Duration) error {
	const most = time.Minute + 2*time.Second
	if _, err := h.ask(6); err != nil {
		return err
	}
	h.now -= back.Microseconds()
	for _, n := range []int64{0, 5} { // to look changes nothing
		if r, err := h.ask(n); err != nil || n > 0 && r.Allowed || r.ResetAfter > most {
			return fmt.Errorf("%+v, %v", r, err)
		}
	}
	h.now += most.Microseconds()
	if r, err := h.ask(5); err != nil || !r.Allowed {
		return fmt.Errorf("not recovered: %+v, %v", r, err)
	}
	return h.living()
}

func TestClockThatWentBack(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{})
	for _, x := range []struct {
		rule        Rule
		text, guard string
	}{
		{GCRA(10, time.Minute, 10), parts.Script("gcra"), "if back then ahead = most end"},
		{GCRA(10, time.Minute, 10), parts.Script("gcra"), " or back"},
		{Sliding(10, time.Minute), parts.Script("sliding"), "if behind then base = newest end"},
		{Sliding(10, time.Minute), parts.Script("sliding"), " or behind"},
	} {
		for _, back := range []time.Duration{2 * time.Minute, time.Hour} {
			if err := wentBack(begin(t, s, c, x.rule, x.text), back); err != nil {
				t.Errorf("%s: %v", x.rule.algorithm.name, err)
			}
			mutant := strings.Replace(x.text, x.guard, "", 1)
			if mutant == x.text || wentBack(begin(t, s, c, x.rule, mutant), back) == nil {
				t.Errorf("%s without %q: nothing notices", x.rule.algorithm.name, x.guard)
			}
		}
	}
}

// TestFixedWhenTheClockGoesBack: its window is a TTL, which would last longer by
// as much.
func TestFixedWhenTheClockGoesBack(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey, keywrighttest.MovableClock())
	c := open(t, s.URL(), keywright.Options{})
	for guard, right := range map[string]bool{"": true, " or left > tonumber(ARGV[3])": false} {
		s.MoveClock(0)
		h := begin(t, s, c, Fixed(2, time.Minute), strings.Replace(parts.Script("fixed"), guard, "", 1))
		if _, err := h.ask(2); err != nil {
			t.Fatal(err)
		}
		s.MoveClock(-time.Hour)
		r, err := h.ask(1)
		if err != nil || r.Allowed || (r.RetryAfter <= time.Minute) != right {
			t.Errorf("without %q: %+v, %v", guard, r, err)
		}
	}
}

// TestFixedLetsTwiceTheLimitThrough is its known fault (R1), and that Sliding
// does not have it.
func TestFixedLetsTwiceTheLimitThrough(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		l := New(keywright.Binding{Client: c, Entry: expires(time.Hour)}, Fixed(100, time.Hour)).Of("rate:f", nil)
		passed := 0
		for range 2 {
			for range 150 {
				if r, err := l.Allow(t.Context()); err != nil {
					t.Fatal(err)
				} else if r.Allowed {
					passed++
				} else if r.RetryAfter <= 0 || r.RetryAfter != r.ResetAfter || r.Remaining != 0 {
					t.Fatalf("%+v", r)
				}
			}
			if ms := s.Do("PTTL", "rate:f").(int64); ms < 1 || ms > 3_600_000 {
				t.Errorf("TTL %d ms", ms)
			}
			s.Do("DEL", "rate:f") // the window ends: its key expires
		}
		if passed != 200 {
			t.Errorf("%d passed around the edge of a window", passed)
		}
		h := begin(t, s, c, Sliding(100, time.Hour), parts.Script("sliding"))
		h.now = h.now/(3600*1e6)*(3600*1e6) - 1 // the last moment of a clock hour
		for range 300 {
			if _, err := h.ask(1); err != nil {
				t.Fatal(err)
			}
			h.now += 1000
		}
		if len(h.passes) != 100 {
			t.Errorf("sliding: %d passed", len(h.passes))
		}
	})
}

func TestFixedGivesAPermanentKeyItsTTL(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		l := New(keywright.Binding{Client: c, Entry: expires(time.Hour)}, Fixed(2, time.Hour)).Of("rate:p", nil)
		s.Do("SET", "rate:p", "2")
		if r, err := l.Allow(t.Context()); err != nil || r.Allowed || r.RetryAfter != time.Hour {
			t.Errorf("%+v, %v", r, err)
		}
		if ms := s.Do("PTTL", "rate:p").(int64); ms < 1 {
			t.Errorf("TTL %d ms", ms)
		}
	})
}

// TestManyClients: goroutines of several clients get exactly the limit.
func TestManyClients(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		clients := []*keywright.Client{c, open(t, s.URL(), keywright.Options{})}
		for name, r := range map[string]Rule{"gcra": GCRA(100, 3*time.Hour, 100), "sliding": Sliding(100, 2*time.Hour),
			"fixed": Fixed(100, time.Hour)} {
			var passed atomic.Int64
			var workers sync.WaitGroup
			for i := range 16 {
				l := New(keywright.Binding{Client: clients[i%2], Entry: expires(3 * time.Hour)}, r).Of("rate:"+name, nil)
				workers.Go(func() {
					for range 10 {
						if r, err := l.Allow(t.Context()); err != nil {
							t.Error(err)
						} else if r.Allowed {
							passed.Add(1)
						}
					}
				})
			}
			workers.Wait()
			if passed.Load() != 100 {
				t.Errorf("%s: %d passed", name, passed.Load())
			}
		}
	})
}

func TestPeekAndReset(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		for name, r := range map[string]Rule{"gcra": GCRA(5, 3*time.Hour, 0), "sliding": Sliding(5, 2*time.Hour),
			"fixed": Fixed(5, time.Hour)} {
			l := New(keywright.Binding{Client: c, Entry: expires(3 * time.Hour)}, r).Of("rate:"+name, nil)
			must := func(what string, r Result, err error, allowed bool, remaining int64) {
				t.Helper()
				if err != nil || r.Allowed != allowed || r.Remaining != remaining {
					t.Errorf("%s, %s: %+v, %v", name, what, r, err)
				}
			}
			got, err := l.Peek(t.Context())
			must("peek", got, err, true, 5)
			if s.Do("EXISTS", "rate:"+name).(int64) != 0 {
				t.Errorf("%s: Peek wrote", name)
			}
			got, err = l.AllowN(t.Context(), 4)
			must("allow 4", got, err, true, 1)
			got, err = l.AllowN(t.Context(), 2)
			must("allow 2", got, err, false, 1)
			got, err = l.Allow(t.Context())
			must("allow", got, err, true, 0)
			got, err = l.Peek(t.Context())
			must("peek again", got, err, false, 0)
			if err := l.Reset(t.Context()); err != nil {
				t.Error(err)
			}
			got, err = l.Peek(t.Context())
			must("after reset", got, err, true, 5)
		}
	})
}

// TestOneRoundTrip counts what clients send.
func TestOneRoundTrip(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		for _, r := range []Rule{GCRA(5, time.Hour, 0), Sliding(5, time.Hour), Fixed(5, time.Hour)} {
			l := New(keywright.Binding{Client: c, Entry: expires(3 * time.Hour)}, r).Of("rate:one", nil)
			if err := l.Reset(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Allow(t.Context()); err != nil { // the server learns the script
				t.Fatal(err)
			}
			stop := s.Monitor()
			if _, err := l.Allow(t.Context()); err != nil {
				t.Fatal(err)
			}
			sent := 0
			for _, line := range stop() {
				if strings.Contains(line, "rate:one") && !strings.Contains(line, " lua]") {
					sent++
				}
			}
			if sent != 1 {
				t.Errorf("%s: %d commands", r.algorithm.name, sent)
			}
		}
	})
}

func TestWhatIsInvalid(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{})
	forever := &keywright.Entry{Name: "f", TTL: keywright.TTL{Policy: keywright.Forever, Text: "none"}}
	cases := map[string]Limiter{
		"no limit": New(keywright.Binding{Client: c, Entry: expires(time.Hour)},
			GCRA(0, time.Minute, 0)).Of("k", nil),
		"no window": New(keywright.Binding{Client: c, Entry: expires(time.Hour)}, Fixed(1, 0)).Of("k", nil),
		"negative burst": New(keywright.Binding{Client: c, Entry: expires(time.Hour)},
			GCRA(1, time.Minute, -1)).Of("k", nil),
		"too fast for us": New(keywright.Binding{Client: c, Entry: expires(time.Hour)},
			GCRA(700_000, time.Second, 0)).Of("k", nil),
		"too far ahead": New(keywright.Binding{Client: c, Entry: expires(time.Hour)},
			GCRA(1, 1000*time.Hour, 1<<40)).Of("k", nil),
		"too many in 32 bit": New(keywright.Binding{Client: c, Entry: expires(time.Hour)},
			Sliding(1<<32, time.Minute)).Of("k", nil),
		"too many in 1 us": New(keywright.Binding{Client: c, Entry: expires(time.Hour)},
			GCRA(math.MaxInt64, time.Minute, 0)).Of("k", nil),
		"TTL too short": New(keywright.Binding{Client: c, Entry: expires(time.Minute)},
			Sliding(5, time.Minute)).Of("k", nil),
		"burst beyond TTL": New(keywright.Binding{Client: c, Entry: expires(time.Minute)},
			GCRA(5, time.Minute, 6)).Of("k", nil),
		"never expires": New(keywright.Binding{Client: c, Entry: forever}, Fixed(5, time.Minute)).Of("k", nil),
		"no key": New(keywright.Binding{Client: c, Entry: expires(time.Hour)},
			Fixed(5, time.Minute)).Of("", errors.New("no")),
	}
	for name, l := range cases {
		for _, err := range []error{expect.Err(l.Allow(t.Context())), expect.Err(l.Peek(t.Context())), l.Reset(t.Context())} {
			if class, ok := keywright.ClassOf(err); !ok || class != keywright.Invalid {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	good := New(keywright.Binding{Client: c, Entry: expires(time.Minute)}, GCRA(7, time.Minute, 0)).Of("k", nil)
	for _, n := range []int64{-1, 0, 8} {
		if class, ok := keywright.ClassOf(expect.Err(good.AllowN(t.Context(), n))); !ok || class != keywright.Invalid {
			t.Errorf("AllowN(%d) is not refused", n)
		}
	}
	if r, err := good.AllowN(t.Context(), 7); err != nil || !r.Allowed {
		t.Errorf("AllowN(7): %+v, %v", r, err)
	}
	if ms := s.Do("PTTL", "k").(int64); ms < 1 || ms > 60_000 {
		t.Errorf("the TTL %d ms is beyond the declared one", ms)
	}
}

// TestTheTTLIsWithinTheLeastThatARuleDemands: for windows of any length.
func TestTheTTLIsWithinTheLeastThatARuleDemands(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{})
	for i, per := range []time.Duration{time.Millisecond, 1500 * time.Microsecond, 100 * time.Millisecond, time.Second,
		24 * time.Hour, 365 * 24 * time.Hour} {
		for j, r := range []Rule{GCRA(7, per, 3), Sliding(7, per), Fixed(7, per)} {
			e, key := expires(r.needs), fmt.Sprint("least:", i, j)
			stop := s.Monitor()
			if got,
				err := New(keywright.Binding{Client: c, Entry: e}, r).Of(key,
				nil).Allow(t.Context()); err != nil || !got.Allowed {
				t.Fatalf("%v, %s: %+v, %v", per, r.algorithm.name, got, err)
			}
			ms := int64(0)
			for _, line := range stop() { // what the script asked for: the key may be gone by now
				words := strings.Fields(line)
				if strings.Contains(line, " lua]") && (strings.Contains(line, `"PX"`) || strings.Contains(line, `"PEXPIRE"`)) {
					ms, _ = strconv.ParseInt(strings.Trim(words[len(words)-1], `"`), 10, 64)
				}
			}
			if ms < 1 || ms > r.needs.Milliseconds() {
				t.Errorf("%v, %s: a TTL of %d ms, declared %v", per, r.algorithm.name, ms, r.needs)
			}
		}
	}
}

// TestLostReply: a call that may have been counted says so, and is not sent again.
func TestLostReply(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
	l := New(keywright.Binding{Client: open(t, "redis://"+p.Addr(), keywright.Options{}),
		Entry: expires(time.Hour)}, Fixed(5, time.Hour)).Of(
		"rate:lost", nil)
	if _, err := l.Allow(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.LoseReplyTo("rate:lost")
	if class, _ := keywright.ClassOf(expect.Err(l.Allow(t.Context()))); class != keywright.UnknownOutcome {
		t.Errorf("class %v", class)
	}
	p.LoseReplyTo("rate:lost")
	if r, err := l.Peek(t.Context()); err != nil || r.Remaining != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			c := open(t, keywrighttest.StartCluster(t, brand, 3, 0).URL(), keywright.Options{})
			limits := New(keywright.Binding{Client: c, Entry: expires(3 * time.Hour)}, Sliding(3, 2*time.Hour))
			for i := range 20 {
				l := limits.Of(fmt.Sprintf("rate:%d", i), nil)
				for _, want := range []bool{true, true, true, false} {
					if r, err := l.Allow(t.Context()); err != nil || r.Allowed != want {
						t.Fatalf("%d: %+v, %v", i, r, err)
					}
				}
			}
		})
	}
}
