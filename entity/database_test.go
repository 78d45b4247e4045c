package entity

import (
	"strings"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value"
)

// An envelope says in which database an item is: a channel is shared by all.
func TestEnvelopesNameTheDatabase(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		c := open(t, s.URL()+"/3")
		heard := make(chan string, 10)
		_, err := c.Subscribe(t.Context(), "n.events", keywright.Listener{Message: func(text string) { heard <- text }})
		must(t, err)
		spec := noteSpec("n")
		events := []Event{{Mode: Publish, Channel: "n.events", Data: []Part{{Name: "id", Form: value.Quoted}}}}
		spec.OnCreate, spec.OnDelete = events, events
		notes := storeOf(c, spec)
		_, err = notes.Create(t.Context(), "1", a("k", 5))
		must(t, err)
		_, err = notes.Delete(t.Context(), "1")
		must(t, err)
		for range 2 {
			if text := <-heard; !strings.HasSuffix(text, `"data":{"id":"1"},"db":3}`) {
				t.Errorf("heard %s", text)
			}
		}
	})
}
