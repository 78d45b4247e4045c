package answer

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"pgregory.net/rapid"
)

// TestErrorOf: dead jobs of one cause are one group, whatever numbers are in their reasons.
func TestErrorOf(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"":                                  noReason,
		"job 17 failed after 3 s":           "job N failed after N s",
		"timeout\nstack of goroutine 5":     "timeout",
		"\nsecond line":                     noReason,
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
		"a reason alone has": {DeadFilter{Error: noReason}, false},
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
		text, err := json.Marshal(scoreOf(score))
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
	if len(got.Streams) != 1 || len(got.Unread) != 1 || got.Unread[0].Entry != "odd" || paced != 3*streamCost {
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
