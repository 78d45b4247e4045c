// Package shape takes a key apart as a page writes it: segments of literal text, placeholders and example values; and
// judges whether it is one, and whether two are one. It knows nothing of where on a page a key is.
package shape

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/infer/page/internal/regex"
)

// Shape represents a key as it is written, taken apart: segments between colons (or
// slashes), each of literal text and holes.
type Shape struct {
	Raw   string
	Sep   string
	Parts []part
	Glob  bool // it has a * in it
}

// part represents a segment.
type part []piece

// piece is literal text, or a hole: a placeholder, or an example value.
type piece struct {
	lit   string
	hole  bool
	name  string // "" if it has none
	typ   string // date …
	value bool   // the page writes a value, not a placeholder
}

// IsHole reports whether a segment is one hole and nothing else.
func (p part) IsHole() bool { return len(p) == 1 && p[0].hole }

func (p part) hasHole() bool { return slices.ContainsFunc(p, func(x piece) bool { return x.hole }) }

// Text returns the literal text of a segment.
func (p part) Text() string {
	var b strings.Builder
	for _, x := range p {
		b.WriteString(x.lit)
	}
	return b.String()
}

// holeForms lists the ways to write a placeholder. The first submatch is its name.
var holeForms = []regex.Form{
	regex.Lazy(`^\$\{\s*([^{}]*?)\s*\}`),
	regex.Lazy(`^#\{\s*([^{}]*?)\s*\}`),
	regex.Lazy(`^%\{\s*([^{}]*?)\s*\}`),
	regex.Lazy(`^\{\{\s*([^{}]*?)\s*\}\}`),
	regex.Lazy(`^\{([^{}:]*(?::[^{}:]*)?)\}`),
	regex.Lazy(`^<([\p{L}][\p{L}\p{N}_ .-]*)>`),
	regex.Lazy(`^<(\.{3}|…)>`),
	regex.Lazy(`^\[([A-Za-z][A-Za-z0-9_-]*)\]`),
	regex.Lazy(`^%(?:\(([a-z_]+)\))?[-+#0]*\d*(?:\.\d+)?[sdviuxX]`),
	regex.Lazy(`^\$([A-Za-z_][A-Za-z0-9_]*)`),
	regex.Lazy(`^(\*+)`),
}

// DateForms are placeholders that say how a date is written.
var DateForms = map[string]string{
	"yyyy-mm-dd": "date", "yyyymmdd": "date YYYYMMDD", "yyyy-mm": "date YYYY-MM", "yyyymm": "date YYYYMM",
	"yyyy-mm-dd-hh": "date YYYY-MM-DD-HH",
	"yyyymmddhh":    "date YYYYMMDDHH", "yyyy": "date YYYY",
}

