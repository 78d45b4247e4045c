package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"
)

// The digest is pinned: a change of the generator is a change of every figure
// that was ever measured, and must be meant.
func TestOutputIsPinnedPerSeed(t *testing.T) {
	var first, again, other bytes.Buffer
	write(t, &first, Options{Keys: 20_000, Seed: 1})
	write(t, &again, Options{Keys: 20_000, Seed: 1})
	write(t, &other, Options{Keys: 20_000, Seed: 2})
	if !bytes.Equal(first.Bytes(), again.Bytes()) {
		t.Error("the same seed gave different bytes")
	}
	if bytes.Equal(first.Bytes(), other.Bytes()) {
		t.Error("another seed gave the same bytes")
	}
	sum := sha256.Sum256(first.Bytes())
	const want = "61d47b413e659d5a"
	if got := hex.EncodeToString(sum[:8]); got != want {
		t.Errorf("sha256 of 20,000 keys with seed 1 begins %s, want %s", got, want)
	}
}

func TestManifestAddsUp(t *testing.T) {
	m := write(t, &bytes.Buffer{}, Options{Keys: 200_000, Seed: 3})
	sum := m.Undeclared + m.Foreign
	for _, e := range m.Entries {
		sum += e.Keys
		if e.Keys == 0 {
			t.Errorf("entry %s has no keys", e.Name)
		}
	}
	if sum != int64(m.Keys) {
		t.Errorf("entries, undeclared and foreign keys sum to %d, want %d", sum, m.Keys)
	}
	for _, v := range []Violation{WrongType, MissingTTL, TTLTooLong, UnexpectedTTL} {
		if m.Total(v) < 200 {
			t.Errorf("only %d keys with %s in 200,000", m.Total(v), v)
		}
	}
	inPerMille := func(what string, n, low, high int64) {
		if share := n * 1000 / int64(m.Keys); share < low || share > high {
			t.Errorf("%s: %d per mille, want %d to %d", what, share, low, high)
		}
	}
	inPerMille("keys with TTL", m.WithTTL, 580, 620)
	inPerMille("undeclared keys", m.Undeclared, 28, 32)
	inPerMille("foreign keys", m.Foreign, 4, 6)
}

func TestNoKeys(t *testing.T) {
	if m := write(t, &bytes.Buffer{}, Options{}); m.Commands != 0 {
		t.Errorf("no keys took %d commands", m.Commands)
	}
	if _, err := Write(&bytes.Buffer{}, Options{Keys: -1}); err == nil {
		t.Error("-1 keys: want an error")
	}
}

func TestWriteReportsTheWriterError(t *testing.T) {
	full := errors.New("disk full")
	if _, err := Write(failing{full}, Options{Keys: 10_000}); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func write(t *testing.T, w *bytes.Buffer, o Options) *Manifest {
	t.Helper()
	m, err := Write(w, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
