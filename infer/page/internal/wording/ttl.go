package wording

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/infer/page/internal/markdown"
	"github.com/keywright/keywright/infer/page/internal/regex"
)

// product and number are times without a unit.
var (
	product = regex.Lazy(`^\d[\d_]*(?:\s*\*\s*\d[\d_]*)+$`)
	number  = regex.Lazy(`^\d+$|^\d{1,3}(?:[,_]\d{3})+$`)
	dashed  = regex.Lazy(`^\s*[-–—]+(?:[^\d]|$)`)
)

// someTime: a number that may be a time, whatever is before it.
var someTime = regex.Lazy(`\d{2,}|\d\s*\p{L}`)

// bareSeconds is a number that only its name says to be a time, as a command has it: ttl 120.
var bareSeconds = regex.Lazy(`(?i)\b(?:ttl|ex|expire|setex)\b\s*[:=]?\s*(\d[\d_]*)\s*(?:$|[,;)])`)

// once is a remark in brackets about what was so before.
var once = regex.Lazy(`[(（](?:was|were|formerly|previously|before|until|` +
	`war|fruher|vorher|bisher|antes|avant|prima)\s[^()（）]*[)）]`)

// setTime is the TTL in the command that writes a string.
var setTime = regex.Lazy(`\b(EX|PX)\s+(\d+)\b`)

// TTLIn returns the TTL that a text gives. In a TTL column any time is one; elsewhere
// the text must speak of expiry, or be a comment that is nothing but a time. A number
// alone is one in a column, by the scale of its title. What begins at an event, or lasts
// until one, is none.
func TTLIn(text string, column bool, by Scale) string {
	text = markdown.PlainText(text)
	if m := setCommand.FindStringIndex(text); m != nil && !column {
		if arg := setTime.FindStringSubmatch(text[m[0]:]); arg != nil {
			return Seconds(arg[2], map[string]int64{"EX": 1, "PX": 1000}[arg[1]])
		}
	}
	low := once.ReplaceAllString(Folded(text), " ")
	list := TimesIn(low)
	switch {
	case !column && foreverForm.MatchString(low), column && len(list) == 0 && isAlone(low):
		return "none"
	case !column && len(list) == 0:
		if m := bareSeconds.FindStringSubmatch(text); m != nil {
			return Seconds(m[1], 1)
		}
		return ""
	case !column:
		return lifeIn(low, list)
	case len(list) > 0:
		return longest(lives(low, list, func(span) bool { return true }))
	case foreverForm.MatchString(low):
		return "none"
	}
	first := strings.FieldsFunc(text+" ", func(r rune) bool { return strings.ContainsRune("(（;#", r) })[0]
	first, _, _ = strings.Cut(first, "//")
	return by.time(strings.TrimSpace(first))
}

// lifeIn returns the TTL that a sentence tells: of times that the words for it are before, or
// right beside, else of all.
func lifeIn(low string, list []span) string {
	words := lastsForm.FindStringIndex(low)
	near := lives(low, list, func(s span) bool { return isBeside(low, s) || words != nil && s.from >= words[0] })
	if len(near) > 0 || words == nil {
		return longest(near)
	}
	return longest(lives(low, list, func(span) bool { return true }))
}

// isAlone reports whether an answer to how long says that it is for ever.
func isAlone(low string) bool {
	if i := strings.IndexAny(low, "(（"); i > 0 {
		low = low[:i]
	}
	return (aloneForm.MatchString(low) || dashed.MatchString(low)) &&
		!someTime.MatchString(strings.TrimPrefix(strings.TrimSpace(low), "-1"))
}

// lives keeps the times that are TTLs.
func lives(low string, list []span, also func(span) bool) []span {
	return slices.DeleteFunc(slices.Clone(list), func(s span) bool {
		return IsOften(low, s) || isEvent(low, s) || !also(s)
	})
}

// LongestIn returns the longest time a text names.
func LongestIn(text string) string {
	low := Folded(text)
	return longest(lives(low, TimesIn(low), func(span) bool { return true }))
}

// CountTimes returns how many times a text names.
func CountTimes(text string) int { return len(TimesIn(Folded(text))) }

// parted are between the parts of a remark.
const parted = ",;()（）、。，—–|"

// maxRemark says how much of a comment, or of what is after a key, is read.
const maxRemark = 4_000

