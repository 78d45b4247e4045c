package seal_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/value/seal"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write testdata/vectors.json again")

var _ keywright.Sealer = (*seal.Ring)(nil)

var ring = servertest.Ring

// vector represents a known answer. The file is part of the format: a text that was
// sealed once opens for ever.
type vector struct {
	Name   string `json:"name"`
	ID     string `json:"key_id"`
	Secret string `json:"secret_hex"`
	Schema string `json:"schema"`
	Key    string `json:"key_hex"`
	Field  string `json:"field"`
	Nonce  string `json:"nonce_hex"`
	Plain  string `json:"plain_hex"`
	Sealed string `json:"sealed_hex"`
}

// byHand seals as docs/encryption.md says, with nothing of the package: HKDF of
// RFC 5869 written out, and AES-256-GCM with a given nonce.
func byHand(secret []byte, id string, at keywright.Place, nonce, plain []byte) []byte {
	mac := func(key, text []byte) []byte {
		h := hmac.New(sha256.New, key)
		h.Write(text)
		return h.Sum(nil)
	}
	about := []byte{1}
	for _, part := range []string{id, at.Schema, at.Key, at.Field} {
		about = binary.BigEndian.AppendUint64(about, uint64(len(part)))
		about = append(about, part...)
	}
	derived := mac(mac([]byte("keywright seal 1"), secret), append(bytes.Clone(about), 1))
	block, _ := aes.NewCipher(derived)
	gcm, _ := cipher.NewGCM(block)
	head := append([]byte{1, byte(len(id))}, id...)
	return gcm.Seal(append(head, nonce...), nonce, plain, about)
}

var cases = []struct {
	name, id, schema, key, field, plain string
}{
	{"a field of a hash", "9f3c21d0", "shop", "user:1:settings", "phone", "+81 90 1234 5678"},
	{"a whole value", "9f3c21d0", "shop", "user:1", "", "secret"},
	{"empty text", "k", "shop", "user:1", "f", ""},
	{"bytes that are no UTF-8", "2026-11.a_B", "", "\x00\xff{x}", "", "\x00\xff\x80"},
	{"long", strings.Repeat("i", 32), strings.Repeat("s", 300), strings.Repeat("k", 1000), strings.Repeat("f", 300),
		strings.Repeat("0123456789abcdef", 300)},
}

// TestVectors: the known answers are what the description says, and open.
func TestVectors(t *testing.T) {
	t.Parallel()
	const path = "testdata/vectors.json"
	if *update {
		var all []vector
		for i, c := range cases {
			nonce := sha256.Sum256([]byte{byte(i)})
			at := keywright.Place{Schema: c.schema, Key: c.key, Field: c.field}
			all = append(all, vector{c.name, c.id, hex.EncodeToString(servertest.Secret(c.id)), c.schema,
				hex.EncodeToString([]byte(c.key)), c.field, hex.EncodeToString(nonce[:12]),
				hex.EncodeToString([]byte(c.plain)),
				hex.EncodeToString(byHand(servertest.Secret(c.id), c.id, at, nonce[:12], []byte(c.plain)))})
		}
		text, _ := json.MarshalIndent(all, "", "  ")
		if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	var all []vector
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil || len(all) != len(cases) {
		t.Fatalf("%d vectors, %v", len(all), err)
	}
	raw := func(s string) []byte { b, _ := hex.DecodeString(s); return b }
	for _, v := range all {
		at := keywright.Place{Schema: v.Schema, Key: string(raw(v.Key)), Field: v.Field}
		if got := byHand(raw(v.Secret), v.ID, at, raw(v.Nonce), raw(v.Plain)); hex.EncodeToString(got) != v.Sealed {
			t.Errorf("%s: by hand it is %x", v.Name, got)
		}
		plain, err := ring(t, v.ID).Open(at, string(raw(v.Sealed)))
		if err != nil || plain != string(raw(v.Plain)) {
			t.Errorf("%s: %q, %v", v.Name, plain, err)
		}
	}
}

var place = keywright.Place{Schema: "shop", Key: "user:1", Field: "phone"}

// TestRoundTrips: what is sealed opens at its place, also under a key that is not
// active any more, and never twice the same.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	before, after := ring(t, "old"), ring(t, "new", "old")
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		at := keywright.Place{Schema: rapid.String().Draw(t, "schema"), Key: rapid.String().Draw(t, "key"),
			Field: rapid.String().Draw(t, "field")}
		plain := string(rapid.SliceOf(rapid.Byte()).Draw(t, "plain"))
		one, err := before.Seal(at, plain)
		two, _ := before.Seal(at, plain)
		if err != nil || one == two || len(one) != len(plain)+seal.Overhead(len("old")) ||
			plain != "" && len(plain) > 3 && strings.Contains(one, plain) {
			t.Fatalf("%q %q %v", one, two, err)
		}
		if id, ok := seal.KeyID(one); !ok || id != "old" {
			t.Fatalf("%q %v", id, ok)
		}
		for _, r := range []*seal.Ring{before, after} {
			if back, err := r.Open(at, one); err != nil || back != plain {
				t.Fatalf("%q, %v", back, err)
			}
		}
	})
}

