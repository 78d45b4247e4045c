package apply_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
)

const (
	queueBefore = `keywright: 1
vars: {lane: {type: high|low, default: low}, id: slug}
keys:
  jobs: {key: "jobs:{id}:{lane}", type: queue, order: lane, ttl: none}
`
	queueAfter = `keywright: 1
vars: {lane: {type: high|low, default: low}, id: slug}
keys:
  jobs: {key: "work:{id}:{lane}", was: ["jobs:{id}:{lane}"], type: queue, order: lane, ttl: none}
`
)

// TestQueueIsRenamedUnderItsPrograms: producers put jobs into a queue under its old name, and
// workers take jobs from it under the new one, while it is renamed again and again: each job is
// done, once.
func TestQueueIsRenamedUnderItsPrograms(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, kt.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := kt.Start(t, brand)
			c, err := applytest.Open(t, s.URL())(0)
			must(t, err)
			before, after := keyspaceOf(queueBefore), keyspaceOf(queueAfter)
			old := bind.Queue(c, before, before.Entries[0], bind.Values{"id": "a"})
			now := bind.Queue(c, after, after.Entries[0], bind.Values{"id": "a"})
			pairs, err := plan.Former(after)
			must(t, err)
			r := &renamed{after, pairs}

			var mu sync.Mutex
			const producers, each = 4, 150
			done, most, finished := map[string]int{}, 0, make(chan struct{})
			working, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			worker := now.Worker(func(_ context.Context, j *queue.Job[string]) error {
				mu.Lock()
				defer mu.Unlock()
				done[j.Payload]++
				if most = max(most, done[j.Payload]); len(done) == producers*each && most == 1 {
					close(finished)
				}
				return nil
			}, queue.WorkerOptions{})
			go func() { ended <- worker.Run(working) }()

			var all sync.WaitGroup
			for p := range producers {
				all.Go(func() {
					for i := range each {
						task := queue.Task[string]{Payload: strconv.Itoa(p*each + i)}
						switch i % 4 {
						case 1:
							task.Lane = "high"
						case 2:
							task.In = time.Millisecond
						case 3:
							task.Unique, task.ID = "u"+task.Payload, "id-"+task.Payload
						}
						if _, err := old.Enqueue(t.Context(), task); err != nil {
							t.Errorf("job %s: %v", task.Payload, err)
						}
					}
				})
			}
			written := make(chan struct{})
			go func() { all.Wait(); close(written) }()
			for last := false; !last; {
				select {
				case <-written:
					last = true
				default:
				}
				r.run(t, s.URL(), plan.RenameOptions{Merge: true}, apply.KeysOptions{})
			}
			expect.Return(t, "all jobs are done", func() { <-finished })
			stop()
			<-ended
			if most != 1 {
				t.Errorf("a job was done %d times", most)
			}
			if again := r.run(t, s.URL(), plan.RenameOptions{Merge: true},
				apply.KeysOptions{}); again.Keys != again.KeyCounts.Left {
				t.Errorf("something was left to do: %+v %v", again.KeyCounts, why(again))
			}
			if left := s.Do("SCAN", "0", "MATCH", "*jobs:a*", "COUNT", "100000").([]any)[1]; len(left.([]any)) > 0 {
				t.Errorf("left under the old name: %v", left)
			}
		})
	}
}

// TestAMergedQueueIsRenamedBack: the undo of a queue that was renamed gives the worker of the old
// name every job, once: of those that were there, with a TTL or without, and of those that came
// under the new name. A job whose id is taken under the new name stays where it is.
func TestAMergedQueueIsRenamedBack(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, kt.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := kt.Start(t, brand)
			c, err := applytest.Open(t, s.URL())(0)
			must(t, err)
			before, after := keyspaceOf(queueBefore), keyspaceOf(queueAfter)
			old := bind.Queue(c, before, before.Entries[0], bind.Values{"id": "a"})
			now := bind.Queue(c, after, after.Entries[0], bind.Values{"id": "a"})
			pairs, err := plan.Former(after)
			must(t, err)
			r := &renamed{after, pairs}
			const jobs = 300
			for i := range jobs {
				_, err := old.Enqueue(t.Context(), queue.Task[string]{ID: "id-" + strconv.Itoa(i), Payload: strconv.Itoa(i)})
				must(t, err)
			}
			_, err = now.Enqueue(t.Context(), queue.Task[string]{ID: "id-7", Payload: "another"})
			must(t, err)
			_, err = now.Enqueue(t.Context(), queue.Task[string]{ID: "later", Payload: "later"})
			must(t, err)
			s.Do("PEXPIRE", "jobs:a:low", "3000000")

			file := filepath.Join(t.TempDir(), "undo")
			report := r.run(t, s.URL(), plan.RenameOptions{Merge: true}, apply.KeysOptions{Undo: undoFile(t, file)})
			if got := s.Do("LLEN", "jobs:a:low"); got != int64(1) {
				t.Errorf("%v jobs stay, one has an id that is taken: %+v", got, report.KeyCounts)
			}
			if got := s.Do("LLEN", "work:a:low"); got != int64(jobs+1) {
				t.Errorf("%v jobs under the new name", got)
			}
			if got := s.Do("PTTL", "work:a:low"); got != int64(-1) {
				t.Errorf("a queue that never ended has a TTL of the renamed one: %v", got)
			}
			r.back(t, s.URL(), file)

			done, all := map[string]int{}, make(chan struct{})
			working, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			var mu sync.Mutex
			worker := old.Worker(func(_ context.Context, j *queue.Job[string]) error {
				mu.Lock()
				defer mu.Unlock()
				if done[j.Payload]++; len(done) == jobs+1 && done[j.Payload] == 1 {
					close(all)
				}
				return nil
			}, queue.WorkerOptions{})
			go func() { ended <- worker.Run(working) }()
			expect.Return(t, "all jobs come back", func() { <-all })
			stop()
			<-ended
			for payload, n := range done {
				if n != 1 {
					t.Errorf("job %s was done %d times", payload, n)
				}
			}
			if len(done) != jobs+1 {
				t.Errorf("%d jobs of %d", len(done), jobs+1)
			}
			if got := s.Do("LLEN", "work:a:low"); got != int64(1) {
				t.Errorf("%v jobs stay under the new name, one has an id that is taken", got)
			}
		})
	}
}

// TestAnIdTwiceInALane: an element that names the same job as another one does not end the step.
func TestAnIdTwiceInALane(t *testing.T) {
	t.Parallel()
	s := kt.Start(t, kt.Redis)
	c, err := applytest.Open(t, s.URL())(0)
	must(t, err)
	before, after := keyspaceOf(queueBefore), keyspaceOf(queueAfter)
	_, err = bind.Queue(c, before, before.Entries[0], bind.Values{"id": "a"}).Enqueue(t.Context(),
		queue.Task[string]{ID: "x"})
	must(t, err)
	s.Do("RPUSH", "jobs:a:low", "x", "gone")
	pairs, err := plan.Former(after)
	must(t, err)
	r := &renamed{after, pairs}
	r.run(t, s.URL(), plan.RenameOptions{Merge: true}, apply.KeysOptions{})
	if got := fmt.Sprint(s.Do("LRANGE", "work:a:low", "0", "-1")); got != "[x x gone]" ||
		s.Do("EXISTS", "jobs:a:low") != int64(0) {
		t.Errorf("%v", got)
	}
}
