package kernel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
	"github.com/redis/rueidis"
	"go.uber.org/goleak"
)

// What rueidis puts off, a refresh of the cluster's slots by a second and closing
// the connections of a node that has gone by five, it does not take back on Close;
// both end by themselves.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"))
}

var (
	textEntry = keywright.Entry{Name: "note", Pattern: "note:{id}", Type: "string",
		TTL: keywright.TTL{Policy: keywright.Expires, Default: time.Minute, Min: time.Second, Max: time.Hour,
			Text: "1m in 1s..1h"}}
	countEntry = keywright.Entry{Name: "hits", Pattern: "hits:{id}", Type: "string",
		TTL: keywright.TTL{Policy: keywright.Expires, Default: time.Minute, Min: time.Minute, Max: time.Minute, Text: "1m"}}
	textCodec  = value.Text(0)
	countCodec = value.Int(0, 1<<40)
)

var (
	must   = expect.NoError
	open   = servertest.Open
	brands = servertest.Brands
)

func note(c *keywright.Client, id string) typed.String[string] {
	return typed.NewString(keywright.Binding{Client: c, Entry: &textEntry, Key: "note:" + id}, &textCodec)
}

func hits(c *keywright.Client, id string) typed.Counter {
	return typed.NewCounter(keywright.Binding{Client: c, Entry: &countEntry, Key: "hits:" + id}, &countCodec)
}

func class(t testing.TB, err error, want keywright.Class) {
	t.Helper()
	if got, ok := keywright.ClassOf(err); !ok || got != want {
		t.Errorf("%v: class %v (%t), want %v", err, got, ok, want)
	}
}

// TestLostReplies is the rule that matters most: a write whose reply was lost is
// applied once and said to be unknown; a read and an idempotent write come back.
func TestLostReplies(t *testing.T) {
	brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
		c := open(t, "redis://"+p.Addr(), keywright.Options{Connections: -1})
		ctx := t.Context()
		if _, err := hits(c, "1").Add(1).Do(ctx); err != nil { // loads the script
			t.Fatal(err)
		}

		p.LoseReplyTo("hits:1")
		_, err := hits(c, "1").Add(1).Do(ctx)
		class(t, err, keywright.UnknownOutcome)
		if got := s.Do("GET", "hits:1"); got != "2" {
			t.Errorf("an INCRBY whose reply was lost was applied to give %v, want 2: once", got)
		}

		must(t, note(c, "1").Set("x").Do(ctx))
		p.LoseReplyTo("note:1")
		if v, err := note(c, "1").Get().Do(ctx); err != nil || v != "x" {
			t.Errorf("a read whose reply was lost: %q, %v", v, err)
		}
		p.LoseReplyTo("note:1")
		if _, err := note(c, "1").Delete().Do(ctx); err != nil {
			t.Errorf("a delete whose reply was lost: %v", err)
		}
		if !p.Lost() {
			t.Error("no reply was lost: the test shows nothing")
		}
		p.LoseReplyTo("note:2")
		class(t, note(c, "2").Set("x").Do(ctx), keywright.UnknownOutcome)
		if got := s.Do("GET", "note:2"); got != "x" {
			t.Errorf("the write was not applied: %v", got)
		}
	})
}

// TestScriptsSurvive a restart, SCRIPT FLUSH, and being first seen in a batch.
func TestScriptsSurvive(t *testing.T) {
	brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		c := open(t, s.URL(), keywright.Options{})
		ctx := t.Context()
		for i := range 3 {
			if n, err := hits(c, "1").Add(1).Do(ctx); err != nil || n != int64(i+1) {
				t.Fatalf("%d, %v", n, err)
			}
			s.Do("SCRIPT", "FLUSH")
		}
		var b keywright.Batch
		keywright.Queue(&b, note(c, "1").Set("x"))
		n := keywright.Queue(&b, hits(c, "1").Add(1))
		keywright.Queue(&b, note(c, "1").Delete())
		must(t, b.Run(ctx))
		if v, err := n.Result(); err != nil || v != 4 {
			t.Errorf("%d, %v", v, err)
		}
		if s.Do("EXISTS", "note:1") != int64(0) {
			t.Error("the batch did not run in order")
		}
		s.Restart()
		if n, err := hits(c, "2").Add(1).Do(ctx); err != nil || n != 1 {
			t.Errorf("after a restart: %d, %v", n, err)
		}
	})
}

