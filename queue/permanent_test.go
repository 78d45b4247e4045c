package queue_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// TestAPermanentRefusalEndsRun: a worker that lacks a right, or finds a key of another type, does not stay silent for
// ever: Run ends, and says which command and which key it is.
func TestAPermanentRefusalEndsRun(t *testing.T) {
	servertest.Brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		s.Do("ACL", "SETUSER", "app", "on", ">p", "~*", "&*", "+@all", "-zadd")
		for name, x := range map[string]struct {
			url, key string
			prepare  func(q queue.Queue[string])
		}{
			"rights": {"redis://app:p@" + s.Addr(), "(key ", func(q queue.Queue[string]) {
				_, err := q.Enqueue(t.Context(), queue.Task[string]{ID: "x"})
				must(t, err)
			}},
			"types": {s.URL(), "{types}:leases", func(queue.Queue[string]) { s.Do("SET", "{types}:leases", "x") }},
		} {
			open := func(url string) queue.Queue[string] {
				return queue.Open(open(t, url), name, value.Text(0), queue.Options{})
			}
			x.prepare(open(s.URL()))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			err := open(x.url).Worker(func(context.Context, *queue.Job[string]) error { return nil },
				queue.WorkerOptions{}).Run(ctx)
			cancel()
			e, ok := err.(*keywright.Error)
			if !ok || e.Class != keywright.Refused || e.Command == "" || !strings.Contains(err.Error(), x.key) {
				t.Errorf("%s: Run ended with %v", name, err)
			}
		}
	})
}
