package wording

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/keywright/keywright/infer/page/internal/regex"
)

// span represents a time that a text names.
type span struct {
	Time     time.Duration
	from, to int
	Unit     time.Duration
	codes    []string // languages that its unit is a word of; those of digits alone are all
}

// meaning is a word with what it means.
type meaning struct {
	unit   time.Duration
	number float64
	codes  []string
}

// lexicon is the words for times, by their text.
type lexicon struct {
	units, numbers, whole map[string]meaning
	stems                 []string // units of any ending
	longest               int      // bytes of the longest number or whole time
	starts                map[byte]bool
}

const (
	day   = 24 * time.Hour
	week  = 7 * day
	month = 30 * day
	year  = 365 * day
)

// spoken collects the times of all languages.
var spoken = sync.OnceValue(func() *lexicon {
	x := &lexicon{units: map[string]meaning{}, numbers: map[string]meaning{}, whole: map[string]meaning{},
		starts: map[byte]bool{}}
	for i := range languages {
		l := &languages[i]
		for _, u := range []struct {
			unit  time.Duration
			words string
		}{{time.Millisecond, l.ms}, {time.Second, l.second}, {time.Minute, l.minute}, {time.Hour, l.hour}, {day, l.day},
			{week, l.week}, {month, l.month}, {year, l.year}} {
			for _, w := range strings.Fields(u.words) {
				if stem := strings.TrimSuffix(w, "*"); stem != w {
					x.stems = append(x.stems, Folded(stem))
					w = stem
				}
				x.learn(x.units, w, meaning{unit: u.unit}, l.code)
			}
		}
		for _, def := range strings.Fields(l.numbers) {
			n, list, _ := strings.Cut(def, "=")
			value, _ := strconv.ParseFloat(n, 64)
			for _, w := range strings.Split(list, "|") {
				x.learn(x.numbers, w, meaning{number: value}, l.code)
			}
		}
		for _, def := range strings.Fields(l.whole) {
			t, list, _ := strings.Cut(def, "=")
			for _, w := range strings.Split(list, "|") {
				x.learn(x.whole, w, meaning{unit: parseWhole(t)}, l.code)
			}
		}
	}
	slices.SortFunc(x.stems, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return x
})

// parseWhole reads 15m, 14d.
func parseWhole(t string) time.Duration {
	n, _ := strconv.Atoi(t[:len(t)-1])
	return time.Duration(n) * map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': day}[t[len(t)-1]]
}

// learn puts a word into a table. The language that is first tells what it means.
func (x *lexicon) learn(table map[string]meaning, w string, m meaning, code string) {
	w = strings.ReplaceAll(Folded(w), "_", " ")
	known, ok := table[w]
	if !ok {
		known = m
	} else if known.unit != m.unit || known.number != m.number {
		return
	}
	known.codes = append(known.codes, code)
	table[w] = known
	x.longest = max(x.longest, len(w))
	x.starts[w[0]] = true
}

// maxTimes bounds the times of a text that are looked at.
const maxTimes = 64

// TimesIn finds the times of a text in small letters.
func TimesIn(text string) []span {
	x := spoken()
	var out []span
	for i := 0; i < len(text) && len(out) < maxTimes; {
		r, size := utf8.DecodeRuneInString(text[i:])
		joined := len(out) > 0 && out[len(out)-1].to == i && r >= '0' && r <= '9' // 1h30m
		if !joined && !mayBegin(text, i, r) {
			i += size
			continue
		}
		if s, ok := x.timeAt(text, i, r); ok {
			out = append(out, s)
			i = s.to
			continue
		}
		if i += size; r >= '0' && r <= '9' {
			i += len(digits.FindString(text[i-size:])) - size // 500 is no number of 1,500
		}
	}
	return joinTimes(text, out)
}

// mayBegin reports whether a time may begin at a place.
func mayBegin(text string, i int, r rune) bool {
	if !unicode.IsLetter(r) && (r < '0' || r > '9') {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	switch {
	case i == 0:
		return true
	case r >= '0' && r <= '9':
		return before >= 0x80 || !unicode.IsLetter(before) && !unicode.IsDigit(before) && before != '.' && before != '_'
	case unicode.Is(unicode.Han, r):
		return true
	}
	return !unicode.IsLetter(before) && !unicode.IsDigit(before) || IsDense(before) && !IsDense(r)
}

// timeAt reads a time at a place.
func (x *lexicon) timeAt(text string, i int, r rune) (span, bool) {
	if m, to := x.longestAt(x.whole, text, i); to > 0 {
		return span{m.unit, i, to, m.unit, m.codes}, true
	}
	n, at, codes := 0.0, 0, []string(nil)
	if r >= '0' && r <= '9' {
		n, at = figure(text, i)
	} else if n, at = hanFigure(text, i); at == 0 {
		var m meaning
		m, at = x.longestAt(x.numbers, text, i)
		n, codes = m.number, m.codes
	}
	if at == 0 || n <= 0 || n > 1e9 {
		return span{}, false
	}
	for at < len(text) && (text[at] == ' ' || text[at] == '-' || strings.HasPrefix(text[at:], "\u00a0")) {
		at += max(1, len(text[at:])-len(strings.TrimPrefix(text[at:], "\u00a0")))
	}
	unit, to := x.unitAt(text, at)
	if to == 0 || codes != nil && (!meets(codes, unit.codes) || to-at < 2) {
		return span{}, false
	}
	if float64(unit.unit)*n > float64(MaxLifetime) || codes != nil && n == 1 && unit.unit == time.Second &&
		ordinal.MatchString(text[to:]) && !afterForm.MatchString(text[to:]) {
		return span{}, false
	}
	return span{time.Duration(n * float64(unit.unit)), i, to, unit.unit, unit.codes}, true
}

func meets(a, b []string) bool {
	return slices.ContainsFunc(a, func(c string) bool { return slices.Contains(b, c) })
}

// longestAt finds the longest word of a table at a place, 0 if there is none.
func (x *lexicon) longestAt(table map[string]meaning, text string, i int) (meaning, int) {
	if !x.starts[text[i]] {
		return meaning{}, 0
	}
	for n := min(x.longest, len(text)-i); n > 0; n-- {
		m, ok := table[text[i:i+n]]
		if !ok {
			continue
		}
		last, _ := utf8.DecodeLastRuneInString(text[:i+n])
		next, _ := utf8.DecodeRuneInString(text[i+n:])
		if !IsDense(last) && unicode.IsLetter(last) && i+n < len(text) && unicode.IsLetter(next) {
			continue // a part of a word
		}
		return m, i + n
	}
	return meaning{}, 0
}

// figure reads a number in digits: 90, 2.5, 1,5, 86,400, 60_000.
func figure(text string, i int) (float64, int) {
	m := digits.FindString(text[i:])
	at := i + len(m)
	switch plain := strings.NewReplacer(",", "", "_", "", " ", "").Replace(m); {
	case strings.ContainsAny(m, "_"), grouped.MatchString(m):
		n, err := strconv.ParseFloat(plain, 64)
		if err != nil || strings.Count(m, ",") == 1 && !inSmallUnits.MatchString(text[at:]) {
			return 0, at // 1,500 hours are one and a half, or not
		}
		return n, at
	default:
		n, err := strconv.ParseFloat(strings.ReplaceAll(m, ",", "."), 64)
		if err != nil || dotted.MatchString(m) {
			return 0, at
		}
		return n, at
	}
}

// ordinal follows the word second where it counts: a second copy.
var ordinal = regex.Lazy(`^\s+\p{L}`)

var (
	digits       = regex.Lazy(`^(?:\d[\d_]*(?:,\d{3})+|\d+(?:_\d+)+|\d+(?:[.,]\d+)?)`)
	grouped      = regex.Lazy(`^\d{1,3}(?:,\d{3})+$`)
	dotted       = regex.Lazy(`^[1-9]\d{0,2}\.\d{3}$`) // 86.400: a day in seconds, or less than two minutes
	inSmallUnits = regex.Lazy(`^\s*(?:m?s|sec\w*|milli\w*|m?secs?)\b`)
)

// longestHan bounds the bytes of a number in such digits.
const longestHan = 32

// hanFigure reads a number of Chinese and Japanese: 三十, 两.
func hanFigure(text string, i int) (float64, int) {
	m := hanNumber.FindString(text[i:min(len(text), i+longestHan)])
	return float64(hanValue(m)), (i + len(m)) * min(1, len(m))
}

// unitAt reads a unit at a place.
func (x *lexicon) unitAt(text string, i int) (meaning, int) {
	r, _ := utf8.DecodeRuneInString(text[i:])
	if !unicode.IsLetter(r) {
		return meaning{}, 0
	}
	if IsDense(r) {
		for n := min(len("个小时间间间"), len(text)-i); n > 0; n-- {
			if m, ok := x.units[text[i:i+n]]; ok {
				return m, i + n
			}
		}
		return meaning{}, 0
	}
	to := i
	for to < len(text) {
		r, size := utf8.DecodeRuneInString(text[to:])
		if !unicode.IsLetter(r) || IsDense(r) {
			break
		}
		to += size
	}
	if to < len(text) && text[to] >= '0' && text[to] <= '9' && to-i > 1 {
		return meaning{}, 0
	}
	w := text[i:to]
	if m, ok := x.units[w]; ok {
		return m, to
	}
	for _, s := range x.stems {
		if strings.HasPrefix(w, s) {
			return x.units[s], to
		}
	}
	return meaning{}, 0
}

// joinTimes adds up 1h 30m.
func joinTimes(text string, list []span) []span {
	var out []span
	for _, s := range list {
		if n := len(out); n > 0 {
			last := &out[n-1]
			gap := text[last.to:s.from]
			if strings.Trim(gap, " ") == "" && len(gap) < 2 && s.Time < last.Time && text[s.from] <= '9' {
				last.Time, last.to = last.Time+s.Time, s.to
				continue
			}
		}
		out = append(out, s)
	}
	return out
}

// hanDigits are the digits of Chinese and Japanese numbers below a hundred.
var (
	hanDigits = map[rune]int{'一': 1, '二': 2, '两': 2, '兩': 2, '三': 3, '四': 4, '五': 5, '六': 6, '七': 7, '八': 8, '九': 9}
	hanNumber = regex.Lazy(`^[一二两兩三四五六七八九十]+`)
)

// hanValue returns a number such as 三十 or 十五.
func hanValue(s string) int {
	total, last := 0, 0
	for _, r := range s {
		if r == '十' {
			total += 10 * max(last, 1)
			last = 0
		} else {
			last = hanDigits[r]
		}
	}
	return total + last
}

// longest returns the longest of some times, "" if there is none.
func longest(list []span) string {
	var best time.Duration
	for _, s := range list {
		best = max(best, s.Time)
	}
	return FormatTTL(best)
}

// MaxLifetime bounds what is taken for a TTL.
const MaxLifetime = 100 * 365 * 24 * time.Hour
