//go:build linux && !race

// The race detector allocates by itself.

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

// collections runs keywright and tells how often it has collected garbage.
func collections(t *testing.T, dir, url string, env []string, args ...string) int {
	t.Helper()
	cmd := exec.Command("keywright", args...)
	cmd.Dir, cmd.Env = dir, append(bare(os.Environ()), append(env, "LC_ALL=C", "TMPDIR="+dir, "KEYWRIGHT_URL="+url,
		"GODEBUG=gctrace=1")...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v: %s%s", args, err, out.String(), said.String())
	}
	return strings.Count("\n"+said.String(), "\ngc ")
}

// TestCollectionsAreFew: what moves large values does not collect garbage all the time, and leaves it to the
// environment where that has other settings. A limit of memory that is below what is in use takes a thousand
// collections for as much.
func TestCollectionsAreFew(t *testing.T) {
	t.Parallel()
	from, to := keywrighttest.Start(t, keywrighttest.Redis), keywrighttest.Start(t, keywrighttest.Valkey)
	for i := range 8 {
		from.Do("EVAL", `redis.call('SET', 'text:' .. ARGV[1], string.rep('0123456789abcdef', 140000))
			for i = 1, 40000 do redis.call('HSET', 'hash:' .. ARGV[1], 'field:' .. i, string.rep('v', 40) .. i) end`,
			"0", strconv.Itoa(i))
	}
	dir := t.TempDir()
	declaration := "keywright: 1\nkeys:\n  text: {key: \"text:{n}\", type: string, ttl: none}\n" +
		"  hash: {key: \"hash:{n}\", type: hash, ttl: none}\n"
	if err := os.WriteFile(filepath.Join(dir, "keyspace.yaml"), []byte(declaration), 0o600); err != nil {
		t.Fatal(err)
	}
	const most = 300
	for _, c := range []string{"backup --to a.kwa", "restore a.kwa -u TO --apply", "copy FROM TO --existing replace --apply",
		"verify FROM TO"} {
		line := strings.Fields(strings.NewReplacer("FROM", from.URL(), "TO", to.URL()).Replace(c))
		n := collections(t, dir, from.URL(), nil, line...)
		t.Logf("%d: %s", n, c)
		if n > most {
			t.Errorf("%s: %d collections, %d at most", c, n, most)
		}
	}
	other := []string{"GOGC=off", "GOMEMLIMIT=4GiB"}
	if n := collections(t, dir, to.URL(), other, "restore", "a.kwa", "--existing", "replace", "--apply"); n > 0 {
		t.Errorf("%d collections, although the environment wants none", n)
	}
}
