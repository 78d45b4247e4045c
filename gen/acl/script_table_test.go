package acl

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/lua"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
)

// scriptTexts lists the scripts of the library by their names, and the file of each. What it
// includes is found there.
var scriptTexts = map[string]string{
	"actives together":    "counter/bits.lua",
	"apply change":        "apply/change.lua",
	"apply merge":         "apply/merge.lua",
	"apply rename":        "apply/rename.lua",
	"apply retag":         "apply/retag.lua",
	"cache bump":          "cache/bump.lua",
	"cache claim":         "cache/claim.lua",
	"cache fill":          "cache/fill.lua",
	"cache invalidate":    "cache/invalidate.lua",
	"cache tag add":       "cache/tag_add.lua",
	"cache tag drop":      "cache/tag_drop.lua",
	"cache tag read":      "cache/tag_read.lua",
	"counter add":         "counter/add.lua",
	"entity clear":        "entity/internal/scripts/clear.lua",
	"entity close":        "entity/internal/scripts/apart_close.lua",
	"entity due":          "entity/internal/scripts/due.lua",
	"entity index":        "entity/internal/scripts/apart_index.lua",
	"entity item":         "entity/internal/scripts/apart_item.lua",
	"entity mark":         "entity/internal/scripts/mark.lua",
	"entity open":         "entity/internal/scripts/apart_open.lua",
	"entity put":          "entity/testdata/put_full.lua",
	"entity put (least)":  "entity/testdata/put_least.lua",
	"entity repair":       "entity/internal/scripts/repair.lua",
	"entity sweep":        "entity/internal/scripts/sweep.lua",
	"entity take over":    "entity/internal/scripts/apart_due.lua",
	"entity touch":        "entity/internal/scripts/touch.lua",
	"entity touch apart":  "entity/internal/scripts/apart_touch.lua",
	"entity unindex":      "entity/internal/scripts/unindex.lua",
	"entity write":        "entity/internal/scripts/write.lua",
	"event append":        "event/append.lua",
	"event begin":         "event/begin.lua",
	"event bury":          "event/bury.lua",
	"event give back":     "event/giveback.lua",
	"event group":         "event/group.lua",
	"event leave":         "event/leave.lua",
	"event publish":       "event/publish.lua",
	"event pulse":         "event/pulse.lua",
	"event redrive":       "event/redrive.lua",
	"event trim":          "event/trim.lua",
	"group":               "typed/group.lua",
	"increase":            "typed/increase.lua",
	"lease free":          "internal/lease/free.lua",
	"lease keep":          "internal/lease/keep.lua",
	"lease take":          "internal/lease/take.lua",
	"limit fixed":         "limit/fixed.lua",
	"limit gcra":          "limit/gcra.lua",
	"limit sliding":       "limit/sliding.lua",
	"lock acquire":        "lock/acquire.lua",
	"lock free":           "lock/free.lua",
	"lock gate":           "lock/gate.lua",
	"lock leave":          "lock/leave.lua",
	"lock release":        "lock/release.lua",
	"lock renew":          "lock/renew.lua",
	"lock share":          "lock/share.lua",
	"migrate join":        "migrate/internal/store/join.lua",
	"migrate list":        "migrate/internal/store/list.lua",
	"migrate load":        "migrate/internal/store/load.lua",
	"migrate put":         "migrate/internal/store/put.lua",
	"migrate raise":       "migrate/internal/store/raise.lua",
	"migrate ticket":      "migrate/internal/store/ticket.lua",
	"queue beat":          "queue/beat.lua",
	"queue begin":         "queue/begin.lua",
	"queue durable":       "queue/durable.lua",
	"queue enqueue":       "queue/enqueue.lua",
	"queue fetch":         "queue/fetch.lua",
	"queue job":           "queue/job.lua",
	"queue pause":         "queue/pause.lua",
	"queue plain":         "queue/plain.lua",
	"queue reconcile":     "queue/reconcile.lua",
	"ranking begin":       "ranking/begin.lua",
	"ranking build":       "ranking/build.lua",
	"ranking finish":      "ranking/finish.lua",
	"ranking window":      "ranking/window.lua",
	"ranking write":       "ranking/write.lua",
	"read":                "typed/read.lua",
	"reseal":              "value/seal/reseal/reseal.lua",
	"uniques merge":       "counter/merge.lua",
	"write":               "typed/write.lua",
	"fallback test write": "fallback/testdata/write.lua",
}

