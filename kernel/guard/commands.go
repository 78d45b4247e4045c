package guard

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/keywright/keywright/keyspace"
)

// What the servers themselves say of their commands (COMMAND and COMMAND DOCS of
// Redis 7.0 and Valkey 8.0), one line each: name, group, whether it writes, and
// its key specifications
// (https://redis.io/docs/latest/develop/reference/key-specs/). A test makes the
// table again of both servers and compares.
//
//go:embed commands.txt
var commandsText string

// Commands that came after those versions, by their documentation.
//
//go:embed later.txt
var laterText string

// command represents one line of the table.
type command struct {
	name   string
	group  string
	writes bool
	specs  []spec
}

// spec says where some keys of a command are and what happens to them.
type spec struct {
	reads   bool   // the value is looked at
	makes   bool   // a key may be made or changed, and so be left without its TTL
	changes bool   // the key is written or deleted
	channel bool   // these are names of channels
	keyword string // the keys are after this word, "" for a fixed place
	begin   int    // the place, or where the search for the word begins (negative: from the end)
	keynum  bool   // a number says how many keys there are
	a, b, c int    // range: last, step, limit; keynum: index, first, step
	unknown bool   // the server itself cannot say
}

// commands is the table by name, lower case; subcommands as "xgroup|create".
var commands = parseCommands(commandsText + laterText)

func parseCommands(text string) map[string]*command {
	out := map[string]*command{}
	for line := range strings.SplitSeq(text, "\n") {
		f := strings.Split(line, "\t")
		if len(f) < 3 || strings.HasPrefix(line, "#") {
			continue
		}
		c := &command{name: f[0], group: f[1], writes: f[2] == "write"}
		for _, s := range f[3:] {
			c.specs = append(c.specs, parseSpec(s))
		}
		out[c.name] = c
	}
	return out
}

// parseSpec reads "RW update @1 range:0,1,0".
func parseSpec(text string) (s spec) {
	for _, word := range strings.Fields(text) {
		kind, rest, _ := strings.Cut(word, ":")
		switch {
		case word[0] == '@':
			if at, keyword, ok := strings.Cut(word[1:], ","); ok {
				s.begin, s.keyword = atoi(at), keyword
			} else {
				s.begin = atoi(at)
			}
		case kind == "range" || kind == "keynum":
			n := strings.Split(rest, ",")
			s.keynum, s.a, s.b, s.c = kind == "keynum", atoi(n[0]), atoi(n[1]), atoi(n[2])
		case word == "?":
			s.unknown = true
		case word == "RO", word == "RW":
			s.reads, s.changes = true, word == "RW"
		case word == "OW", word == "RM":
			s.changes = true
		case word == "not_key":
			s.channel = true
		case word == "insert", word == "update":
			s.makes = true
		}
	}
	return s
}

func atoi(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// keys calls visit with each key of a spec, by its place in args.
func (s *spec) keys(args []string, visit func(at int)) {
	first := s.begin
	if s.keyword != "" {
		if first = s.find(args); first < 0 {
			return
		}
	}
	if s.unknown || first <= 0 || first >= len(args) {
		return
	}
	last, step := s.a, s.b
	if s.keynum {
		if first+s.a >= len(args) {
			return
		}
		count := atoi(args[first+s.a])
		last, step = first+s.b+(count-1)*s.c, s.c
		first += s.b
		if count <= 0 {
			return
		}
	} else if last >= 0 {
		last += first
	} else {
		last += len(args)
		if s.c > 1 { // only the first of c parts of what is left are keys
			last = first + (last-first+1)/s.c - 1
		}
	}
	for at := first; at <= last && at < len(args) && step > 0; at += step {
		visit(at)
	}
}

// find returns the place after the keyword, -1 without it.
func (s *spec) find(args []string) int {
	if s.begin < 0 {
		for at := len(args) + s.begin; at > 0; at-- {
			if strings.EqualFold(args[at], s.keyword) {
				return at + 1
			}
		}
		return -1
	}
	for at := s.begin; at < len(args); at++ {
		if strings.EqualFold(args[at], s.keyword) {
			return at + 1
		}
	}
	return -1
}

// kinds lists the Redis types by the group of a command. Groups that are not here
// (generic, scripting, transactions …) work on any type.
var kinds = map[string]keyspace.Kind{
	"string": keyspace.String, "bitmap": keyspace.String, "hyperloglog": keyspace.String,
	"hash": keyspace.Hash, "list": keyspace.List, "set": keyspace.Set, "sorted-set": keyspace.ZSet, "geo": keyspace.ZSet,
	"stream": keyspace.Stream,
}

// alsoSets lists the commands on sorted sets that take sets as sources.
var alsoSets = map[string]bool{"zunion": true, "zinter": true, "zdiff": true, "zunionstore": true, "zinterstore": true,
	"zdiffstore": true, "zintercard": true}

// kind returns the type that a command wants at its i-th spec, "" for any.
func (c *command) kind(i int) keyspace.Kind {
	switch {
	case alsoSets[c.name] && c.specs[i].reads:
		return ""
	case strings.HasPrefix(c.name, "sort") && i == len(c.specs)-1 && i > 0:
		return keyspace.List
	case c.name == "delifeq" || c.name == "digest":
		return keyspace.String
	}
	return kinds[c.group]
}

// lookup finds a command and what it is called; a container command is reported by
// its first argument.
func lookup(args []string) *command {
	if len(args) == 0 {
		return nil
	}
	name := lower(args[0])
	c := commands[name]
	if len(args) > 1 {
		if sub := commands[name+"|"+strings.ToLower(args[1])]; sub != nil {
			return sub
		}
	}
	return c
}

// lower returns strings.ToLower without an allocation for what is known in upper case.
func lower(name string) string {
	if known, ok := upper[name]; ok {
		return known
	}
	return strings.ToLower(name)
}

var upper = func() map[string]string {
	out := make(map[string]string, len(commands))
	for name := range commands {
		out[strings.ToUpper(name)] = name
	}
	return out
}()
