package kernel_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
)

// TestAKeyOfAWrongTypeIsNamed: in the error, alone and in a batch, and never in the
// log.
func TestAKeyOfAWrongTypeIsNamed(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	var lines bytes.Buffer
	c, err := keywright.Open(t.Context(), s.URL(), keywright.Options{Logger: slog.New(slog.NewTextHandler(&lines, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s.Do("RPUSH", "page:secret", "x")
	e := &keywright.Entry{Name: "page", TTL: keywright.TTL{Policy: keywright.Undecided, Text: "any"}}
	words := value.Text(0)
	page, good := typed.NewString(keywright.Binding{Client: c, Entry: e, Key: "page:secret"}, &words),
		typed.NewString(keywright.Binding{Client: c, Entry: e, Key: "page:good"}, &words)
	_, err = page.Get().Do(t.Context())
	var b keywright.Batch
	bad, other := keywright.Queue(&b, page.Get()), keywright.Queue(&b, good.Set("x"))
	both := b.Run(t.Context())
	_, queued := bad.Result()
	for what, err := range map[string]error{"alone": err, "queued": queued, "the batch": both} {
		e, ok := errors.AsType[*keywright.Error](err)
		if !ok || e.Class != keywright.Refused || e.Key != "page:secret" ||
			!strings.Contains(err.Error(), "(key page:secret)") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := other.Result(); err != nil {
		t.Errorf("another operation of the batch: %v", err)
	}
	if text := lines.String(); strings.Contains(text, "secret") || strings.Count(text, "WRONGTYPE") != 2 {
		t.Errorf("the log: %s", text)
	}
}
