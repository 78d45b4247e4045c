package ranking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value"
	"go.uber.org/goleak"
)

// rueidis waits up to a second, after Close too, before it asks a cluster for its slots again.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"))
}

func expires(name string, d time.Duration) *keywright.Entry {
	return &keywright.Entry{Name: name, Type: "zset",
		TTL: keywright.TTL{Policy: keywright.Expires, Default: d, Min: d, Max: d, Text: d.String()}}
}

var (
	open   = servertest.Open
	brands = servertest.Clients
)

var (
	numbers = value.Int(-1<<62, 1<<62)
	words   = value.Text(0)
	ints    = value.IntScore(-1<<53, 1<<53)
	floats  = value.FloatScore()
	today   = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

func dayKey(prefix string) func(time.Time) (string, error) {
	return func(t time.Time) (string, error) { return prefix + t.Format(time.DateOnly), nil }
}

func board[M any](t testing.TB, c *keywright.Client, prefix string, m *value.Codec[M], ties Ties) *Board[M, int64] {
	t.Helper()
	b, err := New(keywright.Binding{Client: c, Entry: expires("daily_sales", 40*24*time.Hour)},
		Config[M, int64]{Key: dayKey(prefix),
			Step: Day, Member: m, Score: &ints, Ties: ties})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// naive represents a ranking in memory: what every answer is held against.
type naive[M cmp.Ordered, S Number] []Row[M, S]

func (n naive[M, S]) sort() naive[M, S] {
	slices.SortFunc(n, func(a, b Row[M, S]) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(fmt.Sprint(a.Member), fmt.Sprint(b.Member)))
	})
	for i := range n {
		n[i].Rank = int64(i) + 1
	}
	return n
}

func (n naive[M, S]) slice(from, to int) naive[M, S] {
	return n[min(max(from, 0), len(n)):min(max(to, 0), len(n))]
}

// reader represents a View, or what answers in its place.
type reader[M any, S Number] func(ctx context.Context, q query) ([]Row[M, S], error)

// agrees holds every kind of read against the model.
func agrees[M cmp.Ordered, S Number](ctx context.Context, read reader[M, S], encode func(M) string,
	model naive[M, S]) error {
	same := func(what string, got []Row[M, S], err error, want naive[M, S]) error {
		ok := err == nil && len(got) == len(want)
		for i := range want {
			ok = ok && got[i].Member == want[i].Member && got[i].Score == want[i].Score && got[i].Rank == want[i].Rank
		}
		if !ok {
			return fmt.Errorf("%s: %v, %v, want %v", what, got, err, want)
		}
		return nil
	}
	for n := 1; n <= len(model)+1; n++ {
		got, err := read(ctx, query{what: "range", n: n})
		if err := same(fmt.Sprint("top ", n), got, err, model.slice(0, n)); err != nil {
			return err
		}
	}
	for i, row := range model {
		got, err := read(ctx, query{what: "rank", member: encode(row.Member), n: 1})
		if err := same("rank", got, err, model[i:i+1]); err != nil {
			return err
		}
		n := i % 4
		got, err = read(ctx, query{what: "around", member: encode(row.Member), n: n})
		if err := same(fmt.Sprint("around ", i, " by ", n), got, err, model.slice(i-n, i+n+1)); err != nil {
			return err
		}
		score, member, err := got[min(n, i)].cursor.cut()
		if err != nil {
			return err
		}
		got, err = read(ctx, query{what: "after", score: score, member: member, n: 3})
		if err := same(fmt.Sprint("after ", i), got, err, model.slice(i+1, i+4)); err != nil {
			return err
		}
	}
	return nil
}

func (v View[M, S]) encode(m M) string {
	text, _ := v.member.Encode(m)
	return text
}

