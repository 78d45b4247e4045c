package program

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/infer/page/internal/markdown"
	"github.com/keywright/keywright/infer/page/internal/mention"
	"github.com/keywright/keywright/infer/page/internal/regex"
	"github.com/keywright/keywright/infer/page/internal/wording"
)

// constant is a string that a program gives a name: one in capitals, or one that says
// that it is of a key.
var (
	constant = regex.Lazy(`\b([A-Z][A-Z0-9_]{2,}|[A-Za-z]\w*(?:Key|Prefix|_key|_prefix|KeyFormat|Pattern|Template)` +
		`|[kK]ey[A-Z]\w+)` +
		`\s*(?::\s*\w+\s*)?:?=\s*["']([^"'\s]+)["']`)
	constantIn = regex.Lazy(`\b[A-Za-z]\w*(?:(?:\.|::)[A-Za-z]\w*)*\b`)
	// entry is a constant that is a member of an object: HOT: 'web:hot'.
	entry = regex.Lazy(`^\s*["']?([A-Z][A-Z0-9_]{2,})["']?\s*(?::|=>)\s*["']([^"'\s]+)["']\s*,?\s*(?:$|//|#)`)
	// amount is a constant that is a number: ONE_DAY = 24 * 60 * 60.
	amount = regex.Lazy(`\b([A-Z][A-Z0-9_]{2,}|[a-z]\w*(?:Second|Minute|Hour|Day|Week)s?)\s*(?::\s*\w+\s*)?=\s*` +
		`(\d[\d_]*(?:\s*\*\s*\d[\d_]*)*)[lL]?\s*(?:$|;|//|#)`)
	keyName = regex.Lazy(`(?:KEY|PREFIX)(?:_|$)|^(?:KEY|CACHE|LOCK)_|(?:Key|Prefix|_key|_prefix)$`)
)

// maxConstants bounds those of a page.
const maxConstants = 500

// constants remembers the strings that a block names, and takes those that are
// the beginning of keys for keys, unless the block says how they go on.
func (c *Reader) constants(b markdown.Block) {
	var code string
	for i, l := range b.Code {
		if m := entry.FindStringSubmatch(l); m != nil && strings.Contains(m[2], ":") && len(c.consts) < maxConstants &&
			!strings.HasSuffix(m[2], ":") {
			c.consts = known(c.consts, m[1], m[2])
		}
		for _, m := range constant.FindAllStringSubmatch(l, -1) {
			if !strings.ContainsAny(m[2], ":/") || len(c.consts) >= maxConstants {
				continue
			}
			if before, twice := c.consts[m[1]]; twice && before != m[2] {
				c.consts[m[1]] = "" // it may be either
			} else {
				c.consts = known(c.consts, m[1], m[2])
			}
			if !strings.HasSuffix(m[2], ":") || strings.Count(m[2], ":") < 2 || !keyName.MatchString(m[1]) {
				continue
			}
			if code == "" {
				code = strings.Join(b.Code, "\n")
			}
			if uses(code, m[1]) < 2 {
				c.Add(m[2]+"{}",
					mention.Mention{Place: mention.InListing, Line: b.Line + i, Section: b.Section, TTL: c.lives[stem(m[1])],
						Prefix: true})
			}
		}
	}
}

// known puts a name into a table, which it makes if there is none.
func known(table map[string]string, name, value string) map[string]string {
	if table == nil {
		table = map[string]string{}
	}
	table[name] = value
	return table
}

// withNumbers returns a time of a program with the numbers of its constants.
func (c *Reader) withNumbers(value string) string {
	if len(c.amounts) == 0 {
		return value
	}
	return constantIn.ReplaceAllStringFunc(value, func(m string) string {
		_, last := cutLast(m)
		return cmp.Or(c.amounts[last], m)
	})
}

// cutLast returns a chain of names without the last one, and that.
func cutLast(chain string) (rest, last string) {
	i := strings.LastIndexAny(chain, ".:")
	return chain[:max(i, 0)], chain[i+1:]
}

// uses returns how often a name is in a text, up to two.
func uses(text, name string) int {
	n := 0
	for n < 2 {
		i := strings.Index(text, name)
		if i < 0 {
			break
		}
		if (i == 0 || !isNameByte(text[i-1])) && (i+len(name) == len(text) || !isNameByte(text[i+len(name)])) {
			n++
		}
		text = text[i+len(name):]
	}
	return n
}

func isNameByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// resolved returns a line with the strings of its constants in their places.
func (c *Reader) resolved(l string) string {
	l = c.withWords(c.usesMade(l))
	if len(c.consts) == 0 || constant.MatchString(l) || entry.MatchString(l) {
		return l
	}
	return constantIn.ReplaceAllStringFunc(l, func(m string) string {
		for chain, after := m, ""; chain != ""; {
			rest, last := cutLast(chain)
			if v := c.consts[last]; v != "" && len(last) > 2 {
				return `"` + v + `"` + after
			}
			chain, after = strings.TrimRight(rest, ".:"), m[len(rest):]
		}
		return m
	})
}

// A name of a time, its parts that say so, and the unit that it may name.
var (
	lifetime = regex.Lazy(`(?i)\b((?:ttl|expir\w*|lifetime)_\w+|\w*?(?:ttl|expire|expires|expiry|expiration|lifetime|timeout)` +
		`(?:_?(?:in|time))?(?:_?(?:s|sec|secs|seconds?|ms|millis|milliseconds?|min|mins|minutes?|hours?|days?))?)` +
		`\s*(?::\s*[\w.]+\s*)?(?::=|=>|=|:)\s*(.+)$`)
	timeWords = regex.Lazy(
		`(?i)_?(?:ttl|expires|expire|expiry|expiration|lifetime|timeout)` +
			`(?:_?(?:in|time))?(?:_?(s|sec|secs|seconds?|ms|millis|milliseconds?|min|mins|minutes?|hours?|days?))?$` +
			`|^(?:ttl|expir(?:e|es|y|ation)|lifetime)_`)
	keyWords = regex.Lazy(
		`(?i)^(?:redis_?)?(?:key|prefix)_|_?(?:redis_?)?(?:key|prefix|key_?prefix|pattern|template|key_?format)$`)
	factors = regex.Lazy(`^\(?(\d[\d_]*(?:\s*\*\s*\d[\d_]*)*)[lL]?\)?\s*[;,]?\s*(?:$|//|#|/\*)`)
)

// member is a line of an object.
var member = regex.Lazy(`^["']?([A-Za-z_]\w*)["']?\s*(?::|=>|=)\s*(.+)$`)

// stem returns what a name says besides that it is of a key or of a time: SeedListPrefix,
// SEED_LIST_TTL and seed_list_expire have one.
func stem(name string) string {
	if rest := strings.TrimPrefix(strings.TrimPrefix(name, "key"), "Key"); rest != name && rest != "" &&
		rest[0] >= 'A' && rest[0] <= 'Z' {
		name = rest
	}
	name = timeWords.ReplaceAllString(keyWords.ReplaceAllString(name, ""), "")
	return strings.ToLower(strings.ReplaceAll(name, "_", ""))
}

// number remembers a number that a line gives a name to, which may be made of another one.
func (c *Reader) number(l string) {
	if len(c.amounts) >= maxConstants || IsComment(strings.TrimSpace(l)) {
		return
	}
	if name, value, ok := strings.Cut(l, "="); ok {
		l = name + "=" + c.withNumbers(value)
	}
	if m := amount.FindStringSubmatch(l); m != nil {
		c.amounts = known(c.amounts, m[1], m[2])
	}
}

// lifetimes remembers the times that a block gives names to.
func (c *Reader) lifetimes(b markdown.Block) {
	inside := Parents(b.Code)
	for i, l := range b.Code {
		c.number(l)
		m := lifetime.FindStringSubmatch(strings.TrimSpace(l))
		if m == nil && timesOpen.MatchString(inside[i].open) {
			m = member.FindStringSubmatch(strings.TrimSpace(l))
		}
		if m == nil || IsComment(strings.TrimSpace(l)) || len(c.lives) >= maxConstants {
			continue
		}
		of, ttl := stem(m[1]), timeOf(m[1], c.withNumbers(m[2]), b.Lang, groupComment(b.Code, i))
		if of == "" || ttl == "" {
			continue
		}
		if before, twice := c.lives[of]; twice && before != ttl {
			ttl = "" // it may be either
		}
		c.lives = known(c.lives, of, ttl)
	}
}

