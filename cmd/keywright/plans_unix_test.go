//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// plansKeyspace has what plans change.
const plansKeyspace = `keywright: 1
package: shop
owner: o
keys:
  jobs: {doc: d, key: jobs, type: queue, ttl: none}
  note:
    doc: d
    key: note:{id}
    type: entity
    ttl: 1d
    fields: {kind: slug, at: unix_ms}
    index: {kind: "notes:kind:{kind}", at: "notes:at", expires: "notes:ends"}
  token: {doc: d, key: "t:{id}", type: string, value: text encrypted, ttl: none}
`

// planCase represents a verb that changes many things, and what holds when it was executed.
type planCase struct {
	args []string
	fill string // a script; ARGV[1] is how many
	left string // a script that counts what is not as it should be
}

var planCases = map[string]planCase{
	"queues retry": {[]string{"queues", "retry", "jobs", "--all"},
		`for i = 1, tonumber(ARGV[1]) do
			redis.call('SET', '{jobs}:job:j'..i, 'q1 1 - 0 - -\nx')
			redis.call('HSET', '{jobs}:runs', 'j'..i, '- 6 5 1 0 0 r1\nwhy\n')
			redis.call('ZADD', '{jobs}:dead', i, 'j'..i)
		end`,
		`local seen, wrong = {}, redis.call('ZCARD', '{jobs}:dead')
		for _, id in ipairs(redis.call('LRANGE', 'jobs', 0, -1)) do
			if seen[id] then wrong = wrong + 1 end
			seen[id] = true
		end
		return wrong + math.abs(redis.call('LLEN', 'jobs') - tonumber(ARGV[1]))`},
	"queues discard": {[]string{"queues", "discard", "jobs", "--error", "error N"},
		`for i = 1, tonumber(ARGV[1]) do
			redis.call('SET', '{jobs}:job:j'..i, 'q1 1 - 0 - -\nx')
			redis.call('HSET', '{jobs}:runs', 'j'..i, '- 6 5 1 0 0 r1\nerror '..i..'\n')
			redis.call('ZADD', '{jobs}:dead', i, 'j'..i)
		end`,
		`return redis.call('ZCARD', '{jobs}:dead') + redis.call('EXISTS', '{jobs}:job:j1')`},
	"seal adopt": {[]string{"seal", "adopt"},
		`for i = 1, tonumber(ARGV[1]) do redis.call('SET', 't:'..i, 'plain') end`,
		`local wrong = 0
		for i = 1, tonumber(ARGV[1]) do if redis.call('GET', 't:'..i) == 'plain' then wrong = wrong + 1 end end
		return wrong`},
	"entities index": {[]string{"entities", "index"},
		`for i = 1, tonumber(ARGV[1]) do
			redis.call('HSET', 'note:'..i, 'kind', 'a', 'at', i)
			redis.call('PEXPIRE', 'note:'..i, 80000000)
			redis.call('ZADD', 'notes:kind:a', 0, i)
			redis.call('ZADD', 'notes:ends', redis.call('PEXPIRETIME', 'note:'..i), i)
			redis.call('HSET', '{notes:ends}:ledger', i, '=kind|notes:kind:|=1:a')
		end`,
		`return math.abs(redis.call('ZCARD', 'notes:at') - tonumber(ARGV[1]))`},
	"entities repair": {[]string{"entities", "repair"},
		`for i = 1, tonumber(ARGV[1]) do
			redis.call('HSET', 'note:'..i, 'kind', 'a', 'at', i)
			redis.call('PEXPIRE', 'note:'..i, 80000000)
		end`,
		`return math.abs(redis.call('ZCARD', 'notes:at') - tonumber(ARGV[1]))`},
}

// killsPerPlan says how often one plan is killed: its journal has more batches than that.
const killsPerPlan = 8

// planKills executes plans on a server, and kills what executes them.
type planKills struct {
	s        *keywrighttest.Server
	halt     *halting
	r        *rand.Rand
	of       []string // flags of all commands
	requests int      // of a run that is not killed
	left     int      // kills
}

func newPlanKills(t *testing.T) *planKills {
	t.Helper()
	k := &planKills{s: keywrighttest.Start(t, gate.Pick(t, keywrighttest.Brands())[0]), halt: &halting{},
		r: gate.Rand(t), left: gate.Count(t, "KEYWRIGHT_KILLS", 1, 4)}
	k.of = []string{"-u", "redis://" + k.halt.front(t, k.s.Addr()), "--progress", "none"}
	return k
}

// executed executes the plan, by runs that are killed at first, and gives what the last one reports; "": the plan had
// ended before.
func (k *planKills) executed(t *testing.T, dir string, apply []string) string {
	t.Helper()
	kills := min(k.left, killsPerPlan)
	if k.requests == 0 {
		kills = 0
	}
	for done := false; kills > 0 && !done; _, done = planEnded(t, dir) {
		kills, k.left = kills-1, k.left-1
		k.s.Do("DEL", "keywright:acting") // of the process that was killed; else it ends after 15 s
		cmd := runProgram(t, dir, apply...)
		k.halt.harmed(t, cmd, moment(k.r, k.requests), false, func() { _ = cmd.Process.Kill() })
	}
	k.s.Do("DEL", "keywright:acting")
	if _, done := planEnded(t, dir); done {
		return ""
	}
	k.halt.set(-1)
	text := ran(t, 0, dir, apply...)
	k.requests = max(k.requests, k.halt.asked()) // the first run is a whole one
	return text
}