// fill writes a random ranking with many ties and gives its model.
func fill[M cmp.Ordered](t testing.TB, b *Board[M, int64], day time.Time, rnd *rand.Rand, size, spread int,
	member func(*rand.Rand) M) naive[M, int64] {
	t.Helper()
	scores := map[M]int64{}
	for len(scores) < size {
		scores[member(rnd)] = rnd.Int64N(int64(spread)) - int64(spread)/3
	}
	var changes []Change[M, int64]
	var model naive[M, int64]
	for m, s := range scores {
		changes = append(changes, Change[M, int64]{m, s})
		model = append(model, Row[M, int64]{Member: m, Score: s})
	}
	if size > 0 {
		if _, err := b.LaterIncrease(day, changes).Do(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return model.sort()
}

func anyNumber(r *rand.Rand) int64 {
	return (r.Int64N(2)*2 - 1) * (r.Int64() >> (2 + r.IntN(60)))
}
func fewNumbers(r *rand.Rand) int64 { return r.Int64N(200) }
func anyWord(r *rand.Rand) string {
	const letters = "aBbéZ~\x00\xff-"
	at := r.IntN(len(letters))
	return letters[at:at+1] + fmt.Sprint(r.IntN(300))
}

// keeps checks rankings of numbers and of words against their models.
func keeps(t testing.TB, s *keywrighttest.Server, c *keywright.Client, sc scripts, seeds uint64) error {
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 7))
		size, spread := rnd.IntN(40), 1+rnd.IntN(12)
		s.Do("DEL", "n:2026-11-21", "w:2026-11-21")
		n, w := board(t, c, "n:", &numbers, ByMember), board(t, c, "w:", &words, ByMember)
		n.script.read, w.script.read = sc.read, sc.read
		model := fill(t, n, today, rnd, size, spread, anyNumber)
		if err := agrees(t.Context(), n.Of(today).read, n.Of(today).encode, model); err != nil {
			return fmt.Errorf("numbers, seed %d: %w", seed, err)
		}
		texts := fill(t, w, today, rnd, size, spread, anyWord)
		if err := agrees(t.Context(), w.Of(today).read, w.Of(today).encode, texts); err != nil {
			return fmt.Errorf("words, seed %d: %w", seed, err)
		}
	}
	return nil
}

func TestReadsAreThoseOfTheModel(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		if err := keeps(t, s, c, standard, 15); err != nil {
			t.Fatal(err)
		}
	})
}

// TestGuardsMatter takes one part of the tie rule after another out.
func TestGuardsMatter(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL())
	for what, edit := range map[string][2]string{
		"the order of ties":            {"for j = last, i, -2 do", "for j = i, last, 2 do"},
		"the edge of the top":          {"if i == 1 or last + 2 > size then", "if false then"},
		"the offset into a cut group":  {"i == 1 and from - above(score) or 0", "0"},
		"a rank counts ties":           {"above(score) + redis.call('ZRANK', key, a) - below(score)", "above(score)"},
		"a page begins behind its row": {"other == member or less(other, member)", "less(other, member)"},
		"bytes, not the locale":        {"if x ~= y then return x < y end\n  end", "end"},
	} {
		mutant, n := parts.Mutant("rows", edit[0], edit[1])
		if n != 1 {
			t.Errorf("%q is not once in the script", edit[0])
		}
		if keeps(t, s, c, newScripts(mutant), 15) == nil {
			t.Errorf("without %s: nothing notices", what)
		}
	}
}

// windowOf fills some days and gives the window over them with its model.
func windowOf(t testing.TB, c *keywright.Client, prefix string, seed uint64) (View[int64, float64],
	naive[int64, float64]) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 9))
	b := board(t, c, prefix, &numbers, ByMember)
	weights := []float64{1, 0.5, 0.25, 2, -1}[:1+rnd.IntN(5)]
	sums := map[int64]float64{}
	for i, w := range weights {
		for _, row := range fill(t, b, Day.Add(today, -i), rnd, rnd.IntN(30), 1+rnd.IntN(5), fewNumbers) {
			sums[row.Member] += w * float64(row.Score)
		}
	}
	var model naive[int64, float64]
	for m, s := range sums {
		model = append(model, Row[int64, float64]{Member: m, Score: s})
	}
	w, err := NewWindows(keywright.Binding{Entry: expires("popular", time.Minute)}, b,
		WindowConfig[float64]{Key: dayKey(prefix + "window:"),
			Score: &floats, Weights: weights})
	if err != nil {
		t.Fatal(err)
	}
	return w.Ending(today), model.sort()
}