// values are words that are examples and not names.
var values = []struct {
	form regex.Form
	typ  string
}{
	{regex.Lazy(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`), "uuid"},
	{regex.Lazy(`^\d{4}-\d{2}-\d{2}$`), "date"},
	{regex.Lazy(`^20\d{2}(0[1-9]|1[0-2])([0-2]\d|3[01])$`), "date YYYYMMDD"},
	{regex.Lazy(`^20\d{2}-(0[1-9]|1[0-2])$`), "date YYYY-MM"},
	{regex.Lazy(`^20\d{2}-?W\d{2}$`), `/20[0-9]{2}-?W[0-9]{2}/`},
	{regex.Lazy(`^\d{1,3}(\.\d{1,3}){3}$`), ""},
	{regex.Lazy(`^\d+$`), ""},
	{regex.Lazy(`^[0-9a-f]*\d[0-9a-f]*$`), "hex"},
	{regex.Lazy(`^(x{2,}|X{2,}|…|\.{3})$`), ""},
	{regex.Lazy(`^(abc|xyz|foo|bar|uuid|UUID)\d*(-\d+)?$`), ""},
	{regex.Lazy(`^[a-z]{1,4}[-_]?0\d+$`), ""},
	{regex.Lazy(`^[\w.+-]+@[\w-]+(?:\.[\w-]+)*$`), ""},
	{regex.Lazy(`^(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|edu|example)$`), ""},
	{regex.Lazy(`^(?:u|usr|user|item|prod|product|ord|order|cust|customer|sess|session|task|job|msg|room|node|rule)[_-]?\d+$`), ""},
}

// maxKey bounds the bytes of what is taken for a key.
const maxKey = 300

// Parse takes a key apart. It is false for what cannot be one.
func Parse(raw string) (Shape, bool) {
	raw = strings.TrimSpace(raw)
	s := Shape{Raw: raw}
	if len(raw) > maxKey {
		return s, false
	}
	pieces, ok := s.pieces(raw)
	if !ok || len(pieces) == 0 {
		return s, false
	}
	s.split(pieces)
	for _, p := range s.Parts {
		if len(p) == 0 {
			return s, false // a:, :a or a::b
		}
	}
	s.findValues()
	return s, true
}

// forbidden are bytes that no documented key has outside of a placeholder.
const forbidden = " \t\"'`()[]<>=;,!?&|^~\\$"

// nameOfValue: page={page} within a key.
var nameOfValue = regex.Lazy(`^\w=[{<%$#]`)

func (s *Shape) pieces(raw string) ([]piece, bool) {
	var out []piece
	literal := func(t string) {
		if n := len(out); n > 0 && !out[n-1].hole {
			out[n-1].lit += t
		} else {
			out = append(out, piece{lit: t})
		}
	}
scan:
	for i := 0; i < len(raw); {
		for _, form := range holeForms {
			m := form.FindStringSubmatch(raw[i:])
			if m == nil {
				continue
			}
			name := m[1]
			if strings.HasPrefix(m[0], "{") && !strings.HasPrefix(m[0], "{{") && strings.ContainsRune(name, ':') &&
				!isFormat(name) {
				continue // a hash tag
			}
			p := piece{hole: true, name: HoleName(name)}
			p.typ = cmp.Or(DateForms[strings.ToLower(name)], formatType(m[0]))
			if strings.HasPrefix(m[0], "*") {
				p.name, s.Glob = "", true
			}
			out = append(out, p)
			i += len(m[0])
			continue scan
		}
		if raw[i] == '{' || raw[i] == '}' { // a hash tag's braces
			literal(raw[i : i+1])
			i++
			continue
		}
		if raw[i] < ' ' || strings.IndexByte(forbidden, raw[i]) >= 0 && !nameOfValue.MatchString(raw[max(0, i-1):]) {
			return nil, false
		}
		literal(raw[i : i+1])
		i++
	}
	return out, true
}

// isFormat: {id:int}, {n:03d}.
func isFormat(name string) bool {
	_, format, _ := strings.Cut(name, ":")
	return formatForm.MatchString(format)
}

var formatForm = regex.Lazy(`^(int|str|string|uuid|\d*[ds]|[.\d]*f|(?:yyyy|YYYY)[-_.]?(?:MM|mm)[-_.]?(?:dd|DD)?(?:HH|hh)?)$`)

// numberForm is what a format says of a number: %d, %02d, {n:03d}.
var numberForm = regex.Lazy(`^(?:%|\{[^{}:]*:)(0?)(\d*)d\}?$|^\{[^{}:]*:(int|uuid)\}$`)

// formatType returns the type that a format tells: a number, so many digits, a day.
func formatType(hole string) string {
	if m := numberForm.FindStringSubmatch(hole); m != nil {
		switch width, err := strconv.Atoi(m[2]); {
		case m[3] != "":
			return m[3]
		case err == nil && width > 0 && width < 10 && m[1] != "":
			return digitsType(width, "")
		}
		return "int"
	}
	if _, format, ok := strings.Cut(strings.Trim(hole, "{}$"), ":"); ok {
		return DateForms[strings.ToLower(format)]
	}
	return ""
}

// digitsType is a type of so many digits.
func digitsType(width int, more string) string { return "/[0-9]{" + strconv.Itoa(width) + more + "}/" }

var identifier = regex.Lazy(`[\p{L}_][\p{L}\p{N}_]*`)

// conversion is a call that only changes the form of what it is given.
var conversion = regex.Lazy(`^(?:str|string|String|int|Number|repr|Long\.toString|Integer\.toString|` +
	`String\.valueOf|strconv\.Itoa|fmt\.Sprint|encodeURIComponent|quote|hash|sha1|sha256|md5|lower|upper|escape|encode|normalize)\(([^()]+)\)?`)

// HoleName returns the name in an expression: the last part of item.contextId ||
// 'global', what is asked of user.getId().
func HoleName(expr string) string {
	if DateForms[strings.ToLower(expr)] != "" {
		return "date"
	}
	if m := conversion.FindStringSubmatch(expr); m != nil {
		expr = m[1]
	}
	expr, _, _ = strings.Cut(expr, "||")
	expr, _, _ = strings.Cut(expr, "??")
	expr, _, _ = strings.Cut(expr, ":")
	expr, _, _ = strings.Cut(expr, "(")
	expr = strings.TrimSpace(expr)
	if i := strings.LastIndexByte(expr, '.'); i >= 0 {
		expr = expr[i+1:]
	}
	expr = strings.ReplaceAll(strings.ReplaceAll(expr, "-", "_"), " ", "_")
	name := identifier.FindString(expr)
	for _, prefix := range []string{"get", "to"} {
		if rest := strings.TrimPrefix(name, prefix); rest != name && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z' {
			name = strings.ToLower(rest[:1]) + rest[1:]
		}
	}
	for i := range len(name) {
		if name[i] >= 0x80 { // a placeholder in another script: named after the word before
			return ""
		}
	}
	return name
}

// split cuts the pieces at the separator: the colon, the slash where there is no
// colon.
func (s *Shape) split(pieces []piece) {
	s.Sep = ""
	for _, sep := range []string{":", "/"} {
		if slices.ContainsFunc(pieces, func(p piece) bool { return strings.Contains(p.lit, sep) }) {
			s.Sep = sep
			break
		}
	}
	current := part{}
	for _, p := range pieces {
		if p.hole || s.Sep == "" {
			current = append(current, p)
			continue
		}
		for i, t := range strings.Split(p.lit, s.Sep) {
			if i > 0 {
				s.Parts = append(s.Parts, current)
				current = part{}
			}
			if t != "" {
				current = append(current, piece{lit: t})
			}
		}
	}
	s.Parts = append(s.Parts, current)
}

// findValues takes example values for holes.
func (s *Shape) findValues() {
	lower := 0
	for _, p := range s.Parts {
		if t := p.Text(); t != "" && t != strings.ToUpper(t) {
			lower++
		}
	}
	for i, p := range s.Parts {
		if len(p) != 1 || p[0].hole {
			s.Parts[i] = valuesWithin(p)
			continue
		}
		t := p[0].lit
		if s.Sep == ":" && strings.Contains(t, "/") {
			s.Parts[i] = slashed(t)
		} else if typ, ok := valueType(t); ok && (i > 0 || len(s.Parts) == 1) {
			s.Parts[i] = part{{hole: true, value: true, typ: typ, lit: t}}
		} else if d := DateForms[strings.ToLower(t)]; d != "" {
			s.Parts[i] = part{{hole: true, name: "date", typ: d}}
		} else if inner := strings.Trim(t, "{}"); inner != t && isValue(inner) {
			open, shut, _ := strings.Cut(t, inner)
			s.Parts[i] = part{{hole: true, value: true, lit: inner}}
			if open != "" {
				s.Parts[i] = append(part{{lit: open}}, s.Parts[i]...)
			}
			if shut != "" {
				s.Parts[i] = append(s.Parts[i], piece{lit: shut})
			}
		} else if i > 0 && lower > 0 && isShouted(t) {
			s.Parts[i] = part{{hole: true, name: strings.ToLower(t)}}
		} else {
			s.Parts[i] = valuesWithin(p)
		}
	}
}

// slashed takes apart what is between two colons and has slashes: GAUGE_ID/state.
func slashed(t string) part {
	var out part
	for i, w := range strings.Split(t, "/") {
		if i > 0 {
			out = appendLiteral(out, "/")
		}
		switch {
		case isShouted(w):
			out = append(out, piece{hole: true, name: strings.ToLower(w)})
		case isValue(w):
			out = append(out, piece{hole: true, value: true, lit: w})
		case w != "":
			out = appendLiteral(out, w)
		}
	}
	return out
}

func valueType(t string) (string, bool) {
	for _, v := range values {
		if !v.form.MatchString(t) {
			continue
		}
		if v.typ == "hex" {
			if len(t) < 6 || len(t)%2 > 0 || !strings.ContainsAny(t, "abcdef") {
				continue
			}
			return "", true
		}
		return v.typ, true
	}
	return "", isRandom(t)
}

// isRandom: an id of letters of both cases and digits, in one piece.
func isRandom(t string) bool {
	lower, upper, digits := 0, 0, 0
	for _, r := range t {
		switch {
		case r >= 'a' && r <= 'z':
			lower++
		case r >= 'A' && r <= 'Z':
			upper++
		case r >= '0' && r <= '9':
			digits++
		default:
			return false
		}
	}
	return len(t) >= 10 && lower > 1 && upper > 1 && digits > 1
}

func isValue(t string) bool {
	_, ok := valueType(t)
	return ok
}

// isShouted: USER_ID where other segments are in lower case.
func isShouted(t string) bool {
	return len(t) >= 2 && t == strings.ToUpper(t) && strings.ToLower(t) != t && identifier.FindString(t) == t
}

// valuesWithin takes numbers within a word for holes: issue-123, user_42.
func valuesWithin(p part) part {
	if len(p) != 1 || p[0].hole {
		return p
	}
	t := p[0].lit
	words := strings.FieldsFunc(t, func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	if len(words) < 2 {
		return p
	}
	var out part
	rest := t
	for _, w := range words {
		i := strings.Index(rest, w)
		if i > 0 {
			out = appendLiteral(out, rest[:i])
		}
		rest = rest[i+len(w):]
		if _, err := strconv.ParseUint(w, 10, 64); err == nil {
			out = append(out, piece{hole: true, value: true, lit: w})
		} else {
			out = appendLiteral(out, w)
		}
	}
	if rest != "" {
		out = appendLiteral(out, rest)
	}
	return out
}

func appendLiteral(p part, t string) part {
	if n := len(p); n > 0 && !p[n-1].hole {
		p[n-1].lit += t
		return p
	}
	return append(p, piece{lit: t})
}
