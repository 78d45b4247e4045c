package ranking

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
)

// heavy fills days with members of which each day has others too, and gives the
// window over them with its model.
func heavy(t testing.TB, c *keywright.Client, prefix string, members int) (View[int64, float64], map[int64]float64) {
	t.Helper()
	b := board(t, c, prefix, &numbers, ByMember)
	weights := []float64{1, 0.5, -2}
	sums := map[int64]float64{}
	for i, w := range weights {
		var changes []Change[int64, int64]
		for m := range members {
			id := int64(m + i*members/2)
			changes = append(changes, Change[int64, int64]{id, int64(m%97) - 20})
			sums[id] += w * float64(m%97-20)
		}
		for part := range slices.Chunk(changes, MaxChanges) {
			if _, err := b.LaterIncrease(Day.Add(today, -i), part).Do(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	w, err := NewWindows(keywright.Binding{Entry: expires("popular", time.Minute)}, b,
		WindowConfig[float64]{Key: dayKey(prefix + "window:"),
			Score: &floats, Weights: weights})
	if err != nil {
		t.Fatal(err)
	}
	return w.Ending(today), sums
}

// equals holds a whole window of at most MaxRows members against its model.
func equals(ctx context.Context, v View[int64, float64], model map[int64]float64) error {
	rows, err := v.Top(ctx, MaxRows)
	if err != nil {
		return err
	}
	got := map[int64]float64{}
	for _, row := range rows {
		got[row.Member] = row.Score
	}
	if len(rows) != len(model) || !maps.Equal(got, model) {
		return fmt.Errorf("the window has %d members and not the %d of the model, or other sums", len(rows), len(model))
	}
	return nil
}

func TestALargeWindowIsBuiltInShortSteps(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		for _, members := range []int{340, 2400} {
			v, model := heavy(t, c, fmt.Sprintf("steps%d:", members), members)
			seen := s.RecordScripts()
			if err := equals(t.Context(), v, model); err != nil {
				t.Fatalf("%d members a day: %v", members, err)
			}
			for _, call := range seen.Calls() {
				words := 0
				for _, command := range call.Commands {
					words += len(command)
					if command[0] == "ZUNIONSTORE" {
						t.Error("a large window was added up by one command")
					}
				}
				if words > 4000 {
					t.Errorf("a script has %d words in %d commands", words, len(call.Commands))
				}
			}
			if ms := s.Do("PTTL", v.key).(int64); ms < 1 || ms > 60_000 || s.Do("EXISTS", partial(v.key)).(int64) != 0 {
				t.Errorf("the window has a TTL of %d ms, or its parts are still there", ms)
			}
			if n := sent(t, s, v.key, func() error { _, err := v.Top(t.Context(), 5); return err }); n != 1 {
				t.Errorf("a cached window costs %d commands", n)
			}
		}
	})
}

// TestNoScriptIsLongWithALargeWindow: nor one that reads or writes a ranking of a
// hundred thousand members, many of them with one score.
func TestNoScriptIsLongWithALargeWindow(t *testing.T) {
	gate.Skip(t, "boards of many thousand members")
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	c := servertest.Open(t, s.URL())
	v, _ := heavy(t, c, "long:", 50_000)
	b := board(t, c, "long:", &numbers, ByMember)
	day := b.Of(today)
	long := s.Long(5*time.Millisecond, func() {
		s.Do("UNLINK", v.key)
		for name, ask := range map[string]func() error{
			"window":   func() error { _, err := v.Top(t.Context(), 10); return err },
			"top":      func() error { _, err := day.Top(t.Context(), 100); return err },
			"rank":     func() error { _, err := day.Rank(t.Context(), 7); return err },
			"increase": func() error { _, err := b.Increase(t.Context(), today, 7, 1); return err },
		} {
			if err := ask(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	if len(long) > 0 {
		t.Errorf("they hold the server for more than 5 ms: %q", long)
	}
}

func TestAWindowThatReplacesALargeKeyFreesItApart(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	v, model := heavy(t, open(t, s.URL()), "free:", 700)
	for range 2 {
		if err := equals(t.Context(), v, model); err != nil {
			t.Fatal(err)
		}
		s.Do("PERSIST", v.key)
	}
	seen := s.RecordScripts()
	if err := equals(t.Context(), v, model); err != nil || s.Do("PTTL", v.key).(int64) < 1 {
		t.Fatalf("a permanent window stays permanent, %v", err)
	}
	for _, call := range seen.Calls() {
		freed := false
		for _, command := range call.Commands {
			freed = freed || command[0] == "UNLINK" && command[1] == v.key
			if command[0] == "RENAME" && !freed {
				t.Error("RENAME frees the old window")
			}
		}
	}
}

// takeOver returns the steps of two builders of one window, the second of which takes
// over when the first has been silent for too long.
func takeOver(t *testing.T, s *keywrighttest.Server, v View[int64, float64], model map[int64]float64) error {
	sum, b := partial(v.key), v.script.builder
	s.Do("DEL", v.key, sum)
	begin := func(token string) bool {
		mine, _ := step(t.Context(), v, b.begin, []string{v.key, sum}, []string{token, "60000", marker}, asBool)
		return mine
	}
	build := func(token string) string {
		cursor, err := step(t.Context(), v, b.build, append([]string{sum}, v.window.keys...),
			append([]string{token, "60000", marker, "0", "10"}, v.window.args[2:]...), next)
		if err != nil {
			t.Error(err)
		}
		return cursor
	}
	finish := func(token string) bool {
		done, _ := step(t.Context(), v, b.finish, []string{v.key, sum}, []string{token, "60000", marker}, asBool)
		return done
	}
	if first := begin("1"); !first || !begin("1") || begin("2") {
		return errors.New("the first builder, and only it, is the builder")
	}
	if build("1") == "" || s.Do("PTTL", sum).(int64) < 1 {
		return errors.New("the first builder builds, with a TTL")
	}
	s.Do("PEXPIRE", sum, "30000")
	if build("1"); s.Do("PTTL", sum).(int64) <= 30000 {
		return errors.New("a step prolongs the lease")
	}
	s.Do("DEL", sum) // as at the end of the lease
	if !begin("2") || s.Do("PTTL", sum).(int64) < 1 {
		return errors.New("another builder takes over")
	}
	if size := s.Do("ZCARD", sum).(int64); build("1") != "" || s.Do("ZCARD", sum).(int64) != size {
		return errors.New("the first builder goes on in the sum of the second")
	}
	if finish("1") || s.Do("EXISTS", v.key).(int64) != 0 {
		return errors.New("the first builder finishes the sum of the second")
	}
	if build("2") == "" || !finish("2") || s.Do("PTTL", v.key).(int64) < 1 || s.Do("ZSCORE", v.key, marker) != nil {
		return errors.New("the second builder makes a window, with a TTL and without the token")
	}
	if begin("3") {
		return errors.New("a window that is there is built again")
	}
	s.Do("DEL", v.key)
	s.Do("ZADD", sum, "4", marker)
	if !begin("5") { // a sum without a TTL is no lease
		return errors.New("a builder is the builder for ever")
	}
	s.Do("DEL", sum)
	if err := equals(t.Context(), v, model); err != nil {
		return err
	}
	return nil
}

func TestBuildersDoNotMixTheirSums(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		v, model := heavy(t, c, "mix:", 700)
		if err := takeOver(t, s, v, model); err != nil {
			t.Fatal(err)
		}
	})
}

// TestABuilderThatIsKilledIsReplaced: what it leaves has a TTL, at whose end a
// reader that waits builds the window.
func TestABuilderThatIsKilledIsReplaced(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		v, model := heavy(t, c, "killed:", 700)
		v.window.lease = 300 * time.Millisecond
		dead := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
		killed := v
		killed.client = open(t, "redis://"+dead.Addr())
		at := []string{v.key, partial(v.key)}
		if mine, err := step(t.Context(), killed, v.script.builder.begin, at, []string{"7", "300", marker},
			asBool); err != nil || !mine {
			t.Fatalf("%v, %v", mine, err)
		}
		page := append([]string{at[1]}, v.window.keys...)
		args := append([]string{"7", "300", marker, "0", "10"}, v.window.args[2:]...)
		if _, err := step(t.Context(), killed, v.script.builder.build, page, args, next); err != nil {
			t.Fatal(err)
		}
		killed.client.Close()
		if ms := s.Do("PTTL", partial(v.key)).(int64); ms == -1 {
			t.Error("what a killed builder leaves has no TTL")
		}
		if err := equals(t.Context(), v, model); err != nil {
			t.Error(err)
		}
	})
}

// TestManyReadersOfALargeWindow: one sum, and no one sees less than all of it.
func TestManyReadersOfALargeWindow(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		clients := []*keywright.Client{c, open(t, s.URL())}
		v, model := heavy(t, c, "many:", 1500)
		s.Do("CONFIG", "RESETSTAT")
		var readers sync.WaitGroup
		for i := range 12 {
			v := v
			v.client = clients[i%2]
			readers.Go(func() {
				if err := equals(t.Context(), v, model); err != nil {
					t.Error(err)
				}
			})
		}
		readers.Wait()
		if got := s.Info("cmdstat_rename"); !strings.HasPrefix(got, "calls=1,") {
			t.Errorf("RENAME: %s", got)
		}
	})
}

