package markdown

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
)

var loaded = declared.Keyspace[string]

func generate(t testing.TB, ks *keyspace.Keyspace) (md, html string) {
	t.Helper()
	files, err := Generate(ks)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !gen.Ours(f.Text) {
			t.Errorf("%s has no marker", f.Name)
		}
	}
	return string(files[0].Text), string(files[1].Text)
}

const everything = `keywright: 1
package: shop
doc: The shop's keys.
owner: api
owns: ["user:*"]
foreign: ["bull:*"]
cluster: true
shape: "{purpose}:{id}"
vars: {purpose: user|job, id: uuid, color: red|green}
ttls: {short: 15m in 1m..24h ~10% sliding}
keys:
  user: {doc: A user., key: "user:{id}", type: hash, fields: {name: text, age: int optional}, ttl: short, readers: [mail], was: ["usr:{id}"]}
  items: {key: "job:{#items}", type: queue, ttl: none, lease: 30s, retry: 3}
  memo: {key: "user:{id}:memo", type: entity, ttl: 1h, fields: {color: color, at: unix_ms}, index: {color: "user:{#x}:{color}", color+at: "user:{#x}:at:{color}"}, emits: {create: made}, skip: [shape]}
  free: {key: "free", type: stream, ttl: any, maxlen: 9, groups: [g], skip: [shape]}
  run: {doc: Runs., type: script, file: s.lua, keys: [user], args: {n: int}, returns: int}
channels: {made: {doc: A memo was made., channel: "user:made", message: {id: id}, readers: [mail]}}
events: {changed: {doc: It changed., with: [id], deletes: [user], emits: [made]}}
cleanup: [{match: "tmp:*", idle: 1d}]
pressure: [{at: 80%, entry: memo, where: {color: red|green}, shorten: to 5m}]
janitor: {nightly: {do: clean, cron: "0 3 * * *", zone: Europe/Berlin, doc: "Old <b>temporary</b> keys."}}
migrations: {files: {doc: From files., sources: {s: {file: "u/{g}.json"}}, parts: {people: {doc: All of them., moves: [{from: "s:/{id}", to: user, with: {id: "lower({id})"}, ttl: {from: iso8601(.at)}}], gates: {compared: 7}}}}}
`

func TestEverythingIsSaid(t *testing.T) {
	md, html := generate(t, loaded(t, everything))
	for _, text := range []string{"user:{id}", "usr:{id}", "expires 15 minutes after it was last used; a writer may ask for 1 minute to 1 day; give or take 10", "never expires", "undecided", "mail", "A memo was made.", "nightly", "clean, cron 0 3 * * * (Europe/Berlin)", "bull:*", "tmp:*",
		"not touched for 1d", "memo where color is red, then green", "shorten to 5m", "u/{g}.json:/{id}", "{id} lower({id}), name .name, age .age, lives from iso8601(.at)", "at least 7 comparisons", "From files.", "All of them.", "uuid", "red|green", "HSCAN", "--scan --pattern", "job:{#items}:leases", "30s", "maxlen", "s.lua", "{purpose}:{id}"} {
		if !strings.Contains(html, strings.NewReplacer("+", "&#43;", "'", "&#39;").Replace(text)) {
			t.Errorf("the page lacks %q", text)
		}
		if plain := strings.ReplaceAll(md, `\`, ""); !strings.Contains(plain, text) {
			t.Errorf("the Markdown lacks %q", text)
		}
	}
	for _, doc := range []string{md, html} {
		if strings.Contains(doc, "redis-cli KEYS") || strings.Contains(doc, "http://") || strings.Contains(doc, "https://") || strings.Contains(doc, "src=") {
			t.Error("a dangerous command or something from elsewhere")
		}
	}
}

// TestLinks: every link leads to something in the page, and no two things have
// one name.
func TestLinks(t *testing.T) {
	texts := []string{everything, "keywright: 1\nkeys: {events: {key: e, type: set, ttl: 1d}, ttls: {key: t, type: lock, ttl: 1m}, search: {key: s, type: string, ttl: 1d}}\nchannels: {events: x}\nevents: {events: {deletes: [events]}}"}
	for _, text := range texts {
		md, html := generate(t, loaded(t, text))
		for _, doc := range []string{md, html} {
			ids := regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(doc, -1)
			var names []string
			for _, id := range ids {
				if slices.Contains(names, id[1]) {
					t.Errorf("%q is there twice", id[1])
				}
				names = append(names, id[1])
			}
			for _, to := range regexp.MustCompile(`(?:href="|\]\()#([^")]*)[")]`).FindAllStringSubmatch(doc, -1) {
				if !slices.Contains(names, to[1]) {
					t.Errorf("a link leads to %q, which is nowhere", to[1])
				}
			}
		}
	}
}