func TestRefusals(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{Attempts: 2})
	ctx := t.Context()

	_, err := note(c, "none").Get().Do(ctx)
	if err != keywright.ErrNotFound {
		t.Errorf("a key that is not there: %v", err)
	}
	s.Do("SADD", "note:set", "x")
	_, err = note(c, "set").Get().Do(ctx)
	class(t, err, keywright.Refused)
	if !strings.Contains(err.Error(), "get note on ") || !strings.Contains(err.Error(), "keywright audit") {
		t.Errorf("the error does not say what, where and what to do: %v", err)
	}
	class(t, note(c, "1").Set("x", keywright.ExpiresIn(2*time.Hour)).Do(ctx), keywright.Invalid)
	class(t, note(c, "1").Set("x", keywright.ExpiresIn(0)).Do(ctx), keywright.Invalid)
	if s.Do("EXISTS", "note:1") != int64(0) {
		t.Error("a write with a TTL out of bounds was sent")
	}
	must(t, note(c, "1").Set("x", keywright.ExpiresIn(time.Hour)).Do(ctx))

	s.Do("CONFIG", "SET", "maxmemory", "1")
	class(t, note(c, "2").Set("x").Do(ctx), keywright.NotApplied)
	_, err = hits(c, "2").Add(1).Do(ctx)
	class(t, err, keywright.NotApplied)
	err = c.Transact(ctx, func(tx *keywright.Tx) error {
		keywright.Queue(tx, note(c, "3").Set("x"))
		return nil
	})
	class(t, err, keywright.NotApplied)
	if !strings.Contains(err.Error(), "OOM") {
		t.Errorf("a transaction that was refused does not say why: %v", err)
	}
	s.Do("CONFIG", "SET", "maxmemory", "0")
	if s.Do("EXISTS", "hits:2") != int64(0) {
		t.Error("a refused write left something")
	}

	s.Do("REPLICAOF", "127.0.0.1", "1")
	class(t, note(c, "2").Set("x").Do(ctx), keywright.NotApplied)
	s.Do("REPLICAOF", "NO", "ONE")
	must(t, note(c, "2").Set("x").Do(ctx))

	s.Do("ACL", "SETUSER", "default", "-set")
	err = note(c, "2").Set("x").Do(ctx)
	class(t, err, keywright.Refused)
	s.Do("ACL", "SETUSER", "default", "+set")

	s.Kill()
	// Each connection learns of it with what was sent last.
	for range 10 {
		err = note(c, "2").Set("x").Do(ctx)
		if got, _ := keywright.ClassOf(err); got == keywright.NotApplied {
			return
		} else if got != keywright.UnknownOutcome {
			t.Errorf("a write to a dead server: %v", err)
		}
	}
	t.Errorf("a write to a server that has been dead for long: %v", err)
}

