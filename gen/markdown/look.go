package markdown

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/keywright/keywright/keyspace"
)

// commands look at a key without harm: a part of a collection, never all of it.
var commands = map[keyspace.Kind][]string{
	keyspace.String: {"STRLEN %s", "GETRANGE %s 0 200"},
	keyspace.Hash:   {"HLEN %s", "HSCAN %s 0 COUNT 10"},
	keyspace.List:   {"LLEN %s", "LRANGE %s 0 9"},
	keyspace.Set:    {"SCARD %s", "SSCAN %s 0 COUNT 10"},
	keyspace.ZSet:   {"ZCARD %s", "ZRANGE %s 0 9 REV WITHSCORES"},
	keyspace.Stream: {"XLEN %s", "XREVRANGE %s + - COUNT 10"},
}

// look returns how to find such keys and to look at one.
func look(k *keyspace.Key) []string {
	key := quote(k.Pattern.Example())
	var out []string
	if len(k.Pattern.Placeholders()) > 0 {
		out = append(out, "redis-cli --scan --pattern "+quote([]byte(k.Pattern.ScanGlob()))+" | head")
	}
	for _, c := range append([]string{"TYPE %s", "PTTL %s", "MEMORY USAGE %s"}, commands[k.Kind]...) {
		out = append(out, "redis-cli "+fmt.Sprintf(c, key))
	}
	return out
}

// quote makes one word of a POSIX shell, or of bash where bytes need escapes.
func quote(b []byte) string {
	plain := utf8.Valid(b) &&
		!strings.ContainsFunc(string(b),
			func(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError || r >= 0x80 && r < 0xa0 })
	if plain {
		return "'" + strings.ReplaceAll(string(b), "'", `'\''`) + "'"
	}
	var out strings.Builder
	out.WriteString("$'")
	for _, c := range b {
		switch {
		case c == '\'' || c == '\\':
			out.WriteString(`\` + string(rune(c)))
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&out, `\x%02x`, c)
		default:
			out.WriteByte(c)
		}
	}
	return out.String() + "'"
}

// printable returns a key as people can read it.
func printable(b []byte) string {
	if utf8.Valid(b) && visible(string(b)) == string(b) && !strings.ContainsAny(string(b), "\n\t") {
		return string(b)
	}
	return strconv.QuoteToASCII(string(b))
}

// durationText returns a duration as people say it: 90 minutes, 7 days.
func durationText(d time.Duration) string {
	for _, u := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"},
		{time.Millisecond, "millisecond"}} {
		if d >= u.size && d%u.size == 0 {
			if d == u.size {
				return "1 " + u.name
			}
			return fmt.Sprintf("%d %ss", d/u.size, u.name)
		}
	}
	return d.String()
}
