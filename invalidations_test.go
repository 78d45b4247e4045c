package keywright_test

import (
	"slices"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
)

// TestInvalidations: who has registered and then read is told of a change, of a
// flush, and of a connection that broke.
func TestInvalidations(t *testing.T) {
	brands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := keywrighttest.Start(t, brand)
		c := open(t, s.URL(), keywright.Options{})
		told, all := make(chan struct{}, 100), make(chan []string, 100)
		stop, ok := c.OnInvalidation("note:1", func() { told <- struct{}{} })
		stopAll, okAll := c.OnInvalidations(func(keys []string) { all <- keys })
		if !ok || !okAll {
			t.Fatal("a client of Open is not told")
		}
		for name, change := range map[string]func(){
			"written": func() { s.Do("SET", "note:1", "x") },
			"flushed": func() { s.Do("FLUSHALL") },
			"cut":     func() { s.Do("CLIENT", "KILL", "TYPE", "normal") },
		} {
			if _, err := note(c, "1").Cached(t.Context(), time.Hour); err != nil && err != keywright.ErrNotFound {
				t.Fatalf("%s: %v", name, err)
			}
			change()
			<-told
			var want []string // a flush and a cut, of which each connection tells: nil
			if name == "written" {
				want = []string{"note:1"}
			}
			for keys := range all {
				if slices.Equal(keys, want) && (keys == nil) == (want == nil) {
					break
				}
			}
		}
		stop()
		stopAll()
		before := len(told) + len(all)
		_, _ = note(c, "1").Cached(t.Context(), time.Hour)
		s.Do("SET", "note:1", "y")
		_, _ = note(c, "1").Get(t.Context()) // behind the invalidation on the same connection
		if len(told)+len(all) > before {
			t.Error("told after stop")
		}
		if _, ok := open(t, s.URL(), keywright.Options{NoCache: true}).OnInvalidation("note:1", func() {}); ok {
			t.Error("a client without client-side caching says that it tells")
		}
	})
}
