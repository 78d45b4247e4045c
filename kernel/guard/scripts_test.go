package guard_test

import (
	"crypto/sha1"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/internal/lua"
	"github.com/keywright/keywright/kernel/guard"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
)

// TestScriptsOfConstructs: the scripts of the constructs write their keys, and a script
// writes those that it is declared with; no other script and no function does.
func TestScriptsOfConstructs(t *testing.T) {
	const its = "return redis.call('DEL', KEYS[1])"
	own := lua.New(
		fstest.MapFS{
			"own.lua": {
				Data: []byte(
					"-- own: for a test.\n-- KEYS[1] lock\n-- ARGV: none\n-- Returns: 1\n-- Bound: O(1)\n-- Round trips: 1\nreturn " +
						"redis.call('DEL', KEYS[1])\n")}}).Script("own")
	scripted := strings.Replace(declaration, "channels:",
		"  s: {type: script, file: s.lua, keys: [lock], effect: idempotent}\nchannels:", 1)
	ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(scripted)}, "s.lua": {Data: []byte(its)}}, "k.yaml")
	if finding.Count(found).Errors > 0 {
		t.Fatal(found[0].Message)
	}
	g, err := guard.New(ks, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sum := func(text string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(text))) }
	for _, c := range []struct {
		what string
		may  bool
		args []string
	}{
		{"a construct's script", true, []string{"EVAL", own, "1", "lock:1"}},
		{"the same by its sum", true, []string{"EVALSHA", sum(own), "1", "item:1"}},
		{"a declared script, its key", true, []string{"EVAL", its, "1", "lock:1"}},
		{"the same by its sum", true, []string{"evalsha", strings.ToUpper(sum(its)), "1", "lock:1"}},
		{"a declared script, another key", false, []string{"EVAL", its, "1", "jobs:high"}},
		{"its second key", false, []string{"EVALSHA", sum(its), "2", "lock:1", "items:n"}},
		{"a script of somebody's", false, []string{"EVAL", its + " ", "1", "lock:1"}},
		{"the same by its sum", false, []string{"EVALSHA", sum(its + " "), "1", "lock:1"}},
		{"a sum and more", false, []string{"EVALSHA", sum(its) + "00", "1", "lock:1"}},
		{"part of a sum", false, []string{"EVALSHA", sum(its)[:38], "1", "lock:1"}},
		{"no sum", false, []string{"EVALSHA", "x", "1", "lock:1"}},
		{"a function", false, []string{"FCALL", sum(its), "1", "lock:1"}},
		{"what only reads", true, []string{"EVAL_RO", its, "1", "item:1"}},
	} {
		byHand := false
		for _, v := range g.Check(c.args...) {
			byHand = byHand || v.Problem == guard.ByHand
		}
		if byHand == c.may {
			t.Errorf("%s: %.20q %v: by hand: %t", c.what, c.args[1], c.args[2:], byHand)
		}
	}
}