// TestTransact: two writers lose nothing of each other, and a conflict that
// never ends is reported.
func TestTransact(t *testing.T) {
	brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		c := open(t, s.URL(), keywright.Options{Attempts: 1000, Backoff: time.Millisecond})
		ctx := t.Context()
		must(t, hits(c, "1").Set(0).Do(ctx))
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 20 {
					err := c.Transact(ctx, func(tx *keywright.Tx) error {
						n, err := keywright.Watch(tx, hits(c, "1").Get())
						if err != nil {
							return err
						}
						keywright.Queue(tx, hits(c, "1").Set(n+1))
						keywright.Queue(tx, hits(c, "2").Add(1)) // a script
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for _, key := range []string{"hits:1", "hits:2"} {
			if got := s.Do("GET", key); got != "160" {
				t.Errorf("%s is %v after 160 additions", key, got)
			}
			if ms := s.Do("PTTL", key).(int64); ms < 1 || ms > 60_000 {
				t.Errorf("%s has the TTL %d", key, ms)
			}
		}
	})
}

// TestTransactInCluster: keys of one slot, on whichever server; and a guard in
// front changes nothing.
func TestTransactInCluster(t *testing.T) {
	cluster := keywrighttest.StartCluster(t, keywrighttest.Valkey, 3, 0)
	c := open(t, cluster.URL(), keywright.Options{})
	ctx := t.Context()
	for i := range 20 {
		a, b := hits(c, fmt.Sprintf("{%d}a", i)), hits(c, fmt.Sprintf("{%d}b", i))
		must(t, a.Set(5).Do(ctx))
		err := c.Transact(ctx, func(tx *keywright.Tx) error {
			n, err := keywright.Watch(tx, a.Get())
			keywright.Queue(tx, a.Add(-n))
			keywright.Queue(tx, b.Add(n))
			return err
		})
		must(t, err)
		if n, err := b.Get().Do(ctx); err != nil || n != 5 {
			t.Errorf("%d %v", n, err)
		}
	}
	err := c.Transact(ctx, func(tx *keywright.Tx) error {
		for i := range 5 {
			keywright.Queue(tx, hits(c, fmt.Sprint(i)).Add(1))
		}
		return nil
	})
	class(t, err, keywright.Invalid)
	err = c.Transact(ctx, func(tx *keywright.Tx) error {
		for i := range 5 {
			if _, err := keywright.Watch(tx, hits(c, fmt.Sprint(i)).Get()); err != nil && err != keywright.ErrNotFound {
				return err
			}
		}
		return nil
	})
	class(t, err, keywright.Invalid)
	script := keywright.NewScript("two", "return redis.call('INCR', KEYS[1]) + redis.call('INCR', KEYS[2])")
	two := func(keys ...string) keywright.Op[int64] {
		number := value.Int(0, 100)
		return typed.NewCall(keywright.Binding{Client: c, Entry: &countEntry}, typed.Call{Script: script, Keys: keys},
			typed.Reply(&number))
	}
	if n, err := two("{a}1", "{a}2").Do(ctx); err != nil || n != 2 {
		t.Errorf("%d %v", n, err)
	}
	_, err = two("a", "b").Do(ctx)
	class(t, err, keywright.Invalid)
	var b keywright.Batch
	keywright.Queue(&b, two("a", "b"))
	class(t, b.Run(ctx), keywright.Invalid)
}

func TestTransactTellsOfConflicts(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	c := open(t, s.URL(), keywright.Options{Attempts: 3, Backoff: time.Millisecond})
	ctx := t.Context()
	runs := 0
	var pending *keywright.Pending[int64]
	err := c.Transact(ctx, func(tx *keywright.Tx) error {
		runs++
		if _, err := keywright.Watch(tx, note(c, "1").Get()); err != nil && err != keywright.ErrNotFound {
			return err
		}
		s.Do("SET", "note:1", fmt.Sprint(runs))
		pending = keywright.Queue(tx, hits(c, "1").Add(1))
		return nil
	})
	if !errors.Is(err, keywright.ErrConflict) || runs != 3 {
		t.Errorf("%v after %d runs", err, runs)
	}
	class(t, err, keywright.NotApplied)
	if _, err := pending.Result(); err == nil || s.Do("EXISTS", "hits:1") != int64(0) {
		t.Errorf("something was applied: %v", err)
	}
	mine := errors.New("mine")
	if err := c.Transact(ctx, func(tx *keywright.Tx) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("%v", err)
	}
	err = c.Transact(ctx, func(tx *keywright.Tx) error {
		keywright.Queue(tx, note(c, "1").Set("x", keywright.ExpiresIn(-1)))
		return nil
	})
	class(t, err, keywright.Invalid)
	err = c.Transact(ctx, func(tx *keywright.Tx) error {
		_, err := keywright.Watch(tx, note(c, "1").Delete())
		return err
	})
	class(t, err, keywright.Invalid)
}

func TestBatchStandsOrFallsByItself(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{})
	ctx := t.Context()
	s.Do("SADD", "note:set", "x")
	var b keywright.Batch
	good := keywright.Queue(&b, note(c, "1").Set("x"))
	bad := keywright.Queue(&b, note(c, "set").Get())
	none := keywright.Queue(&b, note(c, "none").Get())
	if _, err := good.Result(); err != keywright.ErrNotRun {
		t.Errorf("before it ran: %v", err)
	}
	class(t, b.Run(ctx), keywright.Refused)
	if _, err := good.Result(); err != nil {
		t.Error(err)
	}
	if _, err := bad.Result(); err == nil {
		t.Error("the wrong type was not told")
	}
	if _, err := none.Result(); err != keywright.ErrNotFound {
		t.Error(err)
	}
	keywright.Queue(&b, note(c, "2").Set("x"))
	keywright.Queue(&b, note(c, "3").Set("x", keywright.ExpiresIn(-1)))
	class(t, b.Run(ctx), keywright.Invalid)
	if s.Do("EXISTS", "note:2") != int64(0) {
		t.Error("part of an invalid batch was sent")
	}
	must(t, b.Run(ctx)) // it is empty now
	must(t, kernel.DoAll(ctx, note(c, "1").Delete(), note(c, "none").Delete()))
	if s.Do("EXISTS", "note:1") != int64(0) {
		t.Error("DoAll did not delete")
	}
}

