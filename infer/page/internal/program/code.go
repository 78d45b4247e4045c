// Package program reads the parts of a page that are programs or commands of Redis: which strings are keys, which types
// and times the calls and constants give them. It parses no language: it knows the forms that clients of a dozen
// languages have.
package program

import (
	"cmp"
	"slices"
	"strings"

	"github.com/keywright/keywright/infer/page/internal/markdown"
	"github.com/keywright/keywright/infer/page/internal/mention"
	"github.com/keywright/keywright/infer/page/internal/regex"
	"github.com/keywright/keywright/infer/page/internal/shape"
	"github.com/keywright/keywright/infer/page/internal/wording"
)

// verbs are commands whose first argument is a key, and the type they tell.
var verbs = map[string]string{
	"SET": "string", "GET": "string", "SETEX": "string", "PSETEX": "string", "SETNX": "string", "GETSET": "string",
	"GETDEL": "string", "GETEX": "string", "APPEND": "string", "INCR": "string", "INCRBY": "string", "DECR": "string",
	"DECRBY": "string", "INCRBYFLOAT": "string", "STRLEN": "string", "SETBIT": "string", "GETBIT": "string",
	"BITCOUNT": "string", "PFADD": "string", "PFCOUNT": "string", "MGET": "string",
	"HSET": "hash", "HGET": "hash", "HGETALL": "hash", "HMSET": "hash", "HMGET": "hash", "HDEL": "hash", "HINCRBY": "hash",
	"HEXISTS": "hash", "HKEYS": "hash", "HVALS": "hash", "HLEN": "hash", "HSETNX": "hash", "HSCAN": "hash",
	"LPUSH": "list", "RPUSH": "list", "LPOP": "list", "RPOP": "list", "BLPOP": "list", "BRPOP": "list", "LRANGE": "list",
	"LTRIM": "list", "LLEN": "list", "RPOPLPUSH": "list", "LMOVE": "list", "BLMOVE": "list", "LINDEX": "list",
	"LREM": "list",
	"SADD": "set", "SREM": "set", "SMEMBERS": "set", "SISMEMBER": "set", "SCARD": "set", "SPOP": "set",
	"SRANDMEMBER": "set", "SINTER": "set", "SUNION": "set",
	"ZADD": "zset", "ZREM": "zset", "ZRANGE": "zset", "ZREVRANGE": "zset", "ZRANGEBYSCORE": "zset",
	"ZREVRANGEBYSCORE": "zset", "ZSCORE": "zset", "ZINCRBY": "zset", "ZCARD": "zset", "ZRANK": "zset", "ZREVRANK": "zset",
	"ZREMRANGEBYSCORE": "zset", "ZCOUNT": "zset", "ZPOPMIN": "zset", "ZPOPMAX": "zset", "GEOADD": "zset",
	"GEOSEARCH": "zset", "ZREMRANGEBYRANK": "zset",
	"XADD": "stream", "XREAD": "", "XRANGE": "stream", "XLEN": "stream", "XTRIM": "stream", "XACK": "stream",
	"PUBLISH": "channel", "SUBSCRIBE": "channel", "SPUBLISH": "channel", "SSUBSCRIBE": "channel",
	"DEL": "", "UNLINK": "", "EXISTS": "", "EXPIRE": "", "PEXPIRE": "", "TTL": "", "PTTL": "", "TYPE": "", "PERSIST": "",
	"EXPIREAT": "", "PEXPIREAT": "", "TOUCH": "", "DUMP": "",
}

var prompt = regex.Lazy(`^(?:\$\s+|>\s+|\d{1,3}(?:\.\d{1,3}){3}:\d+(?:\[\d+\])?>\s*` +
	`|redis(?:-cli)?[^>\s]*>\s*|\(\w+\)\s*)+`)
var cli = regex.Lazy(`^(?:sudo\s+)?(?:docker\s+(?:compose\s+)?exec\s+\S+\s+(?:\S+\s+)?)?(?:redis` +
	`|valkey)-cli\s+((?:-{1,2}[\w-]+(?:[= ]\S+)?\s+)*?)([A-Za-z]+\s.*)$`)

