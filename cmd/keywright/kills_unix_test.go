//go:build unix

package main

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/apply/writelease"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// movedKeyspace declares what the verbs are tried on.
const movedKeyspace = `keywright: 1
package: shop
owner: o
vars: {day: date}
keys:
  user: {doc: d, key: "user:{id}", type: string, ttl: 1h}
  page: {doc: d, key: "page:{id}", type: hash, ttl: any}
  b1: {doc: d, key: "big:hash", type: hash, ttl: any}
  b2: {doc: d, key: "big:list", type: list, ttl: any}
  b3: {doc: d, key: "big:set", type: set, ttl: any}
  b4: {doc: d, key: "big:zset", type: zset, ttl: any}
  b5: {doc: d, key: "big:stream", type: stream, ttl: any}
  b6: {doc: d, key: "big:string", type: string, ttl: any}
  log: {doc: d, key: "log:{day}", type: string, ttl: any}
  hold: {doc: d, key: "hold:{id}", type: lock, ttl: 10s}
  note:
    doc: d
    key: note:{id}
    type: entity
    ttl: 1d
    fields: {kind: slug, at: unix_ms}
    index: {kind: "notes:kind:{kind}", at: "notes:at", expires: "notes:ends"}
cleanup:
  - {match: "log:*", keep: 2}
`

// fillMoved makes keys of each kind in two databases: small ones, large ones of each type, and
// items of an entity with their indexes. n is about how many.
const fillMoved = `local n = tonumber(ARGV[1])
for _, db in ipairs({0, 2}) do
	redis.call('SELECT', db)
	for i = 1, n do
		redis.call('SET', 'user:' .. i, string.rep('v', i % 300))
		redis.call('HSET', 'page:' .. i, 'f', i, '', 'empty')
		redis.call('PEXPIREAT', 'page:' .. i, 4102444800000 + i)
	end
	for i = 1, n / 10 do redis.call('SET', string.format('log:2024-%02d-%02d', 1 + i / 28 % 12, 1 + i % 28), i) end
	for i = 1, n do
		redis.call('HSET', 'big:hash', 'field' .. i, string.rep('x', 100) .. i)
		redis.call('RPUSH', 'big:list', string.rep('x', 100) .. i)
		redis.call('SADD', 'big:set', string.rep('x', 100) .. i)
		redis.call('ZADD', 'big:zset', i / 7, string.rep('x', 100) .. i)
		redis.call('XADD', 'big:stream', i .. '-1', 'n', string.rep('x', 100) .. i)
		redis.call('APPEND', 'big:string', string.rep('x', 200) .. i)
	end
	redis.call('PEXPIREAT', 'big:hash', 4102444800001)
	redis.call('XGROUP', 'CREATE', 'big:stream', 'g', 0)
	redis.call('XREADGROUP', 'GROUP', 'g', 'c', 'COUNT', 20, 'STREAMS', 'big:stream', '>')
end
redis.call('SELECT', 0)
for i = 1, n / 10 do
	redis.call('HSET', 'note:' .. i, 'kind', 'a', 'at', i)
	redis.call('PEXPIREAT', 'note:' .. i, 4102444800000 + i)
	redis.call('ZADD', 'notes:kind:a', 0, i)
	redis.call('ZADD', 'notes:at', i, i)
	redis.call('ZADD', 'notes:ends', 4102444800000 + i, i)
	redis.call('HSET', '{notes:ends}:ledger', i, '=kind|notes:kind:|=1:a')
end`

// only returns the keys whose names begin so.
func only(all map[string]string, prefixes ...string) map[string]string {
	out := map[string]string{}
	for key, value := range all {
		_, name, _ := strings.Cut(key, " ")
		for _, p := range prefixes {
			if strings.HasPrefix(name, p) {
				out[key] = value
			}
		}
	}
	return out
}

// place describes where a verb is tried: two servers, a folder, and what was there before.
type place struct {
	from, to *keywrighttest.Server
	halt     *halting // is before both servers
	urls     *strings.Replacer
	dir      string
	n        int
	r        *rand.Rand
	before   map[string]string // of from
}

// moved represents a verb that is killed and run again.
type moved struct {
	name  string
	set   func(t *testing.T, p *place)             // makes what there is before; the keys are there
	line  string                                   // the command; FROM and TO are the servers
	other bool                                     // it writes to the other server
	check func(t *testing.T, p *place)             // what there must be when it has ended
	last  func(t *testing.T, p *place) (skip bool) // the plan was executed to its end by the killed run; nil: run it again

	beyond bool // the gate goes without it: another row does nearly the same
}

// planned makes a plan before the verb.
func planned(line string) func(*testing.T, *place) {
	return func(t *testing.T, p *place) {
		t.Helper()
		for _, name := range []string{"a.plan", "a.plan.journal", "a.plan.undo"} {
			_ = os.Remove(filepath.Join(p.dir, name))
		}
		for _, file := range keptFiles(t, p) {
			must(t, os.Remove(file))
		}
		_ = os.Remove(filepath.Join(p.dir, "gone.kwa.part"))
		ran(t, 0, p.dir, p.words(line)...)
	}
}

