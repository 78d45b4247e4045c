package guard_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/kernel/guard"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/redis/rueidis"
)

// problems returns the violations in an error, as problem and key.
func problems(err error) (out []string) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			out = append(out, problems(e)...)
		}
		return out
	}
	if v, ok := errors.AsType[*guard.Violation](err); ok {
		out = append(out, fmt.Sprint(v.Problem, " ", v.Key, " ", v.Done))
	}
	return out
}

// agree holds Check against a wrapped client: what Check finds, the client finds;
// what it calls unsettled, the client may find afterwards; and nothing else.
func agree(t *testing.T, g *guard.Guard, c rueidis.Client, line string) {
	t.Helper()
	var told []string
	open := false
	for _, v := range g.Check(strings.Fields(line)...) {
		if v.Problem == guard.Unsettled {
			open = true
			continue
		}
		told = append(told, fmt.Sprint(v.Problem, " ", v.Key, " ", v.Done))
	}
	found := problems(do(c, line))
	later := slices.DeleteFunc(slices.Clone(found), func(text string) bool { return !strings.HasSuffix(text, " true") })
	at := slices.DeleteFunc(slices.Clone(found), func(text string) bool { return strings.HasSuffix(text, " true") })
	if !slices.Equal(told, at) || len(later) > 0 && !open {
		t.Errorf("%s: Check says %q and open %t, the client %q", line, told, open, found)
	}
}

// TestCheckAndTheClientAgree over generated commands.
func TestCheckAndTheClientAgree(t *testing.T) {
	heads := []string{"SET k v", "SET k v EX 60", "SET k v EX 99999", "SET k v NX", "SET k v KEEPTTL", "GETEX k PERSIST",
		"GETEX k EX 60", "GETEX k", "GET k", "DEL k", "UNLINK k k", "HSET k f v", "HDEL k f", "LPUSH k v", "LPOP k",
		"SADD k v", "ZADD k 1 v", "ZREM k v",
		"XADD k * f v", "XACK k g 1-1", "INCR k", "APPEND k v", "EXPIRE k 60", "EXPIRE k 99999", "PERSIST k",
		"PEXPIRE k 60 NX", "RENAME k k", "COPY k k", "COPY k k DB 1", "MSET k v k v", "MGET k k", "SINTERSTORE k k",
		"ZUNIONSTORE k 1 k", "EVAL return(1) 1 k",
		"EVAL return(redis.call('SET',KEYS[1],'x')) 1 k", "EVAL_RO return(1) 1 k", "EVALSHA 00 1 k", "PUBLISH c v",
		"SPUBLISH c v", "FLUSHDB", "SWAPDB 1 2", "MOVE k 1", "KEYS *", "TYPE k", "SETEX k 60 v", "GETSET k v", "GETDEL k",
		"SETRANGE k 0 v", "SORT k STORE k", "RESTORE k 0 x", "nonsense k"}
	keys := []string{"session:1", "session:x", "sess:1", "profile:1", "flag:a", "tags:1", "rank:d", "log:1", "list:1",
		"lock:1", "{lock:1}:fence", "jobs:high", "{jobs}:job:1", "{jobs}:workers", "item:1", "items:n", "page:1",
		"{page:1}:fill", "bull:x", "other"}
	channels := []string{"news:1", "told:1", "nows:1", "{lock:1}:released"}
	r := rand.New(rand.NewPCG(1, 2))
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		g, err := guard.New(loaded(t), guard.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, c := open(t, brand, guard.Options{})
		for range 1500 {
			words := strings.Fields(heads[r.IntN(len(heads))])
			for i, w := range words {
				switch w {
				case "k":
					words[i] = keys[r.IntN(len(keys))]
				case "c":
					words[i] = channels[r.IntN(len(channels))]
				}
			}
			agree(t, g, c, strings.Join(words, " "))
		}
	}
}
