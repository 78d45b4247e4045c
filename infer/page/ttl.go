package page

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// units lists the words for units of time, in the languages of teams that were
// seen to keep such pages; longer words first.
var units = []struct {
	unit  time.Duration
	words string
}{
	{time.Millisecond, `milliseconds?|millis|msecs?|ms|миллисекунд\p{L}*|ミリ秒|밀리초|毫秒`},
	{time.Minute,
		`minutes?|mins?|minuten|minutos?|minute|minuti|minuut|минут\p{L}*|мин|minut\p{L}*|dakika|分钟|分鐘|分間|分|분간|분`},
	{30 * 24 * time.Hour, `months?|monate?n?|mois|m[eê]s(?:es)?|mes[ei]|maand(?:en)?|месяц\p{L}*|мес|か月|ヶ月|カ月|个月|個月|개월|달`},
	{7 * 24 * time.Hour,
		`weeks?|wks?|wochen?|semaines?|semanas?|settiman[ae]|weken|недел\p{L}*|tygodni\p{L}*|週間|週|周|星期|주일|주|w`},
	{365 * 24 * time.Hour, `years?|yrs?|jahre?n?|ans?|années?|años?|anos?|ann[oi]|лет|год\p{L}*|年間|年|년`},
	{time.Hour, `hours?|hrs?|hr|stunden?|std|heures?|horas?|or[ae]|uur|uren|час\p{L}*|ч|godzin\p{L}*|saat|時間|小时|小時|시간|h`},
	{24 * time.Hour, `days?|tage?n?|jours?|d[ií]as?|giorn[io]|dagen|dag|день|дн\p{L}*|сут\p{L}*|dni|gün|日間|日|天|일간|일|d`},
	{time.Second,
		`seconds?|secs?|sekunden?|segundos?|secondes?|second[oi]|seg|секунд\p{L}*|сек|sekund\p{L}*|saniye|秒間|秒|초간|초|s`},
	{time.Minute, `m`},
}

var (
	durations = func() (out []form) {
		for _, u := range units {
			out = append(out, lazy(`(?i)(\d+(?:[.,]\d+)?)\s*-?\s*(?:`+u.words+`)(?:[^\p{L}\p{N}]|$`+
				`|[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}])`))
		}
		return out
	}()
	product = lazy(`^\d+(?:\s*\*\s*\d+)+$`)
	number  = lazy(`^\d+$|^\d{1,3}(?:[,_]\d{3})+$`)
	endless = lazy(`(?i)^\s*(?:none|no|n/?a|never|permanent(?:ly)?|persistent|no (?:ttl|expiry` +
		`|expiration|expire)|not set|unlimited|forever|infinite|indefinite(?:ly)?|infinit[oa]|ilimitad[oa]|∞|持久|永续|-1` +
		`|[-–—]+|(?:有効)?期限は?(?:なし|無し)|(?:无|無|没有)[过過]期|なし|無し|無期限|永続|永久|恒久|無制限|없음|영구|무기한|만료 ?없음|无|無|不过期|永不过期|永久有效|keine?r?|unbegrenzt|nie|aucune?|jamais` +
		`|illimité|ninguno|nunca|sin (?:ttl|expiraci[oó]n|caducidad)|нет|без|бессрочно|никогда|не истекает|nenhuma?|sem |nessun[oa]?|mai|senza ` +
		`|brak|nigdy|geen|nooit|yok)\b?`)
	endlessIn = lazy(`(?i)(?:no|without(?: a)?|never) (?:ttl|expir\w*)|(?:does not|doesn't|not) expire` +
		`|never deleted|ttl\s*[:=]?\s*(?:none|なし|없음|无|-1)|期限は?(?:なし|無し)|(?:无|無|没有)[过過]期|永続|無期限|持久|永久|만료 ?없음|영구|不过期|永不过期|ttlなし|ohne (?:ttl|ablauf)|keine?n? (?:ttl|ablauf|verfall)` +
		`|\b(?:stays?|kept|lives?|stored) (?:for ever|forever|indefinitely|permanently)\b` +
		`|läuft nie ab|unbegrenzt gültig|sin (?:ttl|caducidad|expiraci[oó]n)|sans (?:ttl|expiration)|se[mn]z?a? (?:ttl|expiração|validade|scadenza)|без (?:ttl|срока)|бессрочно|не истекает` +
		`|zonder (?:ttl|vervaldatum)`)
	aboutTime = lazy(`(?i)\bttl\b|expir|\bex\b|lifetime|lives? for|retention|kept for|\bfor \d` +
		`|\bafter \d|\blease\b|times? out|inactiv|有効期限|期限|保持|保存期間|失効|自動削除|만료|유지|유효|过期|過期|有效|保留|失效|ablauf|läuft|verfällt|gültig|lebensdauer|expira` +
		`|caduca|vida|durée|expire|失効|자동 ?삭제|verfällt|caducan|vence|durante|während|pendant|после|через|истека|хранит|жив[её]т|após|zera|scade|dura|por \d|per \d|wygasa|vervalt`)
)