// TTLOfRemark returns the TTL in a comment or in what is after a key: where it
// speaks of expiry, or has a part that is a time and nothing else.
func TTLOfRemark(text string) string {
	text = text[:min(len(text), maxRemark)]
	text = strings.NewReplacer(" - ", " – ", ". ", "; ").Replace(strings.TrimRight(text, " ."))
	if t := TTLIn(text, false, 0); t != "" {
		return t
	}
	low := Folded(markdown.PlainText(text))
	bare := lives(low, TimesIn(low), func(s span) bool {
		from, to := strings.LastIndexAny(low[:s.from], parted), strings.IndexAny(low[s.to:], parted)
		part := low[max(from, 0):]
		if to >= 0 {
			part = low[max(from, 0) : s.to+to]
		}
		return isOnlyTime(part, span{from: s.from - max(from, 0), to: s.to - max(from, 0)})
	})
	if t := longest(bare); t != "" {
		return t
	}
	for _, part := range strings.FieldsFunc(low, func(r rune) bool { return strings.ContainsRune(parted, r) }) {
		part = strings.TrimSpace(strings.TrimRight(part, ". "))
		if len(part) > 4 && strings.TrimSpace(aloneForm.FindString(part)) == part {
			return "none"
		}
	}
	return ""
}

// Seconds reads a number, or a product of numbers.
func Seconds(text string, per int64) string {
	text = strings.Trim(strings.TrimSpace(text), ");,")
	total := int64(1)
	switch {
	case number.MatchString(text):
		n, err := strconv.ParseInt(strings.NewReplacer(",", "", "_", "").Replace(text), 10, 64)
		if err != nil {
			return ""
		}
		total = n
	case product.MatchString(text):
		for _, f := range strings.Split(strings.ReplaceAll(text, "_", ""), "*") {
			n, err := strconv.ParseInt(strings.TrimSpace(f), 10, 64)
			if err != nil || n <= 0 || total > 1e12/n {
				return ""
			}
			total *= n
		}
	default:
		return ""
	}
	return timesUnit(total, time.Second/time.Duration(per))
}

// timesUnit returns so many of a unit, "" if that is no time to live.
func timesUnit(n int64, unit time.Duration) string {
	if n <= 0 || n > int64(MaxLifetime/unit) {
		return ""
	}
	return FormatTTL(time.Duration(n) * unit)
}

