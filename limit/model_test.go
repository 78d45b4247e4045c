package limit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"pgregory.net/rapid"
)

// bucket is GCRA as a bucket of time: it holds most us, refills with the clock,
// and each one takes some.
type bucket struct {
	each, most, level, at int64 // level is what it held at the time at
}

func (b *bucket) ask(n, now int64) Result {
	level := b.level + now - b.at
	back := level < 0 // the clock went back by more than there was
	level = min(max(level, 0), b.most)
	missing := max(n, 1)*b.each - level
	if n > 0 && missing <= 0 {
		level -= n * b.each
		b.level, b.at = level, now
	} else if n > 0 && back {
		b.level, b.at = 0, now
	}
	return answer(missing <= 0, level/b.each, max(missing, 0), b.most-level)
}

func answer(allowed bool, remaining, retry, reset int64) Result {
	return Result{allowed, remaining, time.Duration(retry) * time.Microsecond, time.Duration(reset) * time.Microsecond}
}

// log is Sliding as the list of what has passed, by the bucket that it passed in.
type log struct {
	limit, width, newest int64 // newest is the bucket of the last write
	passes               map[int64]int64
}

func (l *log) ask(n, now int64) Result {
	current := now / l.width
	passes, back := map[int64]int64{}, l.newest > current
	for at, count := range l.passes {
		if back { // what has passed counts as of now
			at -= l.newest - current
		}
		if at > current-61 {
			passes[at] += count
		}
	}
	sum := int64(0)
	for _, count := range passes {
		sum += count
	}
	allowed := sum+max(n, 1) <= l.limit
	if n > 0 && allowed {
		passes[current] += n
		sum += n
	}
	if n > 0 && (allowed || back) {
		l.passes, l.newest = passes, current
	}
	free, retry, reset := l.limit-sum, int64(0), int64(0)
	for at := current - 60; at <= current; at++ { // the oldest leave first
		if passes[at] > 0 {
			reset = (at+61)*l.width - now
			free += passes[at]
			if !allowed && retry == 0 && free >= max(n, 1) {
				retry = reset
			}
		}
	}
	return answer(allowed, max(l.limit-sum, 0), retry, reset)
}

// TestLimitsAreThoseOfTheModel: every answer of GCRA and Sliding, to two clients,
// with a clock that also goes back.
func TestLimitsAreThoseOfTheModel(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			s := keywrighttest.Start(t, brand)
			clients := []*keywright.Client{open(t, s.URL(), keywright.Options{}), open(t, s.URL(), keywright.Options{})}
			rapid.Check(gate.Fixed(t), func(rt *rapid.T) { models(t, rt, s, clients) })
		})
	}
}

func models(t *testing.T, rt *rapid.T, s *keywrighttest.Server, clients []*keywright.Client) {
	const per = 60 * minute // long enough for keys not to expire while the test's own time goes by
	limit, burst := rapid.Int64Range(1, 40).Draw(rt, "limit"), rapid.Int64Range(1, 40).Draw(rt, "burst")
	rule, text := GCRA(limit, time.Hour, burst), parts.Script("gcra")
	each := (per + limit - 1) / limit
	b := &bucket{each: each, most: each * burst, level: each * burst}
	model := b.ask
	if rapid.Bool().Draw(rt, "sliding") {
		rule, text = Sliding(limit, time.Hour), parts.Script("sliding")
		model = (&log{limit: limit, width: per / 60, passes: map[int64]int64{}}).ask
	}
	h := begin(t, s, clients[0], rule, text)
	other := *h
	other.limiter = New(keywright.Binding{Client: clients[1], Entry: expires(100 * time.Hour)}, rule).Of("rate:x", nil)
	h.limiter = New(keywright.Binding{Client: clients[0], Entry: expires(100 * time.Hour)}, rule).Of("rate:x", nil)
	for range rapid.IntRange(1, 40).Draw(rt, "steps") {
		h.now += rapid.OneOf(rapid.Just[int64](0), rapid.Int64Range(0, per/30), rapid.Int64Range(0, 3*per),
			rapid.Int64Range(-2*per, 0)).Draw(rt, "us")
		n := rapid.Int64Range(0, rule.limit).Draw(rt, "n")
		who := []*history{h, &other}[rapid.IntRange(0, 1).Draw(rt, "client")]
		who.now = h.now
		got, err := who.ask(n)
		if want := model(n, h.now); err != nil || got != want {
			rt.Fatalf("%s, %d asked for: %+v, %v; the model says %+v", rule.algorithm.name, n, got, err, want)
		}
	}
}

