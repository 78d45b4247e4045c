package wording_test

import (
	"strings"
	"testing"

	"github.com/keywright/keywright/infer/page/internal/wording"
)

// TestTypeIn: the type that a text tells first, as a whole word of some language; a sorted set is no set, and the
// command that writes a string tells that.
func TestTypeIn(t *testing.T) {
	holds(t, wording.TypeIn, []row{
		{"", ""}, {"a key", ""}, {"hash", "hash"}, {"HASH", "hash"}, {"Hashes of users", "hash"}, {"hashmap", "hash"},
		{"hashed", ""},
		{"hash of lists", "hash"}, {"lists, then a hash", "list"}, {"list", "list"}, {"listed", ""}, {"FIFO", "list"},
		{"a set", "set"}, {"sets", "set"}, {"set", "set"}, {"settings", ""}, {"subset", ""}, {"reset", ""},
		{"data_set", ""},
		{"sorted set of ids", "zset"}, {"Sorted-Set", "zset"}, {"sortedsets", "zset"}, {"zset", "zset"},
		{"Z-Sets", "zset"},
		{"geo", "zset"}, {"geoset", "zset"}, {"geography", ""}, {"stream", "stream"}, {"streams", "stream"},
		{"streaming", ""},
		{"JSON", "string"}, {"a counter", "string"}, {"integer", "string"}, {"HyperLogLog", "string"},
		{"bitmap", "string"},
		{"pub/sub", "channel"}, {"pubsub channel", "channel"}, {"channels", ""},
		{"SET k v NX", "string"}, {"SETNX", "string"}, {"a set, by SETEX", "string"}, {"SET of ids", "set"},
		{"set nx", "set"},
		{"Menge", "set"}, {"sortierte Menge", "zset"}, {"Kanal", "channel"}, {"Zähler", "string"}, {"zahler", "string"},
		{"table de hachage", "hash"}, {"ensemble trié", "zset"}, {"ensemble", "set"}, {"conjunto ordenado", "zset"},
		{"lista", "list"},
		{"set ordenado", "set"}, {"хеш", "hash"}, {"хэша", "hash"}, {"упорядоченное множество", "zset"},
		{"список", "list"},
		{"ハッシュ", "hash"}, {"ソート済みセット", "zset"}, {"セット", "set"}, {"リスト", "list"}, {"文字列", "string"},
		{"有序集合", "zset"}, {"集合", "set"}, {"哈希表", "hash"}, {"해시", "hash"}, {"정렬된 집합", "zset"}, {"sıralı küme", "zset"},
		{strings.Repeat("Ⱥ", 40) + " hash", "hash"}, // small letters are longer
		{"\xff hash \xfe", "hash"},
	})
}

// TestSaysAny: a title says a word if it holds it, in letters of any size.
func TestSaysAny(t *testing.T) {
	for _, c := range []struct {
		text  string
		words []string
		want  bool
	}{
		{"", wording.KeyTitles, false}, {"Redis Key", wording.KeyTitles, true}, {"MONKEYS", wording.KeyTitles, true},
		{"How long", wording.TTLTitles, true}, {"how_long", wording.TTLTitles, false},
		{"Expiry", wording.TTLTitles, true},
		{"Schlüssel", wording.KeyTitles, true}, {"キー", wording.KeyTitles, true}, {"Datatype", wording.TypeTitles, true},
		{"Ví dụ", wording.ExampleTitles, true}, {"Ví", wording.ExampleTitles, false}, {"anything", nil, false},
		{"Pub/Sub topics", wording.ChannelTitles, true}, {"Feldname", wording.FieldTitles, true},
	} {
		if got := wording.SaysAny(c.text, c.words); got != c.want {
			t.Errorf("%q of %.3q: %v", c.text, c.words, got)
		}
	}
}

