package apply_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/plan"
	kt "github.com/keywright/keywright/keywrighttest"
)

type mergeGuard struct {
	name           string
	set            []string // commands
	ask, want      string
	guard, instead string
}

// mergeGuards lists the guards of the script that moves jobs: what is there before, what a command
// answers after a rename, and the guard without which it answers something else, or the rename
// ends with an error.
var mergeGuards = []mergeGuard{
	{"a job whose id is taken stays", []string{"RPUSH jobs:a:low x", "SET {jobs:a}:job:x old", "SET {work:a}:job:x new"},
		"GET {work:a}:job:x", "new", "if job and call('EXISTS', new) == 1 or", "if"},
	{"the other jobs go",
		[]string{"RPUSH jobs:a:low x y", "SET {jobs:a}:job:x old", "SET {work:a}:job:x new", "SET {jobs:a}:job:y y"},
		"LRANGE work:a:low 0 -1", "[y]", "stay = stay + 1", "do return { 'done', 0, 0, 0 } end"},
	{"a dead job whose id is dead there stays", []string{"ZADD {jobs:a}:dead 5 x", "ZADD {work:a}:dead 9 x"},
		"ZSCORE {work:a}:dead x", "9", " or kind == 'zset' and call('ZSCORE', KEYS[2], id)", ""},
	{"a score goes along", []string{"ZADD {jobs:a}:dead 5 x 7 y", "ZADD {work:a}:dead 9 z"},
		"ZSCORE {work:a}:dead y", "7", "scores[n]", "scores[1]"},
	{"a worker keeps its queue", []string{"RPUSH jobs:a:low x", "ZADD {jobs:a}:workers 99999999999999 w"},
		"LRANGE jobs:a:low 0 -1", "[x]", "call('ZCOUNT', KEYS[i], now, '+inf') > 0", "false"},
	{"a worker that has ended does not", []string{"RPUSH jobs:a:low x", "ZADD {jobs:a}:workers 1 w"},
		"LRANGE work:a:low 0 -1", "[x]", "ZCOUNT', KEYS[i], now", "ZCOUNT', KEYS[i], '-inf'"},
	{"runs that are no hash", []string{"RPUSH jobs:a:low x", "SET {work:a}:runs s"},
		"LRANGE jobs:a:low 0 -1", "[x]", "if runs ~= 'hash' and runs ~= 'none' then", "if false then"},
	{"a lane that is no list", []string{"RPUSH jobs:a:low x", "SET {jobs:a}:job:x old", "SET work:a:low s"},
		"LRANGE jobs:a:low 0 -1", "[x]", "if there ~= 'none' and there ~= kind then", "if false then"},
	{"what is known of runs goes along",
		[]string{"RPUSH jobs:a:low x", "SET {jobs:a}:job:x old", "HSET {jobs:a}:runs x 1", "HSET {work:a}:runs y 2"},
		"HGET {work:a}:runs x", "1", "if m.run then", "if false then"},
	{"runs that are known there stay",
		[]string{"RPUSH jobs:a:low x", "SET {jobs:a}:job:x old", "HSET {jobs:a}:runs x 1", "HSET {work:a}:runs x 2"},
		"HGET {work:a}:runs x", "2", "run and call('HEXISTS', KEYS[4], id) == 0 and run", "run"},
	{"an id twice", []string{"RPUSH jobs:a:low x x", "SET {jobs:a}:job:x old"},
		"LRANGE work:a:low 0 -1", "[x x]", "if m.old and call('EXISTS', m.old) == 1 then", "if m.old then"},
	{"the order of a lane", []string{"RPUSH jobs:a:low x y z x"},
		"LRANGE work:a:low 0 -1", "[x y z x]", "call('RPUSH', KEYS[2], m.id)", "call('LPUSH', KEYS[2], m.id)"},
	{"a lane keeps its TTL", []string{"RPUSH jobs:a:low x", "PEXPIREAT jobs:a:low 4102444800123"},
		"PEXPIRETIME work:a:low", "", "call('PEXPIRE', KEYS[2]", "call('TYPE', KEYS[2]"},
	{"a lane that never ends", []string{"RPUSH jobs:a:low x", "PEXPIREAT jobs:a:low 4102444800123", "RPUSH work:a:low y"},
		"PEXPIRETIME work:a:low", "-1", "ttl > 0 and there == 'none' and", "ttl > 0 and"},
	{"a full server",
		[]string{"RPUSH jobs:a:low x", "HSET {jobs:a}:runs x 1", "HSET {work:a}:runs y 2", "CONFIG SET maxmemory 1"},
		"HGET {work:a}:runs x", "1", "call('HDEL', KEYS[3], '')\n", "\n"},
}

// countGuards lists those of the script that gives a queue's state its new name.
var countGuards = []mergeGuard{
	{"counts are added", []string{"HSET {jobs:a}:state enqueued 3", "HSET {work:a}:state enqueued 4 paused 1"},
		"HGET {work:a}:state enqueued", "7", " + (tonumber(was) or 0)", ""},
	{"a state with more than a count stays", []string{"HSET {jobs:a}:state enqueued 3 tat 9", "HSET {work:a}:state enqueued 4"},
		"HGET {jobs:a}:state enqueued", "3", " and call('HLEN', KEYS[1]) == 1", ""},
	{"a count is added once", []string{"HSET {jobs:a}:state enqueued 3", "HSET {work:a}:state enqueued 4"},
		"EXISTS {jobs:a}:state", "0", "    call('UNLINK', KEYS[1])\n", ""},
	{"another field is no count", []string{"HSET {jobs:a}:state paused 1", "HSET {work:a}:state enqueued 4"},
		"HGET {jobs:a}:state paused", "1", "if not was then", "if false then"},
}

func TestMergeGuards(t *testing.T) {
	testMergeGuards(t, mergeGuards, apply.MutateMerge)
	testMergeGuards(t, countGuards, apply.MutateRename)
}

func testMergeGuards(t *testing.T, guards []mergeGuard, mutate func(guard, instead string) (func(), bool)) {
	s := kt.Start(t, kt.Valkey)
	clients := applytest.Open(t, s.URL())
	after := keyspaceOf(queueAfter)
	pairs, err := plan.Former(after)
	must(t, err)
	rule, err := plan.NewRename(after, pairs, plan.RenameOptions{Merge: true})
	must(t, err)
	for _, c := range guards {
		answer := func() string {
			s.Do("CONFIG", "SET", "maxmemory", "0")
			s.Do("FLUSHALL")
			for _, line := range c.set {
				s.Do(strings.Fields(line)...)
			}
			o := apply.KeysOptions{Live: applytest.Live(t, s.URL(), 64<<10)}
			if _, err := apply.Keys(t.Context(), clients, scanOf(s.URL()), rule, o); err != nil {
				return "error: " + err.Error()
			}
			return fmt.Sprint(s.Do(strings.Fields(c.ask)...))
		}
		got := answer()
		if c.want != "" && got != c.want || strings.HasPrefix(got, "error") || got == "-1" && c.want == "" {
			t.Errorf("%s: %s", c.name, got)
		}
		restore, ok := mutate(c.guard, c.instead)
		if !ok {
			t.Fatalf("the script has no %q", c.guard)
		}
		if without := answer(); without == got {
			t.Errorf("%s: nothing is other without %q", c.name, c.guard)
		}
		restore()
	}
}
