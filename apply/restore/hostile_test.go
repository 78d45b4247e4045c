package restore_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/apply/writelease"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
)

// What is good of an archive that was cut is restored, and the report adds up.
func TestWhatIsGoodOfACutArchiveIsRestored(t *testing.T) {
	t.Parallel()
	s, to := kt.Start(t, kt.Redis), kt.Start(t, kt.Redis)
	for i := range 10 {
		s.Do("SET", fmt.Sprint("key", i), "value")
	}
	file := applytest.Backup(t, s.URL(), 1<<40)
	r, err := restore.Restore(t.Context(), applytest.Open(t, to.URL()), applytest.Records(file[:len(file)-20]),
		restore.Options{})
	applytest.Adds(t, r)
	if err == nil || r.Restored != 10 || to.Do("DBSIZE").(int64) != 10 {
		t.Errorf("%v, %+v", err, r)
	}
}

// Two restores of one archive at once do not mix their parts, and lose nothing.
func TestTwoRestoresAtOnce(t *testing.T) {
	t.Parallel()
	to := kt.Start(t, kt.Redis)
	to.Do("SET", "list", "as it was")
	clients := applytest.Open(t, to.URL())
	_, err := clients(0)
	must(t, err)
	var group sync.WaitGroup
	const runs, count = 2, 4
	steps := make([]sync.WaitGroup, count)
	for i := range steps {
		steps[i].Add(runs)
	}
	for range runs {
		group.Go(func() {
			r, err := restore.Restore(t.Context(), clients,
				applytest.Parts("list", count, func(part int) { steps[part].Done(); steps[part].Wait() }),
				restore.Options{Existing: restore.Replace, Writers: 1})
			if err != nil || r.Restored != 1 {
				t.Errorf("%v, %+v", err, r)
			}
		})
	}
	group.Wait()
	if n := to.Do("LLEN", "list"); n != int64(count) {
		t.Errorf("%v elements, not %d", n, count)
	}
	if left := to.Do("KEYS", writelease.TemporaryPrefix+"*").([]any); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// A server that evicts keys with a TTL takes the first parts of a value: what is left is
// not restored as if it were all, and what was there stays.
func TestPartsThatAreEvicted(t *testing.T) {
	t.Parallel()
	for _, at := range []int{1, 3} {
		to := kt.Start(t, kt.Valkey)
		to.Do("SET", "list", "as it was")
		r, err := restore.Restore(t.Context(), applytest.Open(t, to.URL()), applytest.Parts("list", 4, func(part int) {
			for part == at {
				if keys := to.Do("KEYS", writelease.TemporaryPrefix+"*").([]any); len(keys) > 0 {
					to.Do("DEL", keys[0].(string))
					break
				}
			}
		}), restore.Options{Existing: restore.Replace, Writers: 1})
		must(t, err)
		applytest.Adds(t, r)
		if r.Refused != 1 || to.Do("TYPE", "list") != "string" {
			t.Errorf("%d: %+v, and the key is a %v", at, r, to.Do("TYPE", "list"))
		}
	}
}

// Values that are begun and never end take no more memory than a bound, here and there.
func TestPartsThatNeverEnd(t *testing.T) {
	t.Parallel()
	to := kt.Start(t, kt.Redis)
	forged := func(yield func(*archive.Record, error) bool) {
		for i := range 1300 {
			r := &archive.Record{Entry: archive.Undeclared, Key: fmt.Append(nil, i), Kind: source.List, Form: archive.Elements,
				More: true, Payload: archive.AppendText(nil, []byte("x"))}
			if !yield(r, nil) {
				return
			}
		}
		if n := to.Do("DBSIZE").(int64); n > 1100 {
			t.Errorf("%d temporary keys", n)
		}
		for _, key := range to.Do("KEYS", writelease.TemporaryPrefix+"*").([]any) {
			if to.Do("PTTL", key.(string)) == int64(-1) {
				t.Fatalf("%s never ends", key)
			}
		}
	}
	r, err := restore.Restore(t.Context(), applytest.Open(t, to.URL()), forged, restore.Options{Writers: 1})
	must(t, err)
	if applytest.Adds(t, r); r.Keys != 0 || to.Do("DBSIZE").(int64) != 0 {
		t.Errorf("%+v, %v keys", r, to.Do("DBSIZE"))
	}
}

// Reasons name keys of bounded length in all.
func TestReasonsAreBounded(t *testing.T) {
	t.Parallel()
	to := kt.Start(t, kt.Redis)
	long := func(yield func(*archive.Record, error) bool) {
		for range 50 {
			r := &archive.Record{Entry: archive.Undeclared, Key: []byte(strings.Repeat("k", 100_000)), Form: archive.Gone}
			if !yield(r, nil) {
				return
			}
		}
	}
	r, err := restore.Restore(t.Context(), applytest.Open(t, to.URL()), long, restore.Options{})
	must(t, err)
	named := 0
	for _, n := range r.Reasons {
		named += len(n.Key)
	}
	if applytest.Adds(t, r); named > 1<<20 || len(r.Reasons)+int(r.More) != 50 {
		t.Errorf("%d bytes of names, %d and %d", named, len(r.Reasons), r.More)
	}
}

// A part of very many elements is refused before memory is taken for them.
func TestPartOfVeryManyElements(t *testing.T) {
	t.Parallel()
	to := kt.Start(t, kt.Redis)
	one := func(yield func(*archive.Record, error) bool) {
		yield(&archive.Record{Entry: archive.Undeclared, Key: []byte("a"), Kind: source.List, Form: archive.Elements,
			Payload: make([]byte, 30<<20)}, nil)
	}
	r, err := restore.Restore(t.Context(), applytest.Open(t, to.URL()), one, restore.Options{})
	must(t, err)
	if applytest.Adds(t, r); r.Refused != 1 {
		t.Errorf("%+v", r)
	}
}