func TestWindowsOnServerAndClientAreThoseOfTheModel(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, _ *keywrighttest.Server, c *keywright.Client) {
		for seed := range uint64(15) {
			v, model := windowOf(t, c, fmt.Sprintf("s%d:", seed), seed)
			if err := agrees(t.Context(), v.read, v.encode, model); err != nil {
				t.Fatalf("server, seed %d: %v", seed, err)
			}
			here := func(ctx context.Context, q query) ([]Row[int64, float64], error) {
				all, err := v.sum(ctx)
				if err != nil {
					return nil, err
				}
				return v.from(all, q)
			}
			if err := agrees(t.Context(), here, v.encode, model); err != nil {
				t.Fatalf("client, seed %d: %v", seed, err)
			}
			if _, err := v.Rank(t.Context(), 100_000); err != keywright.ErrNotFound {
				t.Errorf("rank of nobody: %v", err)
			}
			if _, err := here(t.Context(), query{what: "around", member: "100000", n: 1}); err != keywright.ErrNotFound {
				t.Errorf("around nobody, merged: %v", err)
			}
		}
	})
}

func TestWindowsInACluster(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			c := open(t, keywrighttest.StartCluster(t, brand, 3, 0).URL())
			for seed := range uint64(4) {
				for prefix, apart := range map[string]bool{"spread%d:": true, "{tag%d}:": false} {
					v, model := windowOf(t, c, fmt.Sprintf(prefix, seed), seed)
					if got := v.window.crossSlot(c, v.key); got != apart {
						t.Fatalf("%s: apart is %v", prefix, got)
					}
					for range 2 { // made, and kept
						if err := agrees(t.Context(), v.read, v.encode, model); err != nil {
							t.Fatalf("%s, seed %d: %v", prefix, seed, err)
						}
					}
					if _, err := v.Rank(t.Context(), 100_000); err != keywright.ErrNotFound {
						t.Errorf("rank of nobody: %v", err)
					}
					ms, err := c.Raw().Do(t.Context(), c.Raw().B().Pttl().Key(v.key).Build()).AsInt64()
					if err != nil || len(model) > 0 && (ms < 1 || ms > 60_000) {
						t.Errorf("the window has a TTL of %d ms, %v", ms, err)
					}
				}
			}
		})
	}
}

// TestWindowIsBuiltOnce: many readers at once, one sum, with its TTL.
func TestWindowIsBuiltOnce(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		clients := []*keywright.Client{c, open(t, s.URL())}
		v, model := windowOf(t, c, "once:", 3)
		s.Do("CONFIG", "RESETSTAT")
		var readers sync.WaitGroup
		for i := range 32 {
			v := v
			v.client = clients[i%2]
			readers.Go(func() {
				if rows, err := v.Top(t.Context(), 5); err != nil || len(rows) != min(5, len(model)) {
					t.Errorf("%v, %v", rows, err)
				}
			})
		}
		readers.Wait()
		if got := s.Info("cmdstat_zunionstore"); !strings.HasPrefix(got, "calls=1,") {
			t.Errorf("ZUNIONSTORE: %s", got)
		}
		if ms := s.Do("PTTL", v.key).(int64); ms < 1 || ms > 60_000 {
			t.Errorf("TTL %d ms", ms)
		}
		if n := sent(t, s, v.key, func() error { _, err := v.Top(t.Context(), 5); return err }); n != 1 {
			t.Errorf("a cached window costs %d commands", n)
		}
		s.Do("PERSIST", v.key)
		if _, err := v.Top(t.Context(), 5); err != nil || s.Do("PTTL", v.key).(int64) < 1 {
			t.Errorf("a permanent window stays permanent, %v", err)
		}
	})
}

// sent counts the commands with a key that clients send, without what scripts call.
func sent(t *testing.T, s *keywrighttest.Server, key string, do func() error) (n int) {
	t.Helper()
	stop := s.Monitor()
	if err := do(); err != nil {
		t.Error(err)
	}
	for _, line := range stop() {
		if strings.Contains(line, key) && !strings.Contains(line, " lua]") {
			n++
		}
	}
	return n
}

