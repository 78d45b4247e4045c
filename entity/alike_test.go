package entity

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value"
	"pgregory.net/rapid"
)

// alike represents one and the same done by two stores: one has the script `put`, one
// writes all by `write`.
type alike struct {
	t      *rapid.T
	s      *keywrighttest.Server
	stores map[string]*Store[string, note]
}

func newAlike(t *testing.T, s *keywrighttest.Server) alike {
	w := alike{s: s, stores: map[string]*Store[string, note]{}}
	c := open(t, s.URL())
	for _, prefix := range []string{"p", "w"} {
		spec := noteSpec(prefix)
		spec.OnCreate = []Event{{Mode: Publish, Channel: prefix + ":made",
			Data: []Part{{Name: "id", Form: value.Quoted}, {Name: "text", Field: "text", Form: value.Quoted},
				{Name: "due", Field: "due", Form: value.Bare}}}}
		w.stores[prefix] = storeOf(c, spec)
	}
	w.stores["w"].writer.Putter = nil
	return w
}

func (w alike) note() note {
	n := note{
		Kind:     rapid.SampledFrom([]string{"a", "b"}).Draw(w.t, "kind"),
		Context:  rapid.SampledFrom([]string{"x", "y"}).Draw(w.t, "context"),
		Priority: rapid.Int64Range(1, 3).Draw(w.t, "priority"),
		Text: rapid.SampledFrom([]string{"", "=", "a\"\n$1--", "é", "a/b\\\x00\x1f\x7f\t", "\u2028<&>\xff"}).Draw(w.t,
			"text"),
	}
	if rapid.Bool().Draw(w.t, "has due") {
		due := time.UnixMilli(rapid.Int64Range(1, 1<<40).Draw(w.t, "due"))
		n.Due = &due
	}
	return n
}

// both does the same with both stores, which must answer alike.
func (w alike) both(do func(*Store[string, note]) error) {
	var answers []string
	for _, prefix := range []string{"p", "w"} {
		err, text := do(w.stores[prefix]), "done"
		switch {
		case errors.Is(err, ErrExists), errors.Is(err, ErrVersion), errors.Is(err, keywright.ErrNotFound):
			text = "refused"
		case err != nil:
			w.t.Fatal(err)
		}
		answers = append(answers, text)
	}
	if answers[0] != answers[1] {
		w.t.Fatalf("%v", answers)
	}
}

func (w alike) Step() {
	ctx, id, n := w.t.Context(), rapid.SampledFrom([]string{"1", "2"}).Draw(w.t, "id"), w.note()
	switch rapid.IntRange(0, 7).Draw(w.t, "step") {
	case 0, 1:
		w.both(func(s *Store[string, note]) error { _, err := s.Create(ctx, id, n); return err })
	case 2, 3:
		w.both(func(s *Store[string, note]) error {
			_, err := s.Put(ctx, id, n, keywright.ExpiresIn(2*time.Hour))
			return err
		})
	case 4:
		w.both(func(s *Store[string, note]) error { _, err := s.Replace(ctx, id, n); return err })
	case 5:
		w.both(func(s *Store[string, note]) error {
			item, err := s.Get(ctx, id)
			if err == nil {
				item.Value.Kind, item.Value.Due = n.Kind, n.Due
				_, err = s.Save(ctx, item)
			}
			return err
		})
	case 6:
		w.both(func(s *Store[string, note]) error {
			_, err := s.Update(ctx, id, setKind.Set(n.Kind), setDue.Unset())
			return err
		})
	case 7:
		w.both(func(s *Store[string, note]) error { w.s.Do("DEL", s.core.Key(id)); return nil }) // its end
	}
}

var moment = regexp.MustCompile(`\b1[0-9]{12,15}\b`)

// left returns all that a store has left on the server, without moments.
func (w alike) left(prefix string) (out []string) {
	for _, key := range keysOf(w.s, prefix+":") {
		var texts []string
		read := map[string][]string{"hash": {"HGETALL", key},
			"zset": {"ZRANGE", key, "0", "-1", "WITHSCORES"}}[fmt.Sprint(w.s.Do("TYPE", key))]
		for _, text := range w.s.Do(read...).([]any) {
			texts = append(texts, moment.ReplaceAllString(fmt.Sprint(text), "t"))
		}
		slices.Sort(texts)
		hours := (w.s.Do("PTTL", key).(int64) + 60_000) / 3_600_000
		for i := range texts { // a record has the names of keys
			texts[i] = strings.NewReplacer("|"+prefix+":", "|:").Replace(texts[i])
		}
		out = append(out, fmt.Sprintf("%s %q %dh", strings.TrimPrefix(key, prefix), texts, hours))
	}
	slices.Sort(out)
	return out
}

// toldOf returns the messages of a store, without moments.
func toldOf(lines []string, prefix string) (out []string) {
	for _, line := range lines {
		if _, text, ok := strings.Cut(line, `"`+prefix+`:made"`); ok && strings.Contains(line, `lua] "PUBLISH"`) {
			out = append(out, moment.ReplaceAllString(text, "t"))
		}
	}
	return out
}

// TestAlike: the quicker script leaves what the other leaves, and tells the same.
func TestAlike(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		w := newAlike(t, s)
		rapid.Check(gate.Fixed(t), func(rt *rapid.T) {
			s.Do("FLUSHALL")
			w.t = rt
			stop := s.Monitor()
			for range rapid.IntRange(1, 12).Draw(rt, "steps") {
				w.Step()
			}
			lines := stop()
			for what, got := range map[string][2][]string{"state": {w.left("p"), w.left("w")},
				"events": {toldOf(lines, "p"), toldOf(lines, "w")}} {
				if !slices.Equal(got[0], got[1]) {
					rt.Fatalf("%s:\n%s\n\n%s", what, strings.Join(got[0], "\n"), strings.Join(got[1], "\n"))
				}
			}
		})
	})
}
