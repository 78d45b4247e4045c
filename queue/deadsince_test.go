package queue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/value"
)

// deadSince retries and discards dead jobs as they were listed, one of which died again
// meanwhile. It gives what was wrong.
func deadSince(t *testing.T, guards ...string) (wrong []string) {
	queue.Mutate(t, guards...)
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		s := keywrighttest.Start(t, brand)
		q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{})
		for i := range 4 {
			id := fmt.Sprint("job-", i)
			s.Do("SET", "{mail}:job:"+id, "q1 1 - 0 - -\nx")
			s.Do("HSET", "{mail}:runs", id, "- 7 3 1 0 0 r1\nfailed\n")
			s.Do("ZADD", "{mail}:dead", fmt.Sprint(1700000000000+i), id)
		}
		dead, err := q.Dead(t.Context(), 0, 10)
		must(t, err)
		if len(dead) != 4 || !dead[0].Since.Equal(time.UnixMilli(1700000000003)) {
			t.Fatalf("%+v", dead)
		}
		for _, d := range dead[:2] {
			s.Do("ZADD", "{mail}:dead", "1700000009999", d.ID) // retried, and dead again
		}
		for i, want := range []bool{false, false, true, true} {
			do := q.RetryDead
			if i%2 == 1 {
				do = q.DiscardDead
			}
			for _, want := range []bool{want, false} {
				if ok, err := do(t.Context(), dead[i]); err != nil || ok != want {
					wrong = append(wrong, fmt.Sprintf("%s: %v, %v", dead[i].ID, ok, err))
				}
			}
		}
		if n := s.Do("ZCARD", "{mail}:dead"); n != int64(2) {
			wrong = append(wrong, fmt.Sprintf("%v are dead", n))
		}
	}
	return wrong
}

// TestBringBack: jobs that Reconcile has listed come back, each once; what is in a place
// by then, or is no job, stays where it is.
func TestBringBack(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	q := queue.Open(open(t, s.URL()), "mail", value.Text(0), queue.Options{})
	for i := range 30 {
		s.Do("SET", fmt.Sprint("{mail}:job:", i), "q1 1 - 0 - -\nx")
	}
	ids, err := q.Reconcile(t.Context(), true)
	must(t, err)
	s.Do("RPUSH", "mail", ids[0])
	back, err := q.BringBack(t.Context(), append(ids, "none")...)
	if err != nil || len(ids) != 30 || len(back) != 29 || s.Do("LLEN", "mail") != int64(30) {
		t.Errorf("%d of %d, %v", len(back), len(ids), err)
	}
	if back, err = q.BringBack(t.Context(), ids...); err != nil || len(back) != 0 {
		t.Errorf("%v, %v", back, err)
	}
	if q.JobOf("7") != "{mail}:job:7" || q.StateKey() != "{mail}:state" {
		t.Errorf("%s, %s", q.JobOf("7"), q.StateKey())
	}
}
