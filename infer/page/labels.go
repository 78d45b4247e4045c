package page

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/keywright/keywright/infer/page/internal/markdown"
	"github.com/keywright/keywright/infer/page/internal/mention"
	"github.com/keywright/keywright/infer/page/internal/program"
	"github.com/keywright/keywright/infer/page/internal/regex"
	"github.com/keywright/keywright/infer/page/internal/shape"
	"github.com/keywright/keywright/infer/page/internal/wording"
)

// Labels of lines that go on about the key named just before.
var (
	typeLabel = regex.Lazy(`(?i)^\W*(?:data ?|redis ?)?(?:type|structure|型|データ構造|타입|자료구조|类型|数据结构|typ` +
		`|tipo)\W*[:：=]\s*(.+)$`)
	ttlLabel = regex.Lazy(`(?i)^(\W*(?:cache[ -]?)?(?:ttl|超时|timeout|有效期|유효 ?시간|gültigkeit|expiración|lifetime|expir\w*|有効期限` +
		`|만료 ?(?:시간)?|过期时间|过期|ablauf|lebensdauer|dauer|duration|duración|duración|durata|caducidad|durée)(?:\s*[(\[（［][^()\[\]（）［］:：=]*[)\]）］])?)\W*[:：=]\s*(.+)$`)
	// boldLabel is a label that no colon follows: **Type** Hash.
	boldLabel = regex.Lazy(`^(\W*)\*\*([\p{L} ]+)\*\*\s+([^\s:：].*)$`)
	// rest is what follows the words for a type.
	typeEnd = regex.Lazy(`[.。;；]\s*(.+)$`)
)

// Labels may be so many lines after a key; in text as many more, if its section names no other.
const (
	attributeLines = 6
	sectionLines   = 25
)

var unlabelled = strings.NewReplacer("*", "", "`", "", `"`, "", "'", "", "_", " ")

// attribute takes a line like "TTL: 30 minutes" for the key named before it, or for the
// one that the same section names next.
func (c *collector) attribute(l string, line int) bool {
	c.named(l, line)
	l = unlabelled.Replace(boldLabel.ReplaceAllString(l, "$1$2: $3"))
	var about mention.Statement
	if m := typeLabel.FindStringSubmatch(l); m != nil && wording.TypeIn(m[1]) != "" {
		about.Type = wording.TypeIn(m[1])
		if rest := typeEnd.FindStringSubmatch(m[1]); rest != nil {
			about.TTL = wording.TTLIn(rest[1], false, 0)
		}
	} else if m := ttlLabel.FindStringSubmatch(l); m != nil {
		by := wording.ScaleOf(m[1], nil)
		if about.TTL = wording.TTLIn(strings.TrimRight(m[2], ","), true, by); about.TTL == "" {
			c.unscaled(line, m[1], m[2])
			c.untimed(line, m[1], m[2])
		}
	}
	if about.Type == "" && about.TTL == "" {
		return false
	}
	n := len(c.Found)
	if n == 0 || c.heading.line > c.Found[n-1].Line {
		if c.heading.line > 0 && line-c.heading.line <= attributeLines {
			c.ahead = mention.Statement{Type: cmp.Or(about.Type, c.ahead.Type), TTL: cmp.Or(about.TTL, c.ahead.TTL),
				Line: c.heading.line}
		}
		return false
	}
	last := &c.Found[n-1]
	if line <= last.Line || line-last.Line > attributeLines && (c.inCode || line-last.Line > sectionLines) {
		return false
	}
	if last.Type, last.TTL = cmp.Or(last.Type, about.Type), cmp.Or(last.TTL,
		about.TTL); c.inCode || program.Depth(l) > 0 ||
		bullet.MatchString(l) {
		return true
	}
	for i := n - 2; i >= 0 && c.Found[i].Line == c.Found[i+1].Line-1 && c.Found[i].TTL == "" && // a list of keys
		c.Found[i].Place >= mention.InListing && c.Found[i].Section == last.Section; i-- {
		c.Found[i].TTL = about.TTL
	}
	return true
}

// hinted takes a label above a list that tells the type of what is in it: Stream names:.
func (c *collector) hinted(l string) {
	text := strings.Trim(markdown.PlainText(l), " *_")
	switch {
	case text == "", bullet.MatchString(l), program.Depth(l) > 0:
	case strings.ContainsAny(text[len(text)-1:], ":") && len(strings.Fields(text)) < 4 && !strings.Contains(l, "`"):
		c.hint = wording.TypeIn(text)
	default:
		c.hint = ""
	}
}