// TestGoneSections: a heading that begins with a word for what is not there says it; one that has it later does not.
func TestGoneSections(t *testing.T) {
	holds(t, wording.Gone.FindString, []row{
		{"", ""}, {"Removed", "Removed"}, {"Removed keys", "Removed "}, {"REMOVED: x", "REMOVED:"},
		{"(Deprecated) keys", "(Deprecated)"},
		{"Rejected alternatives", "Rejected "}, {"Alternatives considered", "Alternatives considered"},
		{"Planned", "Planned"},
		{"Keys, removed", ""}, {"was removed", ""}, {"Legacykeys", ""}, {"Droppedkeys", ""}, {"Entfallen", "Entfallen"},
		{"Eliminadas", "Eliminadas"}, {"廃止", "廃止"}, {"已废弃", "已废弃"}, {"예정", "예정"}, {"予定のキー", ""},
	})
}

// TestGoneIn: the words with which a line says that what it names is not there, or not yet. What is removed within a
// time is there.
func TestGoneIn(t *testing.T) {
	holds(t, wording.GoneIn, []row{
		{"", ""}, {"a:b is a hash", ""}, {"a:b (removed in 2.0)", "(removed"}, {"removed: a:b", "removed:"},
		{"a:b, deprecated since v2", "deprecated since v2"}, {"a:b is not yet implemented", "not yet implemented"},
		{"❌ a:b", "❌"}, {"do not use a:b", "do not use"}, {"Don't write a:b", "Don't write"},
		{"a:b is no longer used", "no longer used"},
		{"[was deprecated] a:b", "[was deprecated"}, {"formerly a:b", "formerly"},
		{"a:b was considered", "was considered"},
		{"we consider a:b", ""}, {"a:b is not used", ""}, {"a:b is only an example", "only an example"},
		{"nur ein Beispiel", "nur ein Beispiel"},
		{"a:b 未実装", "未実装"}, {"todo - a:b", "todo -"}, {"bad key: a:b", "bad key"}, {"a:b is removed", ""},
		{"removed after 5 minutes", ""}, {"removed in 5 minutes", ""}, {"removed in 12 hours", ""},
		{"dropped for 30 s", ""},
		{"removed in 5 minutes (planned)", "(planned"},
		{"removed in 5 minutes, deprecated since 3.1", "deprecated since 3.1"},
		{"removed in 5.0", "removed in 5.0"}, {"removed in v5", "removed in v5"}, {"removed in 5", "removed in 5"},
		{"removed in 5 releases", "removed in 5"},
	})
}

// TestStruck: what a line strikes out, in each of the forms of Markdown and HTML.
func TestStruck(t *testing.T) {
	holds(t, func(text string) string { return wording.Struck.ReplaceAllString(text, "-") }, []row{
		{"", ""}, {"a ~~b~~ c ~~d~~", "a - c -"}, {"a <s>b</s> c", "a - c"}, {"<del>b</del><strike>c</strike>", "--"},
		{"a ~~b", "a ~~b"}, {"a ~b~", "a ~b~"}, {"~~~~", "-"}, {"<s>b", "<s>b"},
	})
}

