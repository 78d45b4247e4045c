package entity

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/keywright/keywright/entity/internal/scripts"
	"github.com/keywright/keywright/entity/internal/writer"
	"github.com/keywright/keywright/internal/mutation"
)

// mutant is guards that are taken out, and the test that must miss them.
type mutant struct {
	test  string
	edits []string // the text, the text in its place, …
}

// mutants say what keeps the scripts right. Each is one guard.
var mutants = map[string]mutant{
	// write.lua
	"a record is not compared (I2)": {"Life",
		[]string{"if had ~= '' and expected ~= '*' and had ~= expected then", "if false then"}},
	"a version is not compared": {"Life",
		[]string{"if condition ~= 'present' and condition ~= version then", "if false then"}},
	"a delete does not look at the texts": {"DeleteSame",
		[]string{"if not same(hash, condition) then", "if false then"}},
	"a delete does not count the fields": {"DeleteSame",
		[]string{"  if call('HLEN', hash) ~= tonumber(fields) then return false end\n", ""}},
	"a create overwrites": {"Life",
		[]string{"if there then return {'present'", "if false then return {'present'"}},
	"an update makes an item (I4)": {"Life",
		[]string{"if not there then return {'absent'", "if false then return {'absent'"}},
	"no index record": {"Life", []string{"    call('HSET', index_records, id, record)\n  end", "  end"}},
	"the index record goes last": {"HalfWay", []string{"    call('HSET', index_records, id, record)\n  end", "  end",
		"  emit(hash, id, k, events, last, there and 'old' or 'new')",
		"  emit(hash, id, k, events, last, there and 'old' or 'new')\n  call('HSET', index_records, id, record)"}},
	"an end that cannot be told is forgotten": {"DeadCannotBeAnnounced",
		[]string{"      call('HSET', index_records, id, had)\n      error(err, 0)", "      error(err, 0)"}},
	"an item made again tells no end": {"SweepOnce", []string{"  if not there and had ~= '' then\n", "  if false then\n"}},
	"no expiry time":                  {"Life", []string{"    call('ZADD', expires, ends, id)\n    renew", "    renew"}},
	"index keys get no TTL (K1)": {"SweepBatch",
		[]string{"if ttl ~= '0' and renewed[key] ~= ttl then", "if false then"}},
	"a TTL is thought to be there": {"TTLInOneScript", []string{"    renewed = {} -- a key", "    -- a key"}},
	"the time of creation changes": {"Stamps", []string{"if there then pairs_ = at end", ""}},
	"versions in one script are the time": {"VersionsInOneScript",
		[]string{"higher(micros, newest) and micros or after(newest)", "micros"}},
	"versions stand still": {"Life",
		[]string{"      fresh = after(version)\n", "      fresh = version\n"}},
	"fields that are gone stay (I4)": {"Life",
		[]string{"  if removed < adds then call('HDEL'", "  if false then call('HDEL'"}},
	"an item gets no TTL (K1)": {"TTLInOneScript",
		[]string{"  if ends then call('PEXPIRE', hash, ttl) end\n", ""}},
	"a server that stops in a script": {"Stall",
		[]string{"if ends then call('PEXPIRE', hash, ttl) end", "if ends then call('PEXPIREAT', hash, ends) end"}},
	"an update leaves the old entry (I2)": {"Life", []string{"    drop(key, id)\n    renewed", "    renewed"}},
	"a delete leaves the entries": {"Life",
		[]string{"    for i = drops, events - 1 do drop(KEYS[k + ARGV[i]], id) end\n", ""}},
	"a delete leaves the record": {"Life",
		[]string{"    call('HDEL', index_records, id)\n    local ok", "    local ok"}},
	"a delete frees nothing before its event": {"FullServer",
		[]string{"    call('HDEL', index_records, id)\n    local ok", "    local ok",
			"    if expires ~= index_records then call('ZREM', expires, id) end\n    renewed",
			"    call('HDEL', index_records, id)\n    if expires ~= index_records then call('ZREM', expires, id) end\n    renewed"}},
	"a delete leaves the expiry time": {"Life",
		[]string{"    if expires ~= index_records then call('ZREM', expires, id) end\n    renewed", "    renewed"}},
	"who loses the score stays": {"Life",
		[]string{"      call('ZREM', key, id)\n      renewed", "      renewed"}},
	"all events are sent": {"Model",
		[]string{"if ARGV[at] == case then\n      local target = ARGV[at + 2]\n      if name > 0 then target = table",
			"if true then\n      local target = ARGV[at + 2]\n      if name > 0 then target = table"}},
	"a delete that is not told is half done": {"RefusedDelete",
		[]string{"      if had ~= '' then call('HSET', index_records, id, had) end\n", ""}},
	"what failed stays": {"RefusedCreate",
		[]string{"  if not ok and new then undo(k, a) end\n", ""}},
	"an index of another type stops a delete": {"RefusedDelete",
		[]string{"if kind(key) == 'zset' then redis", "if true then redis"}},
	"an index of another type is seen late": {"RefusedUpdate",
		[]string{"do needs(KEYS[k + ARGV[i]]", "do local _ = tostring(KEYS[k + ARGV[i]]"}},
	"a stream of another type is seen late": {"RefusedUpdate", []string{"    needs(KEYS[keys + target], 'stream')\n", ""}},
	"a channel that may not be used": {"RefusedUpdate",
		[]string{"  if not may then error", "  if false then error"}},
	"a channel by what the item was": {"RefusedUpdate", []string{"fresh and fresh[field] or call", "call"}},
	"one failure fails all": {"OneFails",
		[]string{"local ok, reply = pcall(write, k, a)", "local ok, reply = true, write(k, a)"}},
	"texts of events are not quoted": {"Hostile",
		[]string{"text = cjson.encode(text)", "text = '\"' .. text .. '\"'"}},
	"an update does not renew its indexes": {"IndexOutlivesUpdate",
		[]string{"now, ends and (record == '*' and had or record)}", "now}"}},
	"an update shortens": {"AnUpdateNeverShortensALife",
		[]string{"    if call('PTTL', hash) >= tonumber(ttl) then ttl = '' end\n", ""}},
	"an update of one that slides leaves it": {"AnUpdateNeverShortensALife",
		[]string{"if call('PTTL', hash) >= tonumber(ttl) then", "if true then"}},
	// put.lua
	"put: a record is not compared (I2)": {"Life",
		[]string{"if had ~= (expected == '' and record or expected) then return", "if false then return"}},
	"put: a create overwrites": {"Life",
		[]string{"if call('HLEN', hash) > 0 then return {'present'", "if false then return {'present'"}},
	"put: a version is not compared": {"Life",
		[]string{"if condition ~= 'present' and condition ~= version then", "if false then"}},
	"put: an expiry time is not written down": {"Life", []string{"    call('ZADD', expires, ending(ttl), id)\n", ""}},
	"put: an item gets no TTL (K1)": {"Life",
		[]string{"\n  if ttl ~= '' and ttl ~= '0' then call('PEXPIRE', hash, ttl) end\n", "\n"}},
	"put: the old entry stays (I2)": {"Life",
		[]string{"  for i = 1, drops do\n    local key", "  for i = 1, 0 do\n    local key"}},
	"put: a new index has no TTL (K1)": {"Life",
		[]string{"renew each.\n  due = ", "renew each.\n  due = false and "}},
	"put: what failed stays (K1)": {"RefusedCreate",
		[]string{"  if not ok and new then undo(k, a, drops) end\n", ""}},
	"put: an index of another type stops a move": {"OldIndexIsInTheWay",
		[]string{"if kind(key) == 'zset' then redis", "if true then redis"}},
	"put: the end of one that lives for ever": {"MayLiveForEver",
		[]string{"    call('ZREM', expires, id) -- of one that had expired\n", ""}},
	"put: many overwrite what is there": {"AtOnce",
		[]string{"    if call('EXISTS', unpack(hashes)) > 0 then return false end\n", ""}},
	"put: many forget what has expired": {"AtOnce", []string{"      if had[i] then return false end\n", ""}},
	"put: many, and one of them twice": {"AtOnce",
		[]string{" < calls then error('an id twice') end", " then end"}},
	"put: many, and the indexes get no TTL": {"AtOnce",
		[]string{"(due or begins)\n    began", "false\n    began"}},
	"put: many, and no expiry time": {"AtOnce", []string{"      call('ZADD', expires, unpack(times))\n", ""}},
	"put: many, and an item gets no TTL": {"AtOnce",
		[]string{"\n      if ttl ~= '' and ttl ~= '0' then call('PEXPIRE', hash, ttl) end\n", "\n"}},
	"put: versions are numbers": {"LargeVersions",
		[]string{"and after(version) or micros", "and string.format('%.0f', version + 1) or micros"}},
	"put: who does not know an index leaves it complete": {"IncompleteAfterPut",
		[]string{"  if other then return {'indexes', other, now} end\n  if expires", "  if expires"}},
	"put: many leave it complete": {"ManyAtOnceLeaveNoGap",
		[]string{"    if other then return false end\n", ""}},
	"put: a key of another type is seen late": {"PutTypes",
		[]string{"  local n = look('ZCARD', key)\n", "  local n = redis.pcall('ZCARD', key)\n  if type(n) == 'table' then n = 1 end\n"}},
	"put: what was filled stays filled": {"AMoveThereAndBack",
		[]string{"seen[key], filled[key] = nil, nil", "seen[key] = nil"}},
	"put: a channel that may not be used": {"PutTypes",
		[]string{"if redis.acl_check_cmd and not redis.acl_check_cmd", "if false and not redis.acl_check_cmd"}},
	"put: many, and what failed stays":           {"AtOnce", []string{"  if began then\n", "  if false then\n"}},
	"put: many are undone that others have made": {"AtOnce", []string{"  if began then\n", "  if true then\n"}},
	"the end of one that lives for ever": {"MayLiveForEver",
		[]string{"    call('ZREM', expires, id) -- of one that had expired\n", ""}},
	// sweep.lua
	"a sweep does not look at the time again": {"SweepOnce",
		[]string{"scores[i] and tonumber(scores[i]) <= ms", "true"}},
	"a sweep does not compare the record": {"SweepOnce",
		[]string{"if due and (records[i] or '') == ARGV[2 * i + 1] then", "if due then"}},
	"a sweep does not look at the item": {"ProlongedByHand",
		[]string{"    if left == -2 then\n", "    if true then\n"}},
	"who lives longer is not noted": {"ProlongedByHand",
		[]string{"if lives > 0 then call('ZADD'", "if false then call('ZADD'"}},
	"a sweep leaves the expiry time": {"SweepBatch", []string{"  call('ZREM', KEYS[1], unpack(done))\n", ""}},
	"a sweep leaves the record":      {"SweepBatch", []string{"  call('HDEL', KEYS[2], unpack(done))\n", ""}},
	"a sweep leaves the entries (I1)": {"SweepBatch",
		[]string{"  if #members > 0 then drop", "  if false then drop"}},
	"a sweep frees nothing first": {"FullServer",
		[]string{"if #dead > 0 then call('UNLINK', hashes[dead[1]]) end\n", ""}},
	"an index of another type stops a sweep": {"Poison",
		[]string{"if kind(key) == 'zset' then redis", "if true then redis"}},
	"an end that cannot be told is lost": {"Poison", []string{"      gone[one] = nil\n", ""}},
	"a sweep waits for the server's notices (I3)": {"SweepBatch",
		[]string{"if gone[one] then members[#members + 1] = ids[one] end", ""}},
	"a sweep tells what it has not taken": {"SweepOnce", []string{"if #dead == 0 then return {0, lives} end\n", "",
		"  if gone[one] then\n    local body", "  if true then\n    local body"}},
	// clear.lua
	"clear: does not look at the time":  {"Clear", []string{"look('ZCOUNT', KEYS[1], '-inf', ARGV[2]) ~= n or ", ""}},
	"clear: does not look at the items": {"Clear", []string{" or call('EXISTS', unpack(KEYS, 3, 2 + n)) > 0", ""}},
	"clear: leaves the entries (I1)":    {"Clear", []string{"for i = 1, tonumber(ARGV[n + 3]) do", "for i = 1, 0 do"}},
	"clear: leaves the expiry times":    {"Clear", []string{"call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[2])\n", ""}},
	"clear: leaves the records":         {"Clear", []string{"call('HDEL', KEYS[2], unpack(ARGV, 3, 2 + n))\n", ""}},
	// due.lua
	"two sweep at once": {"Lease", []string{"if fence and holder ~= owner then", "if false then"}},
	"a lease for ever": {"Lease",
		[]string{"redis.call('PEXPIRE', key, ms)\n", "", "redis.call('SET', key, token, 'PX', ms)",
			"redis.call('SET', key, token)"}},
	"a full server is not swept": {"FullServer", []string{"  redis.call('UNLINK', key)\n", ""}},
	// touch.lua
	"touch makes entries of nothing": {"NeverGivenWhenExpired", []string{"if left == -2 then return false end", ""}},
	"touch leaves the expiry time": {"IndexOutlivesUpdate",
		[]string{"    call('ZADD', expires, ends, id)\n    call('PEXPIRE', expires", "    call('PEXPIRE', expires"}},
	"touch leaves the hash":            {"IndexOutlivesUpdate", []string{"    call('PEXPIRE', hash, ARGV[a + 2])\n", ""}},
	"touch lets the index records end": {"IndexOutlivesUpdate", []string{"    call('PEXPIRE', index_records, ARGV[a + 3])\n", ""}},
	"touch lets the expiry times end": {"IndexOutlivesUpdate",
		[]string{"    call('PEXPIRE', expires, ARGV[a + 3])\n", ""}},
	"shorten prolongs": {"FullServer",
		[]string{"ARGV[a + 4] == 'any' or left > ttl or left == -1", "true"}},
	"shorten leaves the immortal": {"FullServer", []string{" or left == -1) then", ") then"}},
	"a get shortens":              {"AGetNeverShortensALife", []string{"more and left < ttl or", "more or"}},
	"a get renews nothing":        {"AGetNeverShortensALife", []string{"more and left < ttl or", ""}},
	"a full server cannot shorten": {"FullServer",
		[]string{"    call('PEXPIRE', hash, ARGV[a + 2])\n    call('ZADD', expires, ends, id)\n",
			"    call('ZADD', expires, ends, id)\n    call('PEXPIRE', hash, ARGV[a + 2])\n"}},
	// list.lua, count.lua
	"a list gives the dead": {"NeverGivenWhenExpired", []string{"  if not there then return false end\n  out", "  out"}},
	"a list passes over what has moved": {"ListWhileASlotMoves",
		[]string{"if texts.err and not string.find(texts.err, 'WRONGTYPE', 1, true) then refuse(texts.err, key) end", ""}},
	"ids give the dead": {"NeverGivenWhenExpired",
		[]string{"there = look('EXISTS', prefix .. id .. suffix) == 1", "there = true"}},
	"a list looks in one index only": {"Model", []string{"if others > 1 and not elsewhere(id) then return true end", ""}},
	"a cursor that is gone": {"CursorIsGone",
		[]string{"return rank and rank + 1 or after()", "return rank and rank + 1 or low"}},
	"ids of one score are gone through": {"LargeIndex",
		[]string{"local mid = math.floor((low + high) / 2)", "local mid = low"}},
	"a page looks at everything": {"ManyDead",
		[]string{"if found == wanted or budget <= 0 then", "if found == wanted then"}},
	"a page of large items": {"LargeItems", []string{" - size / 4096", ""}},
	"a page of many fields": {"ManyDead", []string{" - fields / 4", ""}},
	"other indexes cost nothing": {"ManyDead",
		[]string{"    budget = budget - 1\n    if not look('ZSCORE'", "    if not look('ZSCORE'"}},
	"a range has no end": {"Model", []string{"    if outside(s) then", "    if false then"}},
	"a count has the dead": {"NeverGivenWhenExpired",
		[]string{"if not KEYS[3] or n == 0 then return", "if true then return"}},
	"a count takes open bounds closed": {"OpenBounds", []string{"(s > low or s == low and not above)", "s >= low"}},
	// marks.lua, mark.lua, unindex.lua
	"who does not know an index leaves it complete": {"IncompleteSaysSo",
		[]string{"  return said\nend\n\n-- begin", "  return nil, false, true\nend\n\n-- begin"}},
	"an update leaves where it does not know": {"IncompleteSaysSo",
		[]string{"if expected == '*' and had ~= '' and not known then", "if false then"}},
	"an entity without items is complete of nothing": {"IncompleteSaysSo",
		[]string{"    return nil, true, true\n", "    return nil, false, true\n"}},
	"what is said of indexes stays for ever": {"Life",
		[]string{"if redis.call('HLEN', index_records) == 1 then", "if false then"}},
	"index records without marks are complete": {"IncompleteSaysSo",
		[]string{"if redis.call('EXISTS', index_records) == 1 then return '' end", ""}},
	"marks overwrite each other": {"BuildersDoNotEndEachOther",
		[]string{"if said ~= ARGV[1] or", "if false or"}},
	"a removal overwrites what was written": {"RemovedWhileWritten",
		[]string{"if look('HGET', KEYS[1], id) == ARGV[at + 1] then", "if true then"}},
	"a removal meets a key of another type": {"RemovedWhileWritten",
		[]string{"if call('TYPE', key).ok == 'zset' then writes", "if true then writes"}},
	"an item of a newer form is written over": {"NewerForms",
		[]string{"if had ~= '' and foreign(nil, had) then", "if false then"}},
	"put: an item of a newer form is written over": {"NewerForms", []string{"if foreign(nil, had) then", "if false then"}},
	"an index record of a newer form is written to": {"NewerForms",
		[]string{"  if foreign(said) then error({err = newer}, 0) end\n", ""}},
	"an item of a newer form is touched": {"NewerForms",
		[]string{"if foreign(texts[2], texts[1]) then", "if false then"}},
	"clear: an index record of a newer form is swept": {"NewerForms",
		[]string{"if foreign(look('HGET', KEYS[2], '')) then", "if false then"}},
	// versions.lua
	"versions are numbers": {"LargeVersions",
		[]string{"    return head .. string.format('%09d', tail + 1)", "    return string.format('%.0f', version + 1)"}},
	"a version that is none is seen late": {"LargeVersions",
		[]string{"if not string.find(version, '^%d+$') or #version > 19 or", "if"}},
	"there is a version after the last": {"LargeVersions",
		[]string{" or #version == 19 and version >= '9223372036854775807'", ""}},
	// repair.lua
	"a check judges what has changed": {"CheckWhileWriting",
		[]string{"if (text and '=' .. text or '') ~= ARGV[at + 1] then return {'changed'} end", ""}},
	"a check judges what is gone": {"CheckWhileWriting",
		[]string{"if (left ~= -2) ~= there then return {'changed'} end", ""}},
	"a check judges what was elsewhere": {"CheckWhileWriting",
		[]string{"if (had or '') ~= said then return {'changed'} end", ""}},
	"a check takes the expired for lost": {"CheckWhileWriting",
		[]string{"if not there and ends and tonumber(ends) <= ms then return {'expired'} end", ""}},
	"a check writes": {"Repair",
		[]string{"if apply == '1' then\n  for _, mend", "if true then\n  for _, mend"}},
	"missing is not seen": {"Repair", []string{"  if inside and not entry then\n", "  if false then\n"}},
	"stale is not seen": {"Repair",
		[]string{"  elseif not inside and entry then\n", "  elseif false then\n"}},
	"a score is not seen": {"Repair",
		[]string{"elseif inside and tonumber(entry) ~= tonumber(score) then", "elseif false then"}},
	"an index without a TTL is not seen": {"Repair",
		[]string{"elseif inside and keep ~= '0' and call('PTTL', KEYS[k]) == -1 then", "elseif false then"}},
	"an immortal item is not seen": {"Repair", []string{"if there and left == -1 and ttl ~= '' then", "if false then"}},
	"the index record is not seen": {"Repair",
		[]string{"if there and had ~= record then", "if false then", "if not there and had then", "if false then"}},
	"due early is a fault": {"DueEarly",
		[]string{"tonumber(ends) - ms - left > 1000", "math.abs(tonumber(ends) - ms - left) > 1000"}},
	"due late is no fault": {"Repair", []string{"(not ends or tonumber(ends) - ms - left > 1000)", "not ends"}},
	"an expiry time is not seen": {"Repair",
		[]string{"if there and left >= 0 and (not ends or tonumber(ends) - ms - left > 1000) then", "if false then"}},
	"a repair leaves no TTL": {"Repair",
		[]string{"    if inside and keep ~= '0' then mends[#mends + 1] = {'PEXPIRE', KEYS[k], keep} end\n", ""}},
}