// saidBelow takes a label in any language, or an item below a key and further in that speaks of
// expiry, for the key named before it.
func (c *collector) saidBelow(l string, line int) bool {
	n := len(c.Found)
	if n == 0 || strings.Contains(l, "`") || strings.TrimSpace(l) == "" {
		return false
	}
	last := &c.Found[n-1]
	if line <= last.Line || line-last.Line > attributeLines || c.heading.line > last.Line ||
		last.Place < mention.InListing {
		return false
	}
	if about := bullet.ReplaceAllString(l, ""); program.Depth(l) > 0 && wording.TTLOfRemark(about) != "" &&
		wording.HasOtherSubject(about, last.Raw) {
		c.Pass(line, about, "the time may be of something else than "+last.Raw)
		return true
	}
	if program.Depth(l) > 0 && !bullet.MatchString(l) && line <= last.Line+2 && !strings.ContainsAny(l, ":：") {
		first := strings.Fields(l)
		typ := wording.TypeIn(strings.Join(first[:min(2, len(first))], " "))
		if ttl := wording.TTLOfRemark(l); last.Type == "" && typ != "" || last.TTL == "" && ttl != "" {
			last.Type, last.TTL = cmp.Or(last.Type, typ), cmp.Or(last.TTL, ttl)
			return true
		}
	}
	label, value := labelOf(unlabelled.Replace(boldLabel.ReplaceAllString(l, "$1$2: $3")))
	last.MaxLen = cmp.Or(last.MaxLen, wording.MaxLen(l))
	switch low := wording.Folded(label); {
	case label == "":
	case last.TTL == "" && beginsWord(low, wording.TTLTitles) && !notLife.MatchString(low):
		last.TTL = wording.TTLIn(value, true, 0)
		return last.TTL != ""
	case last.Type == "" && beginsWord(low, wording.TypeTitles) && wording.TypeIn(value) != "":
		last.Type = wording.TypeIn(value)
		return true
	case valueLabel.MatchString(low) && wording.TypeIn(value) == "string":
		last.Hint = cmp.Or(last.Hint, "string")
		return true
	}
	if last.TTL == "" && bullet.MatchString(l) && program.Depth(l) > 0 {
		last.TTL = wording.TTLIn(strings.TrimSpace(l), false, 0)
		return last.TTL != ""
	}
	return false
}

// notLife are labels that only look as if they gave a TTL; valueLabel is one of the value.
var (
	notLife    = regex.Lazy(`throttl|valida|invalid|expired`)
	valueLabel = regex.Lazy(`^\W*(?:value|format|formato|valor|wert|inhalt|valeur|contenu|contenido|` +
		`valore|values?|значение|值|값)\b`)
)

// beginsWord reports whether a label has a word that begins with one of a list; where words are
// not apart, whether it holds one.
func beginsWord(low string, list []string) bool {
	words := " " + strings.Join(wording.WordsIn(low), " ")
	for _, w := range list {
		w = strings.ReplaceAll(wording.Folded(w), "_", " ")
		if strings.Contains(words, " "+w) || strings.ContainsFunc(w, wording.IsDense) && strings.Contains(low, w) {
			return true
		}
	}
	return false
}

// labelOf returns a label of at most four words, and what follows it.
func labelOf(l string) (label, value string) {
	at := strings.IndexAny(l, ":：=")
	if at < 0 {
		return "", ""
	}
	_, size := utf8.DecodeRuneInString(l[at:])
	if at+size < len(l) && size == 1 && l[at+size] != ' ' {
		return "", "" // a key
	}
	label, value = bullet.ReplaceAllString(l[:at], ""), strings.TrimSpace(l[at+size:])
	if n := len(strings.Fields(label)); n == 0 || n > 4 || value == "" {
		return "", ""
	}
	return label, value
}

// titled reads a heading that is a key and its type: feed (Sorted Set).
func (c *collector) titled(l, key string, line int, section string) bool {
	about := strings.TrimSpace(markdown.CodeSpan.ReplaceAllString(l, ""))
	typ := wording.TypeIn(about)
	if typ == "" || len(strings.Fields(about)) > 4 || mention.IsSyntax[strings.ToLower(key)] {
		return false
	}
	before := len(c.Found)
	c.Add(key, mention.Mention{Place: mention.InColumn, Line: line, Section: section, Type: typ})
	return len(c.Found) > before
}

