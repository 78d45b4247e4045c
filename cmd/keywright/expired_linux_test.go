package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/keywrighttest"
)

// TestExpiredRecordsDeleteNothing: RESTORE with a time that is past deletes what is there, so
// it is not sent.
func TestExpiredRecordsDeleteNothing(t *testing.T) {
	t.Parallel()
	s, dir := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.MovableClock()), t.TempDir()
	for _, size := range []int{1, 2500} { // the second is read in parts
		_ = os.Remove(filepath.Join(dir, "a.kwa"))
		s.MoveClock(0)
		s.Do("DEL", "key")
		s.Do("EVAL", `for i = 1, ARGV[1] do redis.call('RPUSH', 'key', string.rep('x', 300) .. i) end redis.call('EXPIRE', 'key', 3600)`,
			"0", strconv.Itoa(size))
		if text := ran(t, 0, dir, "backup", "--to", "a.kwa", "-u", s.URL()); !strings.Contains(text, "Saved 1 key") {
			t.Fatal(text)
		}
		s.MoveClock(2 * time.Hour)
		if s.Do("EXISTS", "key") != int64(0) {
			t.Fatal("it does not expire")
		}
		s.Do("RPUSH", "key", "live")
		for _, mode := range []string{"replace", "different"} {
			ran(t, 0, dir, "restore", "a.kwa", "-u", s.URL(), "--apply", "--existing", mode)
			if got := s.Do("LRANGE", "key", "0", "-1"); fmt.Sprint(got) != "[live]" {
				t.Errorf("%s: %v", mode, got)
			}
		}
	}
}