// The environment of a process that runs one test with the guards taken out.
const mutated = "KEYWRIGHT_ENTITY_MUTATED"

// init, as the stores of every test must have the scripts without the guards.
func init() {
	edits := strings.Split(os.Getenv(mutated), "\x1f")
	if len(edits) < 3 {
		return
	}
	writer.Putting = edits[0] == "put" // else `write` is to do what `put` does, too
	edits = edits[1:]
	scripts.Parts = scripts.Parts.Edit(func(_, text string) string {
		for i := 0; i+1 < len(edits); i += 2 {
			text = strings.Replace(text, edits[i], edits[i+1], 1)
		}
		return text
	})
}

// TestMutations: with any guard taken out a test shows it. Each runs in a process
// of its own, which mostly waits: several at once.
func TestMutations(t *testing.T) {
	if os.Getenv(mutated) != "" {
		return
	}
	type result struct {
		said string
		err  error
	}
	results := map[string]chan result{}
	room := make(chan struct{}, 6)
	for name, m := range mutants {
		if !mutation.All() {
			break
		}
		out := make(chan result, 1)
		results[name] = out
		go func() {
			room <- struct{}{}
			defer func() { <-room }()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^Test"+m.test+"$/^redis-server$", "-test.timeout=60s",
				"-rapid.seed=1", "-rapid.nofailfile")
			cmd.Env = append(os.Environ(), mutated+"="+strings.Join(append([]string{name[:3]}, m.edits...), "\x1f"),
				"KEYWRIGHT_BRAND=redis-server", "ALL_TESTS=1")
			said, err := cmd.CombinedOutput()
			out <- result{string(said), err}
		}()
	}
	of := func(files string) (text string) {
		for name := range strings.FieldsSeq(files) {
			own, err := scripts.Parts.Source(name)
			must(t, err)
			text += own
		}
		return text
	}
	all := of("write emit keys versions same marks mark unindex send touch list count due lease sweep repair")
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			for i := 0; i < len(m.edits); i += 2 {
				text := all
				switch {
				case strings.HasPrefix(name, "put: "):
					text = of("put keys marks versions")
				case strings.HasPrefix(name, "clear: "):
					text = of("clear")
				}
				if n := strings.Count(text, m.edits[i]); n != 1 {
					t.Errorf("the scripts have %q %d times: the mutation tests nothing", m.edits[i], n)
				}
			}
			if !mutation.All() {
				return
			}
			r := <-results[name]
			if r.err == nil {
				t.Errorf("Test%s stays green without this guard", m.test)
			}
			for _, bad := range []string{"Error compiling script", "panic:", "no tests to run", "fork/exec"} {
				if strings.Contains(r.said, bad) {
					t.Errorf("Test%s fails for another reason: %s", m.test, r.said)
				}
			}
			if testing.Verbose() {
				t.Log(firstFailure(r.said))
			}
		})
	}
}

func firstFailure(said string) string {
	for line := range strings.Lines(said) {
		if strings.Contains(line, "_test.go:") {
			return strings.TrimSpace(line)
		}
	}
	return fmt.Sprintf("%.200s", said)
}
