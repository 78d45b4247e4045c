package kernel_test

import (
	"strings"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// TestCheckWithoutInfo: a server that answers is well, also to a user that may not
// ask it about itself, as the users of `keywright acl` may not.
func TestCheckWithoutInfo(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		s := keywrighttest.Start(t, brand)
		s.Do("ACL", "SETUSER", "web", "on", ">word", "-@all", "+@connection", "~*", "&*")
		c := open(t, strings.Replace(s.URL(), "://", "://web:word@", 1), keywright.Options{})
		h, err := c.Check(t.Context())
		if err != nil || len(h.Servers) != 1 || h.Servers[0].Latency <= 0 || h.Servers[0].Version != "" {
			t.Errorf("%s: %+v %v", brand, h, err)
		}
	}
}
