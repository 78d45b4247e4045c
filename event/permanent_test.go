package event_test

import (
	"context"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
)

// TestAPermanentRefusalEndsRun: a consumer that lacks a right, or whose stream is no stream, does not stay silent for
// ever: Run ends, and says which command and which key it is.
func TestAPermanentRefusalEndsRun(t *testing.T) {
	servertest.Brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		for _, x := range []struct{ right, command string }{{"-xreadgroup", "xreadgroup"}, {"+xreadgroup", ""}} {
			s := keywrighttest.Start(t, brand)
			s.Do("ACL", "SETUSER", "mail", "on", ">secret", "+@all", "~*", "&*", x.right)
			stream := journal(as(t, s, "mail"), event.StreamConfig{})
			const key = "journal"
			if x.command == "" {
				s.Do("SET", key, "x")
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			err := stream.Run(ctx, "g", func(context.Context, event.Stored[note]) error { return nil },
				event.RunOptions[note]{})
			cancel()
			e, ok := err.(*keywright.Error)
			if !ok || e.Class != keywright.Refused || e.Command == "" || x.command != "" && e.Command != x.command ||
				e.Key != key {
				t.Errorf("%s: Run ended with %+v", x.right, err)
			}
		}
	})
}
