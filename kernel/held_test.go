package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// held returns handles that are there once a server has given something: leases of locks, and a
// job that is being worked on. They last longer than the test, by themselves.
func held(t *testing.T, c *keywright.Client) map[string]any {
	t.Helper()
	options := lock.Options{Lease: time.Hour, NoRenewal: true}
	lease, err := lock.Open(c, "{every:held}:alone", options).Try(t.Context())
	must(t, err)
	given, err := lock.Open(c, "{every:held}:given", options).Try(t.Context())
	must(t, err)
	var three []lock.Lock
	for n := range 3 {
		three = append(three, lock.Open(c, fmt.Sprintf("{every:held}:%d", n), options))
	}
	quorum, err := lock.NewQuorum(three...)
	must(t, err)
	most, err := quorum.Try(t.Context())
	must(t, err)
	q := queue.Open(c, "{every:held}:q", value.Text(0), queue.Options{Lease: time.Hour})
	_, err = q.Enqueue(t.Context(), queue.Task[string]{Payload: "x"})
	must(t, err)
	jobs, over := make(chan *queue.Job[string], 1), make(chan error, 1)
	life, end := context.WithCancel(t.Context())
	work := q.Worker(func(ctx context.Context, j *queue.Job[string]) error {
		jobs <- j
		<-ctx.Done()
		return ctx.Err()
	}, queue.WorkerOptions{Concurrency: 1, Grace: 2 * time.Second})
	go func() { over <- work.Run(life) }()
	t.Cleanup(func() { end(); <-over })
	select {
	case j := <-jobs:
		return map[string]any{"Lease": lease, "Lease of its own": given, "QuorumLease": most, "Job": j}
	case <-time.After(expect.Patience):
		t.Fatal("no job has begun")
		return nil
	}
}

// heldCalls returns their methods with a context.
func heldCalls(t *testing.T, c *keywright.Client, seen map[reflect.Type]bool) map[string]func(context.Context) error {
	all := table{map[string]func(context.Context) error{}, map[string]func(context.Context) error{}}
	for name, handle := range held(t, c) {
		delete(seen, reflect.TypeOf(handle))
		calls(name, reflect.ValueOf(handle), seen, all)
	}
	delete(all.calls, "Lease.Release")          // what was released is not renewed
	delete(all.calls, "Lease of its own.Renew") // and this one is released
	return all.calls
}

// place describes where something is held.
type place struct {
	server *keywrighttest.Server
	proxy  *keywrighttest.Proxy // of the client, where one is used
	client *keywright.Client
}

// unreleased returns unsent for what is held: a Release goes on after its context, so how it ends is
// not known.
func unreleased(t *testing.T) func(string, error) {
	check := unsent(t)
	return func(name string, err error) {
		if !strings.HasSuffix(name, ".Release") {
			check(name, err)
		}
	}
}

// TestWhatIsHeldEndsWithItsContext: the calls of a lease and of a job end with their
// contexts, too, whatever the server does; of a client that was closed they say so.
func TestWhatIsHeldEndsWithItsContext(t *testing.T) {
	for name, harm := range map[string]func(*testing.T, place) func(string, error){
		"frozen": func(t *testing.T, p place) func(string, error) {
			p.server.Stop()
			t.Cleanup(p.server.Continue)
			return func(name string, err error) {
				if err == nil {
					t.Errorf("%s: no error", name)
				}
			}
		},
		"killed": func(t *testing.T, p place) func(string, error) {
			p.server.Kill()
			c := p.client
			until(t, "the loss is noticed", func() bool {
				return c.Raw().Do(t.Context(), c.Raw().B().Ping().Build()).Error() != nil
			})
			return unreleased(t)
		},
		"pool full": func(t *testing.T, p place) func(string, error) {
			full, end := fillPool(t, p.server, p.client)
			t.Cleanup(end)
			return func(name string, err error) { // none of them needs a connection of its own
				if !full() {
					t.Errorf("%s: the pool is not full", name)
				}
				if errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v", name, err)
				}
			}
		},
		"another caller dials": func(t *testing.T, p place) func(string, error) {
			p.proxy.Freeze() // it takes connections, and nothing answers the login
			dialled := p.proxy.Connections()
			p.proxy.Cut()
			t.Cleanup(p.proxy.Thaw)
			until(t, "the worker dials", func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				defer cancel()
				_ = p.client.Raw().Do(ctx, p.client.Raw().B().Ping().Build()).Error()
				return p.proxy.Connections() > dialled
			})
			return unreleased(t)
		},
		"closed": func(t *testing.T, p place) func(string, error) {
			p.client.Close()
			return func(name string, err error) {
				if class, _ := keywright.ClassOf(err); !errors.Is(err, keywright.ErrClosed) || class != keywright.NotApplied {
					t.Errorf("%s of a closed client: %v", name, err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			free := kernel.BlockingFor(blocking)
			p := place{server: keywrighttest.Start(t, keywrighttest.Valkey)}
			p.proxy = keywrighttest.NewProxy(t, p.server.Addr(), keywrighttest.Rules{})
			p.client = patient(t, map[bool]string{true: "redis://" + p.proxy.Addr(),
				false: p.server.URL()}[name == "another caller dials"])
			free()
			t.Parallel()
			all := heldCalls(t, p.client, map[reflect.Type]bool{})
			if len(all) < 4 {
				t.Fatalf("only %d calls", len(all))
			}
			hurryOf(t, all, harm(t, p))
		})
	}
}
