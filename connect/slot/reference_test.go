package slot

import (
	"bytes"
	"testing"

	"github.com/keywright/keywright/internal/gate"
)

// TestAgreesWithTheDefinition: slots are those of the CRC16 that the cluster
// specification defines, bit by bit, of what is between the first { and the next }.
// KEYWRIGHT_SOAK says of how many names more.
func TestAgreesWithTheDefinition(t *testing.T) {
	more, r := gate.Count(t, "KEYWRIGHT_SOAK", 0, 100_000), gate.Rand(t)
	for range 20_000 + more {
		name := make([]byte, r.IntN(24))
		for i := range name {
			if name[i] = byte(r.Uint32()); r.IntN(3) == 0 {
				name[i] = "{}{}:a#"[r.IntN(7)]
			}
		}
		if got, want := Of(name), reference(name); got != want {
			t.Fatalf("slot of %q = %d, want %d", name, got, want)
		}
	}
}

func reference(name []byte) uint16 {
	if open := bytes.IndexByte(name, '{'); open >= 0 {
		if end := bytes.IndexByte(name[open+1:], '}'); end > 0 {
			name = name[open+1 : open+1+end]
		}
	}
	var crc uint16
	for _, b := range name {
		crc ^= uint16(b) << 8
		for range 8 {
			high := crc&0x8000 != 0
			if crc <<= 1; high {
				crc ^= 0x1021
			}
		}
	}
	return crc % 16384
}
