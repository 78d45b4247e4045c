package kernel_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/internal/everykeys"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/limit"
	"github.com/keywright/keywright/lock"
	"github.com/keywright/keywright/queue"
)

// deeds are writes of which each can be found again by its number.
var deeds = map[string]struct {
	do    func(ctx context.Context, k *everykeys.Keyspace, n int) error
	found func(ctx context.Context, k *everykeys.Keyspace, all []int) (map[int]int, error) // how often each was applied
}{
	"list": {func(ctx context.Context, k *everykeys.Keyspace, n int) error {
		_, err := k.Lst(1).PushRight(fmt.Sprint(n)).Do(ctx)
		return err
	}, func(ctx context.Context, k *everykeys.Keyspace, _ []int) (map[int]int, error) {
		all, err := k.Lst(1).Range(0, -1).Do(ctx)
		return tally(all), err
	}},
	"set": {func(ctx context.Context, k *everykeys.Keyspace, n int) error {
		_, err := k.St(1).Add(fmt.Sprint(n)).Do(ctx)
		return err
	}, func(ctx context.Context, k *everykeys.Keyspace, _ []int) (map[int]int, error) {
		all, err := k.St(1).Members().Do(ctx)
		return tally(all), err
	}},
	"transaction": {func(ctx context.Context, k *everykeys.Keyspace, n int) error {
		return k.Client().Transact(ctx, func(tx *keywright.Tx) error {
			keywright.Queue(tx, k.Lst(2).PushRight([]string{fmt.Sprint(n)}...))
			return nil
		})
	}, func(ctx context.Context, k *everykeys.Keyspace, _ []int) (map[int]int, error) {
		all, err := k.Lst(2).Range(0, -1).Do(ctx)
		return tally(all), err
	}},
	"batch": {func(ctx context.Context, k *everykeys.Keyspace, n int) error {
		var b keywright.Batch
		p := keywright.Queue(&b, k.Lst(3).PushRight([]string{fmt.Sprint(n)}...))
		keywright.Queue(&b, k.Str(1).Get())
		_ = b.Run(ctx)
		_, err := p.Result()
		return err
	}, func(ctx context.Context, k *everykeys.Keyspace, _ []int) (map[int]int, error) {
		all, err := k.Lst(3).Range(0, -1).Do(ctx)
		return tally(all), err
	}},
	"stream": {func(ctx context.Context, k *everykeys.Keyspace, n int) error {
		_, err := k.Dur().Publish(ctx, everykeys.DurMessage{N: int64(n)})
		return err
	}, func(ctx context.Context, k *everykeys.Keyspace, _ []int) (map[int]int, error) {
		out := map[int]int{}
		for m, err := range k.Dur().All(ctx, event.Begin) {
			if err != nil {
				return nil, err
			}
			out[int(m.Data.N)]++
		}
		return out, nil
	}},
	"queue": {func(ctx context.Context, k *everykeys.Keyspace, n int) error {
		_, err := k.Q().Enqueue(ctx, queue.Task[string]{ID: fmt.Sprint(n), Payload: "x"})
		return err
	}, func(ctx context.Context, k *everykeys.Keyspace, _ []int) (map[int]int, error) {
		raw := k.Client().Raw()
		all, err := raw.Do(ctx, raw.B().Lrange().Key("{every:q}").Start(0).Stop(-1).Build()).AsStrSlice()
		return tally(all), err
	}},
	"counter": {func(ctx context.Context, k *everykeys.Keyspace, n int) error {
		_, err := k.Cnt(idOf(n)).Add(1).Do(ctx)
		return err
	}, each(func(ctx context.Context, k *everykeys.Keyspace, n int) (int, error) {
		times, err := k.Cnt(idOf(n)).Get().Do(ctx)
		if errors.Is(err, keywright.ErrNotFound) {
			return 0, nil
		}
		return int(times), err
	})},
	"limit": {func(ctx context.Context, k *everykeys.Keyspace, n int) error {
		_, err := limited(k, n).Allow(ctx)
		return err
	}, each(func(ctx context.Context, k *everykeys.Keyspace, n int) (int, error) {
		r, err := limited(k, n).Peek(ctx)
		return int(passes - r.Remaining), err
	})},
	"lock": {func(ctx context.Context, k *everykeys.Keyspace, n int) error {
		_, err := lock.Open(k.Client(), locked(n), lock.Options{Lease: time.Hour, NoRenewal: true}).Try(ctx)
		return err
	}, each(func(ctx context.Context, k *everykeys.Keyspace, n int) (int, error) {
		raw := k.Client().Raw()
		there, err := raw.Do(ctx, raw.B().Exists().Key(locked(n)).Build()).AsInt64()
		return int(there), err
	})},
	"entity": {func(ctx context.Context, k *everykeys.Keyspace, n int) error {
		_, err := k.ItemStore().Create(ctx, idOf(n), everykeys.ItemValue{Pri: 1, Name: "x"})
		return err
	}, each(func(ctx context.Context, k *everykeys.Keyspace, n int) (int, error) {
		there, err := k.ItemStore().Exists(ctx, idOf(n))
		if there {
			return 1, err
		}
		return 0, err
	})},
	"cache": {func(ctx context.Context, k *everykeys.Keyspace, n int) error {
		return k.Ca(idOf(n)).Set(ctx, "x")
	}, each(func(ctx context.Context, k *everykeys.Keyspace, n int) (int, error) {
		_, err := k.Ca(idOf(n)).Get(ctx)
		if errors.Is(err, keywright.ErrNotFound) {
			return 0, nil
		}
		return 1, err
	})},
	"ranking": {func(ctx context.Context, k *everykeys.Keyspace, n int) error {
		b, err := k.RankBoard()
		if err != nil {
			return err
		}
		_, err = b.Increase(ctx, truthDay, idOf(n), 1)
		return err
	}, each(func(ctx context.Context, k *everykeys.Keyspace, n int) (int, error) {
		times, err := k.Rank(truthDay).Score(idOf(n)).Do(ctx)
		if errors.Is(err, keywright.ErrNotFound) {
			return 0, nil
		}
		return int(times), err
	})},
}