// readers lists the scripts that the server keeps from writing (EVAL_RO).
var readers = []string{"entity/internal/scripts/apart_look.lua", "entity/internal/scripts/count.lua", "entity/internal/scripts/list.lua", "entity/internal/scripts/book.lua",
	"entity/internal/scripts/said.lua", "entity/internal/scripts/now.lua",
	"lock/holder.lua", "migrate/internal/store/list.lua", "migrate/internal/store/take.lua",
	"queue/lost.lua", "queue/state.lua", "queue/stats.lua",
	"ranking/cached.lua", "ranking/read.lua",
	"fallback/testdata/read.lua"}

// needless are steps after a script's first write of which the walk does not see that
// they do not fail, and why that is so: by script, step and file.
var needless = map[string]string{
	"actives together: BITCOUNT KEYS[1] counter/bits.lua": "BITOP has just written it",
	"apply merge: RENAME m.old apply/merge.lua": "EXISTS has just found the job, and before it " +
		"nothing under its new name; it is in this slot: clusters do not merge",
	"cache claim: ZADD w.key cache/remember.lua": "plan has read the same keys",
	"cache fill: ZADD w.key cache/remember.lua":  "plan has read the same keys",
	"entity close: unpack(add) entity/internal/scripts/send.lua": "one id after the other: its event comes before " +
		"its entry is written, and those before it are closed, which a repetition finds",
	"entity close: XTRIM add[2] entity/internal/scripts/send.lua": "of the stream that XADD has just written, by " +
		"the same right",
	"entity item: unpack(add) entity/internal/scripts/send.lua": "sendable has looked at the stream and asked " +
		"for the right",
	"entity item: XTRIM add[2] entity/internal/scripts/send.lua": "of the stream that XADD has just written, by " +
		"the same right",
	"entity put (least): HSET hashes[i] entity/testdata/put_least.lua": "EXISTS has found none of the hashes; a call " +
		"that fails is taken back",
	"entity put (least): ZADD key entity/testdata/put_least.lua": "needs has looked at the type of each index before; " +
		"a call that fails is taken back",
	"entity put (least): error entity/testdata/put_least.lua": "an id that comes twice is taken back; a record of " +
		"a newer program was there before: HSETNX has written none",
	"entity put: HSET hashes[i] entity/testdata/put_full.lua": "EXISTS has found none of the hashes; a call that fails " +
		"is taken back",
	"entity put: ZADD key entity/testdata/put_full.lua": "needs has looked at the type of each index before; a " +
		"call that fails is taken back",
	"entity put: error entity/testdata/put_full.lua": "an id that comes twice is taken back; a record of " +
		"a newer program was there before: HSETNX has written none",
	"entity repair: unpack(mend) entity/internal/scripts/repair.lua": "the type of each key was looked at before",
	"entity sweep: XTRIM add[2] entity/internal/scripts/send.lua": "of the stream that XADD has just written, by " +
		"the same right",
	"entity sweep: error entity/internal/scripts/sweep.lua": "it says which event was not sent: its item stays due, " +
		"the others are done",
	"entity unindex: unpack(write) entity/internal/scripts/unindex.lua": "the type of each key was looked at before",
	"entity write: unpack(add) entity/internal/scripts/send.lua":        "sendable has looked at the stream and asked for the right",
	"entity write: XTRIM add[2] entity/internal/scripts/send.lua": "of the stream that XADD has just written, by " +
		"the same right",
	"entity write: error entity/internal/scripts/write.lua": "what was written is taken back before",
	"lock release: error lock/hand.lua": "the common case has written nothing if it goes on: its " +
		"ZADD was refused, or it ends with it",
	"lock release: error lock/look.lua": "the common case has written nothing if it goes on: its " +
		"ZADD was refused, or it ends with it",
	"queue enqueue: RPUSH KEYS[5+lane] queue/enqueue.lua":     "the length of each lane was looked at before",
	"queue job: LREM key queue/job.lua":                       "the length of each lane was looked at before",
	"queue reconcile: RPUSH KEYS[4+p[1]] queue/reconcile.lua": "place has read the length of each lane before",
	"ranking window: unpack(call) ranking/window.lua":         "the size of each period was read before",
	"uniques merge: PFCOUNT KEYS[1] counter/merge.lua":        "PFMERGE has just written it",
	"write: unpack(call) typed/write.lua":                     "the key is gone, or the same command has just written it",
}

const top = "../../"