// TestEveryBitCounts: each bit of sealed texts of several lengths flipped, and
// 10,000 random changes of several bits: none opens.
func TestEveryBitCounts(t *testing.T) {
	t.Parallel()
	r := ring(t, "new", "old", "olf") // "old" with a bit flipped is a key there is
	refused := func(text []byte) {
		t.Helper()
		if _, err := r.Open(place, string(text)); err == nil {
			t.Fatalf("%x opens", text)
		}
	}
	for _, plain := range []string{"", "x", "a secret", strings.Repeat("long ", 60)} {
		sealed, err := r.Seal(place, plain)
		if err != nil {
			t.Fatal(err)
		}
		text := []byte(sealed)
		for bit := range len(text) * 8 {
			text[bit/8] ^= 1 << (bit % 8)
			refused(text)
			text[bit/8] ^= 1 << (bit % 8)
		}
		for n := range len(text) {
			refused(text[:n])
			refused(text[n+1:])
		}
		refused(append(bytes.Clone(text), 0))
	}
	sealed, _ := ring(t, "old").Seal(place, "a secret of some length")
	dice := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		text := []byte(sealed)
		for range 1 + dice.IntN(4) {
			text[dice.IntN(len(text))] ^= 1 << dice.IntN(8)
		}
		if string(text) != sealed {
			refused(text)
		}
	}
}

// TestSwaps: a text does not open anywhere but in its place, also where places
// read alike when their parts are written one after the other.
func TestSwaps(t *testing.T) {
	t.Parallel()
	r := ring(t, "new")
	places := []keywright.Place{place, {Schema: "shop2", Key: "user:1", Field: "phone"},
		{Schema: "shop", Key: "user:2", Field: "phone"}, {Schema: "shop", Key: "user:1", Field: "mail"},
		{Schema: "shop", Key: "user:1"}, {Schema: "shop", Key: "user:1phone"},
		{Schema: "shop", Key: "user", Field: ":1phone"}, {Schema: "shopuser:1", Field: "phone"},
		{Schema: "shopuser", Key: ":1", Field: "phone"},
		{Key: "shopuser:1phone"}, {}, {Schema: "shop", Field: "user:1phone"}, {Schema: "shop", Key: "user:1phon", Field: "e"},
		{Schema: "shop\x00", Key: "user:1", Field: "phone"}}
	for i, from := range places {
		sealed, err := r.Seal(from, "x")
		if err != nil {
			t.Fatal(err)
		}
		for j, to := range places {
			if _, err := r.Open(to, sealed); (err == nil) != (i == j) || err != nil && !errors.Is(err, seal.ErrForged) {
				t.Errorf("sealed for %+v, opened at %+v: %v", from, to, err)
			}
		}
	}
}

// TestReasons: why a text does not open, and no reason shows any of it.
func TestReasons(t *testing.T) {
	t.Parallel()
	const canary = "canary-in-plain-text-0123456789-0123456789"
	r, other := ring(t, "new"), ring(t, "old")
	foreign, _ := other.Seal(place, canary)
	same, err := seal.Parse(bytes.Replace(servertest.RingText("new"),
		[]byte(base64.StdEncoding.EncodeToString(servertest.Secret("new"))),
		[]byte(base64.StdEncoding.EncodeToString(servertest.Secret("else"))), 1))
	if err != nil {
		t.Fatal(err)
	}
	forged, _ := same.Seal(place, canary)
	for text, want := range map[string]error{canary: seal.ErrNotSealed, "": seal.ErrNotSealed, foreign: seal.ErrUnknownKey,
		forged: seal.ErrForged, "\x01\x03new": seal.ErrNotSealed, "\x02" + foreign[1:]: seal.ErrNotSealed} {
		plain, err := r.Open(place, text)
		if !errors.Is(err, want) || plain != "" || strings.Contains(fmt.Sprint(err), "canary") {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	r := ring(f, "new", "old")
	for _, c := range cases {
		sealed, _ := r.Seal(place, c.plain)
		f.Add(sealed)
		f.Add(string(byHand(servertest.Secret("old"), "old", place, make([]byte, 12), []byte(c.plain))))
	}
	f.Add("\x01\x00")
	f.Add("\x01\xff")
	f.Fuzz(func(t *testing.T, text string) {
		plain, err := r.Open(place, text)
		if err != nil && plain != "" {
			t.Fatal("an error with a text")
		}
		id, ok := seal.KeyID(text)
		if err == nil && (!ok || id != "new" && id != "old" || len(text) != len(plain)+seal.Overhead(len(id))) {
			t.Fatalf("%q opens", text)
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	r := ring(b, "new")
	sealed, _ := r.Seal(place, strings.Repeat("x", 100))
	b.Run("seal 100 B", func(b *testing.B) {
		for b.Loop() {
			_, _ = r.Seal(place,
				"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789")
		}
	})
	b.Run("open 100 B", func(b *testing.B) {
		for b.Loop() {
			_, _ = r.Open(place, sealed)
		}
	})
}
