package examples

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keywrighttest"
)

// TestScriptHeaders: what a script says in its header about KEYS and ARGV is
// what its entry declares, and the script uses exactly those.
func TestScriptHeaders(t *testing.T) {
	found := 0
	for _, team := range teams {
		for _, e := range loaded(t, team).ks.Entries {
			if e.Script == nil {
				continue
			}
			found++
			text, err := os.ReadFile(e.Script.File)
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range headerProblems(e, string(text)) {
				t.Errorf("%s: %s", e.Script.File, problem)
			}
		}
	}
	if found == 0 {
		t.Error("no scripts: a test over nothing proves nothing")
	}
}

func headerProblems(e *keyspace.Entry, text string) []string {
	var args, problems []string
	for _, a := range e.Script.Args {
		args = append(args, a.Name)
	}
	for list, names := range map[string][]string{"KEYS": e.Script.Keys, "ARGV": args} {
		if want := fmt.Sprintf("-- %s: %s\n", list, numbered(names)); !strings.Contains(text, want) {
			problems = append(problems, "the header lacks "+want)
		}
		if n := highest(list, text); n != len(names) {
			problems = append(problems, fmt.Sprintf("it uses %s[%d]; %d are declared", list, n, len(names)))
		}
	}
	for _, line := range []string{"-- " + e.Name + ": ", "-- Returns: ", "-- Round trips: "} {
		if !strings.Contains(text, line) {
			problems = append(problems, "the header lacks "+line)
		}
	}
	return problems
}

// numbered returns "1 a  2 b".
func numbered(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = fmt.Sprintf("%d %s", i+1, n)
	}
	return strings.Join(parts, "  ")
}

// highest returns the largest index of list that the script uses.
func highest(list, text string) int {
	top := 0
	for _, m := range regexp.MustCompile(list+`\[(\d+)\]`).FindAllStringSubmatch(text, -1) {
		var n int
		fmt.Sscan(m[1], &n)
		top = max(top, n)
	}
	return top
}

// TestScripts runs them on real servers: what they answer, and what must not
// happen to the data.
func TestScripts(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			s := keywrighttest.Start(t, brand)
			t.Run("update_item", func(t *testing.T) { updateItem(t, s) })
			t.Run("trivia_submit", func(t *testing.T) { triviaSubmit(t, s) })
			t.Run("batch_add_seen", func(t *testing.T) { batchAddSeen(t, s) })
			t.Run("cleanup_history", func(t *testing.T) { cleanupHistory(t, s) })
		})
	}
}

func updateItem(t *testing.T, s *keywrighttest.Server) {
	run := script(t, s, "harca/scripts/update_item.lua", 1)
	s.Do("HSET", "item", "version", "1", "content", "old", "id", "i\"1", "type", "fact", "contextId", "global")
	heard := s.Monitor()
	s.Do("PEXPIRE", "item", "60000")
	equal(t, "the version read", run("item", "1", "new", "told", "3"), int64(2))
	equal(t, "a version that has passed", run("item", "1", "newer", "told", "3"), int64(0))
	equal(t, "an item that is gone", run("gone", "1", "new", "told", "3"), int64(-1))
	equal(t, "the content", s.Do("HGET", "item", "content"), "new")
	equal(t, "nothing comes back to life", s.Do("EXISTS", "gone"), int64(0))
	told := 0
	for _, line := range heard() {
		if strings.Contains(line, `"PUBLISH" "told"`) {
			told++
			for _, part := range []string{`{\"id\":\"i\\\"1\",\"type\":\"fact\",\"contextId\":\"global\"}`, `\"db\":3}`} {
				if !strings.Contains(line, part) {
					t.Errorf("%s lacks %s", line, part)
				}
			}
		}
	}
	equal(t, "one event", told, 1)
	if left := s.Do("PTTL", "item").(int64); left < 1 || left > 60000 {
		t.Errorf("the TTL of the item is %d ms", left)
	}
}

func triviaSubmit(t *testing.T, s *keywrighttest.Server) {
	run := script(t, s, "cunningbot/scripts/trivia_submit.lua", 2)
	s.Do("HSET", "game", "ends_at", "99999999999", "submission_count", "0", "channel_id", "844003671334977607")
	s.Do("PEXPIRE", "game", "60000")
	equal(t, "the first answer", run("game", "answers", "1", `{"options":[]}`), int64(1))
	equal(t, "a second one of the same user", run("game", "answers", "1", `{"options":[2]}`), int64(1))
	equal(t, "another user's", run("game", "answers", "2", `{}`), int64(2))
	equal(t, "no such game", run("none", "answers", "2", `{}`), int64(-1))
	equal(t, "the last answer counts", s.Do("HGET", "answers", "1"), `{"options":[2]}`)
	equal(t, "an id above 2^53", s.Do("HGET", "game", "channel_id"), "844003671334977607")
	for _, key := range []string{"game", "answers"} {
		if left := s.Do("PTTL", key).(int64); left < 1 || left > 60000 {
			t.Errorf("the TTL of %s is %d ms", key, left)
		}
	}
	s.Do("HSET", "game", "status", "closed")
	equal(t, "a game that is closed before its end", run("game", "answers", "3", `{}`), int64(-2))
	s.Do("HSET", "game", "status", "open", "ends_at", "1")
	equal(t, "a game that is over", run("game", "answers", "3", `{}`), int64(-2))
}

func batchAddSeen(t *testing.T, s *keywrighttest.Server) {
	run := script(t, s, "cunningbot/scripts/batch_add_seen.lua", 1)
	s.Do("ZADD", "seen", "1", "oldest", "2", "older")
	equal(t, "new and known items", run("seen", "3", `["older","a","b"]`), `["a","b"]`)
	equal(t, "known items only", run("seen", "3", `["a"]`), "[]")
	equal(t, "the oldest went", s.Do("ZSCORE", "seen", "oldest"), nil)
	equal(t, "the first time counts", s.Do("ZSCORE", "seen", "older"), "2")
}

func cleanupHistory(t *testing.T, s *keywrighttest.Server) {
	run := script(t, s, "cunningbot/scripts/cleanup_history.lua", 1)
	s.Do("ZADD", "stories", "1", "old", "99999999999", "new")
	equal(t, "one is old", run("stories", "24"), int64(1))
	equal(t, "the new one stays", s.Do("ZSCORE", "stories", "new"), "99999999999")
}

// script makes a function that runs a script with its first words as keys.
func script(t *testing.T, s *keywrighttest.Server, file string, keys int) func(...string) any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return func(words ...string) any {
		return s.Do(append([]string{"EVAL", string(text), strconv.Itoa(keys)}, words...)...)
	}
}

var equal = expect.Equal[any]
