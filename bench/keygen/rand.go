// Package keygen makes keys and text for benchmarks: the same seed gives the
// same bytes on every machine and with every Go version, which is why it has a
// random generator of its own.
//
// It is not a fuzzer and not statistically strong; it is fast, and its key
// names are distinct by construction, so that "one million keys" means DBSIZE
// 1000000 without remembering which were made.
package keygen

import "math/bits"

// Rand is splitmix64. The zero value is a valid generator with seed 0.
type Rand struct{ state uint64 }

// New returns a generator for the seed.
func New(seed uint64) *Rand { return &Rand{state: seed} }

// Uint64 returns the next 64 bits.
func (r *Rand) Uint64() uint64 {
	r.state += 0x9e3779b97f4a7c15
	return mix(r.state)
}

// Below returns a number in [0, n). n must be positive.
func (r *Rand) Below(n int64) int64 {
	hi, _ := bits.Mul64(r.Uint64(), uint64(n))
	return int64(hi)
}

// Between returns a number in [low, high].
func (r *Rand) Between(low, high int64) int64 { return low + r.Below(high-low+1) }

// Chance is true in perMille of 1000 cases.
func (r *Rand) Chance(perMille int64) bool { return r.Below(1000) < perMille }

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// scatter maps serial numbers to numbers below 2^width that look unordered and
// never repeat: multiplying by an odd constant is a bijection modulo 2^width.
func scatter(serial uint64, width uint) uint64 {
	return (serial*0x9e3779b97f4a7c15 + 0x3c6ef372fe94f82b) & (1<<width - 1)
}
