package wording

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/keywright/keywright/infer/page/internal/regex"
)

// field lists what all languages have in a field.
func field(of func(*language) string) []string {
	var out []string
	for i := range languages {
		out = append(out, strings.Fields(of(&languages[i]))...)
	}
	return out
}

// accents are letters that people also write without their marks.
var accents = strings.NewReplacer("á", "a", "à", "a", "â", "a", "ã", "a", "ą", "a", "å", "a", "ä", "a", "ç", "c",
	"č", "c", "ć", "c", "ď", "d", "é", "e", "è", "e", "ê", "e", "ë", "e", "ę", "e", "ě", "e", "ğ", "g", "í", "i",
	"ì", "i", "î", "i", "ï", "i", "ı", "i", "ł", "l", "ñ", "n", "ń", "n", "ň", "n", "ó", "o", "ò", "o", "ô", "o",
	"õ", "o", "ö", "o", "ř", "r", "ś", "s", "š", "s", "ş", "s", "ť", "t", "ú", "u", "ù", "u", "û", "u", "ü", "u",
	"ů", "u", "ý", "y", "ź", "z", "ż", "z", "ž", "z", "ё", "е", "’", "'")

// Folded returns a text in small letters, without accents.
func Folded(text string) string { return accents.Replace(strings.ToLower(text)) }