func TestTexts(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                  "plain",
		"# no heading":           `\# no heading`,
		"1. no list":             `1\. no list`,
		"- no list":              `\- no list`,
		"a*b_c`d|e<f>":           "a\\*b\\_c\\`d\\|e\\<f\\>",
		"[x](y)":                 `\[x\](y)`,
		"a\n# b\n---":            "a\n\\# b\n\\---",
		"https://x":              `https\://x`,
		"=====":                  `\=\=\=\=\=`,
		"> quote":                `\> quote`,
		"tab\tand\x1b[31m\u202e": "tab\tand\ufffd\\[31m\ufffd",
		"\\already":              `\\already`,
		"&lt;":                   `\&lt;`,
	} {
		if got := prose(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"a": "`a`", "a`b": "``a`b``", "`": "`` ` ``", "a|b": "`a\\|b`", "": "", " a ": "`  a  `", "a\nb": "`a b`"} {
		if got := code(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"a:1": "'a:1'", "it's": `'it'\''s'`, "\xff'\\\n": `$'\xff\'\\\x0a'`} {
		if got := quote([]byte(in)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// tags are the elements of the page's own template; a text adds none.
var tag = regexp.MustCompile(`<[a-zA-Z/!][^>]*>`)

// FuzzTexts: whatever is in the declaration, the page has the same elements
// as with harmless texts, and the Markdown the same lines of structure.
func FuzzTexts(f *testing.F) {
	for _, text := range []string{"</script><script>alert(1)</script>", "`", "``` \n# x", "|", "<b onclick=x>", "-->", "\x1b[31m", "\u202e", "a\n\n- b\n\n1. c", "[a](javascript:x)", "{{.}}", "\\", "]]>", "&amp;", "~~~", "'\"", "<!--"} {
		f.Add(text)
	}
	harmless := func(text string) string {
		return fmt.Sprintf("keywright: 1\npackage: p\ndoc: %q\nowner: %q\nkeys:\n  a: {doc: %q, key: %q, type: hash, fields: {%q: text}, ttl: 1d, readers: [%q]}\nchannels: {c: {doc: %q, channel: c}}\n", text, text, text, "k"+strings.Map(func(r rune) rune {
			if strings.ContainsRune("{}\\", r) {
				return '_'
			}
			return r
		}, text)+":{x}", text, text, text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.TrimSpace(text) == "" || len(text) > 500 {
			return
		}
		ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(harmless(text))}}, "k.yaml")
		if c := finding.Count(found); c.Errors > 0 || len(ks.Entries) == 0 || len(ks.Entries[0].Readers) == 0 {
			return
		}
		md, html := generate(t, ks)
		_, plain := generate(t, loaded(t, harmless("abc")))
		strip := func(doc string) []string {
			return slices.DeleteFunc(tag.FindAllString(doc, -1), func(s string) bool { return s == "<p>" || s == "</p>" || strings.HasPrefix(s, `<p class`) })
		}
		if a, b := strip(html), strip(plain); !slices.Equal(a, b) {
			t.Fatalf("%q changes the elements of the page:\n%q\n%q", text, a, b)
		}
		for line := range strings.SplitSeq(md, "\n") {
			if strings.HasPrefix(line, "|") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") > 4 {
				t.Fatalf("%q adds a column: %q", text, line)
			}
			if strings.HasPrefix(line, "#") && !regexp.MustCompile(`^#{1,3} (<a id="[a-z0-9_-]+"></a>)?\S`).MatchString(line) {
				t.Fatalf("%q makes a heading: %q", text, line)
			}
			if rest := regexp.MustCompile("`[^`]*`|``.*?``|<a id=\"[a-z0-9_-]+\"></a>|<!-- Code generated by keywright; DO NOT EDIT. -->").ReplaceAllString(line, ""); !strings.HasPrefix(line, "redis-cli") && regexp.MustCompile(`(^|[^\\])<`).MatchString(rest) && !strings.Contains(line, "``") {
				t.Fatalf("%q gets HTML into the Markdown: %q", text, line)
			}
		}
	})
}

func TestGolden(t *testing.T) {
	for i, doc := range func() []string { md, html := generate(t, loaded(t, everything)); return []string{md, html} }() {
		name := filepath.Join("testdata", []string{"everything.md.golden", "everything.html.golden"}[i])
		if os.Getenv("KEYWRIGHT_UPDATE") != "" {
			if err := os.MkdirAll("testdata", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(doc), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil || string(want) != doc {
			t.Errorf("%s is not what is generated now (%v); KEYWRIGHT_UPDATE=1 writes it", name, err)
		}
	}
}
