package program

import (
	"strings"

	"github.com/keywright/keywright/infer/page/internal/regex"
	"github.com/keywright/keywright/infer/page/internal/shape"
)

// strftime are the layouts of days that Python's formats have.
var (
	strftime  = regex.Lazy(`\{([^{}:%!]+)(?:![rsa])?:(%[^{}]*)\}`)
	strftimes = map[string]string{"%Y-%m-%d": "{YYYY-MM-DD}", "%Y%m%d": "{YYYYMMDD}",
		"%Y-%m": "{YYYY-MM}", "%Y%m": "{YYYYMM}", "%Y": "{YYYY}", "%F": "{YYYY-MM-DD}"}
)

// strftimed returns a string whose days are placeholders: {date:%Y-%m-%d}.
func strftimed(text string) string {
	return strftime.ReplaceAllStringFunc(text, func(m string) string {
		parts := strftime.FindStringSubmatch(m)
		if p := strftimes[parts[2]]; p != "" {
			return p
		}
		return "{" + shape.HoleName(parts[1]) + "}"
	})
}

var (
	formatCall = regex.Lazy(`^\s*\.format\(([^()]*(?:\([^()]*\)[^()]*)*)\)`)
	formatHole = regex.Lazy(`\{(\w*)(?:![rsa])?(?::[^{}]*)?\}`)
)

// formatted fills in the names of Python's "a:{}".format(b). used is 0 if it is
// no such call.
func formatted(text, rest string) (raw string, used int) {
	m := formatCall.FindStringSubmatch(rest)
	if m == nil {
		return text, 0
	}
	args := strings.Split(m[1], ",")
	next := 0
	raw = formatHole.ReplaceAllStringFunc(strftimed(text), func(hole string) string {
		name := formatHole.FindStringSubmatch(hole)[1]
		if _, isDate := shape.DateForms[strings.ToLower(strings.Trim(hole, "{}"))]; isDate {
			return hole
		}
		if name == "" || shape.AllDigits(name) {
			i := next
			next++
			if name != "" {
				i = int(name[0] - '0')
			}
			if i < len(args) {
				name = shape.HoleName(strings.TrimSpace(args[i]))
			}
		}
		return "{" + name + "}"
	})
	return raw, len(m[0])
}

// afterFormat returns what follows a format's values: "a:%{b}" % { b: x }, 60.
func afterFormat(rest string) string {
	trimmed := strings.TrimLeft(rest, " ")
	if !strings.HasPrefix(trimmed, "%") {
		return rest
	}
	trimmed = strings.TrimLeft(trimmed[1:], " ")
	if trimmed == "" || !strings.ContainsAny(trimmed[:1], "([{") {
		return rest
	}
	return strings.TrimLeft(trimmed[1+len(withinCall(trimmed[1:])):], ")]}")
}

// stringArgument returns what an argument says that is a string, "" if it is none.
func stringArgument(arg string) string {
	arg = strings.TrimSpace(arg)
	if m := literal.FindStringSubmatch(arg); m != nil && m[0] == arg {
		return m[1][1 : len(m[1])-1]
	}
	return ""
}

// withArguments names the %s of a format by the arguments that follow it.
func withArguments(raw, rest string) string {
	rest = strings.TrimLeft(rest, " ")
	if !strings.HasPrefix(rest, ",") && !strings.HasPrefix(rest, "%") { // a format alone
		return raw
	}
	args := strings.Split(withinCall(strings.TrimLeft(rest, " ,%(")), ",")
	i := 0
	return formats.ReplaceAllStringFunc(raw, func(verb string) string {
		name := ""
		i++
		if i <= len(args) {
			if text := stringArgument(args[i-1]); text != "" { // a constant, written out
				return text
			}
			name = shape.HoleName(strings.Trim(args[i-1], " )('\""))
		}
		switch {
		case name == "":
			return verb
		case strings.HasSuffix(verb, "d"):
			return "{" + name + ":" + strings.TrimLeft(verb, "%-+#") + "}"
		}
		return "{" + name + "}"
	})
}

// joinParts joins "user:" + id + ":cart".
func joinParts(text, rest string) (string, int) {
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
		text += "{" + shape.HoleName(m[1]) + "}"
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
