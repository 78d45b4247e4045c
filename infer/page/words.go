package page

import (
	"strings"
)

// Titles of columns and labels. A title says a word if it holds it.
var (
	keyTitles     = field(func(l *language) string { return l.keyTitle })
	ttlTitles     = field(func(l *language) string { return l.ttlTitle })
	typeTitles    = field(func(l *language) string { return l.typeTitle })
	docTitles     = field(func(l *language) string { return l.docTitle })
	exampleTitles = strings.Fields("example sample 例 예 예시 示例 beispiel exemple ejemplo esempio exemplo contoh örnek " +
		"przykład příklad пример приклад ví_dụ")
	fieldTitles   = strings.Fields("field フィールド 필드 字段 campo feld champ поле")
	channelTitles = strings.Fields("channel pub/sub pubsub チャンネル チャネル 채널 频道 頻道 kanal canal canaux topic")
)

func saysAny(text string, words []string) bool {
	text = strings.ToLower(text)
	for _, w := range words {
		if strings.Contains(text, strings.ReplaceAll(w, "_", " ")) {
			return true
		}
	}
	return false
}

// typeWords lists the words for types. That which a text has first counts, of two at one
// place the first of the list.
var typeWords = []struct {
	typ            string
	common, spoken form
}{
	{"channel", lazy(`(?i)\bchannel\b|pub/?sub`),
		phrases(field(func(l *language) string { return l.channel }), "", "")},
	{"zset", lazy(`(?i)sorted[ -_]?sets?|\bz-?sets?\b|\bgeo(?:set)?\b`),
		phrases(field(func(l *language) string { return l.zset }), "", "")},
	{"hash", lazy(`(?i)\bhash(?:es|map|table)?\b`),
		phrases(field(func(l *language) string { return l.hash }), "", "")},
	{"stream", lazy(`(?i)\bstreams?\b`),
		phrases(field(func(l *language) string { return l.stream }), "", "")},
	{"list", lazy(`(?i)\blists?\b|\bfifo\b`),
		phrases(field(func(l *language) string { return l.list }), "", "")},
	{"set", lazy(`(?i)(?:^|[^\w])sets?\b(?:[^\w]|$)`),
		phrases(field(func(l *language) string { return l.set }), "", "")},
	{"string", lazy(`(?i)\bstrings?\b|\bjson\b|\bcounters?\b|\bbitmap\b|hyperloglog|\bint(?:eger)?s?\b|\bincr\b`),
		phrases(field(func(l *language) string { return l.text }), "", "")},
}

// setCommand is the command that writes a string, in a sentence: (SET NX PX 15000).
var setCommand = lazy(`\bSET\s+(?:\S+\s+){0,2}(?:NX|XX|EX|PX)\b|\bSETNX\b|\bSETEX\b`)

// typeIn returns the type a text tells first.
func typeIn(text string) string {
	if setCommand.MatchString(text) {
		return "string"
	}
	best, at := "", len(text)+1
	low := folded(text)
	for _, t := range typeWords {
		for _, m := range [][]int{t.common.FindStringIndex(low), t.spoken.FindStringIndex(low)} {
			if m != nil && m[0] < at {
				best, at = t.typ, m[0]
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
	gone     = lazy(`(?i)^\W*(?:` + goneWords + `)(?:$|[^\p{L}])`)
	goneLine = lazy(`(?i)\bbad (?:key )?(?:names?|keys?)\b|\bdo(?:n't| not) (?:write|use|name)\b|❌|` +
		`[(\[（【]\s*(?:was\s+)?(?:` + goneWords + `)|^\W*(?:` + goneWords + `)\s*[:：–—-]|` +
		`^\W*(?:` + goneWords +
		`)\s*[(\[（]|\bnot (?:yet|currently) (?:built|implemented|used|live|in use|written|deployed|released|there)\b|` +
		`noch nicht (?:gebaut|umgesetzt|implementiert|in betrieb)|未実装|尚未实现|未实现|아직 구현|aún no (?:existe|se usa)|todavía no (?:existe|se usa)|pas encore (?:utilis|implément)|` +
		`\b(?:removed|deprecated|dropped|obsolete|planned) (?:in|since|with|for|as of) v?\d|\b(?:we|was|were) considered\b|\bdecided against\b` +
		`|\bno longer (?:used|written|exists?|there)\b|^\W*(?:formerly|previously|früher gab es|antes había|以前は|以前有|예전에는)\b|wird nicht mehr|ya no se |n'est plus|не используется|больше не ` +
		`|\b(?:only|just|merely|s[oó]lo|solamente|nur|seulement|soltanto|apenas) (?:(?:as|como|als) )?(?:an?|una?|eine?|uma?) (?:example|ejemplo|beispiel|exemple|esempio|exemplo)\b` +
		`|只是(?:一个)?(?:示例|例子)|仅(?:为|作|供)?示例|ただの例|一例にすぎ|예시일 뿐|예시에 불과`)
	struck = lazy(`~~[^~]*~~|<(?:s|del|strike)>.*?</(?:s|del|strike)>`)
)