func (p *place) words(line string) []string {
	return strings.Fields(p.urls.Replace(line))
}

// journalEnded reports whether the plan was executed to its end.
func journalEnded(t *testing.T, p *place) bool {
	_, done := planEnded(t, p.dir)
	return done
}

var movedVerbs = []moved{
	{name: "restore", line: "restore a.kwa -u TO --apply", other: true, check: allMoved},
	{name: "restore different", line: "restore a.kwa -u TO --existing different --apply", other: true, check: allMoved,
		beyond: true},
	{name: "restore of a plan", set: planned("restore a.kwa -u TO --plan a.plan"), line: "apply a.plan -u TO", other: true,
		check: allMoved, last: journalEnded},
	{name: "replacing restore of a plan", set: planned("restore a.kwa -u TO --existing replace --plan a.plan"),
		line: "apply a.plan -u TO", other: true, check: allMoved, last: journalEnded, beyond: true},
	{name: "copy", line: "copy FROM TO --apply", other: true, check: allMoved},
	{name: "copy of a snapshot", line: "copy FROM TO --existing different --snapshot --apply", other: true,
		check: allMoved, beyond: true},
	{name: "delete", line: "delete -u FROM --entry user,page,b1,b2,b3,b4,b5,b6,note --apply", check: allDeleted},
	{name: "delete of a plan", set: planned("delete -u FROM --entry user,page,b1,b2,b3,b4,b5,b6,note --plan a.plan"),
		line: "apply a.plan -u FROM", check: allDeleted, last: journalEnded, beyond: true},
	{name: "delete that keeps", set: planned("delete -u FROM --entry user,page,b1,b2,b3,b4,b5,b6,note --plan a.plan"),
		line: "apply a.plan -u FROM --keep gone.kwa",
		check: func(t *testing.T, p *place) {
			allDeleted(t, p)
			broughtBack(t, p)
		}, last: journalEnded},
	{name: "clean that keeps", set: planned("clean -u FROM --plan a.plan"), line: "apply a.plan -u FROM --keep gone.kwa",
		check: func(t *testing.T, p *place) {
			if left := only(keysOf(t, p.from.URL()), "log:"); len(left) != 4 {
				t.Errorf("%d of the keys are left", len(left))
			}
			broughtBack(t, p)
		}, last: journalEnded},
	{name: "ttl of a plan", set: planned("ttl -u FROM --entry user --plan a.plan"), line: "apply a.plan -u FROM",
		check: func(t *testing.T, p *place) {
			haveTTL(t, p)
			ran(t, 0, p.dir, p.words("apply a.plan.undo -u FROM")...)
			sameKeys(t, p.before, keysOf(t, p.from.URL()))
		}, last: journalEnded},
	{name: "rename of a plan",
		set: planned(
			"rename -u FROM --map user:{id}=usr:{id} --map big:hash=large:hash --map big:stream=large:stream --plan a.plan"),
		line: "apply a.plan -u FROM",
		check: func(t *testing.T, p *place) {
			want := map[string]string{}
			for key, value := range p.before {
				want[strings.NewReplacer(" user:", " usr:", " big:hash", " large:hash", " big:stream", " large:stream").Replace(
					key)] = value
			}
			sameKeys(t, want, keysOf(t, p.from.URL()))
			ran(t, 0, p.dir, p.words("apply a.plan.undo -u FROM")...)
			sameKeys(t, p.before, keysOf(t, p.from.URL()))
		}, last: journalEnded},
}

func allMoved(t *testing.T, p *place) {
	t.Helper()
	sameKeys(t, p.before, keysOf(t, p.to.URL()))
}

func allDeleted(t *testing.T, p *place) {
	t.Helper()
	want := only(p.before, "log:", "hold:")
	sameKeys(t, want, keysOf(t, p.from.URL()))
}

// broughtBack restores what was kept: all that is not derived of items is as it was.
func broughtBack(t *testing.T, p *place) {
	t.Helper()
	files := keptFiles(t, p)
	if len(files) == 0 {
		t.Error("what was deleted has no archive with its name")
	}
	for _, file := range files {
		ran(t, 0, p.dir, "restore", file, "-u", p.from.URL(), "--existing", "skip", "--apply")
	}
	plain := []string{"user:", "page:", "big:", "log:", "note:", "hold:"}
	sameKeys(t, only(p.before, plain...), only(keysOf(t, p.from.URL()), plain...))
}

// keptFiles returns the archives of what was deleted, the newest first.
func keptFiles(t *testing.T, p *place) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.dir, "gone*.kwa"))
	must(t, err)
	slices.SortFunc(files, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(b, a)) })
	return files
}

// haveTTL checks that each user ends within the TTL that is declared, and nothing else has
// changed.
func haveTTL(t *testing.T, p *place) {
	t.Helper()
	now, other := keysOf(t, p.from.URL()), []string{"page:", "big:", "log:", "note"}
	sameKeys(t, only(p.before, other...), only(now, other...))
	users := only(now, "user:")
	if len(users) != 2*p.n {
		t.Errorf("%d users", len(users))
	}
	wrong := 0
	for _, value := range users {
		ends, err := strconv.ParseInt(value[strings.LastIndexByte(value, ' ')+1:], 10, 64)
		if left := time.Until(time.UnixMilli(ends)); err != nil || left <= 0 || left > time.Hour+time.Minute {
			wrong++
		}
	}
	if wrong > 0 {
		t.Errorf("%d users have no TTL, or another one", wrong)
	}
}