// ParseCommand returns a Redis command in a line, with its arguments; "" if it is none.
func ParseCommand(t string) (name string, args []string) {
	t = strings.TrimSpace(prompt.ReplaceAllString(t, ""))
	fromCLI := false
	if m := cli.FindStringSubmatch(t); m != nil {
		t, fromCLI = m[2], true
	}
	words := arguments(t)
	if len(words) < 2 {
		return "", nil
	}
	name = strings.ToUpper(words[0])
	if _, known := verbs[name]; !known || !fromCLI && words[0] != name {
		return "", nil
	}
	return name, words[1:]
}

// arrow is what is before a command in a sequence diagram: App->>Redis: GET x;
// step is what a page writes before one in a table of steps: save → SET x.
var (
	arrow = regex.Lazy(`^.*-{1,2}>{1,2}[+-]?\s*(?i:redis|valkey|cache|kv|\w*redis\w*)\s*:\s*(.*)$`)
	step  = regex.Lazy(`^.*(?:→|->|=>)\s*([A-Z]{2,}\s.*)$`)
	call  = regex.Lazy(`^([A-Za-z]+)\((.*)\)\s*$`)
)

// FindCommand returns a command in a line of code, alone or in a diagram.
func FindCommand(t, lang string) (name string, args []string) {
	if m := arrow.FindStringSubmatch(t); m != nil {
		text := m[1]
		if f := call.FindStringSubmatch(text); f != nil {
			text = f[1] + " " + strings.ReplaceAll(f[2], ",", " ")
		}
		first, rest, _ := strings.Cut(text, " ")
		return ParseCommand(strings.ToUpper(first) + " " + rest)
	}
	if name, args = ParseCommand(t); name != "" || IsProgram(lang) {
		return name, args
	}
	if m := step.FindStringSubmatch(t); m != nil {
		return ParseCommand(m[1])
	}
	return "", nil
}

// Reply reads what the server answers to TYPE and TTL.
func (c *Reader) Reply(name string, lines []string) {
	if len(lines) == 0 || len(c.Found) == 0 || name != "TYPE" && name != "TTL" && name != "PTTL" {
		return
	}
	last := &c.Found[len(c.Found)-1]
	switch answer := strings.TrimSpace(lines[0]); {
	case name == "TYPE":
		if slices.Contains([]string{"string", "hash", "list", "set", "zset", "stream"}, strings.Trim(answer, `"`)) {
			last.Type = strings.Trim(answer, `"`)
		}
	case strings.HasPrefix(answer, "(integer) -1") && !strings.HasPrefix(answer, "(integer) -1"+"0"):
		last.TTL = cmp.Or(last.TTL, "none")
	}
}

// arguments splits a command line at blanks, with quotes and braces kept
// together.
func arguments(t string) []string {
	var out []string
	var b strings.Builder
	quote, depth := byte(0), 0
	flush := func() {
		if b.Len() > 0 {
			out = append(out, b.String())
			b.Reset()
		}
	}
	for i := 0; i < len(t); i++ {
		switch ch := t[i]; {
		case quote != 0:
			if ch == quote {
				quote = 0
			} else {
				b.WriteByte(ch)
			}
		case ch == '"' || ch == '\'':
			quote = ch
		case (ch == ' ' || ch == '\t') && depth == 0:
			flush()
		case ch == '#' && b.Len() == 0:
			flush()
			return out
		default:
			switch ch {
			case '{', '<':
				depth++
			case '}', '>':
				depth = max(0, depth-1)
			}
			b.WriteByte(ch)
		}
	}
	flush()
	return out
}

