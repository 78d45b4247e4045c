package source_test

import (
	"math"
	"testing"
	"time"

	"github.com/keywright/keywright/source"
)

// TestLongTTLs: what a server says of a key that ends after 292 years does not become a short time.
func TestLongTTLs(t *testing.T) {
	t.Parallel()
	for ms, want := range map[int64]time.Duration{0: 0, 1: time.Millisecond,
		9_223_372_036_854: 9_223_372_036_854 * time.Millisecond,
		9_223_372_036_855: source.MaxTTL, 18_446_745_873_704: source.MaxTTL, math.MaxInt64: source.MaxTTL} {
		if got := source.TTL(ms); got != want {
			t.Errorf("%d ms: %s, want %s", ms, got, want)
		}
	}
}