// A plan that is killed while it is executed, again and again, is gone on with: in the
// end all is done once, and the report counts all of it.
func TestKilledPlans(t *testing.T) {
	t.Parallel()
	for name, c := range planCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newPlanKills(t)
			for k.requests == 0 || k.left > 0 && !t.Failed() { // many small plans: each run looks at all of its plan first
				c.killed(t, k, name == "queues retry")
			}
		})
	}
}

// killed executes a plan by runs that are killed, and looks at what became of it.
func (c *planCase) killed(t *testing.T, k *planKills, exact bool) {
	t.Helper()
	n := 1000 // some batches
	if gate.All() {
		n = 3000
	}
	dir := t.TempDir()
	k.s.Do("FLUSHALL")
	if err := os.WriteFile(filepath.Join(dir, "keyspace.yaml"), []byte(plansKeyspace), 0o600); err != nil {
		t.Fatal(err)
	}
	ran(t, 0, dir, "seal", "key", "ring.json")
	k.s.Do("EVAL", c.fill, "0", strconv.Itoa(n))
	k.halt.set(-1)
	apply := append([]string{"apply", "a.plan", "-o", "json"}, k.of...)
	make := append(append(slices.Clone(c.args), "--plan", "a.plan"), k.of...)
	if c.args[0] == "seal" {
		make, apply = append(make, "--keys-file", "ring.json"), append(apply, "--keys-file", "ring.json")
	}
	ran(t, 0, dir, make...)
	if text := k.executed(t, dir, apply); text != "" {
		adds(t, text, n, exact)
	}
	if left := k.s.Do("EVAL", c.left, "0", strconv.Itoa(n)); left != int64(0) {
		t.Errorf("%v of %d are not as they should be", left, n)
	}
	if text := ran(t, 2, dir, apply...); !strings.Contains(text, "was executed to its end") {
		t.Error(text)
	}
	for _, key := range k.s.Do("KEYS", "keywright:*").([]any) {
		t.Errorf("%v is left", key)
	}
}

// TestKilledACLApply: users that are changed by a plan that is killed in the middle are
// whole: in the end all have their rules, each user of the plan counts once, and none has
// lost its password.
func TestKilledACLApply(t *testing.T) {
	t.Parallel()
	k := newPlanKills(t)
	for k.requests == 0 || k.left > 0 && !t.Failed() {
		killedUsers(t, k)
	}
}

// killedUsers changes users by a plan that is killed, and looks at them.
func killedUsers(t *testing.T, k *planKills) {
	t.Helper()
	users := 50
	if gate.All() {
		users = 200
	}
	dir := t.TempDir()
	text := "keywright: 1\npackage: many\nkeys:\n"
	for i := range users {
		text += fmt.Sprintf("  k%d: {doc: d, key: \"k%d:{id}\", type: string, ttl: none, owner: user%d}\n", i, i, i)
		k.s.Do("ACL", "SETUSER", fmt.Sprint("user", i), "reset", "on", ">secret", "+get", "~other:*")
	}
	if err := os.WriteFile(filepath.Join(dir, "keyspace.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	k.halt.set(-1)
	ran(t, 0, dir, append([]string{"acl", "apply", "--plan", "a.plan"}, k.of...)...)
	if text := k.executed(t, dir, append([]string{"apply", "a.plan", "-o", "json"}, k.of...)); text != "" {
		adds(t, text, users, false)
	}
	ran(t, 0, dir, append([]string{"acl", "diff"}, k.of[:2]...)...)
	for i := range users {
		if got := k.s.Do("ACL", "DRYRUN", fmt.Sprint("user", i), "SET", fmt.Sprintf("k%d:1", i), "x"); got != "OK" {
			t.Errorf("user%d: %v", i, got)
		}
		if got := fmt.Sprint(k.s.Do("ACL", "GETUSER", fmt.Sprint("user", i))); !strings.Contains(got,
			"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b") {
			t.Errorf("user%d has lost its password: %s", i, got)
		}
	}
}

// planEnded returns how many lines the journal of the plan has, and whether the last says that
// the plan was executed to its end.
func planEnded(t *testing.T, dir string) (lines int, done bool) {
	t.Helper()
	text, _ := os.ReadFile(filepath.Join(dir, "a.plan.journal"))
	return strings.Count(string(text), "\n"), strings.Contains(string(text), `"end":true`)
}

// adds checks that the parts of a report add up. exact says that each change is counted
// once over all runs; else a batch that was interrupted may be counted as unknown and
// again.
func adds(t *testing.T, text string, n int, exact bool) {
	t.Helper()
	var report struct {
		Done struct {
			Total   counts   `json:"total"`
			Entries []counts `json:"entries"`
		} `json:"done"`
	}
	if err := json.Unmarshal([]byte(text[strings.IndexByte(text, '{'):]), &report); err != nil {
		t.Fatalf("%v\n%.1000s", err, text)
	}
	total, sum := report.Done.Total, counts{}
	for _, e := range report.Done.Entries {
		sum.Keys += e.Keys
		sum.Changed += e.Changed
		sum.Unknown += e.Unknown
		sum.Left += e.Left
	}
	if sum != total || total.Keys != total.Changed+total.Unknown+total.Left {
		t.Errorf("the parts do not add up: %+v, %+v", total, sum)
	}
	if exact && total.Keys != n || total.Keys < n || total.Left > 0 {
		t.Errorf("there were %d: %s", n, fmt.Sprint(total))
	}
}

type counts struct {
	Keys    int `json:"keys"`
	Changed int `json:"changed"`
	Unknown int `json:"unknown"`
	Left    int `json:"left_alone"`
}
