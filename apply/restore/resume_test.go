package restore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/apply/writelease"
	"github.com/keywright/keywright/internal/gate"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
)

// A restore with a journal goes on where it was stopped: the report counts each key once over
// all runs, and what a program has written since to keys that were done stays, with replace,
// too.
func TestRestoreGoesOn(t *testing.T) {
	t.Parallel()
	random := gate.Rand(t)
	s, to := kt.Start(t, kt.Redis), kt.Start(t, kt.Valkey)
	applytest.Fill(t, applytest.Open(t, s.URL()), 0)
	s.Do("EVAL", "for i = 1, 3000 do redis.call('SET', 'key:'..i, 'value', 'PXAT', '4102444800000') end", "0")
	file := applytest.Backup(t, s.URL(), 64)
	most := 1 // so often it is stopped
	if gate.All() {
		most = 4
	}
	for _, mode := range []restore.Existing{restore.Replace, restore.Skip, restore.Different, restore.Fail} {
		to.Do("FLUSHALL")
		path, total, runs := t.TempDir()+"/journal", int64(0), 0
		for ended := false; !ended; runs++ {
			j, resumed, err := journal.Open(path, "plan")
			must(t, err)
			if resumed != (runs > 0) {
				t.Errorf("run %d: resumed is %v", runs, resumed)
			}
			ctx, stop := context.WithCancel(t.Context())
			stopAt := int64(400*(runs+1) + random.IntN(200))
			o := restore.Options{Existing: mode, Journal: j, Live: applytest.Live(t, to.URL(), 64), Progress: func(done int64) {
				if runs < most && done >= stopAt {
					stop()
				}
			}}
			r, err := restore.Restore(ctx, applytest.Open(t, to.URL()), applytest.Records(file), o)
			ended = err == nil
			stop()
			applytest.Adds(t, r)
			if total = r.Keys; ended && r.Existing+r.Refused+r.Unknown > 0 {
				t.Errorf("%s: %+v", mode, r.Counts)
			}
			must(t, j.Close())
		}
		n := to.Do("DBSIZE").(int64)
		for _, key := range to.Do("KEYS", writelease.TemporaryPrefix+"*").([]any) { // what was under way when it was stopped
			if n--; to.Do("PTTL", key.(string)).(int64) < 0 {
				t.Errorf("%s has no TTL", key)
			}
		}
		if total != n || runs < 2 {
			t.Errorf("%s: %d runs counted %d keys, not %d", mode, runs, total, n)
		}
		j, _, err := journal.Open(path, "plan")
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
	t.Parallel()
	to := kt.Start(t, kt.Redis)
	all := func(n int) iter.Seq2[*archive.Record, error] {
		return func(yield func(*archive.Record, error) bool) {
			for i := range n {
				payload := []byte("\x00\x05value") // a string, as DUMP has it
				if !yield(&archive.Record{Key: fmt.Append(nil, "k", i), Kind: 's', Form: archive.Dump, RDB: 10, Payload: payload,
					Entry: archive.Undeclared}, nil) {
					return
				}
			}
			if n < 5000 {
				yield(nil, context.Canceled)
			}
		}
	}
	path := t.TempDir() + "/journal"
	run := func(n int) (restore.Report, error) {
		j, _, err := journal.Open(path, "plan")
		must(t, err)
		defer j.Close()
		return restore.Restore(t.Context(), applytest.Open(t, to.URL()), all(n),
			restore.Options{Existing: restore.Replace, Journal: j})
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
	if _, err := run(5000); err != journal.ErrDone {
		t.Errorf("executed to its end, and again: %v", err)
	}
}

// A journal has one process at a time, also once it was written again, and the end of the last
// one is read.
func TestOneProcessHasTheJournal(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/journal"
	j, _, err := journal.Open(path, "plan")
	must(t, err)
	if _, _, err := journal.Open(path, "plan"); !errors.Is(err, journal.ErrInUse) {
		t.Errorf("begun: %v", err)
	}
	must(t, j.Close())
	before, err := os.Stat(path)
	must(t, err)
	if j, _, err = journal.Open(path, "plan"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := journal.Open(path, "plan"); !errors.Is(err, journal.ErrInUse) {
		t.Errorf("resumed: %v", err)
	}
	after, err := os.Stat(path)
	must(t, errors.Join(err, j.Close()))
	if !os.SameFile(before, after) {
		t.Error("a run that goes on has a new file")
	}
	if _, _, err := journal.Open(t.TempDir()+"/no/journal", "plan"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// inParts returns a part of a list.
func inParts(key string, part int, more bool) *archive.Record {
	payload := archive.AppendText(nil, fmt.Append(nil, "e", part))
	return &archive.Record{Key: []byte(key), Kind: source.List, Form: archive.Elements, Part: part, More: more,
		Payload: payload, Entry: archive.Undeclared}
}

// A journal comes to its end, and counts all, however much was decided about after a value that
// is still being put together; and a value that was given up holds nothing back.
func TestJournalsOfValuesInParts(t *testing.T) {
	to := kt.Start(t, kt.Redis)
	for _, c := range []struct {
		decided, begun int
		ended          bool
		want           int64
	}{{10, 1000, true, 101}, {1000, 1, false, 101}} {
		to.Do("FLUSHALL")
		undo := restore.Bounds(c.decided, c.begun)
		path := t.TempDir() + "/journal"
		j, _, err := journal.Open(path, "plan")
		must(t, err)
		_, err = restore.Restore(t.Context(), applytest.Open(t, to.URL()), func(yield func(*archive.Record, error) bool) {
			all := []*archive.Record{inParts("first", 0, true)}
			if !c.ended {
				all = append(all, inParts("second", 0, true), inParts("second", 1, false))
			}
			for i := range 100 {
				all = append(all, inParts(fmt.Sprint("k", i), 0, false))
			}
			if c.ended {
				all = append(all, inParts("first", 1, false))
			}
			for _, r := range all {
				if !yield(r, nil) {
					return
				}
			}
			if !c.ended {
				yield(nil, context.Canceled)
			}
		}, restore.Options{Journal: j, Writers: 1})
		undo()
		if (err == nil) != c.ended {
			t.Error(err)
		}
		must(t, j.Close())
		j, _, err = journal.Open(path, "plan")
		must(t, err)
		if j.Done() != c.ended || j.Total().Keys != c.want || j.Total().Changed != c.want {
			t.Errorf("%+v: %v, %+v", c, j.Done(), j.Total())
		}
		must(t, j.Close())
	}
}

// A restore that is ended between two parts of a value, at each place there is, goes on with its
// journal: each key is counted once, no value is half there, and what is left under temporary
// names ends by itself.
func TestRestoreInPartsIsEndedAnywhere(t *testing.T) {
	t.Parallel()
	s, to := kt.Start(t, kt.Redis), kt.Start(t, kt.Valkey)
	applytest.Fill(t, applytest.Open(t, s.URL()), 0)
	want, file := applytest.Digest(t, s.URL(), applytest.Open(t, s.URL())), applytest.Backup(t, s.URL(), 64)
	parts, all := 0, 0
	for rec, err := range applytest.Records(file) {
		must(t, err)
		if all++; rec.More {
			parts++
		}
	}
	if parts < 5 {
		t.Fatalf("%d of %d records are parts", parts, all)
	}
	for cut := range all {
		if !gate.All() && cut%3 != 0 {
			continue // one of three places
		}
		to.Do("FLUSHALL")
		path := t.TempDir() + "/journal"
		run := func(n int) (restore.Report, error) {
			j, _, err := journal.Open(path, "plan")
			must(t, err)
			defer j.Close()
			return restore.Restore(t.Context(), applytest.Open(t, to.URL()), func(yield func(*archive.Record, error) bool) {
				for rec, err := range applytest.Records(file) {
					if n--; n < 0 {
						yield(nil, context.Canceled)
						return
					}
					if !yield(rec, err) {
						return
					}
				}
			}, restore.Options{Existing: restore.Different, Journal: j, Live: applytest.Live(t, to.URL(), 64)})
		}
		if _, err := run(cut); err == nil {
			t.Fatalf("cut %d: no error", cut)
		}
		r, err := run(all + 1)
		must(t, err)
		if applytest.Adds(t, r); r.Keys != int64(len(want)) || r.Existing+r.Refused+r.Unknown > 0 {
			t.Errorf("cut %d: %+v, and there are %d keys", cut, r.Counts, len(want))
		}
		got := applytest.Digest(t, to.URL(), applytest.Open(t, to.URL()))
		for key := range got {
			if name, ok := strings.CutPrefix(key, `0 "`+writelease.TemporaryPrefix); ok {
				name = writelease.TemporaryPrefix + strings.TrimSuffix(name, `"`)
				if to.Do("PTTL", name).(int64) < 0 {
					t.Errorf("cut %d: %s has no TTL", cut, key)
				}
				delete(got, key)
			}
		}
		same(t, want, got)
	}
}

// TestJournalOfARunThatBeganNothing: a run that was refused before its first batch was not
// interrupted.
func TestJournalOfARunThatBeganNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.journal")
	for range 3 {
		j, resumed, err := journal.Open(path, "plan")
		must(t, err)
		if resumed {
			t.Error("nothing was begun, and it goes on")
		}
		must(t, j.Close())
	}
}
