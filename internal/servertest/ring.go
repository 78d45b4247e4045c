package servertest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/value/seal"
)

// Secret returns the secret of a key of a ring: the same for the same id.
func Secret(id string) []byte {
	sum := sha256.Sum256([]byte("test key " + id))
	return sum[:]
}

// RingText returns a file with a ring: its active key and others.
func RingText(active string, ids ...string) []byte {
	keys := map[string]string{}
	for _, id := range append(ids, active) {
		keys[id] = base64.StdEncoding.EncodeToString(Secret(id))
	}
	text, _ := json.Marshal(map[string]any{"ring": 1, "active": active, "keys": keys})
	return text
}

// Ring returns the ring of RingText.
func Ring(t testing.TB, active string, ids ...string) *seal.Ring {
	t.Helper()
	r, err := seal.Parse(RingText(active, ids...))
	expect.NoError(t, err)
	return r
}