func TestNoWriteWithoutItsTTL(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		for i, ties := range []Ties{ByMember, FirstToReach} {
			b := board(t, c, fmt.Sprintf("ttl%d:", i), &numbers, ties)
			key, _ := b.Key(today)
			writes := map[string]func() error{
				"increase": func() error { _, err := b.Increase(t.Context(), today, 1, 1); return err },
				"set":      func() error { return b.Set(t.Context(), today, 1, 5) },
				"raise":    func() error { _, err := b.Raise(t.Context(), today, 1, 9); return err },
			}
			for name, write := range writes {
				for _, before := range []string{"DEL", "PERSIST"} {
					s.Do(before, key)
					if n := sent(t, s, key, write); n > 2 { // EVALSHA, and once EVAL
						t.Errorf("%s: %d commands", name, n)
					}
					if ms := s.Do("PTTL", key).(int64); ms < 1 || ms > (40*24*time.Hour).Milliseconds() {
						t.Errorf("%s after %s: TTL %d ms", name, before, ms)
					}
				}
				s.Do("PEXPIRE", key, "5000")
				if err := write(); err != nil || s.Do("PTTL", key).(int64) > 5000 {
					t.Errorf("%s renewed the TTL, %v", name, err)
				}
			}
		}
	})
}

func TestScoresBeyondTheExactAreRefused(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		for _, x := range []struct {
			ties Ties
			most int64
		}{{ByMember, 1<<53 - 1}, {FirstToReach, 1<<36 - 1}} {
			b := board(t, c, fmt.Sprintf("max%d:", x.ties), &numbers, x.ties)
			if sum, err := b.Increase(t.Context(), today, 1, x.most-1); err != nil || sum != x.most-1 {
				t.Fatalf("%d, %v", sum, err)
			}
			if sum, err := b.Increase(t.Context(), today, 1, 1); err != nil || sum != x.most {
				t.Errorf("%d, %v", sum, err)
			}
			_, err := b.LaterIncrease(today, []Change[int64, int64]{{2, 5}, {1, 1}}).Do(t.Context())
			if class, ok := keywright.ClassOf(err); !ok || class != keywright.Invalid ||
				!strings.Contains(err.Error(), "member 2 ") {
				t.Errorf("%v", err)
			}
			if row, err := b.Of(today).Rank(t.Context(), 1); err != nil || row.Score != x.most {
				t.Errorf("%v, %v", row, err)
			}
			if _, err := b.Of(today).Rank(t.Context(), 2); err != keywright.ErrNotFound {
				t.Errorf("the first of two was applied: %v", err)
			}
			if sum, err := b.Increase(t.Context(), today, 3, -x.most); err != nil || sum != -x.most {
				t.Errorf("%d, %v", sum, err)
			}
		}
	})
}

// TestSumsAreFinite: what Set refuses as a score is no sum either.
func TestSumsAreFinite(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		b, err := New(keywright.Binding{Client: c, Entry: expires("sums", time.Hour)},
			Config[int64, float64]{Key: dayKey("finite:"), Step: Day, Member: &numbers, Score: &floats})
		if err != nil {
			t.Fatal(err)
		}
		for member, by := range []float64{math.MaxFloat64, -math.MaxFloat64} {
			sum, err := b.Increase(t.Context(), today, int64(member), by)
			if err != nil || sum != by {
				t.Fatalf("%v, %v", sum, err)
			}
			_, err = b.LaterIncrease(today, []Change[int64, float64]{{7, 5}, {int64(member), by}}).Do(t.Context())
			if class, _ := keywright.ClassOf(err); class != keywright.Invalid ||
				!strings.Contains(fmt.Sprint(err), "member 2 ") || !strings.Contains(fmt.Sprint(err), "finite") {
				t.Error(err)
			}
			if row, err := b.Of(today).Rank(t.Context(), int64(member)); err != nil || row.Score != by {
				t.Errorf("%v, %v", row, err)
			}
			if _, err := b.Of(today).Rank(t.Context(), 7); err != keywright.ErrNotFound {
				t.Errorf("the first of two was applied: %v", err)
			}
		}
	})
}

