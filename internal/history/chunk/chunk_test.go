package chunk

import (
	"fmt"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/history"
)

// A chunk that is not what was written is an error, and never figures.
func TestDamagedChunksAreTold(t *testing.T) {
	t.Parallel()
	points := []history.Point{{At: time.Unix(100, 0).UTC(), Keys: 5, Bytes: -3},
		{At: time.Unix(900, 0).UTC(), Keys: 1 << 62, Violations: map[string]int64{"KW505": 3}}}
	whole := Encode(points)
	if got, err := Decode(whole); err != nil || fmt.Sprint(got) != fmt.Sprint(points) {
		t.Fatal(got, err)
	}
	for i := range whole {
		for _, flip := range []byte{1, 0x80} {
			hurt := append([]byte(nil), whole...)
			hurt[i] ^= flip
			if got, err := Decode(hurt); err == nil {
				t.Fatalf("byte %d: %v", i, got)
			}
		}
		if i > 0 {
			if got, err := Decode(whole[:i]); err == nil {
				t.Fatalf("cut at %d: %v", i, got)
			}
		}
	}
}

// A chunk that a program with a bug has written with a good checksum ends in an error.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{1, 2, 3})
	f.Add(Encode([]history.Point{{At: time.Unix(5, 0), Violations: map[string]int64{"a": 1}}})[5:])
	f.Fuzz(func(_ *testing.T, body []byte) {
		_, _ = Decode(sealed(body))
	})
}
