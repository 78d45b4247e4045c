package wording

import (
	"strings"

	"github.com/keywright/keywright/infer/page/internal/regex"
)

// Ways to say how long a stream may get; the number is group 1, the word for what is counted group 3.
var lengths = []regex.Form{
	regex.Lazy(`(?i)\bmaxlen\W{0,12}(\d[\d,_.]*)\s?([km]?)\b()`),
	regex.Lazy(`(?i)\b(?:trimmed|capped|limited|bounded|cut|begrenzt|gekürzt|limitado|limité|` +
		`limitato)\b\D{0,30}?(\d[\d,_.]*)\s?([km]?)\b` +
		`\s*(entries|messages|events|items|elements|einträge|entradas|entrées|mensajes|messaggi)?`),
	regex.Lazy(`(?i)\b(\d[\d,_.]*)\s?([km]?) (entries|messages|events) (?:are kept|at most)`),
}

// rate follows a number that says how often something may happen: 10 requests per second.
var rate = regex.Lazy(`(?i)^\s*\w*\s*(?:per\b|/)`)

// MaxLen returns how many entries a text says that a stream has at most, "" if it says none.
func MaxLen(text string) string {
	for i, f := range lengths {
		m := f.FindStringSubmatchIndex(text)
		if m == nil {
			continue
		}
		number, scale := text[m[2]:m[3]], strings.ToLower(text[m[4]:m[5]])
		if scale != "" && strings.ContainsAny(number, ",.") || // 1.5k
			i > 0 && m[6] < 0 && (beginsWithTime(text[m[2]:]) || rate.MatchString(text[m[5]:])) {
			continue
		}
		n := strings.NewReplacer(",", "", "_", "", ".", "").Replace(number)
		if len(n) < 12 && n[0] != '0' {
			return n + map[string]string{"k": "000", "m": "000000"}[scale]
		}
	}
	return ""
}

// plainLength is a length as a draft reads it.
var plainLength = regex.Lazy(`(?i)\bmaxlen\s*[~=≈]?\s*[1-9]`)

// WithLength returns the line about a stream with its length in it, as a draft reads it.
func WithLength(doc, maxlen string) string {
	if maxlen == "" || plainLength.MatchString(doc) {
		return doc
	}
	if doc == "" {
		return "MAXLEN " + maxlen
	}
	return strings.TrimRight(doc, " .") + "; MAXLEN " + maxlen
}
