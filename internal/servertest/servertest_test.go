package servertest_test

import (
	"strconv"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
)

// TestClients: each brand has a server of its own, and a client that reaches it.
func TestClients(t *testing.T) {
	servertest.Clients(t, func(t *testing.T, s *keywrighttest.Server, c *keywright.Client) {
		health, err := c.Check(t.Context())
		if err != nil || len(health.Servers) != 1 || health.Servers[0].Address != s.Addr() {
			t.Errorf("%+v, %v", health, err)
		}
		servertest.Press(t, s, 0.5)
		full, err := c.Memory(t.Context())
		if err != nil || full[0].Max < full[0].Used || full[0].Max > 4*full[0].Used {
			t.Errorf("half full: %+v, %v", full, err)
		}
		if used, _ := strconv.Atoi(s.Info("used_memory")); used == 0 {
			t.Error("no memory is used")
		}
	})
}

// TestRing: the same keys make the same ring, and what one key has sealed a ring that has it opens.
func TestRing(t *testing.T) {
	at := keywright.Place{Schema: "s", Key: "k"}
	text, err := servertest.Ring(t, "old").Seal(at, "secret")
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := servertest.Ring(t, "new", "old").Open(at, text); err != nil || plain != "secret" {
		t.Errorf("%q, %v", plain, err)
	}
	if _, err := servertest.Ring(t, "new").Open(at, text); err == nil {
		t.Error("a ring opens what it has no key for")
	}
}
