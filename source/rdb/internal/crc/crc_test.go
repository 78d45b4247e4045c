package crc

import (
	"hash/crc64"
	"math/rand/v2"
	"testing"
)

func random(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

// The standard library's CRC inverts before and after; undone, it is the peer
// that ours must agree with at every length and every split.
func TestCRCIsTheLibrarys(t *testing.T) {
	t.Parallel()
	table := crc64.MakeTable(jones)
	for _, n := range []int{0, 1, 7, 8, 9, 100, lane, 3*lane - 1, 3 * lane, 3*lane + 5, 10*lane + 3} {
		p := random(n, uint64(n))
		want := ^crc64.Update(^uint64(0), table, p)
		if got := Update(0, p); got != want {
			t.Errorf("%d bytes: %x, the library says %x", n, got, want)
		}
		for _, cut := range []int{n / 3, n / 2, n} {
			if got := Update(Update(0, p[:cut]), p[cut:]); got != want {
				t.Errorf("%d bytes cut at %d: %x, want %x", n, cut, got, want)
			}
		}
	}
}

func BenchmarkCRC(b *testing.B) {
	p := random(256<<10, 1)
	table := crc64.MakeTable(jones)
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(p)))
		for b.Loop() {
			Update(0, p)
		}
	})
	b.Run("library", func(b *testing.B) {
		b.SetBytes(int64(len(p)))
		for b.Loop() {
			crc64.Update(0, table, p)
		}
	})
}