// TestIsExample: what is right before an example says that it is one.
func TestIsExample(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "e.g.": true, "(e.g. `": true, "E.G. ": true, "for example, ": true, "for example `": true,
		"such as ":   true,
		"Examples: ": true, "an example of ": false, "meg ": false, "e.g. a key ": false, "z. B. ": true, "z.B.": true,
		"par exemple ": true, "por ejemplo, ": true, "ad es. ": true, "bijv. ": true, "np. ": true, "например ": true,
		"örneğin ": true, "ví dụ ": true, "例: ": true, "例えば": true, "例如 ": true, "예: ": true,
		strings.Repeat("日", 20) + " e.g. ": true, strings.Repeat("\xff", 50) + " e.g. ": true,
	} {
		if got := wording.IsExample(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestFolded: small letters without accents, so that what people write without them is the same word.
func TestFolded(t *testing.T) {
	holds(t, wording.Folded, []row{
		{"", ""}, {"ABC", "abc"}, {"Zähler", "zahler"}, {"DURÉE", "duree"}, {"żółw", "zolw"}, {"ё", "е"},
		{"n’est", "n'est"},
		{"İki", "iki"}, {"ışık", "isik"}, {"キー", "キー"}, {"\xff", "\ufffd"},
	})
}

// TestIsDense: scripts that write words without blanks.
func TestIsDense(t *testing.T) {
	for r, want := range map[rune]bool{'a': false, 'é': false, 'ж': false, '1': false, ' ': false, '日': true,
		'キ': true, 'き': true,
		'키': true, '。': false} {
		if wording.IsDense(r) != want {
			t.Errorf("%c", r)
		}
	}
}

// TestWordsIn: the words of a title, also those that only a capital letter or a mark parts.
func TestWordsIn(t *testing.T) {
	holds(t, func(text string) string { return strings.Join(wording.WordsIn(text), "|") }, []row{
		{"", ""}, {" - ", ""}, {"TTL_ms", "TTL|ms"}, {"ttlMinutes", "ttl|Minutes"}, {"TTL2", "TTL2"},
		{"HTTPKey", "HTTPKey"},
		{"a-b c.d", "a|b|c|d"}, {"有効期限(秒)", "有効期限|秒"}, {"éÀ", "é|À"}, {"a\xffb", "a|b"},
	})
}

// TestMaxLen: how many entries a stream has at most. A time, a rate, a part of a thousand and a number that is too
// long are no lengths.
func TestMaxLen(t *testing.T) {
	holds(t, wording.MaxLen, []row{
		{"", ""}, {"maxlen", ""}, {"10000", ""}, {"MAXLEN ~ 10000", "10000"}, {"maxlen=5k", "5000"},
		{"MAXLEN 1m", "1000000"},
		{"MAXLEN 10 K.", "10000"}, {"maxlen: `1_000`", "1000"}, {"MAXLEN 0", ""}, {"MAXLEN 007", ""},
		{"MAXLEN 1000.", "1000"},
		{"maxlen 12345678901", "12345678901"}, {"maxlen 123456789012", ""}, {"maxlen 1.5k", ""}, {"maxlen 1,5m", ""},
		{"capped at 1,000 entries", "1000"}, {"trimmed to about 500", "500"}, {"limited to 5k messages", "5000"},
		{"begrenzt auf 10.000 Einträge", "10000"}, {"bounded by 1m entries", "1000000"},
		{"trimmed after 7 days", ""}, {"capped at 24h", ""}, {"trimmed after 5m", ""}, {"capped at 10 per second", ""},
		{"limited to 10/s", ""}, {"limited to 5 requests per second", ""}, {"trimmed after 7 days, MAXLEN 100", "100"},
		{"trimmed after 7 days; 500 messages are kept", "500"},
		{"500 messages are kept", "500"}, {"2k entries at most", "2000"}, {"500 messages", ""}, {"untrimmed 500", ""},
	})
}

// TestWithLength: a line about a stream says its length once.
func TestWithLength(t *testing.T) {
	for _, c := range []struct{ doc, length, want string }{
		{"", "", ""}, {"Orders.", "", "Orders."}, {"", "100", "MAXLEN 100"}, {"Orders. ", "100", "Orders; MAXLEN 100"},
		{"Orders, MAXLEN ~100", "200", "Orders, MAXLEN ~100"}, {"maxlen=5", "5", "maxlen=5"},
		{"Orders, at most 100", "100", "Orders, at most 100; MAXLEN 100"}, {"MAXLEN 0", "5", "MAXLEN 0; MAXLEN 5"},
	} {
		if got := wording.WithLength(c.doc, c.length); got != c.want {
			t.Errorf("%q with %q: %q, and not %q", c.doc, c.length, got, c.want)
		}
	}
}
