package keywrighttest

import (
	"fmt"
	"slices"
	"strings"
)

// What a script may do at most, and how many elements a key has that nothing may go
// through in one command.
const (
	mostCommands = 2000
	mostWords    = 12_000
	mostElements = 2000
)

// through says which commands go through the whole of a key, unless they say how much
// of it: each with the words that do.
var through = map[string][]string{
	"HGETALL": nil, "HKEYS": nil, "HVALS": nil, "SMEMBERS": nil, "SORT": nil, "SORT_RO": nil, "DEL": nil,
	"SINTER": nil, "SUNION": nil, "SDIFF": nil, "SINTERSTORE": nil, "SUNIONSTORE": nil, "SDIFFSTORE": nil,
	"ZINTER": nil, "ZUNION": nil, "ZDIFF": nil, "ZINTERSTORE": nil, "ZUNIONSTORE": nil, "ZDIFFSTORE": nil,
	"ZINTERCARD": {"LIMIT"}, "SINTERCARD": {"LIMIT"}, "LREM": nil, "LINSERT": nil, "LPOS": {"MAXLEN"},
	"ZRANGEBYSCORE": {"LIMIT"}, "ZREVRANGEBYSCORE": {"LIMIT"}, "ZRANGEBYLEX": {"LIMIT"}, "ZREVRANGEBYLEX": {"LIMIT"},
	"XRANGE": {"COUNT"}, "XREVRANGE": {"COUNT"}, "XREAD": {"COUNT"}, "XREADGROUP": {"COUNT"}, "COPY": nil, "RESTORE": nil,
}

// sizes gives the names of the keys with more than ARGV[1] elements.
const sizes = `local size = {hash = 'HLEN', set = 'SCARD', zset = 'ZCARD', list = 'LLEN', stream = 'XLEN'}
local cursor, out = '0', {}
repeat
  local page = redis.call('SCAN', cursor, 'COUNT', 1000)
  cursor = page[1]
  for _, key in ipairs(page[2]) do
    local of = size[redis.call('TYPE', key).ok]
    if of and redis.call(of, key) > tonumber(ARGV[1]) then out[#out + 1] = key end
  end
until cursor == '0'
return out`

// ofTest says what the test sends for itself, by the server's socket.
const ofTest = "-- from unix"

func (s *Server) large() (keys []string) {
	s.t.Helper()
	for _, key := range s.Do("EVAL", sizes, "0", fmt.Sprint(mostElements)).([]any) {
		keys = append(keys, key.(string))
	}
	return keys
}

// much runs do and gives the scripts that send very much, and the commands, in scripts
// or not, that go through a key that was large before or after it, or that the test made
// large meanwhile. What the test sends by [Server.Do] is its own.
func (s *Server) much(do func()) (wrong []string) {
	s.t.Helper()
	large := map[string]bool{}
	for _, key := range s.large() {
		large[key] = true
	}
	w := s.RecordScripts()
	w.mu.Lock()
	w.plain, w.calls = true, nil
	w.mu.Unlock()
	do()
	calls := w.Calls()
	w.conn.Close()
	for _, key := range s.large() {
		large[key] = true
	}
	given := map[string]int{}
	for _, c := range calls {
		if first := c.Commands; c.SHA == ofTest && len(first[0]) > 1 {
			key := first[0][1]
			given[key] += len(first[0]) - 2
			large[key] = large[key] || given[key] > mostElements
			if strings.EqualFold(first[0][0], "COPY") && large[key] {
				large[first[0][2]] = true
			}
		}
	}
	told := map[string]bool{}
	add := func(c ScriptCall, what, text string) {
		if id := fmt.Sprintf("%.40s %s", c.SHA, what); !told[id] {
			told[id], wrong = true, append(wrong, id+text)
		}
	}
	for _, c := range calls {
		words := 0
		for _, command := range c.Commands {
			words += len(command)
			on := slices.ContainsFunc(command[1:], func(word string) bool { return large[word] })
			if on && c.SHA != ofTest && goesThrough(command) {
				add(c, command[0], fmt.Sprintf(" goes through a large key: %.200q", command))
			}
		}
		if !strings.HasPrefix(c.SHA, "-- from ") && (len(c.Commands) > mostCommands || words > mostWords) {
			add(c, "sends", fmt.Sprintf(" %d commands of %d words", len(c.Commands), words))
		}
	}
	return wrong
}

// goesThrough reports whether a command goes through the whole of a key.
func goesThrough(command []string) bool {
	name := strings.ToUpper(command[0])
	says := func(word string) bool {
		return slices.ContainsFunc(command, func(c string) bool { return strings.EqualFold(c, word) })
	}
	if name == "LRANGE" || name == "ZRANGE" || name == "ZREVRANGE" {
		return len(command) > 3 && command[3] == "-1" && (command[2] == "0" || command[2] == "1") ||
			(says("BYSCORE") || says("BYLEX")) && !says("LIMIT")
	}
	if name == "XRANGE" && len(command) > 3 && command[2] == command[3] {
		return false // one entry
	}
	bounds, ok := through[name]
	return ok && !slices.ContainsFunc(bounds, says)
}