// Command reads the key of a command, and what it tells about it.
func (c *Reader) Command(name string, args []string, at mention.Mention) {
	at.Place, at.Type = mention.InCommand, verbs[name]
	upper := make([]string, len(args))
	for i, a := range args {
		upper[i] = strings.ToUpper(a)
	}
	switch name {
	case "SETEX", "EXPIRE":
		at.TTL = ttlArgument(args, 1, 1)
	case "PSETEX", "PEXPIRE":
		at.TTL = ttlArgument(args, 1, 1000)
	case "XADD", "XTRIM":
		if i := slices.Index(upper, "MAXLEN"); i == 1 || i == 2 && upper[1] == "NOMKSTREAM" {
			at.MaxLen = wording.MaxLen(strings.Join(args[i:min(i+3, len(args))], " "))
		}
	}
	nx := false
	for i, a := range upper[1:] {
		switch {
		case name != "SET" && name != "GETEX": // a field, a member
		case a == "EX":
			at.TTL = ttlArgument(args, i+2, 1)
		case a == "PX":
			at.TTL = ttlArgument(args, i+2, 1000)
		case a == "NX":
			nx = true
		}
	}
	key := args[0]
	if (name == "XACK" || name == "XREAD") && len(args) > 1 {
		at.Type = "stream"
		for i, a := range upper {
			if a == "STREAMS" && i+1 < len(args) {
				key = args[i+1]
			}
		}
	}
	if strings.Contains(key, "*") {
		return
	}
	if nx && at.TTL != "" {
		if s, ok := shape.Parse(key); ok && s.Says(shape.LockWords) {
			at.Type = "lock"
		}
	}
	c.Add(key, at)
}

func ttlArgument(args []string, i int, per int64) string {
	if i >= len(args) {
		return ""
	}
	return wording.Seconds(args[i], per)
}

// literal is a string in a program: quoted, with what is joined to it.
var literal = regex.Lazy("(?:[frbu$@]{1,2})?(\"(?:[^\"\\\\\n]|\\\\.)*\"|'(?:[^'\\\\\n]|\\\\.)*'|" +
	"`(?:[^`\\\\\n]|\\\\.)*`)")

var (
	joined = regex.Lazy(`^\s*(?:\+|\.\s)\s*([A-Za-z_$][\w.$]*(?:\([^()]*\))?)`)
	joiner = regex.Lazy(`^\s*(?:\+|\.\s)\s*`)
	called = regex.Lazy(`\.?\b([A-Za-z_]\w*)\s*\(\s*(?:(?:ctx|context|c\.Context\(\)|context\.Background\(\)|` +
		`redis_client|client|conn)\s*,\s*)?&?(?:[A-Za-z_.]+!?\()?$`)
	named = regex.Lazy(`(?i)(?:key|prefix|pattern|channel|topic|name|lock|cache)\w*["']?\s*` +
		`(?::=|=>|[:=]|\()\s*(?:[\w.]+\()?\s*(?:[frbu$@]{1,2})?$`)
	returns = regex.Lazy(`(?:\breturn\b|=>|->)\s*(?:[\w.]+\()?\s*(?:[frbu$@]{1,2})?$`)
	formats = regex.Lazy(`%[-+0-9.]*[sdvi]`)
)

// inChannels: a line of settings that lists channels.
var inChannels = regex.Lazy(`(?i)["']?(?:channels|topics)["']?\s*[:=]\s*[{\[][^}\]]*$`)

// springCall is a call of Spring's templates, railsCall one of Rails' cache.
var (
	springCall = regex.Lazy(`opsFor(Hash|Set|ZSet|List|Value|Geo|Stream|HyperLogLog)\(\)` +
		`\s*\.\w+\(\s*(?:[A-Za-z_.]+\()?$`)
	springTypes = map[string]string{"Hash": "hash", "Set": "set", "ZSet": "zset", "List": "list", "Value": "string",
		"Geo": "zset", "Stream": "stream", "HyperLogLog": "string"}
	railsCall = regex.Lazy(`Rails\.cache\.(?:write|read|fetch|exist\?)\(?\s*$|\bCache::(?:\w+\([^()]*\)->)?` +
		`(?:remember|rememberForever|put|get|add|forever|pull|has|increment|decrement)\(\s*$`)
)

// remark is the comment that follows the code of a line.
var remark = regex.Lazy(`^[^"'\x60]*?(?://|\s#|\s--|/\*)\s*(.*?)\s*(?:\*/)?$`)

