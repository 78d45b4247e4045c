package page

import (
	"regexp"
	"strings"
)

// verbs are commands whose first argument is a key, and the type they tell.
var verbs = map[string]string{
	"SET": "string", "GET": "string", "SETEX": "string", "PSETEX": "string", "SETNX": "string", "GETSET": "string", "GETDEL": "string", "GETEX": "string", "APPEND": "string", "INCR": "string", "INCRBY": "string", "DECR": "string", "DECRBY": "string", "INCRBYFLOAT": "string", "STRLEN": "string", "SETBIT": "string", "GETBIT": "string", "BITCOUNT": "string", "PFADD": "string", "PFCOUNT": "string", "MGET": "string",
	"HSET": "hash", "HGET": "hash", "HGETALL": "hash", "HMSET": "hash", "HMGET": "hash", "HDEL": "hash", "HINCRBY": "hash", "HEXISTS": "hash", "HKEYS": "hash", "HVALS": "hash", "HLEN": "hash", "HSETNX": "hash", "HSCAN": "hash",
	"LPUSH": "list", "RPUSH": "list", "LPOP": "list", "RPOP": "list", "BLPOP": "list", "BRPOP": "list", "LRANGE": "list", "LTRIM": "list", "LLEN": "list", "RPOPLPUSH": "list", "LMOVE": "list", "BLMOVE": "list", "LINDEX": "list", "LREM": "list",
	"SADD": "set", "SREM": "set", "SMEMBERS": "set", "SISMEMBER": "set", "SCARD": "set", "SPOP": "set", "SRANDMEMBER": "set", "SINTER": "set", "SUNION": "set",
	"ZADD": "zset", "ZREM": "zset", "ZRANGE": "zset", "ZREVRANGE": "zset", "ZRANGEBYSCORE": "zset", "ZREVRANGEBYSCORE": "zset", "ZSCORE": "zset", "ZINCRBY": "zset", "ZCARD": "zset", "ZRANK": "zset", "ZREVRANK": "zset", "ZREMRANGEBYSCORE": "zset", "ZCOUNT": "zset", "ZPOPMIN": "zset", "ZPOPMAX": "zset", "GEOADD": "zset", "GEOSEARCH": "zset", "ZREMRANGEBYRANK": "zset",
	"XADD": "stream", "XREAD": "", "XRANGE": "stream", "XLEN": "stream", "XTRIM": "stream", "XACK": "stream",
	"PUBLISH": "channel", "SUBSCRIBE": "channel", "SPUBLISH": "channel", "SSUBSCRIBE": "channel",
	"DEL": "", "UNLINK": "", "EXISTS": "", "EXPIRE": "", "PEXPIRE": "", "TTL": "", "PTTL": "", "TYPE": "", "PERSIST": "", "EXPIREAT": "", "PEXPIREAT": "", "TOUCH": "", "DUMP": "",
}

var prompt = regexp.MustCompile(`^(?:\$\s+|>\s+|\d{1,3}(?:\.\d{1,3}){3}:\d+(?:\[\d+\])?>\s*|redis(?:-cli)?[^>\s]*>\s*|\(\w+\)\s*)+`)
var cli = regexp.MustCompile(`^(?:sudo\s+)?(?:docker\s+(?:compose\s+)?exec\s+\S+\s+(?:\S+\s+)?)?(?:redis|valkey)-cli\s+((?:-{1,2}[\w-]+(?:[= ]\S+)?\s+)*?)([A-Za-z]+\s.*)$`)

