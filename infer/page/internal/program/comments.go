package program

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/keywright/keywright/infer/page/internal/regex"
	"github.com/keywright/keywright/infer/page/internal/shape"
	"github.com/keywright/keywright/infer/page/internal/wording"
)

// markup is that of comments: <summary>.
var markup = regex.Lazy(`</?[a-z]+>`)

// isPart: what separates the parts of a remark, for words that are a part alone.
func isPart(r rune) bool {
	return strings.ContainsRune(",;:.()[]（）［］、。，：；|—–", r)
}

// articles are before a type that is alone.
var articles = regex.Lazy(`(?i)^(?:an?|the|as|ein(?:e[nr]?)?|une?|el|la|un[ao]?|redis|type|typ)\s+`)

// PartType returns the type that a part of a remark is, or begins with: "open orders (list)".
func PartType(text string) string {
	for _, part := range strings.FieldsFunc(markup.ReplaceAllString(text, " "), isPart) {
		part = articles.ReplaceAllString(strings.TrimSpace(part), "")
		words := strings.Fields(part)
		if t := TypeAbove(part); t != "" || len(words) == 0 {
			if t != "" {
				return t
			}
			continue
		}
		if t := wording.TypeIn(part); t != "" && (len(words) == 1 || t == "zset" && len(words) == 2) {
			return t
		}
	}
	return ""
}

// units of comments may be said beside these words.
var unitFiller = regex.Lazy(`(?i)^(?:all |ttls?,? |time |unit |value )*(?:in |en |unit: ?|单位 ?|單位 ?|単位 ?|단위 ?)?`)

// unitSaid returns the unit that a comment gives the number n: a time of that number, or a part
// that is a unit and nothing else. 0: none, or several.
func unitSaid(comment string, n int64) time.Duration {
	low := wording.Folded(markup.ReplaceAllString(comment, " "))
	for _, s := range wording.TimesIn(low) {
		if s.Time == time.Duration(n)*s.Unit && !wording.IsOften(low, s) {
			return s.Unit
		}
	}
	var unit time.Duration
	for _, part := range strings.FieldsFunc(low, isPart) {
		part = strings.TrimSpace(part)
		part = strings.TrimSpace(part[len(unitFiller.FindString(part)):])
		if utf8.RuneCountInString(part) < 2 && !strings.ContainsFunc(part, wording.IsDense) {
			continue
		}
		switch one := wording.UnitWord(part); {
		case one == 0:
		case unit != 0 && unit != one:
			return 0
		default:
			unit = one
		}
	}
	return unit
}

// maxGroup says how many lines of a group may be between a comment and a time that it is of.
const maxGroup = 3

// groupComment returns the comment that a line of constants is below.
func groupComment(lines []string, i int) string {
	for n := 0; n < maxGroup; n++ {
		if list := commented(lines, i); len(list) > 0 {
			return strings.Join(list, "; ")
		}
		if i--; i < 0 || strings.TrimSpace(lines[i]) == "" {
			return ""
		}
	}
	return ""
}

// IsComment reports whether a line is a comment, or within one.
func IsComment(t string) bool {
	return strings.HasPrefix(t, "#") && !strings.HasPrefix(t, "#{") || strings.HasPrefix(t, "//") ||
		strings.HasPrefix(t, "--") || strings.HasPrefix(t, "/*") || strings.HasPrefix(t, "* ")
}

// Depth returns how far in a line begins.
func Depth(l string) int { return len(l) - len(strings.TrimLeft(l, " \t")) }

// IsProgram reports whether the lines of a language are no lists of keys.
func IsProgram(lang string) bool {
	return slices.Contains([]string{"js", "javascript", "ts", "typescript", "python", "py", "java", "kotlin", "go",
		"golang", "ruby", "rb", "php", "csharp", "cs", "c#", "rust", "lua", "jsx", "tsx", "scala", "yaml", "yml", "json",
		"toml", "dockerfile", "css", "html", "sql", "xml", "properties", "ini", "nginx"}, lang)
}

// IsKey reports whether a word has the form of a key with a root.
func IsKey(word string) bool {
	s, ok := shape.Parse(strings.TrimSuffix(word, ":"))
	return ok && s.Colons() > 0 && s.Rooted() && !s.NotAKey()
}

// patterns returns the keys with placeholders that a text names.
func patterns(text string) (out []shape.Shape) {
	for _, word := range strings.Fields(text) {
		word = strings.Trim(word, "\"'`,.;:()")
		if s, ok := shape.Parse(word); ok && s.Holes() > 0 && IsKey(word) {
			out = append(out, s)
		}
	}
	return out
}

// NamesAnother reports whether a comment names a pattern that a line below it does not have, or several: what it says
// is not of that line.
func NamesAnother(comment, line string) bool {
	named := patterns(comment)
	if len(named) != 1 {
		return len(named) > 1
	}
	of, others := &named[0], false
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\"'`,;()=+", r) }) {
		s, ok := shape.Parse(word)
		if !ok || !IsKey(word) {
			continue
		}
		if s.Signature() == of.Signature() || of.Covers(&s) || s.Covers(of) || s.InstanceOfKey(of) {
			return false
		}
		others = true
	}
	return others || !HasWord(line, of.Root()+of.Sep)
}

// HasWord reports whether a text has a part of a key that no longer word ends in.
func HasWord(text, part string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], part)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:from+i])
		if from+i == 0 || !unicode.IsLetter(before) && !unicode.IsDigit(before) && !strings.ContainsRune("_:.-/{}", before) {
			return true
		}
		from += i + len(part)
	}
}