// Reader reads the parts of a page that are programs or commands. The zero value knows no constants.
type Reader struct {
	*mention.List
	consts  map[string]string // the strings
	made    map[string]string // keys that a function or a name gives
	words   map[string]string // words that constants mean
	periods map[string]string // times that constants mean
	amounts map[string]string // numbers that constants mean
	lives   map[string]string // TTLs of constants, by the stem of their name
	inside  string            // the function that a line is in
	above   mention.Statement // what the comment above a line tells
	listing bool              // a line is in a part that names keys
	redis   bool              // … and says that they are Redis's
}

// Learn remembers what a block gives names to.
func (c *Reader) Learn(b markdown.Block) {
	c.inside = ""
	c.lifetimes(b)
	c.constants(b)
	c.makers(b)
}

// Line reads a line of a block, which is in a part of it.
func (c *Reader) Line(b markdown.Block, i int, in around, at mention.Mention) {
	c.above.Type, c.above.TTL = aboveKey(b.Code, i)
	c.within(in, b.Section)
	before := len(c.Found)
	c.text(b.Code[i], at)
	c.members(b, i, before)
}

// text reads a line of a program: its strings, and what the comment after
// them says of the one key among them.
func (c *Reader) text(l string, at mention.Mention) {
	ttl := c.lifetimeOf(l)
	whole := c.resolved(l)
	c.listing = c.listing && whole == l
	l = whole
	before := len(c.Found)
	c.strings(l, at)
	if len(c.Found) == before+1 {
		one := &c.Found[before]
		one.Type = cmp.Or(one.Type, c.above.Type)
		one.TTL = cmp.Or(one.TTL, ttl, c.above.TTL)
	}
	last := strings.LastIndexAny(l, "\"'`")
	if len(c.Found) > before+1 || last < 0 {
		return
	}
	m := remark.FindStringSubmatch(l[last+1:])
	if m == nil {
		return
	}
	if len(c.Found) == before { // a word or two with a comment that tells a type
		if list := literal.FindAllStringSubmatch(l, -1); len(list) == 1 && wording.TypeIn(m[1]) != "" {
			at.Place, at.Doc = mention.InListing, ""
			c.Add(strings.Trim(list[0][1], "\"'`"), at)
		}
	}
	if len(c.Found) != before+1 {
		return
	}
	one := &c.Found[before]
	one.Type = cmp.Or(one.Type, wording.TypeIn(m[1]), verbIn(m[1]))
	one.TTL = cmp.Or(one.TTL, wording.TTLOfRemark(m[1]))
	one.Doc = cmp.Or(one.Doc, markdown.PlainText(m[1]))
}

// strings reads the strings of a program's line.
func (c *Reader) strings(l string, at mention.Mention) {
	for i := 0; i < len(l); {
		m := literal.FindStringSubmatchIndex(l[i:])
		if m == nil {
			return
		}
		before, text, rest := l[:i+m[0]], l[i+m[2]+1:i+m[3]-1], l[i+m[1]:]
		raw, used := formatted(text, rest)
		if used == 0 {
			raw, used = joinParts(strftimed(text), rest)
		}
		here := at
		here.Doc = ""
		verb := ""
		if f := called.FindStringSubmatch(before); f != nil {
			verb = strings.ToUpper(f[1])
		}
		typ, known := verbOf(verb)
		if m := springCall.FindStringSubmatch(before); m != nil {
			typ, known = springTypes[m[1]], true
		} else if railsCall.MatchString(before) {
			typ, known = "string", true
		}
		switch {
		case known:
			here.Place, here.Type = mention.InCommand, typ
			here.TTL = wording.TTLInCall(verb, afterFormat(rest[used:]))
			if typ == "stream" {
				here.MaxLen = wording.MaxLen(rest[used:])
			}
		case strings.Contains(strings.ToLower(verb), "lock") && !strings.Contains(strings.ToLower(verb), "key"):
			i += m[1] + used
			continue // the name of a lock, from which a library makes the key
		case inChannels.MatchString(before):
			here.Place, here.Type = mention.InListing, "channel"
		case named.MatchString(before), returns.MatchString(before):
			here.Place = mention.InListing
			here.TTL = wording.TTLIn(rest, false, 0)
		}
		if here.Place == mention.InCommand && typ != "" && PlainWord.MatchString(raw) {
			c.Pass(at.Line, raw, "it is a word alone in a program, which may be anything")
		}
		if here.Place == mention.InCommand && !strings.ContainsAny(raw, ":/") && !strings.ContainsAny(raw, "{$%#") {
			here.Place = mention.InProse // a word alone may be a field, a command, anything
		}
		if formats.MatchString(raw) && !strings.Contains(raw, "{YYYY") {
			raw = withArguments(raw, rest[used:])
		}
		if used == 0 && given.MatchString(before) {
			if whole, prefix, ok := inKeys(raw, c.listing, c.redis); ok && (named.MatchString(before) || c.listing) {
				raw, here.Prefix, here.Place = whole, prefix, max(here.Place, mention.InListing)
				if !strings.Contains(raw, ":") {
					here.Place = mention.InColumn
				}
			} else if c.listing && here.Place == mention.InProse {
				here.Place = mention.InListing
			}
			here.TTL = cmp.Or(here.TTL, ttlBeside(rest))
		}
		c.Add(raw, here)
		i += m[1] + used
	}
}