// TestAPeriodThatChangesWhileItIsAddedUp: a member's sum is one that it had
// meanwhile, and those that do not change have theirs.
func TestAPeriodThatChangesWhileItIsAddedUp(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		v, before := heavy(t, c, "change:", 1200)
		b := board(t, c, "change:", &numbers, ByMember)
		ctx, stop := context.WithCancel(t.Context())
		added := map[int64]float64{}
		var writer sync.WaitGroup
		writer.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				m := int64(i*7%1200) * 2
				if _, err := b.Increase(t.Context(), today, m, 1000); err != nil {
					t.Error(err)
				}
				added[m] += 1000
			}
		})
		rows, err := v.Top(t.Context(), MaxRows)
		stop()
		writer.Wait()
		if err != nil || len(rows) < len(before) {
			t.Fatalf("%d rows of %d, %v", len(rows), len(before), err)
		}
		for _, row := range rows {
			if row.Score < before[row.Member] || row.Score > before[row.Member]+added[row.Member] {
				t.Errorf("%d has %v: before it was %v, and %v were added", row.Member, row.Score, before[row.Member],
					added[row.Member])
			}
		}
	})
}

func TestAWindowNamesTheKeyOfAWrongType(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		for i, members := range []int{10, 700} {
			for k := range 4 {
				v, _ := heavy(t, c, fmt.Sprintf("wrong%d%d:", i, k), members)
				key := partial(v.key)
				if k < 3 {
					key = v.window.keys[k]
				} else if members == 10 {
					continue
				}
				s.Do("DEL", key)
				s.Do("SET", key, "x")
				_, err := v.Top(t.Context(), 5)
				if class, ok := keywright.ClassOf(err); !ok || class != keywright.Refused ||
					!strings.Contains(err.Error(), "(key "+key+")") {
					t.Errorf("%d members, %s: %v", members, key, err)
				}
				if s.Do("EXISTS", v.key).(int64) != 0 {
					t.Errorf("%d members, %s: there is a window", members, key)
				}
			}
		}
	})
}