func TestCheck(t *testing.T) {
	brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		cluster := keywrighttest.StartCluster(t, brand, 3, 0)
		c := open(t, cluster.URL(), keywright.Options{Name: "checker"})
		for i := range 20 {
			must(t, note(c, fmt.Sprint(i)).Set("x").Do(t.Context()))
		}
		h, err := c.Check(t.Context())
		must(t, err)
		var keys int64
		for _, s := range h.Servers {
			keys += s.Keys
			if s.Role != "master" || s.Version == "" || s.Latency <= 0 || s.Memory == 0 || s.Clients == 0 {
				t.Errorf("%+v", s)
			}
		}
		if len(h.Servers) != 3 || keys != 20 || !h.OK() {
			t.Errorf("%d servers with %d keys", len(h.Servers), keys)
		}
		cluster.Nodes[2].Stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		h, err = c.Check(ctx)
		cluster.Nodes[2].Continue()
		if err == nil || h.OK() {
			t.Errorf("a frozen server is not told: %+v", h)
		}
	})
}

// TestHooksAndLogs tell the entry and never the key or the value.
func TestHooksAndLogs(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	var log bytes.Buffer
	type key struct{}
	var calls []string
	hook := keywright.Hook{
		Start: func(ctx context.Context, call keywright.Call) context.Context {
			return context.WithValue(ctx, key{}, call.Op)
		},
		Done: func(ctx context.Context, call keywright.Call, o keywright.Outcome) {
			calls = append(calls,
				fmt.Sprintf("%s %s %t %d %v", call.Entry, ctx.Value(key{}), call.Write, call.Size, o.Err == nil))
		},
	}
	c := open(t, s.URL(), keywright.Options{Hooks: []keywright.Hook{hook, {}},
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	ctx := t.Context()
	must(t, note(c, "secretid").Set("secretvalue").Do(ctx))
	_, _ = note(c, "none").Get().Do(ctx)
	s.Do("SADD", "note:secretset", "secretmember")
	_, _ = note(c, "secretset").Get().Do(ctx)
	s.Do("SET", "hits:secretid", "secretnumber")
	_, err := hits(c, "secretid").Get().Do(ctx)
	var broken *keywright.DecodeError
	if !errors.As(err, &broken) || broken.Entry != "hits" || broken.Key != "hits:secretid" ||
		strings.Contains(err.Error(), "secretnumber") {
		t.Errorf("%v", err)
	}
	want := []string{"note set true 1 true", "note get false 1 false", "note get false 1 false", "hits get false 1 false"}
	if fmt.Sprint(calls) != fmt.Sprint(want) {
		t.Errorf("hooks saw %q", calls)
	}
	if text := log.String(); strings.Contains(text, "secret") || strings.Count(text, "\n") != 4 ||
		!strings.Contains(text, "entry=note") {
		t.Errorf("the log:\n%s", text)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Valkey, keywrighttest.Password("hunter2"))
	for url, want := range map[string]struct {
		hint  string
		class keywright.Class
	}{
		"redis://127.0.0.1:1":                 {"keywright doctor", keywright.NotApplied},
		"redis://user:wrong@" + s.Addr():      {"keywright acl print", keywright.Refused},
		"redis://" + s.Addr():                 {"keywright acl print", keywright.Refused},
		"http://x":                            {"redis://host:port", keywright.Invalid},
		"redis+sentinel://127.0.0.1:1/master": {"check the URL", keywright.NotApplied},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		_, err := keywright.Open(ctx, url, keywright.Options{Timeout: time.Second})
		cancel()
		if err == nil || !strings.Contains(err.Error(), want.hint) || strings.Contains(err.Error(), "wrong@") {
			t.Errorf("%s: %v", url, err)
		}
		if class, _ := keywright.ClassOf(err); class != want.class {
			t.Errorf("%s: %v is %v, not %v", url, err, class, want.class)
		}
	}
	open(t, "redis://:hunter2@"+s.Addr(), keywright.Options{})
}

// TestCommandsPerOperation: what each operation sends, as the server sees it.
func TestCommandsPerOperation(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{})
	ctx := t.Context()
	_, err := hits(c, "warm").Add(1).Do(ctx)
	must(t, err)
	stop := s.Monitor()
	must(t, note(c, "1").Set("x").Do(ctx))
	_, err = note(c, "1").Get().Do(ctx)
	must(t, err)
	_, err = hits(c, "1").Add(1).Do(ctx)
	must(t, err)
	calls := 0
	for _, line := range stop() {
		if !strings.Contains(line, "lua]") && (strings.Contains(line, "note:1") || strings.Contains(line, "hits:1")) {
			calls++ // others are those of new connections
		}
	}
	if calls != 3 {
		t.Errorf("3 operations were %d commands", calls)
	}
}

// TestFailover: through sentinels and in a cluster the same client goes on, and
// what was acknowledged to be written before is there.
func TestFailover(t *testing.T) {
	t.Run("sentinel", func(t *testing.T) {
		t.Parallel()
		s := keywrighttest.StartSentinel(t, keywrighttest.Valkey, 2, 3)
		survive(t, open(t, s.URL(), keywright.Options{Timeout: time.Second, Attempts: 30}), s.Primary, s.Replicas...)
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		s := keywrighttest.StartCluster(t, keywrighttest.Redis, 3, 3)
		survive(t, open(t, s.URL(), keywright.Options{Timeout: time.Second, Attempts: 30}), s.Nodes[0], s.Nodes[3])
	})
}

func survive(t *testing.T, c *keywright.Client, primary *keywrighttest.Server, replicas ...*keywrighttest.Server) {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	for i := range 50 {
		must(t, note(c, fmt.Sprint(i)).Set("before").Do(ctx))
	}
	primary.Copied(replicas...)
	primary.Kill()
	var unknown atomic.Int64
	for i := range 50 {
		if v, err := note(c, fmt.Sprint(i)).Get().Do(ctx); err != nil || v != "before" {
			t.Fatalf("a read after the failover: %q, %v", v, err)
		}
		for { // the caller's loop: what is known not to be applied is written again
			err := note(c, fmt.Sprint("after", i)).Set("after").Do(ctx)
			if err == nil {
				break
			}
			got, ok := keywright.ClassOf(err)
			if !ok || got != keywright.NotApplied && got != keywright.UnknownOutcome || ctx.Err() != nil {
				t.Fatal(err)
			}
			if got == keywright.UnknownOutcome {
				unknown.Add(1)
			}
		}
		if _, err := hits(c, fmt.Sprint(i)).Add(1).Do(ctx); err != nil {
			t.Fatalf("a script after the failover: %v", err)
		}
	}
	t.Logf("%d writes of unknown outcome", unknown.Load())
}

// TestWrapAndRaw: what is put in between sees everything.
func TestWrapAndRaw(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	var seen atomic.Int64
	c := open(t, s.URL(), keywright.Options{Wrap: func(r rueidis.Client) rueidis.Client { return counting{r, &seen} }})
	must(t, note(c, "1").Set("x").Do(t.Context()))
	must(t, c.Raw().Do(t.Context(), c.Raw().B().Ping().Build()).Error())
	if seen.Load() != 2 {
		t.Errorf("%d commands seen", seen.Load())
	}
}

type counting struct {
	rueidis.Client
	n *atomic.Int64
}

func (c counting) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	c.n.Add(1)
	return c.Client.Do(ctx, cmd)
}
