// Package wording reads what people say about a key, in a dozen languages: its type, how long it lives, the unit of a
// number, and that it is gone or an example. It sees texts and titles; which key they are of, its callers know.
package wording

import (
	"strings"

	"github.com/keywright/keywright/infer/page/internal/regex"
)

// Titles of columns and labels. A title says a word if it holds it.
var (
	KeyTitles     = field(func(l *language) string { return l.keyTitle })
	TTLTitles     = field(func(l *language) string { return l.ttlTitle })
	TypeTitles    = field(func(l *language) string { return l.typeTitle })
	DocTitles     = field(func(l *language) string { return l.docTitle })
	ExampleTitles = strings.Fields("example sample 例 예 예시 示例 beispiel exemple ejemplo esempio exemplo contoh örnek " +
		"przykład příklad пример приклад ví_dụ")
	FieldTitles   = strings.Fields("field フィールド 필드 字段 campo feld champ поле")
	ChannelTitles = strings.Fields("channel pub/sub pubsub チャンネル チャネル 채널 频道 頻道 kanal canal canaux topic")
)

// SaysAny reports whether a title has one of some words in it.
func SaysAny(text string, words []string) bool {
	text = strings.ToLower(text)
	for _, w := range words {
		if strings.Contains(text, strings.ReplaceAll(w, "_", " ")) {
			return true
		}
	}
	return false
}

// TypeWords lists the words for types. That which a text has first counts, of two at one
// place the first of the list.
var TypeWords = []struct {
	Type           string
	Common, Spoken regex.Form
}{
	{"channel", regex.Lazy(`(?i)\bchannel\b|pub/?sub`),
		phrases(field(func(l *language) string { return l.channel }), "", "")},
	{"zset", regex.Lazy(`(?i)sorted[ -_]?sets?|\bz-?sets?\b|\bgeo(?:set)?\b`),
		phrases(field(func(l *language) string { return l.zset }), "", "")},
	{"hash", regex.Lazy(`(?i)\bhash(?:es|map|table)?\b`),
		phrases(field(func(l *language) string { return l.hash }), "", "")},
	{"stream", regex.Lazy(`(?i)\bstreams?\b`),
		phrases(field(func(l *language) string { return l.stream }), "", "")},
	{"list", regex.Lazy(`(?i)\blists?\b|\bfifo\b`),
		phrases(field(func(l *language) string { return l.list }), "", "")},
	{"set", regex.Lazy(`(?i)(?:^|[^\w])sets?\b(?:[^\w]|$)`),
		phrases(field(func(l *language) string { return l.set }), "", "")},
	{"string", regex.Lazy(`(?i)\bstrings?\b|\bjson\b|\bcounters?\b|\bbitmap\b|hyperloglog|\bint(?:eger)?s?\b|\bincr\b`),
		phrases(field(func(l *language) string { return l.text }), "", "")},
}

// setCommand is the command that writes a string, in a sentence: (SET NX PX 15000).
var setCommand = regex.Lazy(`\bSET\s+(?:\S+\s+){0,2}(?:NX|XX|EX|PX)\b|\bSETNX\b|\bSETEX\b`)

// TypeIn returns the type a text tells first.
func TypeIn(text string) string {
	if setCommand.MatchString(text) {
		return "string"
	}
	low := Folded(text)
	best, at := "", len(low)+1
	for _, t := range TypeWords {
		for _, m := range [][]int{t.Common.FindStringIndex(low), t.Spoken.FindStringIndex(low)} {
			if m != nil && m[0] < at {
				best, at = t.Type, m[0]
			}
		}
	}
	return best
}

// gone are words for keys that are not there, or not yet, where a line or a
// heading says so of what it names.
var (
	goneWords = `removed|deprecated|obsolete|retired|legacy|dropped|rejected|discarded|alternatives(?: considered)?` +
		`|proposed|proposal|planned|not implemented|todo|entfernt|veraltet|entfallen|verworfen|geplant|vorgeschlagen` +
		`|eliminad[oa]s?|obsolet[oa]s?|retirad[oa]s?|rechazad[oa]s?|descartad[oa]s?|propuest[oa]s?|planead[oa]s?|廃止|却下` +
		`|削除済み?|非推奨|提案|予定|삭제됨|폐기|기각|제거됨|예정|제안|废弃|已删除|已废弃|弃用|否决|计划中|提议`
	Gone     = regex.Lazy(`(?i)^\W*(?:` + goneWords + `)(?:$|[^\p{L}])`)
	goneLine = regex.Lazy(`(?i)\bbad (?:key )?(?:names?|keys?)\b|\bdo(?:n't| not) (?:write|use|name)\b|❌|` +
		`[(\[（【]\s*(?:was\s+)?(?:` + goneWords + `)|^\W*(?:` + goneWords + `)\s*[:：–—-]|` +
		`^\W*(?:` + goneWords +
		`)\s*[(\[（]|\bnot (?:yet|currently) (?:built|implemented|used|live|in use|written|deployed|released|there)\b|` +
		`noch nicht (?:gebaut|umgesetzt|implementiert|in betrieb)|未実装|尚未实现|未实现|아직 구현|aún no (?:existe|se usa)|todavía no (?:existe|se usa)|pas encore (?:utilis|implément)|` +
		`\b(?:removed|deprecated|dropped|obsolete|planned) (?:in|since|with|for|as of) v?\d[\d.]*|` +
		`\b(?:we|was|were) considered\b|\bdecided against\b` +
		`|\bno longer (?:used|written|exists?|there)\b|^\W*(?:formerly|previously|früher gab es|antes había|以前は|以前有|예전에는)\b|wird nicht mehr|ya no se |n'est plus|не используется|больше не ` +
		`|\b(?:only|just|merely|s[oó]lo|solamente|nur|seulement|soltanto|apenas) (?:(?:as|como|als) )?(?:an?|una?|eine?|uma?) (?:example|ejemplo|beispiel|exemple|esempio|exemplo)\b` +
		`|只是(?:一个)?(?:示例|例子)|仅(?:为|作|供)?示例|ただの例|一例にすぎ|예시일 뿐|예시에 불과`)
	Struck = regex.Lazy(`~~[^~]*~~|<(?:s|del|strike)>.*?</(?:s|del|strike)>`)
)

// GoneIn returns the words with which a line says that what it names is gone, "" if it says none. What is removed in 5
// minutes is there.
func GoneIn(text string) string {
	for rest := text; ; {
		at := goneLine.FindStringIndex(rest)
		if at == nil {
			return ""
		}
		what := rest[at[0]:at[1]]
		number := at[0] + len(strings.TrimRight(what, "0123456789."))
		if !beginsWithTime(rest[min(number, at[1]-1):]) {
			return strings.TrimRight(what, ".")
		}
		rest = rest[at[1]:]
	}
}

// beginsWithTime reports whether a text begins with a time.
func beginsWithTime(text string) bool {
	list := TimesIn(Folded(text))
	return len(list) > 0 && list[0].from == 0
}
