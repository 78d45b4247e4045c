package page

import (
	"strings"
)

// numerals are numbers in words, in the languages that units are known in. Longer
// words come first where one begins with another.
var numerals = []struct{ number, words string }{
	{"0.5", `half an?|half a|eine[rn]? halben?|einer halben|halbe[rn]?|media|medio|demi-?|une demi-?|半`},
	{"1.5", `one and a half|anderthalb|eineinhalb`},
	{"1", `one|an?|eine[rmsn]?|ein|una?|un|une|한|1`},
	{"2", `two|a couple of|zwei|dos|deux|두`},
	{"3", `three|drei|tres|trois|세`},
	{"4", `four|vier|cuatro|quatre|네`},
	{"5", `five|fünf|cinco|cinq|다섯`},
	{"6", `six|sechs|seis|여섯`},
	{"7", `seven|sieben|siete|sept|일곱`},
	{"8", `eight|acht|ocho|huit`},
	{"9", `nine|neun|nueve|neuf`},
	{"10", `ten|zehn|diez|dix|열`},
	{"12", `twelve|zwölf|doce|douze`},
	{"14", `fourteen|vierzehn|catorce|quatorze`},
	{"15", `fifteen|fünfzehn|quince|quinze`},
	{"20", `twenty|zwanzig|veinte|vingt`},
	{"24", `twenty-?four|vierundzwanzig|veinticuatro`},
	{"30", `thirty|dreißig|dreissig|treinta|trente`},
	{"45", `forty-?five|fünfundvierzig`},
	{"48", `forty-?eight|achtundvierzig`},
	{"60", `sixty|sechzig|sesenta|soixante`},
	{"90", `ninety|neunzig|noventa`},
	{"100", `a hundred|hundred|hundert|cien`},
}

// numeralForms find a number in words before a word.
var numeralForms = func() (out []form) {
	for _, n := range numerals {
		out = append(out, lazy(`(?i)(^|[^\p{L}\p{N}])(?:`+n.words+`)[\s-]+(\p{L})`))
	}
	return out
}()

// anyNumeral finds whether there is one at all, which there mostly is not.
var anyNumeral = func() form {
	var all []string
	for _, n := range numerals {
		all = append(all, n.words)
	}
	return lazy(`(?i)(?:^|[^\p{L}\p{N}])(?:` + strings.Join(all, "|") + `)[\s-]+\p{L}`)
}()

// spelled are whole times in words.
var spelled = []struct {
	form form
	time string
}{
	{lazy(`일주일`), "7일 "}, {lazy(`하루`), "1일 "}, {lazy(`이틀`), "2일 "},
	{lazy(`사흘`), "3일 "}, {lazy(`보름`), "15일 "},
	{lazy(`半\s*(?:个|個)?\s*(?:小时|小時|時間)`), "30 分钟 "}, {lazy(`半日|半天`), "12 小时 "},
	{lazy(`半年`), "182 天 "}, {lazy(`半(?:个)?月`), "15 天 "},
	{lazy(`(?i)\ba fortnight\b`), "14 days"},
}

// hanDigits are the digits of Chinese and Japanese numbers below a hundred.
var (
	hanDigits = map[rune]int{'一': 1, '二': 2, '两': 2, '兩': 2, '三': 3, '四': 4, '五': 5, '六': 6, '七': 7, '八': 8, '九': 9}
	hanNumber = lazy(`([一二两兩三四五六七八九十]+)\s*(个|個|か|ヶ|カ)?\s*(秒|分|小时|小時|時間|天|日|周|週|星期|月|年)`)
)

// inDigits returns a text with its numbers in digits, as far as they are before a
// unit of time.
func inDigits(text string) string {
	for _, s := range spelled {
		text = s.form.ReplaceAllString(text, s.time)
	}
	text = hanNumber.ReplaceAllStringFunc(text, func(m string) string {
		parts := hanNumber.FindStringSubmatch(m)
		return itoa(hanValue(parts[1])) + parts[2] + parts[3]
	})
	if !anyNumeral.MatchString(text) {
		return text
	}
	for i, form := range numeralForms {
		text = form.ReplaceAllString(text, "${1}"+numerals[i].number+" $2")
	}
	return text
}

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

// bare is a time and nothing else: 24h, 5 minutes, two days.
var bare = lazy(`(?i)^\W*(?:ttl|ex|expires?|after|in|for)?\W*~?\d+(?:[.,]\d+)?\s*[\p{L}]+\.?\W*$`)

// ttlOfRemark returns the TTL in a comment or in what is after a key: where it
// speaks of expiry, or has a part that is a time and nothing else.
func ttlOfRemark(text string) string {
	if t := ttlIn(text, false, 0); t != "" {
		return t
	}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",;()（）、。—–|", r) }) {
		part = strings.TrimSpace(inDigits(part))
		if bare.MatchString(part) {
			if t := duration(part); t != "" {
				return t
			}
		}
	}
	return ""
}
