package program

import (
	"cmp"
	"strings"

	"github.com/keywright/keywright/infer/page/internal/markdown"
	"github.com/keywright/keywright/infer/page/internal/regex"
)

// maker is a function, or a name that is not in capitals, that a program gives a key.
var (
	maker = regex.Lazy(`\b(?:fun|func|function|fn|def|string|String|static|const|val|var|let)\b[^"'\x60=]*?\b([A-Za-z_]\w{2,})` +
		`\s*(?:\([^()]*\)\s*(?:\w+\s*)?)?(?::\s*\w+\s*)?(?:=\s*(?:\([^()]*\)(?:\s*:\s*\w+)?|\w+)\s*=>|=>|=|\{|:|->)[^"'\x60=]*?((?:[frbu$@]{1,2}|string\.Format\(|String\.format\()?` +
		`(?:"[^"\n]*"|'[^'\n]*'|\x60[^\x60\n]*\x60)(?:\s*,[^()]*\))?)`)
	made = regex.Lazy(`\b(?:[A-Za-z_]\w*\.)?([A-Za-z_]\w{2,})\b(\([^()]*\))?`)
	word = regex.Lazy(`\b([A-Z][A-Z0-9_]{3,})\s*(?::\s*\w+\s*)?=\s*["']([a-z][\w-]*)["']`)
	// property is a function in an object: product: (sku) => `shop:product:${sku}`.
	property = regex.Lazy(
		`^\s*([A-Za-z_]\w{2,})\s*:\s*\([^()]*\)\s*(?::\s*\w+\s*)?=>\s*(\x60[^\x60\n]*\x60|"[^"\n]*"|'[^'\n]*')`)
	// period is a constant that is a time: offerTTL = 45 * time.Second.
	period = regex.Lazy(
		`(?i)\b(\w*(?:ttl|expir\w*|lifetime|timeout))\s*(?:time\.Duration\s*)?=\s*((?:\d+\s*\*\s*)+time\.\w+|time\.\w+(?:\s*\*\s*\d+)+)\s*(?:$|[,;)]|//)`)
	name = regex.Lazy(`\b[A-Za-z_]\w*\b`)
	used = regex.Lazy(`\$\{?([A-Z][A-Z0-9_]{3,})\}?`)
)

// makers remembers the keys that a block gives names to.
func (c *Reader) makers(b markdown.Block) {
	if c.made == nil {
		c.made, c.words, c.periods = map[string]string{}, map[string]string{}, map[string]string{}
	}
	inside := ""
	for _, l := range b.Code {
		inside = c.makesBelow(l, inside)
		for _, m := range word.FindAllStringSubmatch(l, -1) {
			if len(c.words) < maxConstants {
				c.words[m[1]] = m[2]
			}
		}
		for _, m := range period.FindAllStringSubmatch(l, -1) {
			if len(c.periods) < maxConstants {
				c.periods[m[1]] = m[2]
			}
		}
		m := maker.FindStringSubmatch(l)
		if m == nil {
			m = property.FindStringSubmatch(l)
		}
		if m == nil || len(c.made) >= maxConstants || !strings.ContainsAny(m[2], ":/") {
			continue
		}
		if _, twice := c.made[m[1]]; twice {
			c.made[m[1]] = "" // it may be either
			continue
		}
		c.made[m[1]] = m[2]
	}
}

// method is the head of a function of which a line below returns the key; result is that
// line.
var (
	method = regex.Lazy(
		`\b(?:(?:func|def|fun|function|fn)\s+(?:\([^()]*\)\s*)?(?:self\.)?|(?:String|string)\s+)([A-Za-z_]\w{2,})\s*\([^()]*\)[^"'\x60]*[{:]\s*$`)
	result = regex.Lazy(
		`^\s*return\s+((?:[frbu$@]{1,2})?(?:"[^"\n]*"|'[^'\n]*'|\x60[^\x60\n]*\x60)(?:\s*[+.]\s*(?:\w+|"[^"\n]*"|'[^'\n]*'))*)\s*;?\s*$`)
)

// makesBelow remembers the key that a function returns in a line of its own, and says which
// function the next line is in. It is used where it is called, and not where a variable has
// its name.
func (c *Reader) makesBelow(l, inside string) string {
	if m := method.FindStringSubmatch(l); m != nil {
		return m[1]
	}
	m := result.FindStringSubmatch(l)
	if m == nil || inside == "" || len(c.made) >= maxConstants || !strings.ContainsAny(m[1], ":/") {
		return inside
	}
	if _, twice := c.made[inside+"("]; twice {
		m[1] = "" // it may be either
	}
	c.made[inside+"("] = m[1]
	return ""
}

// withWords returns a line of a program with the words that its constants stand for.
func (c *Reader) withWords(l string) string {
	if len(c.words) == 0 {
		return l
	}
	return used.ReplaceAllStringFunc(l, func(m string) string { return cmp.Or(c.words[strings.Trim(m, "${}")], m) })
}

// usesMade returns a line that calls a client, with the keys that it names written out.
func (c *Reader) usesMade(l string) string {
	if len(c.made)+len(c.periods) == 0 || maker.MatchString(l) || !clientCall.MatchString(l) {
		return l
	}
	if len(c.periods) > 0 {
		l = name.ReplaceAllStringFunc(l, func(m string) string { return cmp.Or(c.periods[m], m) })
	}
	return made.ReplaceAllStringFunc(l, func(m string) string {
		use := made.FindStringSubmatch(m)
		if text := c.made[use[1]+"("]; text != "" && use[2] != "" {
			return text
		}
		return cmp.Or(c.made[use[1]], m)
	})
}

// clientCall: a method of a client is called in a line.
var clientCall = regex.Lazy(
	`(?i)opsFor|redis|\b_?(?:db|rdb|cache|conn|client|jedis|kv|valkey|pipe(?:line)?|tx|multi|r)\b\s*(?:\.|->|::)|\bcommands\.`)