// FormatTTL returns a duration as a declaration has it, "" below a second and where it has a part of one: no TTL is
// better than one that is cut.
func FormatTTL(d time.Duration) string {
	d = d.Round(time.Millisecond) // of a number with a decimal point
	if d < time.Second || d%time.Second != 0 {
		return ""
	}
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d%u.unit == 0 {
			return strconv.FormatInt(int64(d/u.unit), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(d/time.Second), 10) + "s"
}

// What is read of a time in a program: a number, or a product of numbers, that nothing
// unknown is multiplied with or added to.
const (
	figures = `(\d[\d_]*(?:\s*\*\s*\d[\d_]*)*)[lL]?`
	begins  = `(?:^|[(\[{,=:]\s*|\breturn\s+)`
	ends    = `\s*(?:[,;)}\]]|//|#|$)`

	// What is before and after a time that names its unit: no sign that it is a part of a sum or a product.
	unjoined = `(?:^|[^*+/\s.\w-]\s*|\b(?:return|new)\s+)(?:\w+(?:\.|::))*`
	unparted = `(?:\.\w+\b(?:\(\))?)?\s*(?:[^*+/\s.(-]|//|/\*|$)`
)

// unitTimes lists the ways in which programs give a time its unit; number and unit are the
// groups. Without a number it is one.
var unitTimes = []struct {
	form         regex.Form
	number, unit int
}{
	{regex.Lazy(begins + figures + `\s*\*\s*time\.(Second|Minute|Hour)` + ends), 1, 2},
	{regex.Lazy(begins + `time\.(Second|Minute|Hour)(?:\s*\*\s*` + figures + `)?` + ends), 2, 1},
	{regex.Lazy(unjoined + `Duration\.of(Seconds|Minutes|Hours|Days)\(\s*` + figures + `\s*\)` + unparted), 2, 1},
	{regex.Lazy(begins + figures + `\s*,\s*TimeUnit\.(SECONDS|MINUTES|HOURS|DAYS)`), 1, 2},
	{regex.Lazy(unjoined + `timedelta\(\s*(seconds|minutes|hours|days|weeks)\s*=\s*` + figures + `\s*\)` + unparted),
		2, 1},
	{regex.Lazy(begins + `(\d+)\.(second|minute|hour|day|week)s?\b` + unparted), 1, 2},
	{regex.Lazy(unjoined + `TimeSpan\.From(Seconds|Minutes|Hours|Days)\(\s*` + figures + `\s*\)` + unparted), 2, 1},
	{regex.Lazy(unjoined + `Duration::from_(secs|mins|hours|days)\(\s*` + figures + `\s*\)` + unparted), 2, 1},
	{regex.Lazy(`(?:^|\b[Nn]ow\([^()]*\)|\$\w+)(?:->)?add(Second|Minute|Hour|Day|Week)s?\(\s*(?:` + figures +
		`)?\s*\)` + unparted), 2, 1},
	{regex.Lazy(`ChronoUnit\.(SECONDS|MINUTES|HOURS|DAYS)\s*,\s*` + figures + ends), 2, 1},
}

// UnitTime returns the time that a program gives with its unit.
func UnitTime(text string) string {
	for _, t := range unitTimes {
		if m := t.form.FindStringSubmatch(text); m != nil {
			unit := goUnits[strings.TrimSuffix(strings.ToLower(m[t.unit]), "s")]
			return times(cmp.Or(m[t.number], "1"), unit)
		}
	}
	return ""
}

var (
	railsTime = regex.Lazy(`expires_in:\s*(\d[\d_]*)\s*(?:[,)]|$)`)
	exOption  = regex.Lazy(`(?i)['"]?\b(EX|PX)['"]?\s*[:=,]\s*` + figures + ends +
		`|((?:ttl|expir|timeout)\w*|\bexp)\s*[=:]\s*` + figures + ends)
	thousand = regex.Lazy(`\*\s*1_?000\b`) // 5 * 60 * 1000 are no seconds
	// format!("a:{}", id), value, 60)
	numberArg = regex.Lazy(`^[^()"'=]*\)\s*(?:,\s*[\w.&]+)?\s*,\s*((?:\d[\d_]*)(?:\s*\*\s*\d+)*)\s*[,)]`)
	firstArg  = regex.Lazy(`^\s*,\s*((?:\d[\d_]*)(?:\s*\*\s*\d+)*)\s*[,)]`)
)

var goUnits = map[string]time.Duration{"second": time.Second, "minute": time.Minute, "hour": time.Hour,
	"sec": time.Second, "min": time.Minute, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour}

// TTLInCall returns the TTL among the arguments after a key.
func TTLInCall(verb, rest string) string {
	if t := UnitTime(rest); t != "" {
		return t
	}
	if m := railsTime.FindStringSubmatch(rest); m != nil {
		return Seconds(m[1], 1)
	}
	if m := exOption.FindStringSubmatch(rest); m != nil {
		if strings.EqualFold(m[1], "px") {
			return Seconds(m[2], 1000)
		}
		if m[3] != "" {
			by := ScaleOf(m[3], nil)
			if by == Scale(time.Second) && thousand.MatchString(m[4]) {
				return ""
			}
			return by.time(m[4])
		}
		return Seconds(m[2], 1)
	}
	switch strings.ReplaceAll(verb, "_", "") {
	case "SETEX", "EXPIRE", "REMEMBER", "PUT":
		if m := numberArg.FindStringSubmatch(rest); m != nil {
			return Seconds(m[1], 1)
		}
		if m := firstArg.FindStringSubmatch(rest); m != nil {
			return Seconds(m[1], 1)
		}
	case "PSETEX", "PEXPIRE":
		if m := firstArg.FindStringSubmatch(rest); m != nil {
			return Seconds(m[1], 1000)
		}
	}
	return ""
}

// times returns a number, or a product of numbers, of a unit.
func times(n string, unit time.Duration) string {
	total := int64(1)
	for _, f := range strings.Split(strings.ReplaceAll(n, "_", ""), "*") {
		v, err := strconv.ParseInt(strings.TrimSpace(f), 10, 32)
		if err != nil || v <= 0 || total > int64(MaxLifetime/unit)/v {
			return ""
		}
		total *= v
	}
	return FormatTTL(time.Duration(total) * unit)
}