// timeOf returns the time that a program gives a name. A number alone is one if the name tells its
// unit, if the comment after or above it does, or in languages whose clients take seconds.
func timeOf(name, value, lang, above string) string {
	if t := wording.TTLInCall("", value); t != "" {
		return t
	}
	m := factors.FindStringSubmatch(value)
	if m == nil {
		return ""
	}
	after := ""
	if r := remark.FindStringSubmatch(value); r != nil {
		if after = r[1]; wording.LongestIn(after) != "" {
			return wording.LongestIn(after)
		}
	}
	total := int64(1)
	for _, f := range strings.Split(m[1], "*") {
		n, err := strconv.ParseInt(strings.ReplaceAll(strings.TrimSpace(f), "_", ""), 10, 64)
		if err != nil || n <= 0 || total > 1e12/n {
			return ""
		}
		total *= n
	}
	unit, named := unitOf(name)
	said := unitSaid(after, total)
	if said == 0 {
		said = unitSaid(above, total)
	}
	switch {
	case named:
	case said > 0:
		unit = said
	case slices.Contains(inSeconds, lang),
		strings.Contains(m[1], "60") && strings.Contains(m[1], "*") && !strings.Contains(m[1], "1000"):
		unit = time.Second
	default:
		return ""
	}
	if total > int64(wording.MaxLifetime/unit) {
		return ""
	}
	return wording.FormatTTL(time.Duration(total) * unit)
}

// unitOf returns the unit that a name of a time ends with.
func unitOf(name string) (time.Duration, bool) {
	m := timeWords.FindAllStringSubmatch(name, -1)
	if len(m) == 0 {
		return 0, false
	}
	for _, u := range []struct {
		begins string
		unit   time.Duration
	}{{"mil", time.Millisecond}, {"ms", time.Millisecond}, {"m", time.Minute}, {"s", time.Second}, {"h", time.Hour},
		{"d", 24 * time.Hour}} {
		if last := strings.ToLower(m[len(m)-1][1]); last != "" && strings.HasPrefix(last, u.begins) {
			return u.unit, true
		}
	}
	return 0, false
}

// inSeconds: languages whose programs give the times of Redis in seconds.
var inSeconds = []string{"python", "py", "ruby", "rb", "php"}

// defined is the name that a line of a program gives what it says; function is one whose
// lines follow.
var (
	defined = regex.Lazy(
		`^\s*(?:(?:export|public|private|static|final|const|let|var|val|String|string|readonly)\s+)*\$?([A-Za-z_]\w*)\s*(?::\s*\w+\s*)?(?::=|=>|=|:)`)
	function = regex.Lazy(`\b(?:func|def|fun|function|fn)\s+(?:\([^()]*\)\s*)?(?:self\.)?([A-Za-z_]\w*)`)
)

// lifetimeOf returns the TTL of the constant that belongs to what a line names.
func (c *Reader) lifetimeOf(l string) string {
	if m := function.FindStringSubmatch(l); m != nil {
		c.inside = m[1]
	}
	if len(c.lives) == 0 {
		return ""
	}
	if m := defined.FindStringSubmatch(l); m != nil && c.lives[stem(m[1])] != "" {
		return c.lives[stem(m[1])]
	}
	for _, chain := range constantIn.FindAllString(l, -1) {
		for chain != "" {
			rest, last := cutLast(chain)
			if c.consts[last] != "" && c.lives[stem(last)] != "" {
				return c.lives[stem(last)]
			}
			chain = strings.TrimRight(rest, ".:")
		}
	}
	if strings.Contains(l, "return") || function.MatchString(l) {
		return c.lives[stem(c.inside)]
	}
	return ""
}

// TypeAbove returns the type that a comment above a key tells, if it begins with it.
func TypeAbove(doc string) string {
	words := strings.Fields(strings.ToLower(doc))
	switch {
	case len(words) == 0:
		return ""
	case words[0] == "redis", wording.TypeIn(words[0]) != "" && (len(words) == 1 || strings.HasSuffix(words[0], ":") ||
		slices.Contains([]string{"of", "-", "–", "—"}, words[1])):
		return wording.TypeIn(doc)
	}
	return ""
}
