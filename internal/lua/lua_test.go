package lua

import (
	"strings"
	"testing"
	"testing/fstest"
)

const header = "-- a: does.\n-- KEYS[1] key\n-- ARGV[1…] id, score\n-- Returns: 1\n-- Bound: O(1)\n-- Round trips: 1\n"

// TestFaults: what a file may not say is an error that names it.
func TestFaults(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"includes itself: a → b → b":    {"a": header + "-- include: b\n", "b": "-- b: is.\n-- Part.\n-- include: b\n"},
		"there is no file c.lua":        {"a": header + "-- include: c\n"},
		"which is no part":              {"a": header + "-- include: b\n", "b": strings.Replace(header, "-- a", "-- b", 1)},
		"has the name of a shared part": {"a": header + "-- include: time\n", "time": "-- time: is.\n-- Part.\n"},
		"no line `Bound:`":              {"a": strings.Replace(header, "-- Bound: O(1)\n", "", 1)},
		"KEYS[2] of its header":         {"a": strings.Replace(header, "KEYS[1]", "KEYS[2]", 1)},
		"its first line is not":         {"a": "return 1"},
	} {
		all := fstest.MapFS{}
		for name, text := range files {
			all[name+".lua"] = &fstest.MapFile{Data: []byte(text)}
		}
		if _, _, err := New(all).Pieces("a", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, and not %q", err, want)
		}
	}
}

// TestTakes: a text says how many keys and arguments it takes, and others are refused.
func TestTakes(t *testing.T) {
	text := New(fstest.MapFS{"a.lua": {Data: []byte(header + "return '--' .. KEYS[1] -- it\n  .. #ARGV\n")}}).Script("a")
	if want := "return '--' .. KEYS[1]\n.. #ARGV\n--takes 1 0*2"; text != want {
		t.Errorf("%q", text)
	}
	for _, c := range []struct {
		keys, args int
		ok         bool
	}{{1, 0, true}, {1, 4, true}, {1, 3, false}, {0, 2, false}, {2, 2, false}} {
		if err := TakenBy(text).Refuse(c.keys, c.args); (err == nil) != c.ok {
			t.Errorf("%d keys, %d arguments: %v", c.keys, c.args, err)
		}
	}
	if err := TakenBy("return 1").Refuse(7, 7); err != nil {
		t.Error(err)
	}
}

// Arguments are given by their names, in any order, and come in the order of the header.
func TestArgs(t *testing.T) {
	text := "-- one: does.\n-- KEYS: none\n-- ARGV[1] first\n-- ARGV[2] second: a thing\n-- ARGV[3…] id\n" +
		"-- Returns: 1\n-- Bound: O(1)\n-- Round trips: 1\nreturn 1\n"
	s := New(fstest.MapFS{"one.lua": {Data: []byte(text)}})
	args := s.Args("one", 2, "second", "b", "first", "a")
	if len(args) != 2 || args[0] != "a" || args[1] != "b" || cap(args) != 4 {
		t.Errorf("%q", args)
	}
	for name, pairs := range map[string][]string{
		"one is missing": {"first", "a"}, "one is unknown": {"first", "a", "third", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it is passed over")
				}
			}()
			s.Args("one", 0, pairs...)
		})
	}
}