// named takes a word that a heading names for a key, if what follows it tells its type.
func (c *collector) named(l string, line int) {
	h := c.heading
	if n := len(c.Found); h.text == "" || line <= h.line || line-h.line > attributeLines ||
		n > 0 && c.Found[n-1].Line > h.line {
		return
	}
	l = strings.NewReplacer("*", "", "`", "", "_", " ").Replace(l)
	if m := typeLabel.FindStringSubmatch(l); m != nil && wording.TypeIn(m[1]) != "" ||
		mayBeKey(h.text) && firstType(l) != "" {
		c.heading.text = ""
		c.Add(h.text, mention.Mention{Place: mention.InColumn, Line: h.line})
	}
}

// verbOrType is a word that is a type where a noun for what is in it follows, and else may be a verb: set when.
var (
	verbOrType = regex.Lazy(`(?i)^\W*(?:set|list|stream|hash|string)s?\s+(\p{L}+)`)
	ofType     = regex.Lazy(`(?i)^(?:of|with|that|which|per|for|from|by|containing|` +
		`holding|keyed|mapping|von|der|mit|aller?|` +
		`für|de|des|du|avec|con|con|di|del|com|met|van)$`)
)

// firstType returns the type that a line begins with: Sorted set of open carts.
func firstType(l string) string {
	if m := verbOrType.FindStringSubmatch(l); m != nil && !ofType.MatchString(m[1]) {
		return ""
	}
	first := strings.Fields(l)
	return wording.TypeIn(strings.Join(first[:min(2, len(first))], " "))
}

// underHeading takes what a line below a heading that is a key says of it: Hash. TTL 1 hour.
func (c *collector) underHeading(l string, line int) {
	n := len(c.Found)
	if n == 0 || c.Found[n-1].Line != c.heading.line || line <= c.heading.line ||
		line-c.heading.line > attributeLines ||
		strings.Contains(l, "`") {
		return
	}
	last := &c.Found[n-1]
	last.Type = cmp.Or(last.Type, firstType(l))
	from := 0
	for _, m := range append(sentenceEnd.FindAllStringIndex(l, -1), []int{len(l), len(l)}) {
		part := l[from:m[1]]
		from = m[1]
		switch ttl := wording.TTLIn(part, false, 0); {
		case ttl == "":
		case wording.IsOfAnother(part, last.Raw):
			c.Pass(line, part, "the time may be of something else than "+last.Raw)
		default:
			last.TTL = cmp.Or(last.TTL, ttl)
		}
	}
}

// keyLabel is a line that names a key: Key: t:{tenantId}:config.
var keyLabel = regex.Lazy(`(?i)^\W*(?:redis[ -]?|cache[ -]?)?(?:keys?|path|pattern|template|キー|키|键名?|鍵|` +
	`schlüssel|muster|clave|patrón|clé|motif|chave|padrão|chiave|sleutel|klucz|wzorzec|klíč|nyckel|ключ|шаблон` +
	`|anahtar|kunci|pola|khóa|模式|패턴|パターン)(?: ?(?:format|pattern|name|template|形式|패턴|模式))?s?[*_]*\s*[:：]\s*[*_]*\s*` +
	`["'\x60]?([^"'\x60\s]+)["'\x60]?(?:\s*(?:[(（#]|//|[—–]).*)?\s*$`)

// channelLabel is a line that names a channel; titleType is a type in brackets after a title.
var (
	channelLabel = regex.Lazy(
		`(?i)^\W*(?:channel|채널|チャンネル|チャネル|频道|頻道|kanal|canal)[*_]*\s*[:：]\s*[*_]*\s*["'\x60]?([^"'\x60\s]+)["'\x60]?\s*$`)
	titleType = regex.Lazy(`[(（]([^()（）]*)[)）]\s*$`)
)