// ttlBeside returns the TTL in the arguments or members that follow a key.
func ttlBeside(rest string) string {
	rest = strings.TrimLeft(rest, " ")
	if !strings.HasPrefix(rest, ",") {
		return ""
	}
	rest = withinCall(rest)
	if m := timeMember.FindStringSubmatch(rest); m != nil {
		return wording.Seconds(m[1], 1)
	}
	return wording.UnitTime(rest)
}

// timeMember is a member of an array or an object that is a time.
var timeMember = regex.Lazy(
	`(?i)["']?\b(?:ttl|expires?|expiry|time|lifetime)["']?\s*(?:=>|:)\s*((?:\d[\d_]*)(?:\s*\*\s*\d+)*)\s*(?:[,\])}]|$)`)

// PlainWord is the name of a key that has nothing of one but its place.
var PlainWord = regex.Lazy(`^[A-Za-z][\w.-]*$`)

// withinCall returns what is left of the arguments of a call.
func withinCall(rest string) string {
	depth := 0
	for i := range len(rest) {
		switch rest[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth < 0 {
				return rest[:i]
			}
		case '/', '#':
			if depth == 0 && (rest[i] == '#' || strings.HasPrefix(rest[i:], "//")) {
				return rest[:i]
			}
		}
	}
	return rest
}

// verbOf returns what a method of a client tells: hSet, zadd, setEx, opsForHash.
func verbOf(name string) (string, bool) {
	name = strings.ReplaceAll(name, "_", "")
	for _, suffix := range []string{"", "ASYNC"} {
		if typ, ok := verbs[strings.TrimSuffix(name, suffix)]; ok && name != "" {
			return typ, true
		}
	}
	if m := stackExchange.FindStringSubmatch(name); m != nil {
		return stackTypes[m[1]], true
	}
	return "", false
}

// stackExchange is a method of the client that most C# programs use.
var (
	stackExchange = regex.Lazy(
		`^(STRING|HASH|LIST|SORTEDSET|SET|STREAM|GEO|KEY)(?:SET|GET|GETALL|INCREMENT|DECREMENT|APPEND|ADD|REMOVE` +
			`|CONTAINS|MEMBERS|LENGTH|POP|LEFTPUSH|RIGHTPUSH|LEFTPOP|RIGHTPOP|RANGE|TRIM|READ|EXPIRE|EXISTS|DELETE|RANK|SCORE|RANGEBYRANK` +
			`|RANGEBYSCORE|DELETEASYNC|TIMETOLIVE)(?:ASYNC)?$`)
	stackTypes = map[string]string{"STRING": "string", "HASH": "hash", "LIST": "list", "SORTEDSET": "zset", "SET": "set",
		"STREAM": "stream", "GEO": "zset"}
)
