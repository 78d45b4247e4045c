package kernel_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/everykeys"
	"github.com/keywright/keywright/keywrighttest"
)

// TestAUserThatMayNotTrack: a client whose user may not use client-side caching works without it, and says so.
func TestAUserThatMayNotTrack(t *testing.T) {
	brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		s.Do("ACL", "SETUSER", "app", "on", ">p", "~*", "&*", "+@all", "-client|tracking")
		var log bytes.Buffer
		c := open(t, "redis://app:p@"+s.Addr(), keywright.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		h := everykeys.New(c).Str(1)
		for _, text := range []string{"a", "b"} {
			must(t, h.Set(text).Do(t.Context()))
			if got, err := h.Cached(time.Hour).Do(t.Context()); err != nil || got != text {
				t.Errorf("%q %v, want %q at once: nothing is kept", got, err, text)
			}
		}
		if _, ok := c.OnInvalidation(h.Name(), func() {}); ok {
			t.Error("it hears of changes")
		}
		if strings.Count(log.String(), "client|tracking") != 1 {
			t.Errorf("the log: %s", log.String())
		}
	})
}
