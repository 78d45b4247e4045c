package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/keyspace"
)

// A script is looked at as text: enough to find a key that is not declared, an
// index beyond what is declared, and commands that no script may run. It is not
// a Lua parser; what it cannot see (a key put together at run time and passed in
// a variable) it does not report.

var (
	luaComment = regexp.MustCompile(`(?s)--\[\[.*?\]\]|--[^\n]*`)
	luaIndex   = regexp.MustCompile(`\b(KEYS|ARGV)\s*\[\s*(\d+)\s*\]`)
	luaAny     = regexp.MustCompile(`\b(KEYS|ARGV)\b(\s*\[\s*[^\s\d\]])?`)
	luaCall    = regexp.MustCompile(`\bredis\s*\.\s*p?call\s*\(\s*(?:'([^']*)'|"([^"]*)")\s*(?:,\s*('[^']*'|"[^"]*"))?`)
	luaBanned  = regexp.MustCompile(`^(KEYS|SCAN|FLUSHALL|FLUSHDB)$`) // they reach keys that no one passed
	// keyless lists the commands whose first argument is no key.
	keyless = []string{"TIME", "PUBLISH", "SPUBLISH", "ECHO", "PING", "EVAL", "OBJECT", "XGROUP", "XINFO", "BITOP",
		"SELECT", "INFO", "LOLWUT", "ACL", "CONFIG", "COMMAND", "WAIT", "MEMORY", "ZUNION", "ZINTER", "ZDIFF", "SINTERCARD",
		"ZINTERCARD", "LMPOP", "ZMPOP", "XREAD", "XREADGROUP"}
	// writers lists the words that make a script that says `effect: reads` lie.
	writers = regexp.MustCompile(
		`^(SET|DEL|UNLINK|EXPIRE|PEXPIRE|PERSIST|INCR|DECR|APPEND|GETSET|GETDEL|GETEX|H(SET|DEL|INCR|MSET)|[LR]PUSH|[LR]POP|L(SET|REM|TRIM|MOVE|INSERT|MPOP)|S(ADD|REM|POP|MOVE)|Z(ADD|REM|INCR|POP|MPOP)|X(ADD|DEL|TRIM|ACK|CLAIM|AUTOCLAIM|GROUP|READGROUP|SETID)|RENAME|COPY|MOVE|RESTORE|PF(ADD|MERGE)|BITOP|BITFIELD$|MSET|PSETEX)`)
)

// code returns the script without its comments; what is left keeps its lines.
func code(text string) string { return luaComment.ReplaceAllString(text, "") }

// scriptKeys: a script touches declared keys only.
func (c *context) scriptKeys() {
	for _, e := range c.of(keyspace.Script) {
		text := code(e.Script.Text)
		for _, m := range luaIndex.FindAllStringSubmatch(text, -1) {
			if n, _ := strconv.Atoi(m[2]); m[1] == `KEYS` && (n < 1 || n > len(e.Script.Keys)) {
				c.report(e.At["file"], e.Name, "name the entry under keys", "%s uses KEYS[%s]; %d are declared", e.Script.File,
					m[2], len(e.Script.Keys))
			}
		}
		for _, m := range luaCall.FindAllStringSubmatch(text, -1) {
			command := strings.ToUpper(m[1] + m[2])
			if luaBanned.MatchString(command) {
				c.report(e.At["file"], e.Name, "pass the keys, in KEYS", "%s runs %s, which reaches keys that are not declared",
					e.Script.File, command)
			} else if m[3] != "" && !slices.Contains(keyless, command) {
				c.report(e.At["file"], e.Name, "declare its entry, name it under keys, and use KEYS[n]",
					"%s runs %s on the key %s, which is written out in it", e.Script.File, command, m[3])
			}
		}
	}
}

// scriptArguments: what is declared is used, and nothing else.
func (c *context) scriptArguments() {
	for _, e := range c.of(keyspace.Script) {
		text := code(e.Script.Text)
		for _, list := range []struct {
			name     string
			declared int
			at       string
		}{{`KEYS`, len(e.Script.Keys), "keys"}, {"ARGV", len(e.Script.Args), "args"}} {
			c.indexes(e, text, list.name, list.declared, list.at)
		}
	}
}

func (c *context) indexes(e *keyspace.Entry, text, name string, declared int, at string) {
	used := map[int]bool{}
	for _, m := range luaIndex.FindAllStringSubmatch(text, -1) {
		if n, _ := strconv.Atoi(m[2]); m[1] == name {
			used[n] = true
			if name == "ARGV" && (n < 1 || n > declared) {
				c.report(e.At["file"], e.Name, "declare it under args", "%s uses ARGV[%d]; %d are declared", e.Script.File, n,
					declared)
			}
		}
	}
	for _, m := range luaAny.FindAllStringSubmatch(luaIndex.ReplaceAllString(text, ""), -1) {
		if m[1] == name {
			return // the whole list, or an index that is worked out: any may be used
		}
	}
	var unused []string
	for n := 1; n <= declared && text != ""; n++ {
		if !used[n] {
			unused = append(unused, fmt.Sprintf("%s[%d]", name, n))
		}
	}
	if len(unused) > 0 {
		const shown = 5
		list := strings.Join(unused[:min(shown, len(unused))], ", ") + andMore(max(0, len(unused)-shown))
		c.report(e.At[at], e.Name, "use what is declared, or remove it from "+at,
			"%s does not use %s, which "+areDeclared(len(unused)), e.Script.File, list)
	}
}

func areDeclared(n int) string {
	if n == 1 {
		return "is declared"
	}
	return "are declared"
}

// scriptEffects: what is said to only read does not write.
func (c *context) scriptEffects() {
	for _, e := range c.of(keyspace.Script) {
		if e.Script.Effect != keyspace.Reads {
			continue
		}
		for _, m := range luaCall.FindAllStringSubmatch(code(e.Script.Text), -1) {
			if command := strings.ToUpper(m[1] + m[2]); writers.MatchString(command) {
				c.report(e.At["effect"], e.Name, "write effect: idempotent, or remove it", "%s is said to read only and runs %s",
					e.Script.File, command)
			}
		}
	}
}