// scriptTokens returns those of a script, with what it includes.
func scriptTokens(t *testing.T, file string) (out []luaToken) {
	dir, name := filepath.ToSlash(filepath.Dir(file)), strings.TrimSuffix(filepath.Base(file), ".lua")
	if dir == "entity/testdata" { // what was made of a template, with all that it includes
		data, err := os.ReadFile(top + file)
		if err != nil {
			t.Fatal(err)
		}
		return luaTokens(file, string(data))
	}
	pieces, _, err := lua.New(os.DirFS(top+dir)).Pieces(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pieces {
		if !strings.Contains(p.File, "/") {
			p.File = dir + "/" + p.File
		}
		out = append(out, luaTokens(p.File, p.Text)...)
	}
	return out
}

// walked goes through a script by all of its branches.
func walked(tokens []luaToken) *luaWalk {
	writing := map[string]bool{"PUBLISH": true, "SPUBLISH": true, "RENAMENX": true, "UNLINK": true}
	for _, c := range effects("", true) {
		c, _, _ = strings.Cut(c, "|")
		writing[strings.ToUpper(c)] = true
	}
	for c := range strings.FieldsSeq(readsAny) {
		delete(writing, strings.ToUpper(c))
	}
	for _, kind := range []keyspace.Kind{keyspace.String, keyspace.Hash, keyspace.List, keyspace.Set, keyspace.ZSet,
		keyspace.Stream} {
		for c := range strings.FieldsSeq(reads[kind]) {
			c, _, _ = strings.Cut(c, "|")
			delete(writing, strings.ToUpper(c))
		}
	}
	any := strings.Fields(strings.ToUpper(readsAny + " " + writesAny + " set psetex setex setnx mset time object dump"))
	w := &luaWalk{funcs: map[string]*luaFunc{}, alias: map[string]string{}, after: map[luaStep]bool{},
		commands: map[string]bool{}, unknown: map[string]bool{},
		writes: func(c string) bool { return writing[c] }, untyped: func(c string) bool { return slices.Contains(any, c) }}
	none := luaEnd{}
	w.block(tokens, 0, luaState{known: map[string]bool{}}, &none)
	return w
}

// TestScriptTable: the table of all scripts of the library, with the first write of each
// and what comes after it that the walk takes for something that may fail, is the one in
// testdata. Each such step has a reason why it does not.
func TestScriptTable(t *testing.T) {
	var out strings.Builder
	fmt.Fprintln(&out,
		"# Scripts: the first write of each, and what may fail after it. Written by KEYWRIGHT_UPDATE=1 go test ./gen/acl "+
			"-run TestScriptTable")
	used := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(scriptTexts)) {
		w := walked(scriptTokens(t, scriptTexts[name]))
		for f := range w.unknown {
			t.Errorf("%s calls %s, which is in none of its files", name, f)
		}
		at, _, _ := strings.Cut(w.first.at, ":")
		fmt.Fprintf(&out, "\n%s\n    first write: %s\n", name, cmp.Or(strings.TrimSpace(w.first.what+"  "+at), "none"))
		var after []string
		for s := range w.after {
			file, _, _ := strings.Cut(s.at, ":")
			step := name + ": " + s.what + " " + file
			if used[step] = true; needless[step] == "" {
				t.Errorf("%s sends %s after its first write (%s): read before you write, or say in needless why that does not fail",
					name, s.what, s.at)
			}
			after = append(after, fmt.Sprintf("    after it: %s  %s: %s\n", s.what, file, needless[step]))
		}
		slices.Sort(after)
		out.WriteString(cmp.Or(strings.Join(slices.Compact(after), ""), "    after it: nothing\n"))
	}
	for step := range needless {
		if !used[step] {
			t.Errorf("a reason is of nothing: %s", step)
		}
	}
	const golden = "testdata/scripts.golden"
	if os.Getenv("KEYWRIGHT_UPDATE") != "" {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(golden, []byte(out.String()), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || string(want) != out.String() {
		t.Errorf("%s is another one (%v): KEYWRIGHT_UPDATE=1 writes it\n%s", golden, err, out.String())
	}
}

// TestScriptTableIsWhole: each file of a script of the library is in the table, and so is
// each script that the library makes, by its name. Declared scripts are their users'.
func TestScriptTableIsWhole(t *testing.T) {
	// a template: the table has what is made of it, see TestPutTexts of entity
	used := map[string]bool{"entity/internal/scripts/put.lua": true}
	for _, files := range slices.Concat(slices.Collect(maps.Values(scriptTexts)), readers) {
		for _, token := range scriptTokens(t, files) {
			file, _, _ := strings.Cut(token.at, ":")
			used[file] = true
		}
	}
	makes := regexp.MustCompile(`New(?:Keyless)?(?:Script|Shared)\((?:c, )?"([^"]+)"`)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(top, path)
		rel = filepath.ToSlash(rel)
		switch {
		case err != nil:
			return err
		case d.IsDir() &&
			(slices.Contains([]string{"examples", "bench", "everykeys", "node_modules", "testdata"}, d.Name()) && rel != "." ||
				strings.HasPrefix(d.Name(), ".") && rel != "."):
			return fs.SkipDir
		case strings.HasSuffix(rel, ".lua") && !used[rel]:
			t.Errorf("%s is in no script of the table", rel)
		case strings.HasSuffix(rel, ".go") && !strings.HasSuffix(rel, "_test.go"):
			text, err := os.ReadFile(path)
			for _, m := range makes.FindAllStringSubmatch(string(text), -1) {
				if scriptTexts[m[1]] == "" {
					t.Errorf("%s makes the script %q, which is not in the table", rel, m[1])
				}
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestOwnersMayWhatScriptsSend: each command of a script that generated code runs is one that an owner of all
// constructs may use, or the user for repairs.
func TestOwnersMayWhatScriptsSend(t *testing.T) {
	ks, found := load.File(os.DirFS(top+"internal/everykeys"), "keyspace.yaml")
	if finding.Count(found).Errors > 0 {
		t.Fatal(found)
	}
	users, err := Users(ks)
	repairs, err2 := Repair(ks, "repairs")
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	may := map[string]bool{}
	for _, u := range append(users, repairs) {
		for _, c := range u.Commands {
			c, _, _ = strings.Cut(c, "|")
			may[strings.ToUpper(c)] = true
		}
	}
	operators := regexp.MustCompile(`^(apply|migrate|reseal|fallback test)( |$)`) // they have users of their own
	for name, file := range scriptTexts {
		tokens := scriptTokens(t, file)
		for i := range tokens {
			if i+2 >= len(tokens) || operators.MatchString(name) || !slices.Contains([]string{"call", "pcall"}, tokens[i].text) ||
				tokens[i+1].text != "(" || tokens[i+2].text[0] != '\'' {
				continue
			}
			if c := strings.Trim(tokens[i+2].text, "'"); !may[c] {
				t.Errorf("%s: %s is refused to the owner", tokens[i].at, c)
			}
		}
	}
}

// TestScriptWalk: what may fail after the first write is found in all branches.
func TestScriptWalk(t *testing.T) {
	for text, want := range map[string]string{
		"redis.call('SET', KEYS[1], 'x') return redis.call('HGET', " +
			"KEYS[2], 'a')": "HGET KEYS[2]",
		"redis.call('GET', KEYS[2]) redis.call('SET', KEYS[1], 'x') return " +
			"redis.call('GET', KEYS[2])": "",
		"if redis.call('GET', KEYS[1]) then redis.call('DEL', KEYS[1]) return 1 end return " +
			"redis.call('LLEN', KEYS[2])": "",
		"if redis.call('GET', KEYS[1]) then redis.call('DEL', KEYS[1]) end return " +
			"redis.call('LLEN', KEYS[2])": "LLEN KEYS[2]",
		"for i = 1, #KEYS do redis.call('LLEN', KEYS[i]) redis.call('SET', KEYS[1], i) redis.call('ZCARD', " +
			"KEYS[9]) end": "ZCARD KEYS[9]",
		"for i = 1, 2 do if redis.call('LLEN', KEYS[2]) > 0 then redis.call('DEL', KEYS[3]) end redis.call('SCARD', " +
			"KEYS[4]) end": "SCARD KEYS[4]",
		"local function put(key) redis.call('SET', key, 'x') end put(KEYS[1]) " +
			"redis.call('LPOP', KEYS[2])": "LPOP KEYS[2]",
		"redis.call('DEL', KEYS[1]) if ARGV[1] then error('no') end":      "error",
		"redis.call('DEL', KEYS[1]) return redis.error_reply('no')":       "error",
		"redis.call('DEL', KEYS[1]) redis.pcall('PUBLISH', ARGV[1], 'x')": "",
		"redis.call('DEL', KEYS[1]) redis.call('PUBLISH', " +
			"ARGV[1], 'x')": "PUBLISH ARGV[1]",
		"local call, key = redis.call, KEYS[1] call('HLEN', key) call('DEL', KEYS[2]) call('HSET', key, 'a', 'b')": "",
		"local f = function() redis.call('DEL', KEYS[1]) end " +
			"redis.call('SPOP', KEYS[2])": "SPOP KEYS[2]",
	} {
		var found []string
		for s := range walked(luaTokens("x.lua", text)).after {
			found = append(found, s.what)
		}
		if got := strings.Join(found, ", "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