// TestABuilderMeetsAWrongType: a period whose type changes after the first step.
func TestABuilderMeetsAWrongType(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	v, _ := heavy(t, open(t, s.URL()), "late:", 700)
	for k, key := range v.window.keys {
		s.Do("SET", key, "x")
		_, err := v.build(t.Context(), int64(k)+1)
		if class, ok := keywright.ClassOf(err); !ok || class != keywright.Refused ||
			!strings.Contains(err.Error(), "(key "+v.window.keys[0]+")") {
			t.Errorf("%s: %v", key, err)
		}
		if ms := s.Do("PTTL", partial(v.key)).(int64); ms == -1 {
			t.Error("what is left has no TTL")
		}
		s.Do("DEL", partial(v.key))
	}
}

func TestAWaitForAWindowEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	v, _ := heavy(t, open(t, s.URL()), "wait:", 700)
	s.Do("ZADD", partial(v.key), "5", marker)
	s.Do("PEXPIRE", partial(v.key), "600000")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := v.Top(ctx, 5); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestALargeWindowInACluster(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			c := open(t, keywrighttest.StartCluster(t, brand, 3, 0).URL())
			v, model := heavy(t, c, "{tag}:", 700)
			for range 2 {
				if err := equals(t.Context(), v, model); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestInfinitiesAddUpAsOnTheServer: what has no sum is 0.
func TestInfinitiesAddUpAsOnTheServer(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	v, model := heavy(t, open(t, s.URL()), "inf:", 700)
	s.Do("ZADD", v.window.keys[0], "inf", "1", "inf", "500", "-inf", "3")
	s.Do("ZADD", v.window.keys[2], "inf", "500", "0.1", "750")
	want := append([]string{"ZUNIONSTORE", "want", strconv.Itoa(len(v.window.keys))}, v.window.keys...)
	s.Do(append(append(want, "WEIGHTS"), v.window.args[2:]...)...)
	if _, err := v.Top(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for m := range model {
		id := strconv.FormatInt(m, 10)
		got, _ := strconv.ParseFloat(s.Do("ZSCORE", v.key, id).(string), 64)
		want, _ := strconv.ParseFloat(s.Do("ZSCORE", "want", id).(string), 64)
		if got != want {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
}

func TestGuardsOfBuildersMatter(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	v, model := heavy(t, open(t, s.URL()), "guard:", 700)
	for what, edit := range map[string]struct {
		script, old, new string
	}{
		"a window that is there":    {"begin", "if redis.call('PTTL', KEYS[1]) >= 0 then return 0 end", ""},
		"another builder":           {"begin", "elseif token and left >= 0 then", "elseif false then"},
		"a builder for ever":        {"begin", "token and left >= 0", "token"},
		"the TTL of a sum":          {"begin", "redis.call('PEXPIRE', KEYS[2], ARGV[2])", ""},
		"the token in a step":       {"build", "not token or tonumber(token) ~= tonumber(ARGV[1])", "false"},
		"the renewal of the lease":  {"build", "redis.call('PEXPIRE', KEYS[1], ARGV[2])", ""},
		"members that are summed":   {"build", "elseif not known[i] then", "else"},
		"the weights":               {"build", "scores[i] * ARGV[k + 4]", "scores[i] * 1"},
		"the token at the end":      {"finish", "not token or tonumber(token) ~= tonumber(ARGV[1])", "false"},
		"the member with the token": {"finish", "redis.call('ZREM', KEYS[2], ARGV[3])", ""},
		"the TTL of the window":     {"finish", "redis.call('PEXPIRE', KEYS[1], ARGV[2])", "redis.call('PERSIST', KEYS[1])"},
	} {
		mutant, n := parts.Mutant(edit.script, edit.old, edit.new)
		if n != 1 {
			t.Errorf("%q is not once in the script", edit.old)
		}
		v := v
		v.script.builder = newBuilder(mutant)
		if takeOver(t, s, v, model) == nil {
			t.Errorf("without %s: nothing notices", what)
		}
	}
}