// IsDense reports whether a script writes words without blanks between them.
func IsDense(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// phrases makes a form that finds any of a list in a text in small letters; group 1 or 2 is
// the phrase. around is put before and after the choice.
func phrases(list []string, before, after string) regex.Form {
	return regex.LazyOf(func() string {
		var spaced, dense []string
		slices.SortStableFunc(list, func(a, b string) int { return len(b) - len(a) })
		for _, p := range slices.Compact(list) {
			stem := strings.TrimSuffix(p, "*")
			text := strings.ReplaceAll(regexp.QuoteMeta(Folded(stem)), "_", `\s?`)
			text = strings.ReplaceAll(text, `\*`, `\p{L}*`)
			switch {
			case strings.ContainsFunc(stem, IsDense):
				dense = append(dense, text)
			case stem != p:
				spaced = append(spaced, strings.ReplaceAll(text, `\s?`, `\s`)+`\p{L}*`)
			default:
				spaced = append(spaced, strings.ReplaceAll(text, `\s?`, `\s`))
			}
		}
		const nothing = `\x00`
		if len(spaced) == 0 {
			spaced = []string{nothing}
		}
		if len(dense) == 0 {
			dense = []string{nothing}
		}
		return before + `(?:(?:^|[^\p{L}\p{N}_])(` + strings.Join(spaced, "|") + `)(?:$|[^\p{L}\p{N}])|(` +
			strings.Join(dense, "|") + `))` + after
	})
}

// What the languages say.
var (
	lastsForm    = phrases(field(func(l *language) string { return l.lasts }), "", "")
	withinForm   = phrases(field(func(l *language) string { return l.within }), "", `\s*$`)
	passesForm   = phrases(field(func(l *language) string { return l.passes }), `^\s*`, "")
	foreverForm  = phrases(field(func(l *language) string { return l.forever }), "", "")
	aloneForm    = phrases(field(func(l *language) string { return l.alone }), `^\W*?`, "")
	untilForm    = phrases(field(func(l *language) string { return l.until }), "", "")
	afterForm    = phrases(field(func(l *language) string { return l.after }), `^\s*`, "")
	followsForm  = phrases(field(func(l *language) string { return l.follows }), "", "")
	activityForm = phrases(field(func(l *language) string { return l.activity }), "", "")
	pastForm     = phrases(field(func(l *language) string { return l.past }), "", `\s*$`)
	exampleForm  = phrases(field(func(l *language) string { return l.example }), "", "[\\s(\"'*:：（]*`*$")
	fillerForm   = phrases(field(func(l *language) string {
		return strings.Join([]string{l.filler, l.within, l.passes, l.lasts, l.hash, l.list, l.set, l.zset, l.text}, " ")
	}), "", "")
	oftenForms = func() (out []spokenForm) {
		for i := range languages {
			l := &languages[i]
			out = append(out, spokenForm{l.code, phrases(strings.Fields(l.every), "", `\s*$`)})
		}
		return out
	}()
	// oftenBehind follows a time that says how often, in languages that write so.
	oftenBehind = regex.Lazy(`^\s*(?:ごと|毎|おき|마다)`)
	nobreak     = regex.Lazy(`[.;。；！？]\s|[。；！？]|[.;]$`)
)

// spokenForm is a form of one language.
type spokenForm struct {
	code string
	form regex.Form
}

// reach says how far around a time the words are that tell what it is.
const reach = 240

// nearby returns what is near a part of a text, and where the part is in it.
func nearby(text string, from, to int) (string, int, int) {
	begin, end := max(0, from-reach), min(len(text), to+reach)
	for begin < from && !utf8.RuneStart(text[begin]) {
		begin++
	}
	for end < len(text) && end > to && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[begin:end], from - begin, to - begin
}

// clause returns the sentence that a part of a text is in, and where the part is in it.
func clause(text string, from, to int) (string, int, int) {
	text, from, to = nearby(text, from, to)
	begin, end := 0, len(text)
	for _, m := range nobreak.FindAllStringIndex(text, -1) {
		if m[1] <= from {
			begin = m[1]
		} else if m[0] >= to && m[0] < end {
			end = m[0]
		}
	}
	return text[begin:end], from - begin, to - begin
}

// atMost is between a word for until and a time that is the longest one: bis zu 3 Tage.
var atMost = regex.Lazy(`^\s*(?:zu\s+)?$`)

// isEvent reports whether a time begins at an event, or lasts until one, that is none in the
// life of a key: 30 days after the season.
func isEvent(text string, s span) bool {
	text, s.from, s.to = clause(text, s.from, s.to)
	before, after := text[:s.from], text[s.to:]
	for _, m := range untilForm.FindAllStringIndex(text, -1) {
		if m[1] <= s.from && atMost.MatchString(text[m[1]:s.from]) {
			continue // until 5 minutes: at most so much
		}
		return true
	}
	if m := afterForm.FindStringIndex(after); m != nil {
		what := phraseEnd(after[m[1]:])
		return strings.TrimSpace(what) != "" && !activityForm.MatchString(after[m[0]:m[1]]+what)
	}
	what, ok := followed(before)
	return ok && !activityForm.MatchString(what)
}

// followed returns the event that a text before a time says that it begins at, in languages that
// say so before it.
func followed(before string) (what string, ok bool) {
	if i := strings.LastIndexAny(before, ",，、:：()（）|"); i >= 0 {
		_, size := utf8.DecodeRuneInString(before[i:])
		before = before[i+size:]
	}
	all := followsForm.FindAllStringIndex(before, -1)
	if len(all) == 0 {
		return "", false
	}
	what = strings.TrimSpace(before[:all[len(all)-1][0]])
	return what, what != ""
}

// phraseEnd returns a text up to where a new part of the sentence begins.
func phraseEnd(text string) string {
	if i := strings.IndexAny(text, ",.;()|，。；（）、"); i >= 0 {
		return text[:i]
	}
	return text
}

// IsOften reports whether a time says how often something happens, or of when something is.
func IsOften(text string, s span) bool {
	text, s.from, s.to = nearby(text, s.from, s.to)
	before := text[:s.from]
	if oftenBehind.MatchString(text[s.to:]) || pastForm.MatchString(before) {
		return true
	}
	for _, f := range oftenForms {
		if slices.Contains(s.codes, f.code) && f.form.MatchString(before) {
			return true
		}
	}
	return false
}

// isBeside reports whether a word right beside a time says that it is one to live.
func isBeside(text string, s span) bool {
	text, s.from, s.to = nearby(text, s.from, s.to)
	if what, ok := followed(text[:s.from]); ok && activityForm.MatchString(what) || afterForm.MatchString(text[s.to:]) {
		return true
	}
	return withinForm.MatchString(text[:s.from]) || passesForm.MatchString(text[s.to:])
}

// mostOfTime bounds a text that may be a time with its fillers, and nothing else.
const mostOfTime = 400

// isOnlyTime reports whether a text is a time, and words that say nothing else.
func isOnlyTime(text string, s span) bool {
	if len(text) > mostOfTime {
		return false
	}
	rest := text[:s.from] + " | " + text[s.to:]
	for range 6 {
		m := fillerForm.FindStringSubmatchIndex(rest)
		if m == nil {
			break
		}
		at, to := m[2], m[3]
		if at < 0 {
			at, to = m[4], m[5]
		}
		rest = rest[:at] + " " + rest[to:]
	}
	return !strings.ContainsFunc(rest, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// IsExample reports whether what follows a text is an example: for instance.
func IsExample(before string) bool {
	const far = 40
	return exampleForm.MatchString(Folded(before[max(0, len(before)-far):]))
}
