package answer

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/source/server/look"
	"pgregory.net/rapid"
)

// TestErrorOf: dead jobs of one cause are one group, whatever numbers are in their reasons.
func TestErrorOf(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"":                                  NoReason,
		"job 17 failed after 3 s":           "job N failed after N s",
		"timeout\nstack of goroutine 5":     "timeout",
		"\nsecond line":                     NoReason,
		strings.Repeat("ä", longError+7):    strings.Repeat("ä", longError) + "…",
		strings.Repeat("x", longError):      strings.Repeat("x", longError),
		"dial tcp 10.0.0.17:6379: refused":  "dial tcp N.N.N.N:N: refused",
		"dial tcp 10.0.0.181:6379: refused": "dial tcp N.N.N.N:N: refused",
	} {
		if got := ErrorOf(reason); got != want {
			t.Errorf("%q is of the group %q, want %q", reason, got, want)
		}
	}
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		reason := rapid.String().Draw(t, "reason")
		group := ErrorOf(reason)
		if strings.ContainsAny(group, "0123456789\n") || group == "" || utf8.RuneCountInString(group) > longError+1 {
			t.Errorf("%q is of the group %q", reason, group)
		}
	})
}

func TestDeadFilter(t *testing.T) {
	t.Parallel()
	dead := &queue.Dead{ID: "Mail-7", Reason: "Timeout after 5 s"}
	for name, c := range map[string]struct {
		filter DeadFilter
		want   bool
	}{
		"all":                {DeadFilter{}, true},
		"the group":          {DeadFilter{Error: "Timeout after N s"}, true},
		"another group":      {DeadFilter{Error: "Timeout"}, false},
		"the id, any case":   {DeadFilter{Text: "mail-7"}, true},
		"the reason":         {DeadFilter{Text: "TIMEOUT"}, true},
		"neither":            {DeadFilter{Text: "mail-8"}, false},
		"both must be so":    {DeadFilter{Error: "Timeout after N s", Text: "mail-8"}, false},
		"both are so":        {DeadFilter{Error: "Timeout after N s", Text: "after 5"}, true},
		"a reason alone has": {DeadFilter{Error: NoReason}, false},
	} {
		if got := c.filter.Matches(dead); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestScoreOf: JSON has no infinite numbers, and a report must be JSON.
func TestScoreOf(t *testing.T) {
	t.Parallel()
	for score, want := range map[float64]string{
		1.5: `{"score":1.5}`, 0: `{"score":0}`, -2: `{"score":-2}`,
		math.Inf(1): `{"infinite":"inf"}`, math.Inf(-1): `{"infinite":"-inf"}`,
	} {
		text, err := json.Marshal(ScoreOf(score))
		if err != nil || string(text) != want {
			t.Errorf("%v: %s, %v", score, text, err)
		}
	}
}

// TestGaps: what one entry cannot do is a gap; what ends the whole run is returned.
func TestGaps(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	s.Do("SET", "text", "x")
	c := servertest.Open(t, s.URL())
	reply := c.Raw().Do(t.Context(), c.Raw().B().Llen().Key("text").Build()).Error()
	s.Do("ACL", "SETUSER", "default", "-llen")
	denied := c.Raw().Do(t.Context(), c.Raw().B().Llen().Key("text").Build()).Error()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		ends bool
	}{
		"nothing":             {t.Context(), nil, false},
		"a plain error":       {t.Context(), errors.New("odd"), false},
		"a wrong type":        {t.Context(), &keywright.Error{Class: keywright.Refused, Err: reply}, false},
		"an invalid question": {t.Context(), &keywright.Error{Class: keywright.Invalid, Err: errors.New("no")}, false},
		"no permission":       {t.Context(), &keywright.Error{Class: keywright.Refused, Err: denied}, true},
		"no server":           {t.Context(), &keywright.Error{Class: keywright.Retryable, Err: errors.New("EOF")}, true},
		"the caller has left": {ended, errors.New("odd"), true},
	} {
		var g Gaps
		err := g.Pass(c.ctx, "jobs", "jobs:1", c.err)
		if (err != nil) != c.ends || len(g.Unread) > 0 != (c.err != nil && !c.ends) {
			t.Errorf("%s: %v, gaps %v", name, err, g.Unread)
		}
	}
	var g Gaps
	long := "ERR no script: " + strings.Repeat("0f", 20) + ", on @user_script:12."
	expect.NoError(t, g.Pass(t.Context(), "jobs", "a b", errors.New(long)))
	if got := g.Unread[0].String(); strings.Contains(got, "0f0f") || !strings.HasPrefix(got, `jobs (`) {
		t.Error(got)
	}
}

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
		if got := missing(&c.look); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestReadStreams: a stream that is gone is left out, and a key of another type is a gap; the others are read.
func TestReadStreams(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	s.Do("XADD", "a", "1-1", "f", "v")
	s.Do("XADD", "a", "2-1", "f", "v")
	s.Do("XGROUP", "CREATE", "a", "g", "0")
	s.Do("XREADGROUP", "GROUP", "g", "c", "COUNT", "1", "STREAMS", "a", ">")
	s.Do("SET", "text", "x")
	paced := 0
	r := &Reader{Client: servertest.Open(t, s.URL()),
		Pace: func(_ context.Context, n int) error { paced += n; return nil }}
	got, err := r.ReadStreams(t.Context(), []string{"a", "gone", "text"}, map[string]string{"a": "events", "text": "odd"})
	expect.NoError(t, err)
	if len(got.Streams) != 1 || len(got.Unread) != 1 || got.Unread[0].Entry != "odd" || paced != 3*StreamCost {
		t.Fatalf("%+v, %d commands", got, paced)
	}
	one := got.Streams[0]
	if one.Entry != "events" || one.Length != 2 || one.LastID != "2-1" || len(one.Groups) != 1 {
		t.Fatalf("%+v", one)
	}
	if g := one.Groups[0]; string(g.Name) != "g" || g.Consumers != 1 || g.Pending != 1 || g.LastID != "1-1" ||
		g.Lag == nil || *g.Lag != 1 {
		t.Errorf("%+v", g)
	}
	r.Pace = func(context.Context, int) error { return errors.New("too busy") }
	if _, err := r.ReadStreams(t.Context(), []string{"a"}, nil); err == nil {
		t.Error("the pace is not asked")
	}
}
