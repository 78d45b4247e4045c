package kernel_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keywrighttest"
)

// TestANewPassword: a running client goes on with another user and password,
// without a failure, on the connections it has and on new ones.
func TestANewPassword(t *testing.T) {
	brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		s.Do("ACL", "SETUSER", "first", "on", ">old", "~*", "&*", "+@all")
		s.Do("ACL", "SETUSER", "second", "on", ">new", "~*", "&*", "+@all")
		var lost atomic.Int64
		hook := keywright.Hook{Notice: func(context.Context, keywright.Notice) { lost.Add(1) }}
		c := open(t, "redis://first:old@"+s.Addr(), keywright.Options{Hooks: []keywright.Hook{hook}})
		ear := newEar()
		stop, err := c.Subscribe(t.Context(), "x", ear.listener())
		must(t, err)
		defer stop()
		class(t, c.SetCredentials("second", ""), keywright.Invalid)
		class(t, kernel.New(c.Raw(), keywright.Options{}).SetCredentials("second", "new"), keywright.Invalid)
		must(t, c.SetCredentials("second", "new"))
		users := func(name string) int { return strings.Count(fmt.Sprint(s.Do("CLIENT", "LIST")), "user="+name) }
		until(t, "what is used logs in anew", func() bool {
			must(t, note(c, "1").Set("x").Do(t.Context()))
			return users("first") <= 1 // the one that listens is not to be disturbed
		})
		if ear.gaps != 0 || lost.Load() != 0 {
			t.Errorf("%d gaps, %d lost connections", ear.gaps, lost.Load())
		}
		s.Do("ACL", "DELUSER", "first")
		s.Do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		until(t, "new connections", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			return note(c, "1").Set("y").Do(ctx) == nil
		})
		ear.await(t, "the listener is back", func() bool { return ear.gaps == 1 })
		if users("second") == 0 || users("first") != 0 {
			t.Errorf("connections of the first user: %d, of the second: %d", users("first"), users("second"))
		}
	})
}