// someTime: a number that may be a time, whatever is before it.
var someTime = lazy(`\d{2,}|\d\s*\p{L}`)

// setTime is the TTL in the command that writes a string.
var setTime = lazy(`\b(EX|PX)\s+(\d+)\b`)

// ttlIn returns the TTL that a text gives. In a TTL column any time is one; elsewhere
// the text must speak of expiry, or be a comment that is nothing but a time. A number
// alone is one in a column, by the scale of its title.
func ttlIn(text string, column bool, by scale) string {
	text = plainText(text)
	if column && endless.MatchString(text) && !someTime.MatchString(strings.TrimPrefix(strings.TrimSpace(inDigits(text)),
		"-1")) {
		return "none"
	}
	if m := setCommand.FindStringIndex(text); m != nil && !column {
		if arg := setTime.FindStringSubmatch(text[m[0]:]); arg != nil {
			return seconds(arg[2], map[string]int64{"EX": 1, "PX": 1000}[arg[1]])
		}
	}
	if !column {
		text = inDigits(text)
		if endlessIn.MatchString(text) {
			return "none"
		}
		at := aboutTime.FindStringIndex(text)
		if at == nil {
			return ""
		}
		if t := duration(text[at[0]:]); t != "" {
			return t
		}
		return duration(text)
	}
	if t := duration(text); t != "" {
		return t
	}
	if endlessIn.MatchString(text) {
		return "none"
	}
	first := strings.TrimSpace(strings.FieldsFunc(text+" ", func(r rune) bool {
		return r == '(' || r == '（' ||
			r == ';'
	})[0])
	return by.time(first)
}

// often says how often something happens, which is no TTL.
var often = lazy(
	`(?i)\b(?:once (?:per|an?|every)|every|each|alle|jede \p{L}*|a cada|cada|chaque|toutes les|tous les|ogni|elke|co|каждые?)\s+` +
		`(?:\d+(?:[.,]\d+)?\s*)?\p{L}+|(?:^|[^\p{L}])кажд\p{L}+\s+(?:\d+\s*)?\p{L}+|每\s*\d*\s*(?:秒|分钟?|小时|天)|\d+\s*(?:秒|分|時間|日)(?:ごと|毎|おき)|\d+\s*(?:초|분|시간|일)마다`)

// duration returns the longest time a text names.
func duration(text string) string {
	text = often.ReplaceAllString(inDigits(text), " ")
	var best time.Duration
	for i, form := range durations {
		for _, m := range form.FindAllStringSubmatch(text+" ", -1) {
			n, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", "."), 64)
			if err == nil && n > 0 && n < 1e9 {
				best = max(best, time.Duration(n*float64(units[i].unit)))
			}
		}
		if best > 0 && units[i].unit == time.Millisecond {
			break
		}
	}
	return write(best)
}

// seconds reads a number, or a product of numbers.
func seconds(text string, per int64) string {
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
		for _, f := range strings.Split(text, "*") {
			n, err := strconv.ParseInt(strings.TrimSpace(f), 10, 64)
			if err != nil || n <= 0 || total > 1e12/n {
				return ""
			}
			total *= n
		}
	default:
		return ""
	}
	if total <= 0 || total > 1e12 {
		return ""
	}
	return write(time.Duration(total) * time.Second / time.Duration(per))
}