// truthDay is the day of the ranking: the one on which the tests began.
var truthDay = time.Now()

// passes says what a limit lets through in a time that does not end before the test.
const passes = 1000

var limitOf = keywright.Entry{Name: "passes", Pattern: "every:passes:{id}", Type: "ratelimit"}

func limited(k *everykeys.Keyspace, n int) limit.Limiter {
	return limit.New(keywright.Binding{Client: k.Client(), Entry: &limitOf},
		limit.Sliding(passes, 1000*time.Hour)).Of(fmt.Sprint("every:passes:", n), nil)
}

func locked(n int) string { return fmt.Sprint("every:truth:", n) }

// idOf returns a number as the id of a key, which is 1 and more.
func idOf(n int) int64 { return int64(n) + 1 }

// each asks for each by itself how often it was applied, for some at a time.
func each(times func(ctx context.Context, k *everykeys.Keyspace, n int) (int, error)) func(context.Context,
	*everykeys.Keyspace, []int) (map[int]int, error) {
	return func(ctx context.Context, k *everykeys.Keyspace, all []int) (map[int]int, error) {
		var mu sync.Mutex
		var wg sync.WaitGroup
		var failed error
		out := map[int]int{}
		for part := range slices.Chunk(all, 1+len(all)/32) {
			wg.Go(func() {
				for _, n := range part {
					applied, err := times(ctx, k, n)
					mu.Lock()
					out[n], failed = applied, cmp.Or(failed, err)
					mu.Unlock()
					if err != nil {
						return
					}
				}
			})
		}
		wg.Wait()
		return out, failed // what is there of it is not judged
	}
}

func tally(all []string) map[int]int {
	out := map[int]int{}
	for _, text := range all {
		var n int
		if _, err := fmt.Sscan(text, &n); err == nil {
			out[n]++
		}
	}
	return out
}

// said describes what a call has said of its write.
type said struct {
	deed string
	n    int
	err  error
}

