package acl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/gen/acl"
)

// excesses returns the warnings of a declaration, in short.
func excesses(t *testing.T, text string) (list []acl.User, told []string) {
	t.Helper()
	ks := loaded(t, "keywright: 1\n"+text)
	list = users(t, ks)
	for _, x := range acl.Excesses(ks, list) {
		told = append(told, fmt.Sprintf("%s %s %s of %q by %s", x.User, x.Command, x.Witness, x.Reaches, x.Rule))
	}
	return list, told
}

// TestExcesses: what a user can do beyond the declaration is reported, with a key or a
// channel and a command.
// TestManyPatternsThatOverlap: what would take too long to tell is reported as that, and
// of each rule.
func TestManyPatternsThatOverlap(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		const form = "  e%[1]d: {key: \"k%[1]d:{a}:{b}:{c}\", type: string, ttl: 1h}\n  f%[1]d: {key: " +
			"\"{a}:{b}:{c}:k%[1]d\", type: string, ttl: 1h, owner: b}\n"
		fmt.Fprintf(&b, form, i)
	}
	ks := loaded(t, "keywright: 1\nowner: a\nkeys:\n"+b.String())
	list := users(t, ks)
	told := map[string]bool{}
	for _, x := range acl.Excesses(ks, list) {
		told[x.User+x.Rule] = told[x.User+x.Rule] || strings.HasPrefix(x.Reaches, "any entry")
	}
	rules, unknown := 0, 0
	for _, u := range list {
		for _, g := range u.Keys {
			if rules++; told[u.Name+"~"+g.Glob] {
				unknown++
			}
		}
	}
	if rules != 600 || len(told) != rules || unknown < 100 {
		t.Errorf("%d rules, %d with a warning, %d of any entry", rules, len(told), unknown)
	}
}

func TestExcesses(t *testing.T) {
	const head = "vars: {r: text rest, n: int 0.., w: a|b, x: \"/[a-z]+/\"}\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a narrower pattern of another owner": {head + `keys:
  all: {key: "doc:{r}", type: string, ttl: 1d, owner: u}
  one: {key: "doc:secret:{n}", type: hash, ttl: 1d, owner: v}`,
			[]string{`u DEL doc:secret:0 of "one" by ~doc:?*`, `v DEL doc:secret:0a of "all" by ~doc:secret:[0-9]*`}},
		"a regular expression beside a word": {head + `keys:
  all: {key: "t:{x}", type: string, ttl: 1d, owner: u}
  one: {key: "t:me", type: string, ttl: 1d, owner: v, readers: [u]}`,
			[]string{`u SET t:1 of "" by ~t:?*`, `u SET t:me of "one" by ~t:?*`}},
		"a channel that is only heard": {head + `channels:
  own: {channel: "own", owner: u}
  pay: {channel: "pay:approved", owner: v, readers: [u]}`,
			[]string{`u PUBLISH pay:approved of "pay" by &pay:approved`}},
		"a channel that is only published on": {head + `channels:
  own: {channel: "own", owner: u}
  pay: {channel: "pay:{n}", owner: v, readers: [u]}`,
			[]string{`u SUBSCRIBE own of "own" by &own`, `u PUBLISH pay:0 of "pay" by &pay:*`,
				`v PUBLISH pay:0a of "" by &pay:[0-9]*`}},
		"other software": {head + "foreign: [\"bull:*\"]\n" + `keys:
  all: {key: "bu{x}", type: string, ttl: 1d, owner: u}`,
			[]string{`u SET bull: of "other software (foreign: bull:*)" by ~bu?*`}},
		"a stream that is only looked at, beside one that is consumed": {head + `keys:
  mine: {key: "mine", type: stream, groups: [g], ttl: none, owner: v, readers: [u]}
  look: {key: "look", type: stream, ttl: none, owner: v, readers: [u]}`,
			[]string{`u XREADGROUP look of "look" by %R~look`}},
	} {
		_, told := excesses(t, c.text)
		for _, want := range c.want {
			if !slices.Contains(told, want) {
				t.Errorf("%s: no warning %s; there are\n%s", name, want, strings.Join(told, "\n"))
			}
		}
	}
}

// TestAvoided: what another glob, or fewer commands, can refuse needs no warning.
func TestAvoided(t *testing.T) {
	list, told := excesses(t, `vars: {w: a|b}
keys:
  some: {key: "t:{w}", type: string, ttl: 1d, owner: u}
  one: {key: "t:a", type: string, ttl: 1d, owner: v}
channels:
  own: {channel: own, owner: u, sharded: true}
  pay: {channel: pay, owner: v, readers: [u]}`)
	if len(told) > 0 {
		t.Errorf("%q", told)
	}
	for _, u := range list {
		if rules := strings.Join(u.KeyRules(), " "); u.Name == "u" && rules != "~own ~t:b" {
			t.Errorf("%s", rules)
		}
	}
}

// TestRoles: what is declared can be done, and not much more.
func TestRoles(t *testing.T) {
	list, _ := excesses(t, `keys:
  log: {key: log, type: stream, groups: [g], ttl: none, owner: api, readers: [consumer]}
  jobs: {key: jobs, type: queue, ttl: none, owner: api, readers: [worker]}
  board: {key: board, type: ranking, ttl: 1d, owner: api, readers: [web]}
  days: {key: "days:{day}", type: ranking, ttl: 40d, cached: 1m, owner: api, readers: [home]}
vars: {day: date}`)
	for user, want := range map[string]string{
		"consumer": "+xreadgroup +xack +xclaim +xautoclaim +xgroup|create -xadd -del -xtrim -xgroup|destroy -info -select " +
			"-cluster|nodes -client|no-evict",
		"worker": "+lpop +evalsha +publish +subscribe +zrem +info -scan",
		"web":    "+evalsha_ro -evalsha -zadd -info",
		"home":   "+evalsha_ro -evalsha -rename -zunionstore",
		"api":    "+evalsha +zunionstore +rename",
	} {
		i := slices.IndexFunc(list, func(u acl.User) bool { return u.Name == user })
		for _, c := range strings.Fields(want) {
			if slices.Contains(list[i].Commands, c[1:]) != (c[0] == '+') {
				t.Errorf("%s: %s", user, c)
			}
		}
	}
}