// TestFirstToReach: the earlier one is first; the periods of the test begin so
// long ago that the server's clock says how much of them has passed.
func TestFirstToReach(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, _ *keywrighttest.Server, c *keywright.Client) {
		b := board(t, c, "first:", &numbers, FirstToReach)
		elapsed := time.Duration(0)
		b.Step.Begin = func(time.Time) time.Time { return time.Now().Add(-elapsed) }
		at := func(hours int, m, by int64) {
			t.Helper()
			elapsed = time.Duration(hours) * time.Hour
			if _, err := b.Increase(t.Context(), today, m, by); err != nil {
				t.Fatal(err)
			}
		}
		at(1, 5, 10)
		at(2, 9, 10) // as many as 5, later
		at(3, 2, 4)
		at(4, 2, 6) // as many, the latest, although its member is the lowest
		at(5, 7, -3)
		at(6, 8, -3)
		at(400, 1, 10) // after the period
		at(7, 9, 0)    // changes nothing
		want := []int64{5, 9, 2, 1, 7, 8}
		rows, err := b.Of(today).Top(t.Context(), 10)
		if err != nil || len(rows) != len(want) {
			t.Fatalf("%v, %v", rows, err)
		}
		for i, row := range rows {
			alone, err := b.Of(today).Rank(t.Context(), row.Member)
			if row.Member != want[i] || alone != row || err != nil {
				t.Errorf("place %d: %+v; alone %+v, %v", i, row, alone, err)
			}
			next, err := b.Of(today).After(t.Context(), row.Cursor(), 1)
			if err != nil || i+1 < len(rows) && (len(next) != 1 || next[0] != rows[i+1]) {
				t.Errorf("after place %d: %v, %v", i, next, err)
			}
		}
		if rows[0].Score != 10 || rows[4].Score != -3 {
			t.Errorf("scores %v", rows)
		}
	})
}

// TestPagesWhileOthersChange: who does not change is on exactly one page.
func TestPagesWhileOthersChange(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, _ *keywrighttest.Server, c *keywright.Client) {
		for seed := range uint64(10) {
			rnd := rand.New(rand.NewPCG(seed, 11))
			b := board(t, c, fmt.Sprintf("pages%d:", seed), &numbers, ByMember)
			fill(t, b, today, rnd, 60, 6, fewNumbers)
			still, moving := map[int64]int{}, []int64{}
			all, _ := b.Of(today).Top(t.Context(), 100)
			for i, row := range all {
				if i%3 == 0 {
					moving = append(moving, row.Member)
				} else {
					still[row.Member] = 0
				}
			}
			cursor := Cursor("")
			for {
				rows, err := b.Of(today).After(t.Context(), cursor, 7)
				if err != nil {
					t.Fatal(err)
				}
				if len(rows) == 0 {
					break
				}
				for _, row := range rows {
					if _, ok := still[row.Member]; ok {
						still[row.Member]++
					}
				}
				cursor = rows[len(rows)-1].Cursor()
				for range 5 {
					m := moving[rnd.IntN(len(moving))]
					if _, err := b.Increase(t.Context(), today, m, rnd.Int64N(3)-2); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := b.ZSet(today).Remove(moving[rnd.IntN(len(moving))]).Do(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for m, n := range still {
				if n != 1 {
					t.Errorf("seed %d: %d was on %d pages", seed, m, n)
				}
			}
		}
	})
}

func TestSteps(t *testing.T) {
	t.Parallel()
	seoul, _ := time.LoadLocation("Asia/Seoul")
	berlin, _ := time.LoadLocation("Europe/Berlin")
	santiago, _ := time.LoadLocation("America/Santiago") // summer time begins at midnight
	date := func(l *time.Location, y, m, d, h int) time.Time {
		return time.Date(y, time.Month(m), d, h, 30, 0, 0, l)
	}
	for _, x := range []struct {
		step        Step
		from        time.Time
		n           int
		want, begin string
	}{
		{Day, date(seoul, 2026, 3, 1, 23), -1, "2026-02-28", "2026-03-01T00:00:00+09:00"},
		{Day, date(berlin, 2026, 3, 29, 2), -1, "2026-03-28", "2026-03-29T00:00:00+01:00"},
		{Day, date(santiago, 2026, 9, 7, 0), -1, "2026-09-06", "2026-09-07T00:00:00-03:00"},
		{Week, date(seoul, 2026, 3, 1, 5), -2, "2026-02-15", "2026-02-23T00:00:00+09:00"},
		{Month, date(seoul, 2026, 3, 31, 5), -1, "2026-02-01", "2026-03-01T00:00:00+09:00"},
		{Month, date(seoul, 2026, 1, 31, 5), 1, "2026-02-01", "2026-01-01T00:00:00+09:00"},
		{Year, date(seoul, 2024, 2, 29, 5), -1, "2023-01-01", "2024-01-01T00:00:00+09:00"},
		{Year, date(berlin, 2026, 12, 31, 23), 3, "2029-01-01", "2026-01-01T00:00:00+01:00"},
		{Hour, date(seoul, 2026, 1, 1, 0), -1, "2025-12-31", "2026-01-01T00:00:00+09:00"},
	} {
		if got := x.step.Add(x.from, x.n).Format(time.DateOnly); got != x.want {
			t.Errorf("%v %+d: %s, want %s", x.from, x.n, got, x.want)
		}
		if got := x.step.Begin(x.from).Format(time.RFC3339); got != x.begin {
			t.Errorf("%v begins %s, want %s", x.from, got, x.begin)
		}
	}
}

// TestAnHourThatComesTwiceCountsOnce: when summer time ends.
func TestAnHourThatComesTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	berlin, _ := time.LoadLocation("Europe/Berlin")
	b := &Board[int64, int64]{Config: Config[int64, int64]{Step: Hour,
		Key: func(t time.Time) (string, error) { return t.Format("2006-01-02T15"), nil }}}
	w := &Windows[int64, int64, int64]{b, expires("w", time.Hour),
		WindowConfig[int64]{Key: dayKey("w"), Weights: Same(4)}}
	v := w.Ending(time.Date(2026, 10, 25, 4, 0, 0, 0, berlin))
	if got := strings.Join(v.window.keys, " "); got != "2026-10-25T04 2026-10-25T03 2026-10-25T02 2026-10-25T01" {
		t.Errorf("%s", got)
	}
}