// write returns a duration as a declaration has it, "" below a second.
func write(d time.Duration) string {
	if d < time.Second {
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
)

// unitTimes lists the ways in which programs give a time its unit; number and unit are the
// groups. Without a number it is one.
var unitTimes = []struct {
	form         form
	number, unit int
}{
	{lazy(begins + figures + `\s*\*\s*time\.(Second|Minute|Hour)` + ends), 1, 2},
	{lazy(begins + `time\.(Second|Minute|Hour)(?:\s*\*\s*` + figures + `)?` + ends), 2, 1},
	{lazy(`Duration\.of(Seconds|Minutes|Hours|Days)\(\s*` + figures + `\s*\)`), 2, 1},
	{lazy(begins + figures + `\s*,\s*TimeUnit\.(SECONDS|MINUTES|HOURS|DAYS)`), 1, 2},
	{lazy(`timedelta\(\s*(seconds|minutes|hours|days|weeks)\s*=\s*` + figures + `\s*\)`), 2, 1},
	{lazy(begins + `(\d+)\.(second|minute|hour|day|week)s?\b`), 1, 2},
	{lazy(`TimeSpan\.From(Seconds|Minutes|Hours|Days)\(\s*` + figures + `\s*\)`), 2, 1},
	{lazy(`Duration::from_(secs|mins|hours|days)\(\s*` + figures + `\s*\)`), 2, 1},
	{lazy(`add(Second|Minute|Hour|Day|Week)s?\(\s*(?:` + figures + `)?\s*\)`), 2, 1},
	{lazy(`ChronoUnit\.(SECONDS|MINUTES|HOURS|DAYS)\s*,\s*` + figures + ends), 2, 1},
}

// unitTime returns the time that a program gives with its unit.
func unitTime(text string) string {
	for _, t := range unitTimes {
		if m := t.form.FindStringSubmatch(text); m != nil {
			unit := goUnits[strings.TrimSuffix(strings.ToLower(m[t.unit]), "s")]
			return times(cmp.Or(m[t.number], "1"), unit)
		}
	}
	return ""
}

var (
	railsTime = lazy(`expires_in:\s*(\d[\d_]*)\s*(?:[,)]|$)`)
	exOption  = lazy(`(?i)['"]?\b(EX|PX)['"]?\s*[:=,]\s*` + figures + ends + `|((?:ttl|expire|ex` +
		`|timeout)\w*)\s*[=:]\s*` + figures + ends)
	// format!("a:{}", id), value, 60)
	numberArg = lazy(`^[^()"'=]*\)\s*(?:,\s*[\w.&]+)?\s*,\s*((?:\d[\d_]*)(?:\s*\*\s*\d+)*)\s*[,)]`)
	firstArg  = lazy(`^\s*,\s*((?:\d[\d_]*)(?:\s*\*\s*\d+)*)\s*[,)]`)
)

var goUnits = map[string]time.Duration{"second": time.Second, "minute": time.Minute, "hour": time.Hour,
	"sec": time.Second, "min": time.Minute, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour}

// ttlInCall returns the TTL among the arguments after a key.
func ttlInCall(verb, rest string) string {
	if t := unitTime(rest); t != "" {
		return t
	}
	if m := railsTime.FindStringSubmatch(rest); m != nil {
		return seconds(m[1], 1)
	}
	if m := exOption.FindStringSubmatch(rest); m != nil {
		if strings.EqualFold(m[1], "px") {
			return seconds(m[2], 1000)
		}
		if m[3] != "" {
			return scaleOf(m[3], nil).time(m[4])
		}
		return seconds(m[2], 1)
	}
	switch verb {
	case "SETEX", "EXPIRE", "REMEMBER", "PUT":
		if m := numberArg.FindStringSubmatch(rest); m != nil && strings.Count(rest[:len(m[0])], "(") <= 1 {
			return seconds(m[1], 1)
		}
		if m := firstArg.FindStringSubmatch(rest); m != nil {
			return seconds(m[1], 1)
		}
	case "PSETEX", "PEXPIRE":
		if m := firstArg.FindStringSubmatch(rest); m != nil {
			return seconds(m[1], 1000)
		}
	}
	return ""
}

// times returns a number, or a product of numbers, of a unit.
func times(n string, unit time.Duration) string {
	total := int64(1)
	for _, f := range strings.Split(strings.ReplaceAll(n, "_", ""), "*") {
		v, err := strconv.ParseInt(strings.TrimSpace(f), 10, 32)
		if err != nil || v <= 0 || total > int64(maxLifetime/unit)/v {
			return ""
		}
		total *= v
	}
	return write(time.Duration(total) * unit)
}