// TestWhatAnErrorSaysIsTrue: while a replica takes over, a slot moves, or connections
// break, each call says truthfully whether it was applied: yes without an error, no
// if it says "not applied" or "refused", and never twice.
func TestWhatAnErrorSaysIsTrue(t *testing.T) {
	gate.Skip(t, "a thousand calls in each of seven states, as they come")
	cluster := func(t *testing.T, replicas int) *keywrighttest.Cluster {
		return keywrighttest.StartCluster(t, keywrighttest.Valkey, 3, replicas)
	}
	for name, state := range map[string]func(t *testing.T) (url string, harm func()){
		"a replica takes over": func(t *testing.T) (string, func()) {
			c, next := cluster(t, 1), 0
			return c.URL(), func() {
				if next < 3 {
					c.Failover(3 + next)
				}
				next++
			}
		},
		"sentinels promote a replica": func(t *testing.T) (string, func()) {
			s, once := keywrighttest.StartSentinel(t, keywrighttest.Valkey, 1, 1), sync.Once{}
			return s.URL(), func() { once.Do(func() { promote(t, s) }) }
		},
		"the primary is killed": func(t *testing.T) (string, func()) {
			s, once := keywrighttest.StartSentinel(t, keywrighttest.Redis, 1, 1), sync.Once{}
			return s.URL(), func() {
				once.Do(func() { s.Primary.Kill(); s.Replicas[0].Await("role", "master") })
			}
		},
		"slots move": func(t *testing.T) (string, func()) {
			c, turn := cluster(t, 0), 0
			return c.URL(), func() {
				for _, key := range []string{"every:cnt:1", "every:item:1", "every:idx:pri:1", "every:lst:1", "every:lst:2",
					"every:set:1", "{every:q}", "every:dur"} {
					var slot int
					_, _ = fmt.Sscan(fmt.Sprint(c.Nodes[0].Do("CLUSTER", "KEYSLOT", key)), &slot)
					home := slot * 3 / 16384
					c.MoveSlotOf(key, (home+turn)%3, (home+turn+1)%3)
				}
				turn++
			}
		},
		"connections break": func(t *testing.T) (string, func()) {
			p := keywrighttest.NewProxy(t, keywrighttest.Start(t, keywrighttest.Redis).Addr(), keywrighttest.Rules{})
			return "redis://" + p.Addr(), p.Cut
		},
		"replies are lost": func(t *testing.T) (string, func()) {
			p := keywrighttest.NewProxy(t, keywrighttest.Start(t, keywrighttest.Redis).Addr(), keywrighttest.Rules{})
			word := []string{"RPUSH", "SADD", "EXEC", "EVALSHA"}
			return "redis://" + p.Addr(), func() { p.LoseReplyTo(word[0]); word = append(word[1:], word[0]) }
		},
		"the server freezes": func(t *testing.T) (string, func()) {
			s := keywrighttest.Start(t, keywrighttest.Valkey)
			return s.URL(), func() {
				s.Stop()
				defer s.Continue()
				pause(t, 400*time.Millisecond) // longer than a call may take
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, harm := state(t)
			k := everykeys.New(open(t, url, keywright.Options{Timeout: 30 * time.Second}))
			judgeAll(t, k, collect(t, k, harm), slices.Contains(losing, name))
		})
	}
}

// pause waits for what a server does not do.
func pause(t *testing.T, d time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	<-ctx.Done()
}

// collect writes until harm was done four times, with some calls after each.
func collect(t *testing.T, k *everykeys.Keyspace, harm func()) (all []said) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for name, deed := range deeds {
		for worker := range 3 {
			wg.Go(func() {
				for n := worker; ctx.Err() == nil; n += 3 {
					call, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
					err := deed.do(call, k, n)
					cancel()
					mu.Lock()
					all = append(all, said{name, n, err})
					mu.Unlock()
				}
			})
		}
	}
	count := func() int { mu.Lock(); defer mu.Unlock(); return len(all) }
	for range 4 {
		before := count()
		until(t, "calls go on", func() bool { return count() > before+200 })
		harm()
	}
	before := count()
	until(t, "calls go on", func() bool { return count() > before+200 })
	stop()
	wg.Wait()
	return all
}

// losing lists the states in which a server may lose what it has said yes to: a replica
// takes over that has not seen it.
var losing = []string{"sentinels promote a replica", "the primary is killed"}

// judgeAll compares what calls have said with what is there.
func judgeAll(t *testing.T, k *everykeys.Keyspace, all []said, loses bool) {
	found, tried := map[string]map[int]int{}, map[string][]int{}
	for _, one := range all {
		tried[one.deed] = append(tried[one.deed], one.n)
	}
	for name, deed := range deeds {
		until(t, "what is there can be read: "+name, func() bool {
			there, err := deed.found(t.Context(), k, tried[name])
			if err != nil && found[name] == nil {
				t.Logf("%s: %v", name, err) // once
			}
			found[name] = there
			return err == nil
		})
	}
	classes := map[string]int{}
	for _, one := range all {
		class, _ := keywright.ClassOf(one.err)
		times, what := found[one.deed][one.n], fmt.Sprint(class)
		if one.err == nil {
			what = "applied"
		}
		classes[one.deed+": "+what]++
		switch {
		case times > 1:
			t.Errorf("%s %d was applied %d times: %v", one.deed, one.n, times, one.err)
		case one.err == nil && times == 0 && !loses:
			t.Errorf("%s %d was not applied, and says that it was", one.deed, one.n)
		case one.err != nil && times == 1 && class != keywright.UnknownOutcome && class != keywright.Partial:
			t.Errorf("%s %d was applied, and says %v", one.deed, one.n, one.err)
		}
	}
	var lines []string
	for what, n := range classes {
		lines = append(lines, fmt.Sprintf("%s %d", what, n))
	}
	t.Log(strings.Join(lines, ", "))
}
