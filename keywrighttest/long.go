package keywrighttest

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// longTries says how often [Server.lasting] runs what may be long only because the machine
// is busy.
const longTries = 6

// Long runs do and gives the commands and scripts that have too much to do, by what
// they send ([Server.much]): no clock decides. With KEYWRIGHT_SOAK, on a quiet machine,
// it gives those, too, that hold the server for longer than limit.
func (s *Server) Long(limit time.Duration, do func()) (long []string) {
	s.t.Helper()
	if os.Getenv("KEYWRIGHT_SOAK") != "" {
		long = s.lasting(limit, do)
	}
	return append(long, s.much(do)...)
}

// lasting gives the commands and scripts that held the server for longer than limit, by
// its slow log. A busy machine takes the processor away in the middle
// of a short command: what is long is held against how much a script that always does
// the same varies at that time, do runs again while some command is long, and only what
// is long each time is given. What has too much to do is. A COPY is for the test itself.
func (s *Server) lasting(limit time.Duration, do func()) (long []string) {
	s.t.Helper()
	defer s.first()()
	s.Do("CONFIG", "SET", "slowlog-log-slower-than", strconv.FormatInt(limit.Microseconds(), 10), "slowlog-max-len",
		"10000")
	defer s.Do("CONFIG", "SET", "slowlog-log-slower-than", "10000000")
	for try := range longTries {
		s.Do("SLOWLOG", "RESET")
		began := time.Now()
		do()
		took := time.Since(began)
		names := s.slow(limit)
		if len(names) > 0 {
			rows, _ := s.Do("SLOWLOG", "GET", "10000").([]any)
			names = slower(rows, limit+s.noise(limit, min(took, 3*time.Second)))
		}
		if try == 0 {
			long = names
		} else {
			long = slices.DeleteFunc(long, func(name string) bool { return !slices.Contains(names, name) })
		}
		if len(long) == 0 {
			return nil
		}
	}
	return long
}

// first puts the server's main thread before all that runs on the machine, where the
// test may do that (as root), until the function that it gives is called.
func (s *Server) first() (back func()) {
	pid := s.PID()
	if !hurry(pid, -20) {
		return func() {}
	}
	return func() { _ = hurry(pid, 0) }
}

// noise returns how much longer than at its best a script of about a millisecond takes at
// its worst, over a time as long as what it is held against took.
func (s *Server) noise(limit, while time.Duration) time.Duration {
	s.t.Helper()
	s.Do("CONFIG", "SET", "slowlog-log-slower-than", "0")
	s.Do("SLOWLOG", "RESET")
	for end := time.Now().Add(while); ; {
		s.Do("EVAL", "local sum = 0 for i = 1, 100000 do sum = sum + i end return sum", "0")
		if time.Now().After(end) {
			break
		}
	}
	s.Do("CONFIG", "SET", "slowlog-log-slower-than", strconv.FormatInt(limit.Microseconds(), 10))
	rows, _ := s.Do("SLOWLOG", "GET", "10000").([]any)
	s.Do("SLOWLOG", "RESET")
	var took []int64
	for _, row := range rows {
		if columns := row.([]any); fmt.Sprint(columns[3].([]any)[0]) == "EVAL" {
			took = append(took, columns[2].(int64))
		}
	}
	if len(took) == 0 {
		return 0
	}
	return time.Duration(slices.Max(took)-slices.Min(took)) * time.Microsecond
}

// slow returns the names of the commands in the slow log that took longer than limit: of
// scripts with their hash, or the first part of their text.
func (s *Server) slow(limit time.Duration) []string {
	s.t.Helper()
	rows, _ := s.Do("SLOWLOG", "GET", "10000").([]any)
	return slower(rows, limit)
}

// own lists the commands that a test sends for itself: COPY makes again what do begins
// with.
var own = []string{"CONFIG", "SLOWLOG", "COPY"}

func slower(rows []any, limit time.Duration) (names []string) {
	for _, row := range rows {
		columns := row.([]any)
		words := columns[3].([]any)
		name := fmt.Sprint(words[0])
		if len(words) > 1 && len(name) > 3 && (name[0]|0x20) == 'e' { // EVAL and EVALSHA
			name = fmt.Sprintf("%s %.40s", name, words[1])
		}
		took := time.Duration(columns[2].(int64)) * time.Microsecond
		if took > limit && !slices.Contains(own, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

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