func TestWhatIsInvalid(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL())
	b := board(t, c, "bad:", &numbers, ByMember)
	v := b.Of(today)
	broken := board(t, c, "bad:", &numbers, ByMember)
	broken.Key = func(time.Time) (string, error) { return "", errors.New("no such day") }
	_, err1 := NewWindows(keywright.Binding{Entry: expires("w", time.Minute)}, board(t, c, "x:", &numbers, FirstToReach),
		WindowConfig[int64]{Weights: Same(2)})
	_, err2 := NewWindows(keywright.Binding{Entry: &keywright.Entry{Name: "w",
		TTL: keywright.TTL{Policy: keywright.Forever}}}, b,
		WindowConfig[int64]{Weights: Same(2)})
	_, err3 := NewWindows(keywright.Binding{Entry: expires("w", time.Minute)}, b, WindowConfig[int64]{})
	_, err4 := New(keywright.Binding{Entry: expires("w", time.Minute)},
		Config[int64, float64]{Ties: FirstToReach, Step: Day})
	errs := map[string]error{"first to reach": err1, "permanent": err2, "no periods": err3, "float times": err4}
	_, errs["top 0"] = v.Top(t.Context(), 0)
	_, errs["top many"] = v.Top(t.Context(), MaxRows+1)
	_, errs["around many"] = v.Around(t.Context(), 1, MaxRows)
	_, errs["around -1"] = v.Around(t.Context(), 1, -1)
	_, errs["cursor"] = v.After(t.Context(), "x", 1)
	_, errs["cursor NaN"] = v.After(t.Context(), "nan x", 1)
	_, errs["no key"] = broken.Of(today).Top(t.Context(), 1)
	_, errs["no key to write"] = broken.Increase(t.Context(), today, 1, 1)
	_, errs["by too much"] = b.Increase(t.Context(), today, 1, 1<<53)
	low := value.IntScore(0, 10)
	b.Score = &low
	errs["out of bounds"] = b.Set(t.Context(), today, 1, 11)
	_, errs["raised out of bounds"] = b.Raise(t.Context(), today, 1, -1)
	for name, err := range errs {
		if class, ok := keywright.ClassOf(err); !ok || class != keywright.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLostReply: an increment that may have been counted says so; a raise is
// simply sent again.
func TestLostReply(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
	b := board(t, open(t, "redis://"+p.Addr()), "lost:", &numbers, ByMember)
	if _, err := b.Increase(t.Context(), today, 1, 1); err != nil {
		t.Fatal(err)
	}
	p.LoseReplyTo("lost:")
	_, err := b.Increase(t.Context(), today, 1, 1)
	if class, _ := keywright.ClassOf(err); class != keywright.UnknownOutcome {
		t.Errorf("%v", err)
	}
	p.LoseReplyTo("lost:")
	if sum, err := b.Raise(t.Context(), today, 1, 7); err != nil || sum != 7 {
		t.Errorf("%d, %v", sum, err)
	}
	p.LoseReplyTo("lost:")
	if row, err := b.Of(today).Rank(t.Context(), 1); err != nil || row.Score != 7 {
		t.Errorf("%v, %v", row, err)
	}
}
