package restore_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/apply/writelease"
	"github.com/keywright/keywright/internal/gate"
	kt "github.com/keywright/keywright/keywrighttest"
)

func TestMain(m *testing.M) {
	if file := os.Getenv("RESTORE_FILE"); file != "" {
		child(file)
	}
	applytest.Main(m)
}

// child restores a file, and ends with 0 if that is done.
func child(file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	clients := func(db int) (*keywright.Client, error) {
		return keywright.Open(context.Background(), os.Getenv("RESTORE_URL")+"/"+strconv.Itoa(db), applytest.Mortals())
	}
	r, err := restore.Restore(context.Background(), clients, applytest.Records(text),
		restore.Options{Existing: restore.Existing(os.Getenv("RESTORE_MODE"))})
	if err != nil || r.Refused+r.Unknown > 0 {
		fmt.Fprintln(os.Stderr, err, r.Counts, r.Reasons)
		os.Exit(1)
	}
	os.Exit(0)
}

// A restore that is killed, at any moment, is run again: nothing is lost, nothing is
// doubled, and what is left of values in parts ends by itself.
func TestKilledRestores(t *testing.T) {
	t.Parallel()
	const moments = 100 // of a restore
	r, kills := gate.Rand(t), gate.Count(t, "KEYWRIGHT_KILLS", 3, 12)
	s := kt.Start(t, kt.Redis)
	sources := applytest.Open(t, s.URL())
	for _, db := range []int{0, 2} {
		applytest.Fill(t, sources, db)
	}
	want := applytest.Digest(t, s.URL(), sources)
	file := t.TempDir() + "/archive"
	must(t, os.WriteFile(file, applytest.Backup(t, s.URL(), 64), 0o600))
	to := kt.Start(t, kt.Valkey)
	targets := applytest.Open(t, to.URL())
	run := func(at int, mode restore.Existing) (died bool) {
		_, died = applytest.Dies(t, at, "RESTORE_FILE="+file, "RESTORE_URL="+to.URL(), "RESTORE_MODE="+string(mode))
		return died
	}
	run(0, restore.Skip)
	same(t, want, applytest.Digest(t, to.URL(), targets))
	died := 0
	for i := range kills {
		if i%4 == 0 {
			to.Do("FLUSHALL")
		}
		if run(1+r.IntN(moments), []restore.Existing{restore.Different, restore.Replace, restore.Skip}[i%3]) {
			died++
		}
	}
	if died == 0 {
		t.Errorf("no restore of %d was killed", kills)
	}
	for _, key := range to.Do("KEYS", "*").([]any) {
		if name := fmt.Sprint(key); len(name) > len(writelease.TemporaryPrefix) &&
			name[:len(writelease.TemporaryPrefix)] == writelease.TemporaryPrefix {
			if ttl := applytest.Do(t, targets, 0, "PTTL", name).(int64); ttl < 0 {
				t.Errorf("%s is left, with the TTL %d", name, ttl)
			}
			to.Do("DEL", name)
		}
	}
	for range 2 {
		r, err := restore.Restore(t.Context(), targets, applytest.Records(applytest.MustRead(t, file)),
			restore.Options{Existing: restore.Different})
		must(t, err)
		applytest.Adds(t, r)
	}
	got := applytest.Digest(t, to.URL(), targets)
	for key := range got {
		if _, ok := want[key]; !ok && len(key) > 5 {
			delete(got, key) // temporary keys of database 2
		}
	}
	same(t, want, got)
}
