package keyspace_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
)

func declaration(t testing.TB, keys string) *keyspace.Keyspace {
	t.Helper()
	text := "keywright: 1\npackage: p\nvars: {n: int}\nkeys:\n" + keys
	ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(text)}}, "k.yaml")
	for _, f := range found {
		if f.Severity.String() == "error" {
			t.Fatal(f)
		}
	}
	return ks
}

// TestNear: a key that nothing declares is held against what may have been meant.
func TestNear(t *testing.T) {
	near := keyspace.NewNear(declaration(t, `
  album: {key: "album:{id}", type: string, ttl: none}
  detail: {key: "cache:product:detail:{id}", type: string, ttl: 1h}
  session: {key: "session_{id}", type: string, ttl: 1h}
  number: {key: "order:{n}:lines", type: list, ttl: none}
  short: {key: "a:{id}", type: string, ttl: none}
  lock: {key: "issue_lock_{id}", type: string, ttl: 3s}
  pair: {key: "app:a:{id}", type: string, ttl: none}
  any: {key: "{x}:{y}:{z}:{w}:{v}", type: string, ttl: none}
`))
	for key, want := range map[string]string{
		"albun:7":                           "album", // a typo in the only word
		"ablum:7":                           "album", // two letters that changed places are one mistake
		"albmu:7":                           "album",
		"blaum:7":                           "", // three that changed places are two
		"albums:7":                          "album",
		"lbum:7":                            "album",
		"album":                             "",
		"alpine:7":                          "",
		"cache:prodct:detail:7":             "detail",
		"cache:product:detail:7:extra":      "detail", // a segment too many
		"cache:product:7":                   "",       // a word is missing
		"cahce:product:detail:7":            "detail",
		"sesion_9":                          "session",
		"session-9":                         "session",
		"order:x7:lines":                    "number", // its placeholder does not take this
		"order:7:line":                      "number",
		"isue_lock_7":                       "lock",
		"bpp:z:1":                           "",
		"b:7":                               "", // one letter says nothing
		"":                                  "",
		"\xff\xfe":                          "",
		"\u0430lbum:7":                      "album", // a twin that looks alike is one mistake, however many bytes it has
		"al\u200bbum:7":                     "album", // and so is a letter that is not seen
		"\uff41lbum:7":                      "album",
		"\xfflbum:7":                        "album",
		"albun:" + strings.Repeat("x", 400): "album",
	} {
		got := ""
		if found := near.To([]byte(key), 1); len(found) > 0 {
			got = found[0].Name
		}
		if got != want {
			t.Errorf("%q is near %q, not %q", key, got, want)
		}
	}
}

// BenchmarkNear is what one key costs against many declared ones.
func BenchmarkNear(b *testing.B) {
	var keys strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&keys, "  e%d: {key: \"shop:area%d:item:{id}\", type: string, ttl: none}\n", i, i)
	}
	near := keyspace.NewNear(declaration(b, keys.String()))
	b.ResetTimer()
	for b.Loop() {
		near.To([]byte("shop:aera77:item:123"), 3)
	}
}