// TestFixedIsThatOfTheModel: up to the greatest number of 64 bits, to two clients,
// with a server's clock that also goes back.
func TestFixedIsThatOfTheModel(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.MovableClock())
	clients := []*keywright.Client{open(t, s.URL(), keywright.Options{}), open(t, s.URL(), keywright.Options{})}
	const window, slack = time.Hour + 30*time.Second, 25 * time.Second // steps are whole minutes: nothing is near an edge
	rapid.Check(gate.Fixed(t), func(rt *rapid.T) {
		s.MoveClock(0)
		s.Do("DEL", "rate:fixed")
		limit := rapid.SampledFrom([]int64{1, 10, 9_999_999_999, 1e10, 1<<53 - 1, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1,
			math.MaxInt64}).Draw(rt, "limit")
		var count int64
		var now, end time.Duration
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			now += time.Duration(rapid.IntRange(-90, 90).Draw(rt, "minutes")) * time.Minute
			s.MoveClock(now)
			if s.Do("EXISTS", "rate:fixed"); count > 0 && now > end {
				count = 0
			}
			n := min(limit,
				rapid.SampledFrom([]int64{0, 1, 2, 1e10, 1 << 52, 1 << 53, limit / 2, limit - 1, limit}).Draw(rt, "n"))
			l := New(keywright.Binding{Client: clients[rapid.IntRange(0, 1).Draw(rt, "client")],
				Entry: expires(2 * time.Hour)}, Fixed(limit, window)).Of(
				"rate:fixed", nil)
			ask := l.Peek
			if n > 0 {
				ask = func(ctx context.Context) (Result, error) { return l.AllowN(ctx, n) }
			}
			got, err := ask(t.Context())
			allowed := max(n, 1) <= limit-count
			if n > 0 && allowed && count == 0 || n > 0 && count > 0 && end-now > window {
				end = now + window
			}
			if n > 0 && allowed {
				count += n
			}
			left := end - now
			if count == 0 {
				left = 0
			}
			if err != nil || got.Allowed != allowed || got.Remaining != limit-count || !near(got.ResetAfter, left, slack) ||
				got.Allowed != (got.RetryAfter == 0) {
				rt.Fatalf("%d of %d asked for: %+v, %v; the model says %v, %d remaining, %v left", n, limit, got, err, allowed,
					limit-count, left)
			}
		}
	})
}

func near(a, b, slack time.Duration) bool { return (a - b).Abs() <= slack }

// forms say what this version keeps, one file each: later ones must read them.
var forms = map[string]struct {
	rule      Rule
	remaining int64 // of what the file holds, with the clock of the file
}{
	"fixed": {Fixed(10, time.Hour), 7}, "gcra1": {GCRA(10, time.Hour, 10), 7}, "sliding1": {Sliding(10, time.Hour), 7},
}

// TestStoredForms: what a file of testdata holds is read; what another rule or a
// newer program keeps is refused, named and left as it is. With the check taken
// out of a script something is let through.
func TestStoredForms(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	c := open(t, s.URL(), keywright.Options{})
	texts := map[string]string{"gcra1": parts.Script("gcra"), "sliding1": parts.Script("sliding"),
		"fixed": parts.Script("fixed")}
	guards := map[string]string{"gcra1": "if not arrival then",
		"sliding1": "if size ~= 14 + 4 * buckets or string.sub(head, 1, 2) ~= 's1' then",
		"fixed":    "if not string.find(have, '^%d+$') or #have > 19 then"}
	for name, f := range forms {
		if err := keepsForms(t, s, c, name, f.rule, f.remaining, texts[name]); err != nil {
			t.Error(err)
		}
		mutant := strings.Replace(texts[name], guards[name], "if false then", 1)
		if mutant == texts[name] || keepsForms(t, s, c, name, f.rule, f.remaining, mutant) == nil {
			t.Errorf("%s without %q: nothing notices", name, guards[name])
		}
	}
}

func keepsForms(t *testing.T, s *keywrighttest.Server, c *keywright.Client, name string, r Rule, remaining int64,
	text string) error {
	stored := map[string]string{"newer": "g2:1795000000000000", "newer sliding": "s2" + strings.Repeat("\x00", 256),
		"cut": "s1\x00\x01", "text": "x", "huge": "99999999999999999999"}
	for form := range forms {
		data, err := os.ReadFile(filepath.Join("testdata", form))
		if err != nil {
			t.Fatal(err)
		}
		stored[form] = string(data)
	}
	for kept, data := range stored {
		h := begin(t, s, c, r, text)
		s.Do("SET", "rate:x", data, "PX", "3600000")
		for n := range int64(2) {
			got, err := h.ask(n)
			if kept == name {
				if err != nil || !got.Allowed || got.Remaining != remaining-n {
					return fmt.Errorf("%s: %+v, %v", name, got, err)
				}
				continue
			}
			if e, ok := errors.AsType[*keywright.DecodeError](err); !ok || !errors.Is(err, ErrForm) || e.Key != "rate:x" ||
				s.Do("GET", "rate:x") != data {
				return fmt.Errorf("%s over %s: %+v, %v; the key holds %q", name, kept, got, err, fmt.Sprint(s.Do("GET", "rate:x")))
			}
		}
	}
	return nil
}
