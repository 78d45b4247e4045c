//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

// A backup of what has changed stores a value in parts only if it has changed, and a chain
// of such backups restores the last of each.
func TestUnchangedValuesInPartsAreNotStored(t *testing.T) {
	t.Parallel()
	for _, way := range [][]string{nil, {"--snapshot"}} {
		s, dir := filled(t, keywrighttest.Redis), t.TempDir()
		s.Do("EVAL",
			`for i = 1, 2500 do redis.call('XADD', 'stream', i .. '-1', 'n', string.rep('x', 300) .. i); redis.call('ZADD', 'zset', i / 3, string.rep('x', 300) .. i) end
			redis.call('XGROUP', 'CREATE', 'stream', 'g', 0); redis.call('XREADGROUP', 'GROUP', 'g', 'c', 'COUNT', 50, 'STREAMS', 'stream', '>')`, "0")
		backup := func(file string, more ...string) string {
			return ran(t, 0, dir, append(append([]string{"backup", "--to", file, "-u", s.URL()}, way...), more...)...)
		}
		backup("0.kwa")
		if text := backup("1.kwa", "--since", "0.kwa"); !strings.Contains(text, "Saved 0 keys") ||
			!strings.Contains(text, "3,012 keys not changed") {
			t.Errorf("%q: %s", way, text)
		}
		s.Do("HSET", "hash:1", "field7", "other")
		s.Do("PEXPIREAT", "list:2", "4102444800000")
		s.Do("XACK", "stream", "g", "9-1")
		s.Do("DEL", "hash:2")
		s.Do("EVAL", `for i = 1, 2500 do redis.call('RPUSH', 'new', string.rep('x', 300) .. i) end`, "0")
		if text := backup("2.kwa", "--since", "0.kwa", "--since", "1.kwa"); !strings.Contains(text, "Saved 5 keys") {
			t.Errorf("%q: %s", way, text)
		}
		ran(t, 0, dir, "archive", "verify", "2.kwa")
		want := keysOf(t, s.URL())
		s.Do("FLUSHALL")
		ran(t, 0, dir, "restore", "0.kwa", "1.kwa", "2.kwa", "--apply", "-u", s.URL())
		sameKeys(t, want, keysOf(t, s.URL()))
		left, err := filepath.Glob(filepath.Join(dir, ".keywright-*"))
		if err != nil || len(left) > 0 {
			t.Error(left, err)
		}
		must(t, os.RemoveAll(dir))
	}
}
