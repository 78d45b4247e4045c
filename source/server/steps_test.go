package server

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/servertest"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
)

// TestStepsOfManyKeys: values are read several in a step, whatever sizes they have, and each once.
func TestStepsOfManyKeys(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b)
		s.Do("EVAL", `for i = 1, 3000 do redis.call('SET', 'k'..i, string.rep('x', i % 7 == 0 and 60000 or i % 100)) end`, "0")
		for _, largest := range []int64{1, 50_000, 0} { // all in parts, some, none
			got, sum := contentsOf(t, servertest.Config(t, s.URL()), ContentsRequest{Largest: largest})
			seen := map[string]bool{}
			for _, k := range got {
				if !k.More {
					seen[string(k.Name)] = true
				}
			}
			if len(seen) != 3000 || sum.Keys != 3000 || len(sum.Incomplete) > 0 {
				t.Errorf("largest %d: %d keys: %+v", largest, len(seen), sum)
			}
		}
		if n := calls(t, s, "multi"); n > 3000+3000/2 {
			t.Errorf("%d transactions for three times 3,000 keys", n)
		}
	})
}

// calls returns how often a command was called.
func calls(t testing.TB, s *kt.Server, command string) int {
	t.Helper()
	_, after, _ := strings.Cut(s.Do("INFO", "commandstats").(string), "cmdstat_"+command+":calls=")
	text, _, _ := strings.Cut(after, ",")
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestStepsWithKeysOutOfReach: of keys that are read in one step, one that the user may not read keeps none of the
// others away.
func TestStepsWithKeysOutOfReach(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b)
		for i := range 300 {
			s.Do("SET", map[bool]string{true: "b:", false: "a:"}[i%7 == 3]+strconv.Itoa(i), "x")
		}
		s.Do("ACL", "SETUSER", "u", "reset", "on", ">pw", "~a:*", "+@all", "(~* +memory|usage +scan)")
		got, sum := contentsOf(t, servertest.Config(t, "redis://u:pw@"+s.Addr()), ContentsRequest{})
		names := map[string]bool{}
		for _, k := range got {
			names[string(k.Name)] = true
		}
		denied := slices.IndexFunc(sum.Incomplete, func(r source.Reason) bool { return r.Code == source.Denied })
		if len(names) != 257 || denied < 0 || sum.Incomplete[denied].Keys != 43 {
			t.Errorf("%d keys: %+v", len(names), sum)
		}
	})
}
