package kernel_test

import (
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// TestPrimaries: the servers that take writes; a replica alone is refused, since what is
// found on it would be nothing, and a login without +role is not.
func TestPrimaries(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			count := func(url string) (int, error) {
				c := open(t, url, keywright.Options{})
				all, err := c.Primaries(t.Context())
				return len(all), err
			}
			if n, err := count(s.URL()); err != nil || n != 1 {
				t.Errorf("%d, %v", n, err)
			}
			s.Do("ACL", "SETUSER", "few", "on", ">word", "~*", "+@all", "-role")
			if n, err := count("redis://few:word@" + s.Addr()); err != nil || n != 1 {
				t.Errorf("without +role: %d, %v", n, err)
			}
			s.Do("REPLICAOF", "127.0.0.1", "1")
			n, err := count(s.URL())
			if class, ok := keywright.ClassOf(err); !ok || class != keywright.Refused {
				t.Errorf("of a replica: %d, %v", n, err)
			}
			cluster := keywrighttest.StartCluster(t, brand, 3, 3)
			if n, err := count(cluster.URL()); err != nil || n != 3 {
				t.Errorf("of a cluster: %d, %v", n, err)
			}
			c := open(t, cluster.URL(), keywright.Options{})
			if !c.Clustered() || !c.CrossSlot("a", "b") || c.CrossSlot("{a}1", "{a}2") || c.CrossSlot("a") {
				t.Error("apart or not")
			}
		})
	}
}
