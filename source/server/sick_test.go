package server

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/examine"
)

// TestASickServerIsRead: a server that answers PING with an error, because its last snapshot failed, is read all the
// same.
func TestASickServerIsRead(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b keywrighttest.Brand) {
		s := keywrighttest.Start(t, b, keywrighttest.Config("enable-protected-configs", "yes"))
		fill(s, 10)
		gone := filepath.Join(t.TempDir(), "gone")
		expect.NoError(t, os.Mkdir(gone, 0o700))
		s.Do("CONFIG", "SET", "dir", gone)
		s.Do("CONFIG", "SET", "save", "3600 1")
		expect.NoError(t, os.Remove(gone))
		s.Do("BGSAVE")
		expect.Eventually(t, "PING is refused", func() bool { _, err := s.Try("PING"); return err != nil })
		config := servertest.Config(t, s.URL())
		if got, sum, err := scanned(t, config, Options{OnlyDB: -1}, source.Request{Bytes: true}); err != nil || len(got) != 10 ||
			len(sum.Incomplete) > 0 {
			t.Errorf("%v, %d keys, %+v", err, len(got), sum)
		}
		if got, sum := contentsOf(t, config, ContentsRequest{}); len(got) != 10 || len(sum.Incomplete) > 0 {
			t.Errorf("%d contents, %+v", len(got), sum)
		}
		x, err := examine.Examine(t.Context(), config, time.Now)
		if err != nil || x.Patients[0].Info["rdb_last_bgsave_status"] != "err" {
			t.Errorf("%v, %+v", err, x)
		}
	})
}

// TestAReplicaWithoutItsPrimaryIsExamined: it answers INFO alone, where it does not serve stale data.
func TestAReplicaWithoutItsPrimaryIsExamined(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b keywrighttest.Brand) {
		primary := keywrighttest.Start(t, b)
		replica := keywrighttest.Start(t, b, keywrighttest.ReplicaOf(primary),
			keywrighttest.Config("replica-serve-stale-data", "no"))
		replica.Await("master_link_status", "up")
		primary.Kill()
		replica.Await("master_link_status", "down")
		x, err := examine.Examine(t.Context(), servertest.Config(t, replica.URL()), time.Now)
		if err != nil || x.Patients[0].Info["master_link_status"] != "down" {
			t.Errorf("%v, %+v", err, x)
		}
		if _, sum, err := scanned(t, servertest.Config(t, replica.URL()), Options{OnlyDB: -1}, source.Request{}); err == nil &&
			len(sum.Incomplete) == 0 {
			t.Errorf("a scan is whole: %+v", sum)
		}
	})
}
