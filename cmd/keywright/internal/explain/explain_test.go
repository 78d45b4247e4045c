package explain

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/source/server/look"
	"pgregory.net/rapid"
)

const keyspaceText = `keywright: 1
package: p
owns: ["shop:*"]
keys:
  cart: {key: "shop:cart:{user}", type: hash, ttl: 1h, doc: What a user buys., owner: web, was: ["cart:{user}"]}
  seen: {key: "shop:seen", type: set, ttl: none}
foreign: ["tmp:*"]
`

// TestFind: a key is declared, legacy, foreign, under owns, or nothing of these.
func TestFind(t *testing.T) {
	t.Parallel()
	f, err := NewLocator(declared.Keyspace(t, keyspaceText))
	expect.NoError(t, err)
	for key, want := range map[string]Located{
		"shop:cart:7":    {Status: "declared", Entry: "cart", Type: "hash", Owner: "web", Doc: "What a user buys."},
		"shop:seen":      {Status: "declared", Entry: "seen", Type: "set"},
		"cart:7":         {Status: "legacy", Entry: "cart"},
		"tmp:x":          {Status: "foreign", Glob: "tmp:*"},
		"shop:basket":    {Status: "owned", Glob: "shop:*"},
		"other":          {Status: "undeclared"},
		"shop:cart:\xff": {Status: "declared", Entry: "cart", Type: "hash", Owner: "web", Doc: "What a user buys."},
	} {
		got := f.Find([]byte(key))
		if got.Status != want.Status || got.Entry != want.Entry || got.Type != want.Type || got.Owner != want.Owner ||
			got.Doc != want.Doc || got.Glob != want.Glob {
			t.Errorf("%q: %+v", key, got)
		}
		if target, known := f.Target([]byte(key)); known != (want.Status != "undeclared") {
			t.Errorf("%q: target %+v, %t", key, target, known)
		}
	}
	if got := f.Find([]byte("shop:cart:7")); len(got.Captures) != 1 || string(got.Captures[0].Value) != "7" {
		t.Errorf("%+v", got.Captures)
	}
	if got := f.Find([]byte("shop:crat:7")); len(got.Near) == 0 || got.Near[0].Entry != "cart" {
		t.Errorf("near a wrong key: %+v", got.Near)
	}
}

// TestBytesOf: what is shown is text that JSON can have, and never a part of a character.
func TestBytesOf(t *testing.T) {
	t.Parallel()
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		whole := []byte(rapid.String().Draw(t, "text"))
		n := rapid.IntRange(0, len(whole)).Draw(t, "kept")
		got := bytesOf(look.Text{Bytes: whole[:n], Length: int64(len(whole))})
		if got.Base64 != nil || !utf8.ValidString(got.Text) || !strings.HasPrefix(string(whole), got.Text) ||
			n-len(got.Text) >= utf8.UTFMax || got.Cut != (n < len(whole)) {
			t.Errorf("%d bytes of %q: %+v", n, whole, got)
		}
	})
	if got := bytesOf(look.Text{Bytes: []byte("a\xff"), Length: 2}); string(got.Base64) != "a\xff" ||
		!utf8.ValidString(got.Text) {
		t.Errorf("%+v", got)
	}
}

// TestSealedIsNotShown: a sealed text is found where constructs put it, and plain text is not taken for one.
func TestSealedIsNotShown(t *testing.T) {
	t.Parallel()
	ring := servertest.Ring(t, "a")
	sealed, err := ring.Seal(keywright.Place{Schema: "s", Key: "k"}, "secret")
	expect.NoError(t, err)
	inJSON, err := json.Marshal(map[string]any{"phone": []byte(sealed)})
	expect.NoError(t, err)
	for name, text := range map[string]string{"alone": sealed, "of a job": "1 2 3\n" + sealed,
		"in a document": string(inJSON)} {
		v := Value{}
		if got := v.shown(look.Text{Bytes: []byte(text), Length: int64(len(text))}); !got.Sealed || got.Text != "" ||
			v.Sealed != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, text := range []string{"", "plain", "1 2 3\nplain", base64.StdEncoding.EncodeToString([]byte(keyspaceText))} {
		v := Value{}
		if got := v.shown(look.Text{Bytes: []byte(text), Length: int64(len(text))}); got.Sealed || got.Text != text {
			t.Errorf("%q is taken for a sealed text", text)
		}
	}
}

// TestMissing: an answer says what it leaves out, and says nothing when it is whole.
func TestMissing(t *testing.T) {
	t.Parallel()
	text := func(n, length int64) look.Text { return look.Text{Bytes: make([]byte, n), Length: length} }
	for name, c := range map[string]struct {
		look look.Look
		want string
	}{
		"whole": {look.Look{Facts: look.Facts{Type: "list"}, Size: 1,
			Elements: []look.Item{{Value: text(3, 3)}}}, ""},
		"elements": {look.Look{Facts: look.Facts{Type: "list"}, Size: 2000,
			Elements: []look.Item{{Value: text(3, 3)}}}, "the first 1 of 2,000 elements"},
		"bytes": {look.Look{Facts: look.Facts{Type: "string"}, Size: 9,
			Elements: []look.Item{{Value: text(3, 9)}}}, "of all texts together the first 65,536 bytes"},
		"fields": {look.Look{Facts: look.Facts{Type: "stream"}, Size: 1,
			Elements: []look.Item{{Of: 3, Fields: []look.Item{{Value: text(1, 1)}}}}},
			"of all texts together the first 65,536 bytes"},
		"a hidden text is not cut": {look.Look{Facts: look.Facts{Type: "hash"}, Size: 1,
			Elements: []look.Item{{Value: look.Text{Length: 9, Hidden: true}}}}, ""},
		"too long": {look.Look{Facts: look.Facts{Type: "list"}, Size: 2, TooLong: true,
			Elements: []look.Item{{Value: text(1, 1)}}},
			"the first 1 of 2 elements; the next element has more than 8 MiB"},
	} {
		if got := omitted(&c.look); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