// command is a Redis command in a line, with its arguments; "" if it is none.
func command(t string) (name string, args []string) {
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

// command reads the key of a command, and what it tells about it.
func (c *collector) command(name string, args []string, at candidate) {
	at.place, at.typ = inCommand, verbs[name]
	upper := make([]string, len(args))
	for i, a := range args {
		upper[i] = strings.ToUpper(a)
	}
	switch name {
	case "SETEX", "EXPIRE":
		at.ttl = ttlOf(args, 1, 1)
	case "PSETEX", "PEXPIRE":
		at.ttl = ttlOf(args, 1, 1000)
	}
	nx := false
	for i, a := range upper {
		switch a {
		case "EX":
			at.ttl = ttlOf(args, i+1, 1)
		case "PX":
			at.ttl = ttlOf(args, i+1, 1000)
		case "NX":
			nx = true
		}
	}
	key := args[0]
	if (name == "XACK" || name == "XREAD") && len(args) > 1 {
		at.typ = "stream"
		for i, a := range upper {
			if a == "STREAMS" && i+1 < len(args) {
				key = args[i+1]
			}
		}
	}
	if strings.Contains(key, "*") {
		return
	}
	if nx && at.ttl != "" && at.typ == "string" {
		if s, ok := parse(key); ok && s.says(lockWords) {
			at.typ = "lock"
		}
	}
	c.add(key, at)
}

func ttlOf(args []string, i int, per int64) string {
	if i >= len(args) {
		return ""
	}
	return seconds(args[i], per)
}

// literal is a string in a program: quoted, with what is joined to it.
var literal = regexp.MustCompile("(?:[frbu$@]{1,2})?(\"(?:[^\"\\\\\n]|\\\\.)*\"|'(?:[^'\\\\\n]|\\\\.)*'|`(?:[^`\\\\\n]|\\\\.)*`)")

var (
	joined  = regexp.MustCompile(`^\s*[+.]\s*([A-Za-z_$][\w.$]*(?:\([^()]*\))?)`)
	joiner  = regexp.MustCompile(`^\s*[+.]\s*`)
	called  = regexp.MustCompile(`\.?\b([A-Za-z_]\w*)\s*\(\s*(?:(?:ctx|context|c\.Context\(\)|context\.Background\(\)|redis_client|client|conn)\s*,\s*)?(?:[A-Za-z_.]+\()?$`)
	named   = regexp.MustCompile(`(?i)(?:key|prefix|pattern|channel|topic|name|lock|cache)\w*["']?\s*(?::=|=>|[:=]|\()\s*(?:[\w.]+\()?\s*(?:[frbu$@]{1,2})?$`)
	returns = regexp.MustCompile(`(?:\breturn\b|=>|->)\s*(?:[\w.]+\()?\s*(?:[frbu$@]{1,2})?$`)
	formats = regexp.MustCompile(`%[-+0-9.]*[sdvi]`)
)

// strings reads the strings of a program's line.
func (c *collector) strings(l string, at candidate) {
	for i := 0; i < len(l); {
		m := literal.FindStringSubmatchIndex(l[i:])
		if m == nil {
			return
		}
		before, text, rest := l[:i+m[0]], l[i+m[2]+1:i+m[3]-1], l[i+m[1]:]
		raw, used := together(text, rest)
		here := at
		here.doc = ""
		verb := ""
		if f := called.FindStringSubmatch(before); f != nil {
			verb = strings.ToUpper(f[1])
		}
		switch typ, known := verbOf(verb); {
		case known:
			here.place, here.typ = inCommand, typ
			here.ttl = ttlInCall(verb, rest[used:])
		case strings.Contains(strings.ToLower(verb), "lock") && !strings.Contains(strings.ToLower(verb), "key"):
			i += m[1] + used
			continue // the name of a lock, from which a library makes the key
		case named.MatchString(before), returns.MatchString(before):
			here.place = inListing
			here.ttl = ttlIn(rest, false, false)
		}
		if here.place == inCommand && !strings.ContainsAny(raw, ":/") && !strings.ContainsAny(raw, "{$%#") {
			here.place = inProse // a word alone may be a field, a command, anything
		}
		if formats.MatchString(raw) {
			raw = withArguments(raw, rest[used:])
		}
		c.add(raw, here)
		i += m[1] + used
	}
}

// verbOf is what a method of a client tells: hSet, zadd, setEx, opsForHash.
func verbOf(name string) (string, bool) {
	name = strings.ReplaceAll(name, "_", "")
	for _, suffix := range []string{"", "ASYNC"} {
		if typ, ok := verbs[strings.TrimSuffix(name, suffix)]; ok && name != "" {
			return typ, true
		}
	}
	return "", false
}

// together joins "user:" + id + ":cart".
func together(text, rest string) (string, int) {
	used := 0
	for {
		if m := literalAfter(rest[used:]); m != nil {
			text += m[1]
			used += len(m[0])
			continue
		}
		m := joined.FindStringSubmatch(rest[used:])
		if m == nil {
			return text, used
		}
		text += "{" + holeName(m[1]) + "}"
		used += len(m[0])
	}
}

func literalAfter(rest string) []string {
	m := joiner.FindString(rest)
	if m == "" {
		return nil
	}
	l := literal.FindStringSubmatchIndex(rest[len(m):])
	if l == nil || l[0] != 0 {
		return nil
	}
	whole := rest[:len(m)+l[1]]
	return []string{whole, rest[len(m)+l[2]+1 : len(m)+l[3]-1]}
}

// withArguments names the %s of a format after the arguments behind it.
func withArguments(raw, rest string) string {
	args := strings.Split(strings.TrimLeft(rest, " ,%("), ",")
	i := 0
	return formats.ReplaceAllStringFunc(raw, func(string) string {
		name := ""
		if i < len(args) {
			name = holeName(strings.Trim(args[i], " )('\""))
		}
		i++
		if name == "" {
			return "%s"
		}
		return "{" + name + "}"
	})
}
