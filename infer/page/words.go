package page

import (
	"strconv"
	"strings"
)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// Titles of columns, in the languages of teams that were seen to keep such
// pages. A title says a word if it holds it.
var (
	keyTitles = strings.Fields("key pattern prefix キー パターン 키 패턴 键 鍵 模式 schlüssel muster clé clef motif clave " +
		"patrón namespace name 名前 이름 ключ шаблон chave padrão chiave klucz sleutel anahtar")
	exampleTitles = strings.Fields("example sample 例 예 예시 示例 beispiel exemple ejemplo")
	ttlTitles     = strings.Fields("how_long kept valid dauer 保存 ttl expir expiry lifetime retention 有効期限 期限 保持 만료 유효 " +
		"срок время_жизни хранени validade expira scadenza durata ważność vervalt süre " +
		"기간 过期 有效期 過期 失效 ablauf gültig lebensdauer laufzeit durée expiration vida caduc vigencia")
	typeTitles = strings.Fields("type typ struktur datatype structure 型 種別 データ構造 データ型 タイプ 타입 자료구조 자료형 유형 类型 數據 " +
		"数据结构 结构 datentyp tipo estructura тип структура estrutura struttura rodzaj tür")
	docTitles = strings.Fields("desc purpose usage use meaning content note comment value what 説明 用途 内容 備考 目的 설명 " +
		"описание назначение descrição descrizione opis beschrijving açıklama " +
		"용도 목적 비고 说明 描述 备注 beschreibung zweck inhalt verwendung description usage contenu descripción uso propósito")
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

// typeWords lists the words for types. That which a text has first counts.
var typeWords = []struct {
	typ  string
	form form
}{
	{"channel", lazy(`(?i)\bchannel\b|pub/?sub|チャンネル|チャネル|채널|频道|канал`)},
	{"zset", lazy(`(?i)sorted[ -_]?set|\bz-?set\b|ソート済みセット|ソート済み集合|ソートセット|정렬[ 된]*(?:집합|셋|세트)|소티드 ?셋` +
		`|有序集合|отсортированн\p{L}* множеств|упорядоченн\p{L}* множеств|insieme ordinato|sortierte|ensemble trié|conjunto ordenado|\bgeo(?:set)?\b`)},
	{"hash", lazy(`(?i)\bhash(?:es|map|table)?\b|ハッシュ|해시|哈希|散列|х[еэ]ш\p{L}*`)},
	{"stream", lazy(`(?i)\bstreams?\b|ストリーム|스트림|消息流|поток\p{L}*`)},
	{"list", lazy(`(?i)\blists?\b|リスト|리스트|列表|спис\p{L}+|\blijst\b|\bliste\b|\blista\b|\bfifo\b`)},
	{"set", lazy(`(?i)(?:^|[^\w])sets?\b(?:[^\w]|$)|セット型|集合|(?:^|\s)セット|세트|집합|\bmenge\b` +
		`|\bconjunto\b|\bensemble\b|\binsieme\b|множеств\p{L}*`)},
	{"string", lazy(`(?i)\bstrings?\b|\bjson\b|\bcounter\b|\bbitmap\b|hyperloglog|文字列|문자열|字符串` +
		`|zeichenkette|\bstringa\b|\btekst\b|chaîne|cadena|\bint(?:eger)?s?\b|カウンタ` +
		`|compteur|contador|contatore|zähler|строк\p{L}*|сч[её]тчик\p{L}*|\bincr\b|계수기|计数器`)},
}

// setCommand is the command that writes a string, in a sentence: (SET NX PX 15000).
var setCommand = lazy(`\bSET\s+(?:\S+\s+){0,2}(?:NX|XX|EX|PX)\b|\bSETNX\b|\bSETEX\b`)

// typeIn returns the type a text tells first.
func typeIn(text string) string {
	if setCommand.MatchString(text) {
		return "string"
	}
	best, at := "", len(text)+1
	for _, t := range typeWords {
		if m := t.form.FindStringIndex(text); m != nil && m[0] < at {
			best, at = t.typ, m[0]
		}
	}
	return best
}

var (
	lockWords    = set("lock locks mutex locked dlock redlock")
	channelWords = set("channel channels pubsub")

	// metaNames are placeholders that stand for a part of a naming scheme.
	metaNames = set("purpose domain resource identifier subidentifier component type namespace resourcetype module " +
		"app application service project env environment entity object objecttype subkey datatype keytype prefix suffix " +
		"category context " +
		"feature team system scope field attribute property usage sub qualifier class method period kind subtype function 用途")

	// generic are words that do not say of whom an id is.
	generic = set("info data detail details meta metadata status state result results profile settings config cache " +
		"cached lock locks list lists set sets idx index by key keys item items value count counter counts total stats " +
		"stat summary latest recent current temp tmp history log logs queue heartbeat type active pending all v1 v2")

	// schemes are words before a colon that begin something else than a key.
	schemes = set("http https redis rediss valkey ftp file jdbc mongodb postgres postgresql mysql amqp ws wss mailto " +
		"urn arn data javascript tel sha256 sha1 md5 std npm node docker localhost host port image python golang nginx " +
		"alpine ubuntu debian https git ssh tcp udp unix todo fixme note warning error info debug foreach v-on v-bind " +
		"xmlns com org io net eslint gradle maven pip gem")
	// alwaysSchemes begin nothing else whatever follows.
	alwaysSchemes = set("http https ftp file jdbc mongodb postgres postgresql mysql amqp wss mailto urn arn localhost " +
		"sha256 org com xmlns std")
	pathRoots = set("src app lib bin usr etc var home opt tmp cmd pkg internal test tests docs api node_modules " +
		"dist build public static assets v1 v2 github.com")
	portNames = set("port redis_port redisport port_number")
)

// gone are words for keys that are not there, or not yet, where a line or a
// heading says so of what it names.
var (
	goneWords = `removed|deprecated|obsolete|retired|legacy|dropped|rejected|discarded|alternatives(?: considered)?` +
		`|proposed|proposal|planned|not implemented|todo|entfernt|veraltet|entfallen|verworfen|geplant|vorgeschlagen` +
		`|eliminad[oa]s?|obsolet[oa]s?|retirad[oa]s?|rechazad[oa]s?|descartad[oa]s?|propuest[oa]s?|planead[oa]s?|廃止|却下` +
		`|削除済み?|非推奨|提案|予定|삭제됨|폐기|기각|제거됨|예정|제안|废弃|已删除|已废弃|弃用|否决|计划中|提议`
	gone     = lazy(`(?i)^\W*(?:` + goneWords + `)(?:$|[^\p{L}])`)
	goneLine = lazy(`(?i)[(\[（【]\s*(?:was\s+)?(?:` + goneWords + `)|^\W*(?:` + goneWords + `)\s*[:：–—-]|` +
		`^\W*(?:` + goneWords +
		`)\s*[(\[（]|\bnot (?:yet|currently) (?:built|implemented|used|live|in use|written|deployed|released|there)\b|` +
		`noch nicht (?:gebaut|umgesetzt|implementiert|in betrieb)|未実装|尚未实现|未实现|아직 구현|aún no (?:existe|se usa)|todavía no (?:existe|se usa)|pas encore (?:utilis|implément)|` +
		`\b(?:removed|deprecated|dropped|obsolete|planned) (?:in|since|with|for|as of) v?\d|\b(?:we|was|were) considered\b|\bdecided against\b` +
		`|\bno longer (?:used|written|exists?|there)\b|^\W*(?:formerly|previously|früher gab es|antes había|以前は|以前有|예전에는)\b|wird nicht mehr|ya no se |n'est plus|не используется|больше не ` +
		`|\b(?:only|just|merely|s[oó]lo|solamente|nur|seulement|soltanto|apenas) (?:(?:as|como|als) )?(?:an?|una?|eine?|uma?) (?:example|ejemplo|beispiel|exemple|esempio|exemplo)\b` +
		`|只是(?:一个)?(?:示例|例子)|仅(?:为|作|供)?示例|ただの例|一例にすぎ|예시일 뿐|예시에 불과`)
	struck = lazy(`~~[^~]*~~|<(?:s|del|strike)>.*?</(?:s|del|strike)>`)
)

func itoa(n int) string { return strconv.Itoa(n) }
