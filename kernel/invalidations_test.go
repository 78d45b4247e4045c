package kernel_test

import (
	"slices"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
)

// TestInvalidations: who has registered and then read is notified of a change, of a
// flush, and of a connection that broke.
func TestInvalidations(t *testing.T) {
	brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		for name, change := range map[string]func(){
			"written": func() { s.Do("SET", "note:1", "x") },
			"flushed": func() { s.Do("FLUSHALL") },
			"cut":     func() { s.Do("CLIENT", "KILL", "TYPE", "normal") },
		} {
			c := open(t, s.URL(), keywright.Options{Connections: -1})
			told, all := make(chan struct{}, 100), make(chan []string, 100)
			stop, ok := c.OnInvalidation("note:1", func() { told <- struct{}{} })
			stopAll, okAll := c.OnInvalidations(func(keys []string) { all <- keys })
			if !ok || !okAll {
				t.Fatal("a client of Open is not told")
			}
			if _, err := note(c, "1").Cached(time.Hour).Do(t.Context()); err != nil && err != keywright.ErrNotFound {
				t.Fatalf("%s: %v", name, err)
			}
			change()
			<-told
			if keys := <-all; name == "written" && !slices.Equal(keys, []string{"note:1"}) || name != "written" && keys != nil {
				t.Errorf("%s: told of %q", name, keys)
			}
			stop()
			stopAll()
			before := len(told) + len(all)
			_, _ = note(c, "1").Cached(time.Hour).Do(t.Context())
			s.Do("SET", "note:1", "y")
			_, _ = note(c, "1").Get().Do(t.Context()) // after the invalidation, on the same connection
			if len(told)+len(all) > before {
				t.Error("told after stop")
			}
			c.Close()
		}
		if _, ok := open(t, s.URL(), keywright.Options{NoCache: true}).OnInvalidation("note:1", func() {}); ok {
			t.Error("a client without client-side caching says that it tells")
		}
	})
}
