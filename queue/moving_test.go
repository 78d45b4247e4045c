package queue_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// TestErrorsWhileASlotMoves: a job whose key has gone to another node already is named by every call that needs it, the
// error says that a retry helps, and nothing is changed. Each is whole when the slot has moved.
func TestErrorsWhileASlotMoves(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			cluster := keywrighttest.StartCluster(t, brand, 2, 0)
			c := servertest.Open(t, cluster.URL(), keywright.Options{Attempts: 1})
			name := "{mail}"
			slot := fmt.Sprint(cluster.Nodes[0].Do("CLUSTER", "KEYSLOT", name))
			if _, err := cluster.Nodes[0].Try("TYPE", name); err != nil { // the slot is of the second node
				cluster.MoveSlotOf(name, 1, 0)
			}
			from, to := cluster.Nodes[0], cluster.Nodes[1]
			q := queue.Open(c, name, value.Text(0), queue.Options{Rate: 100000, Per: time.Second, Burst: 1000})
			hold, held := make(chan struct{}), make(chan struct{}, 10)
			var runs, told atomic.Int64
			job := name + ":job:next"
			says := func(err error) bool {
				class, _ := keywright.ClassOf(err)
				return strings.Contains(fmt.Sprint(err), `the key "{mail}:job:`) && strings.Contains(err.Error(), ": TRYAGAIN ") &&
					(class == keywright.Retryable || class == keywright.NotApplied)
			}
			started(t, q.Worker(func(_ context.Context, j *queue.Job[string]) error {
				runs.Add(1)
				if j.ID == "dies" {
					return queue.Discard(errors.New("no"))
				}
				held <- struct{}{}
				<-hold
				return nil
			}, queue.WorkerOptions{Concurrency: 1, Grace: time.Second, OnError: func(err error) {
				if says(err) {
					told.Add(1)
				}
			}}))
			// Each of the queue's own keys is there: else the server itself refuses every call.
			_, err := q.EnqueueAll(t.Context(), []queue.Task[string]{{ID: "dies"}, {ID: "later", In: time.Hour}, {ID: "runs"}})
			must(t, err)
			<-held
			must(t, expect.Err(q.Enqueue(t.Context(), queue.Task[string]{ID: "next"})))
			to.Do("CLUSTER", "SETSLOT", slot, "IMPORTING", cluster.ID(0))
			from.Do("CLUSTER", "SETSLOT", slot, "MIGRATING", cluster.ID(1))
			from.Do("MIGRATE", "127.0.0.1", strconv.Itoa(to.Port), job, "0", "5000")
			if st, err := q.Stats(t.Context()); !says(err) {
				t.Errorf("stats: %+v, %v", st, err)
			}
			close(hold) // the worker settles, and claims the next
			eventually(t, "the worker tells", func() bool { return told.Load() > 0 })
			if n := from.Do("LLEN", name); n != int64(1) || runs.Load() != 2 {
				t.Errorf("%v jobs wait, %d have run", n, runs.Load())
			}
			for _, k := range from.Do("CLUSTER", "GETKEYSINSLOT", slot, "100").([]any) {
				from.Do("MIGRATE", "127.0.0.1", strconv.Itoa(to.Port), k.(string), "0", "5000")
			}
			for _, n := range []*keywrighttest.Server{to, from} {
				n.Do("CLUSTER", "SETSLOT", slot, "NODE", cluster.ID(1))
			}
			eventually(t, "the job runs", func() bool { return runs.Load() == 3 })
		})
	}
}