// reset makes the keys, the archive and what the verb needs.
func (p *place) reset(t *testing.T, v *moved) {
	t.Helper()
	p.to.Do("FLUSHALL")
	if now := keysOf(t, p.from.URL()); p.before == nil || !maps.Equal(now, p.before) {
		p.from.Do("FLUSHALL")
		p.from.Do("EVAL", fillMoved, "0", strconv.Itoa(p.n))
		p.before = keysOf(t, p.from.URL())
	}
	if _, err := os.Stat(filepath.Join(p.dir, "a.kwa")); err != nil {
		ran(t, 0, p.dir, p.words("backup -u FROM --to a.kwa")...)
	}
	if v.set != nil {
		v.set(t, p)
	}
}

// again runs the verb to its end, as the only one.
func (p *place) again(t *testing.T, v *moved) {
	t.Helper()
	p.releaseLeases()
	if v.last != nil && v.last(t, p) {
		ran(t, 2, p.dir, p.words(v.line)...)
		return
	}
	line := v.line
	if _, err := os.Stat(filepath.Join(p.dir, "gone.kwa.part")); err == nil && strings.Contains(line, "--keep") {
		_ = runProgram(t, p.dir, p.words(line)...).Run() // gives it its name, if there is something in it
		if v.last != nil && v.last(t, p) {
			return
		}
	}
	if n := len(keptFiles(t, p)); n > 0 {
		line = strings.Replace(line, "gone.kwa", fmt.Sprintf("gone%d.kwa", n), 1)
	}
	ran(t, 0, p.dir, p.words(line)...)
}

// newPlace starts the servers: one of each brand, and in test-all by lot which one is which.
func newPlace(t *testing.T, n int, options ...keywrighttest.Option) *place {
	t.Helper()
	brands := keywrighttest.Brands()
	r := gate.Rand(t)
	first := r.IntN(len(brands))
	p := &place{r: r, from: keywrighttest.Start(t, brands[first], options...),
		to: keywrighttest.Start(t, brands[len(brands)-1-first], options...), halt: &halting{}, dir: t.TempDir(), n: n}
	p.halt.set(-1)
	p.urls = strings.NewReplacer("FROM", "redis://"+p.halt.front(t, p.from.Addr()), "TO",
		"redis://"+p.halt.front(t, p.to.Addr()))
	must(t, os.WriteFile(filepath.Join(p.dir, "keyspace.yaml"), []byte(movedKeyspace), 0o600))
	return p
}

// whole runs a verb to its end, and says how often it asks the servers.
func (p *place) whole(t *testing.T, v *moved) (requests int) {
	t.Helper()
	p.reset(t, v)
	p.halt.set(-1)
	p.again(t, v)
	requests = p.halt.asked()
	v.check(t, p)
	return requests
}

// releaseLeases makes the next process the only one that changes keys: those of processes that were killed end after 15
// s.
func (p *place) releaseLeases() {
	p.from.Do("DEL", writelease.Key)
	p.to.Do("DEL", writelease.Key)
}

// moment says at which of its requests a run is harmed: late in the gate, when it changes keys, else by lot.
func moment(r *rand.Rand, requests int) int {
	if gate.All() {
		return r.IntN(requests)
	}
	return requests * 3 / 4
}

// Each verb that is killed at any moment, once or several times, and run again, has done in
// the end the requested result: nothing is lost, nothing is there twice, nothing lives forever.
func TestKilledVerbs(t *testing.T) {
	t.Parallel()
	for _, v := range movedVerbs {
		if v.beyond && !gate.All() {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			kills := gate.Count(t, "KEYWRIGHT_KILLS", 1, 2)
			p := newPlace(t, 100+min(kills, 35)*20)
			requests := p.whole(t, &v)
			midway, done := 0, 0
			// A run may send fewer requests than the whole one, as where it waits less, and end before it is killed.
			goesOn := func() bool { return done < kills || midway == 0 && done < kills+10 }
			for goesOn() && !t.Failed() {
				p.reset(t, &v)
				for more := true; more && goesOn(); more = p.r.IntN(3) == 0 {
					done++
					p.releaseLeases()
					cmd := runProgram(t, p.dir, p.words(v.line)...)
					if _, harmed := p.halt.harmed(t, cmd, moment(p.r, requests), false, func() { _ = cmd.Process.Kill() }); harmed {
						midway++
					} else {
						requests = max(1, requests*3/4)
					}
					if v.last != nil && v.last(t, p) {
						break
					}
				}
				p.again(t, &v)
				v.check(t, p)
			}
			t.Logf("%d of %d kills were before the end, which comes after %d requests", midway, done, requests)
			if midway == 0 {
				t.Error("no run was killed")
			}
		})
	}
}
