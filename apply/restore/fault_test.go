package restore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/apply/writelease"
	kt "github.com/keywright/keywright/keywrighttest"
)

// Connections that break, and replies that are lost, cost nothing: each key is restored
// once, and the report says so.
func TestConnectionsThatBreak(t *testing.T) {
	t.Parallel()
	s, to := kt.Start(t, kt.Redis), kt.Start(t, kt.Valkey)
	sources, direct := applytest.Open(t, s.URL()), applytest.Open(t, to.URL())
	applytest.Fill(t, sources, 0)
	want := applytest.Digest(t, s.URL(), sources)
	for _, largest := range []int64{1 << 40, 1} {
		file := applytest.Backup(t, s.URL(), largest)
		for _, mode := range []restore.Existing{restore.Fail, restore.Skip, restore.Replace, restore.Different} {
			to.Do("FLUSHALL")
			proxy := kt.NewProxy(t, to.Addr(), kt.Rules{Delay: time.Millisecond})
			cuts := 0
			word := []string{"RESTORE", "RPUSH", "RENAMENX", "XADD", "APPEND"}
			r, err := restore.Restore(t.Context(), applytest.Open(t, "redis://"+proxy.Addr()), applytest.Records(file),
				restore.Options{Existing: mode, Writers: 2, Progress: func(done int64) {
					if cuts < 6 {
						proxy.LoseReplyTo(word[cuts%len(word)])
						cuts++
						proxy.Cut()
					}
				}})
			must(t, err)
			applytest.Adds(t, r)
			if r.Restored != r.Keys {
				t.Errorf("%s, %d: %+v", mode, largest, r)
			}
			same(t, want, applytest.Digest(t, to.URL(), direct))
			if left := to.Do("KEYS", writelease.TemporaryPrefix+"*").([]any); len(left) > 0 {
				t.Errorf("%s: %v are left", mode, left)
			}
		}
	}
}

// TestStepsWatchTheirKey: a step whose reply was lost may reach the server after the next
// attempt, or after the parts that follow. It runs only if nothing was written meanwhile,
// the first part of a value, too.
func TestStepsWatchTheirKey(t *testing.T) {
	t.Parallel()
	s, to := kt.Start(t, kt.Redis), kt.Start(t, kt.Valkey)
	applytest.Fill(t, applytest.Open(t, s.URL()), 0)
	to.Do("CONFIG", "RESETSTAT")
	r, err := restore.Restore(t.Context(), applytest.Open(t, to.URL()), applytest.Records(applytest.Backup(t, s.URL(),
		1)), restore.Options{})
	must(t, err)
	calls := func(command string) string {
		text, _, _ := strings.Cut(to.Info("cmdstat_"+command), ",")
		return text
	}
	if calls("multi") != calls("watch") || calls("multi") == "" || r.Restored != r.Keys {
		t.Errorf("MULTI: %s, WATCH: %s, %+v", calls("multi"), calls("watch"), r.Counts)
	}
}