// labelled reads a line that names a key.
func (c *collector) labelled(l string, line int, section string) bool {
	if m := channelLabel.FindStringSubmatch(l); m != nil && mayBeKey(m[1]) {
		c.Add(m[1], mention.Mention{Place: mention.InListing, Line: line, Section: section, Type: "channel"})
		return true
	}
	m := keyLabel.FindStringSubmatch(boldLabel.ReplaceAllString(l, "$1$2: $3"))
	if m == nil {
		return false
	}
	before := len(c.Found)
	if program.PlainWord.MatchString(m[1]) && !c.coded && !mention.IsSyntax[strings.ToLower(m[1])] {
		c.heading = headword{m[1], line} // a key, if its type follows
		return false
	}
	at := mention.Mention{Place: mention.InListing, Line: line, Section: section}
	if t := titleType.FindStringSubmatch(section); t != nil {
		at.Hint = wording.TypeIn(t[1])
	}
	if c.ahead.Line > 0 && c.ahead.Line == c.heading.line {
		at.Type, at.TTL = c.ahead.Type, c.ahead.TTL
		c.ahead = mention.Statement{}
	}
	c.Add(m[1], at)
	return len(c.Found) > before
}

// readBareLine reads a line of text that is a key and nothing else, or a command.
func (c *collector) readBareLine(l string, line int, section string) bool {
	t := strings.TrimSpace(l)
	before := len(c.Found)
	at := mention.Mention{Place: mention.InListing, Line: line, Section: section}
	if bare := bullet.ReplaceAllString(t, ""); !strings.Contains(bare, "`") {
		if name, args := program.ParseCommand(bare); name != "" && mayBeKey(args[0]) {
			c.code.Command(name, args, at)
			return len(c.Found) > before
		}
	}
	if s, ok := shape.Parse(t); ok && !strings.ContainsAny(t, " .,") && s.Colons() > 0 && s.Rooted() && !s.Glob {
		c.Add(t, at)
	}
	return len(c.Found) > before
}

var (
	// numberedItem begins a part of a page: 1. **Sessions**.
	numberedItem = regex.Lazy(`^\s{0,3}\d+[.)]\s+\S`)
	// bracket is a key in brackets, with what is said of it: (key: user:{id}, type: list).
	bracket = regex.Lazy(`(?i)[(（]\s*(?:key\s*[:：]\s*|key\s+)?([^\s,()（）:：]+(?::[^\s,()（）:]+)+)\s*(?:,([^()（）]*))?[)）]`)
)

// bracketed reads keys in brackets after the words for them.
func (c *collector) bracketed(l string, line int, section string) {
	if strings.Contains(l, "`") {
		return
	}
	for _, m := range bracket.FindAllStringSubmatch(l, -1) {
		s, ok := shape.Parse(m[1])
		if ok && s.Rooted() &&
			(s.Holes() > 0 && !s.Concrete() || wording.TypeIn(m[2]) != "" || strings.Contains(strings.ToLower(m[0]), "key")) {
			c.Add(m[1], mention.Mention{Place: mention.InListing, Line: line, Section: section, Type: wording.TypeIn(m[2]),
				TTL: wording.TTLOfRemark(m[2])})
		}
	}
}

// everyKey is a sentence that says what all keys begin with.
var everyKey = regex.Lazy(
	`(?i)\b(?:all|every|each)\b.*\bkeys?\b.*\b(?:begins?|starts?|prefix(?:ed)?)\b|\b(?:common|global|shared) prefix\b` +
		`|所有.*键?.*(?:前缀|开头)|(?:すべて|全て|全)の?キー.*(?:プレフィックス|接頭辞|始まる)|모든.*키.*(?:접두|시작)` +
		`|\balle\b.*(?:schlüssel|keys).*(?:beginnen|präfix)|\btodas las claves\b.*(?:empiezan|comienzan|prefijo)|\btoutes les clés\b.*(?:commencent|préfixe)`)

// says takes what a sentence says that all keys begin with: every key begins with app:{env}:.
func (c *collector) says(l string) {
	if c.common != "" || !everyKey.MatchString(l) {
		return
	}
	if list := markdown.Spans(l); len(list) == 1 && strings.HasSuffix(list[0], ":") {
		if s, ok := shape.Parse(list[0] + "x"); ok && s.Rooted() {
			c.common = list[0]
		}
	}
}

// putCommonPrefix puts what all keys begin with before those that are written without it.
// If any is written with it, all are meant to be.
func (c *collector) putCommonPrefix() {
	if c.common == "" {
		return
	}
	with, _ := shape.Parse(c.common + "x")
	for _, m := range c.Found {
		if m.Root() == with.Root() {
			return
		}
	}
	for i, m := range c.Found {
		if m.Place < mention.InListing || m.Type == "channel" {
			continue
		}
		if s, ok := shape.Parse(c.common + m.Raw); ok {
			c.Found[i].Shape = s
		}
	}
}
