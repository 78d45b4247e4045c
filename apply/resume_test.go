package apply_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/keywright/keywright/apply"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source/archive"
)

// A restore with a journal goes on where it was stopped: the report counts each key once over
// all runs, and what a program has written since to keys that were done stays, with replace,
// too.
func TestRestoreGoesOn(t *testing.T) {
	s, to := kt.Start(t, kt.Redis), kt.Start(t, kt.Valkey)
	fill(t, open(t, s.URL()), 0)
	for i := range 3000 {
		s.Do("SET", "key:"+strconv.Itoa(i), "value", "PXAT", "4102444800000")
	}
	file := backup(t, s.URL(), 64)
	for _, mode := range []apply.Existing{apply.Replace, apply.Skip, apply.Different, apply.Fail} {
		to.Do("FLUSHALL")
		path, total, runs := t.TempDir()+"/journal", int64(0), 0
		for ended := false; !ended; runs++ {
			j, resumed, err := apply.OpenJournal(path, "plan")
			must(t, err)
			if resumed != (runs > 0) {
				t.Errorf("run %d: resumed is %v", runs, resumed)
			}
			ctx, stop := context.WithCancel(t.Context())
			stopAt := int64(400*(runs+1) + rand.IntN(200))
			o := apply.RestoreOptions{Existing: mode, Journal: j, Live: live(t, to.URL(), 64), Progress: func(done int64) {
				if runs < 4 && done >= stopAt {
					stop()
				}
			}}
			r, err := apply.Restore(ctx, open(t, to.URL()), records(file), o)
			ended = err == nil
			stop()
			adds(t, r)
			if total = r.Keys; ended && r.Existing+r.Refused+r.Unknown > 0 {
				t.Errorf("%s: %+v", mode, r.Counts)
			}
			must(t, j.Close())
		}
		n := to.Do("DBSIZE").(int64)
		for _, key := range to.Do("KEYS", apply.TemporaryPrefix+"*").([]any) { // what was under way when it was stopped
			if n--; to.Do("PTTL", key.(string)).(int64) < 0 {
				t.Errorf("%s has no TTL", key)
			}
		}
		if total != n || runs < 2 {
			t.Errorf("%s: %d runs counted %d keys, not %d", mode, runs, total, n)
		}
		j, _, err := apply.OpenJournal(path, "plan")
		must(t, err)
		if !j.Done() || j.Total().Keys != total {
			t.Errorf("%s: %v, %+v", mode, j.Done(), j.Total())
		}
		must(t, j.Close())
	}
}

// What was done before the journal was written is not done again: keys that a program has
// written since are not replaced.
func TestRestoreGoesOnAfterWhatWasDone(t *testing.T) {
	to := kt.Start(t, kt.Redis)
	all := func(n int) iter.Seq2[*archive.Record, error] {
		return func(yield func(*archive.Record, error) bool) {
			for i := range n {
				payload := []byte("\x00\x05value") // a string, as DUMP has it
				if !yield(&archive.Record{Key: fmt.Append(nil, "k", i), Kind: 's', Form: archive.Dump, RDB: 10, Payload: payload, Entry: archive.Undeclared}, nil) {
					return
				}
			}
			if n < 5000 {
				yield(nil, context.Canceled)
			}
		}
	}
	path := t.TempDir() + "/journal"
	run := func(n int) (apply.Report, error) {
		j, _, err := apply.OpenJournal(path, "plan")
		must(t, err)
		defer j.Close()
		return apply.Restore(t.Context(), open(t, to.URL()), all(n), apply.RestoreOptions{Existing: apply.Replace, Journal: j})
	}
	if r, err := run(2000); err == nil || r.Restored != 2000 {
		t.Fatal(r, err)
	}
	to.Do("SET", "k7", "written since")
	r, err := run(5000)
	must(t, err)
	if r.Keys != 5000 || r.Restored != 5000 || to.Do("GET", "k7") != "written since" || to.Do("GET", "k4999") != "value" {
		t.Errorf("%+v, %v, %v", r, to.Do("GET", "k7"), to.Do("GET", "k4999"))
	}
	if _, err := run(5000); err != apply.ErrDone {
		t.Errorf("executed to its end, and again: %v", err)
	}
}
