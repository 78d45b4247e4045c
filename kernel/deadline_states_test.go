package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/everykeys"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keywrighttest"
)

// blocking says how many commands that block a client sends at a time, with BlockingFor.
const blocking = 8

// fillPool takes all connections of a client that others may have for themselves, until end.
func fillPool(t *testing.T, s *keywrighttest.Server, c *keywright.Client) (full func() bool, end func()) {
	t.Helper()
	life, over := context.WithCancel(t.Context())
	var holders sync.WaitGroup
	held := make(chan struct{}, kernel.MostOwn)
	for range kernel.MostOwn {
		holders.Go(func() {
			_ = c.Transact(life, func(*keywright.Tx) error { held <- struct{}{}; <-life.Done(); return life.Err() })
		})
	}
	for range blocking {
		holders.Go(func() { _ = c.Raw().Do(life, c.Raw().B().Blpop().Key("every:none").Timeout(0).Build()).Error() })
	}
	full = func() bool { return len(held) == kernel.MostOwn && number(t, s, "blocked_clients") == blocking }
	until(t, "the pool is full", full)
	return full, func() { over(); holders.Wait() }
}

// poolFull has all connections that calls may take in use by others: each
// transaction and each command that blocks has one for itself.
func poolFull(t *testing.T) {
	free := kernel.BlockingFor(blocking)
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := patient(t, s.URL())
	free()
	t.Parallel()
	full, end := fillPool(t, s, c)
	hurry(t, c, func(name string, err error) {
		if slices.Contains(ownConnection, name) || strings.HasSuffix(name, ".DoAndWait") {
			unsent(t)(name, err)
		}
	})
	monitored := s.Monitor()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	_ = c.Raw().Do(ctx, c.Raw().B().Blpop().Key("every:beyond").Timeout(0).Build())
	cancel()
	if sent := monitored(); slices.ContainsFunc(sent,
		func(line string) bool { return strings.Contains(line, "every:beyond") }) {
		t.Errorf("a command that blocks was sent beyond the most that do: %q", sent)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	// needs no connection of those
	stop, err := c.Subscribe(ctx, "every:pool", keywright.Listener{Message: func(string) {}})
	if must(t, err); stop != nil {
		stop()
	}
	truthful(t, s, c)
	if !full() {
		t.Error("the pool was not full all the time")
	}
	end()
	must(t, everything(t, c)["transaction"](t.Context()))
}

// ownConnection lists the calls that need a connection for themselves.
var ownConnection = []string{"transaction", "transaction that watches", "Keys.StrmGGroup.Read"}

// queueing lists the calls that join the queue of a lock that is held, and leave it again.
var queueing = []string{"Keys.Lk.Acquire", "Keys.Lk.AcquireShared", "Keys.Lk.Do", "Keys.Lk.DoShared", "Quorum.Acquire",
	"Quorum.Try", "Quorum.Do"}

// truthful makes each call alone: one that says that nothing was applied has changed
// nothing on the server. What an earlier call sent may arrive meanwhile, so a call that
// seems to lie is made again.
func truthful(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
	t.Helper()
	classes := map[string]int{}
	once := func(name string, call func(context.Context) error) (lie string) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		before := s.Info("rdb_changes_since_last_save")
		err := sound(ctx, call)
		class, ok := keywright.ClassOf(err)
		if !ok {
			return ""
		}
		classes[class.String()]++
		after := s.Info("rdb_changes_since_last_save")
		if after == before || applies(err) || slices.Contains(queueing, name) ||
			strings.Contains(err.Error(), "; the load goes on; it is stored when it is done") { // it says so
			return ""
		}
		return fmt.Sprintf("%s changes became %s, and it says %v: %v", before, after, class, err)
	}
	for name, call := range everything(t, c) {
		var lies []string
		for lie := once(name, call); lie != ""; lie = once(name, call) {
			if lies = append(lies, lie); len(lies) == 3 {
				t.Errorf("%s: three times of three:\n%s", name, strings.Join(lies, "\n"))
				break
			}
		}
	}
	t.Log(classes)
}

// demoted makes the server of a client the replica of another one, without a word to
// the client: nothing can be applied any more.
func demoted(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	next := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.ReplicaOf(s))
	c := patient(t, s.URL())
	hurry(t, c, nil) // something is stored
	next.Await("master_link_status", "up")
	next.Do("REPLICAOF", "NO", "ONE")
	port := strconv.Itoa(next.Port)
	s.Do("REPLICAOF", "127.0.0.1", port)
	s.Await("master_link_status", "up")
	before := next.Info("rdb_changes_since_last_save")
	hurry(t, c, func(name string, err error) {
		if applies(err) && !errors.Is(err, context.DeadlineExceeded) { // else an attempt was under way at the end
			t.Errorf("%s, which a replica was asked for: %v", name, err)
		}
	})
	if after := next.Info("rdb_changes_since_last_save"); after != before {
		t.Errorf("%s changes became %s: something was applied", before, after)
	}
}

// failingOver makes calls while do replaces primaries, and until all is well again.
func failingOver(t *testing.T, c *keywright.Client, do func()) {
	t.Helper()
	life, end := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	calls.Go(func() {
		for life.Err() == nil {
			hurry(t, c, nil)
		}
	})
	do()
	for name, call := range map[string]func(context.Context) error{
		"set":                      func(ctx context.Context) error { return everykeys.New(c).Str(1).Set("x").Do(ctx) },
		"transaction that watches": everything(t, c)["transaction that watches"],
	} {
		until(t, name+" works again", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return call(ctx) == nil
		})
	}
	end()
	calls.Wait()
}

// promote lets sentinels make the replica the primary.
func promote(t *testing.T, s *keywrighttest.Sentinels) {
	until(t, "the sentinel agrees", func() bool {
		_, err := s.Sentinels[0].Try("SENTINEL", "FAILOVER", "mymaster")
		return err == nil
	})
	s.Replicas[0].Await("role", "master")
}

// busy lists the states of a server that works, and of a client with many callers.
var busy = map[string]func(*testing.T){
	"pool full": poolFull,
	"demoted":   demoted,
	"failing over, in agreement": func(t *testing.T) {
		t.Parallel()
		s := keywrighttest.StartCluster(t, keywrighttest.Valkey, 3, 1)
		failingOver(t, patient(t, s.URL()), func() {
			for replica := 3; replica < 6; replica++ {
				s.Failover(replica)
			}
		})
	},
	"failing over, by sentinels": func(t *testing.T) {
		t.Parallel()
		s := keywrighttest.StartSentinel(t, keywrighttest.Redis, 1, 1)
		failingOver(t, patient(t, s.URL()), func() { promote(t, s) })
	},
	"failing over, the primary is killed": func(t *testing.T) {
		t.Parallel()
		s := keywrighttest.StartSentinel(t, keywrighttest.Valkey, 1, 1)
		failingOver(t, patient(t, s.URL()), func() {
			s.Primary.Kill()
			s.Replicas[0].Await("role", "master")
		})
	},
}
