package wording

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/keywright/keywright/infer/page/internal/markdown"
	"github.com/keywright/keywright/infer/page/internal/regex"
)

// Scale describes what a bare number under a title counts: "TTL (min)", "Expiry [days]",
// 有効期限(秒). A title without a unit means seconds. One that says something else has no
// scale: a number below it is passed over, since a wrong TTL is worse than none.
type Scale time.Duration

var (
	inBrackets = regex.Lazy(`[(\[（［【〔]([^()\[\]（）［］【】〔〕]*)[)\]）］】〕]`)
	ofUnit     = regex.Lazy(`(?i)^(?:(?:in|en|em|i|w|per|als|unit|в|как)(?:\s*[:：]\s*|\s+)|(?:単位は?|单位|單位|단위)\s*[:：]?\s*)`)
	// counted says how titles without brackets end that name a unit in Han, where a word has no
	// borders: 过期秒数. 时间 and 시간 alone are "time".
	counted = regex.Lazy(`(?:(毫秒|ミリ秒)|(秒)|(分钟|分鐘)|(小时|小時)|(天|日)|(週間|週|周))数?$`)
	// moment are titles of the moment at which a key expires, which is no time to live.
	moment    = regex.Lazy(`(?i)\b(?:at|on|until|date|datum|fecha|data d[aeio]|day|timestamp|epoch)\b|дата|日付|日時|日期|날짜|期限日|일시`)
	shortMins = regex.Lazy(`(?i)^min\.?$`)
	largest   = regex.Lazy(`(?i)\bmax(?:imum|imal)?\b`)
	wholeTime = regex.Lazy(`^\d+$`)
	AnyNumber = regex.Lazy(`^[\d.,_*\s]*\d$`)
	partTime  = regex.Lazy(`^\d+[.,]\d{1,2}$`)
)

// shortUnits are abbreviations that only titles have.
var shortUnits = map[string]time.Duration{"sek": time.Second, "stdn": time.Hour, "tg": 24 * time.Hour}

// UnitWord returns the unit that a text is, 0 if it is none.
func UnitWord(text string) time.Duration {
	text = strings.TrimSuffix(strings.TrimSpace(text), ".")
	if text == "M" || text == "" { // minutes, or months
		return 0
	}
	if unit := shortUnits[strings.ToLower(text)]; unit > 0 {
		return unit
	}
	low := Folded(text)
	if m, to := spoken().unitAt(low, 0); to == len(low) {
		return m.unit
	}
	return 0
}

// ScaleOf reads a title. The other titles of its table tell whether (min) is the least.
func ScaleOf(title string, others []string) Scale {
	title = markdown.PlainText(title)
	if all := inBrackets.FindAllStringSubmatch(title, -1); len(all) > 0 {
		said := strings.TrimSpace(all[len(all)-1][1])
		said = strings.TrimSpace(ofUnit.ReplaceAllString(said, ""))
		first, rest := said, ""
		if i := strings.IndexAny(said, ",;=:，；、"); i >= 0 {
			first, rest = said[:i], said[i:]
		}
		if shortMins.MatchString(first) && slices.ContainsFunc(others, largest.MatchString) || unitIn(rest) {
			return 0
		}
		return Scale(UnitWord(first))
	}
	if moment.MatchString(strings.Join(WordsIn(title), " ")) {
		return 0
	}
	return scaleOfWords(title)
}

// scaleOfWords reads a title without brackets.
func scaleOfWords(title string) Scale {
	unit := time.Duration(0)
	words := WordsIn(title)
	for i, w := range words {
		one := UnitWord(w)
		short := utf8.RuneCountInString(w) <= 3 && i < len(words)-1 // a standard TTL, one that has an end
		switch {
		case one == 0 || strings.ContainsFunc(w, isTime):
			continue
		case short || shortMins.MatchString(w) || unit != 0 && unit != one: // the least; or one of two
			return 0
		}
		unit = one
	}
	if m := counted.FindStringSubmatch(title); m != nil && unit == 0 {
		for i, u := range []time.Duration{time.Millisecond, time.Second, time.Minute, time.Hour, 24 * time.Hour,
			7 * 24 * time.Hour} {
			if m[i+1] != "" {
				unit = u
			}
		}
	}
	if unit == 0 {
		unit = time.Second
	}
	return Scale(unit)
}

// WordsIn returns the words of a title: TTL_ms and ttlMinutes have two.
func WordsIn(title string) []string {
	var spaced strings.Builder
	before := rune(0)
	for _, r := range title {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(r)
		before = r
	}
	return strings.FieldsFunc(spaced.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// isTime: 만료 시간 is the time of expiry, not hours; so is 有効時間.
func isTime(r rune) bool { return strings.ContainsRune("시時时", r) }

func unitIn(text string) bool {
	return slices.ContainsFunc(WordsIn(text), func(w string) bool { return UnitWord(w) > 0 })
}

// time returns a bare number in units of the scale, "" if it may be another one.
func (s Scale) time(text string) string {
	switch unit := time.Duration(s); {
	case unit == 0:
		return ""
	case unit <= time.Second:
		return Seconds(text, int64(time.Second/unit))
	case wholeTime.MatchString(text), product.MatchString(text):
		total := int64(1)
		for _, f := range strings.Split(text, "*") {
			n, err := strconv.ParseInt(strings.TrimSpace(f), 10, 64)
			if err != nil || n <= 0 || total > 1e6/n {
				return ""
			}
			total *= n
		}
		return timesUnit(total, unit)
	case partTime.MatchString(text):
		n, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", "."), 64)
		if err != nil || n*float64(unit) > float64(MaxLifetime) {
			return ""
		}
		return FormatTTL(time.Duration(n * float64(unit)))
	}
	return ""
}
