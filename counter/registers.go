package counter

import (
	"errors"
	"math"
)

// registers holds those of a HyperLogLog as the servers store it, 16384 of 6 bits.
// Layout and estimate are those of hyperloglog.c: so the count here is the one
// that PFCOUNT over the same keys would give.
type registers [1 << 14]uint8

const hllHeader = 16 // "HYLL", encoding, three unused bytes, cached count

var errNoHLL = errors.New("this is no HyperLogLog")

// add takes the greater of each register. An empty text is a key that is not
// there.
func (r *registers) add(text string) error {
	switch {
	case text == "":
		return nil
	case len(text) < hllHeader || text[:4] != "HYLL" || text[4] > 1:
		return errNoHLL
	case text[4] == 0:
		return r.addDense(text[hllHeader:])
	}
	return r.addSparse(text[hllHeader:])
}

func (r *registers) addDense(bits string) error {
	if len(bits) != len(r)*6/8 {
		return errNoHLL
	}
	for i := range r {
		at, shift := i*6/8, i*6%8
		v := uint16(bits[at]) >> shift
		if shift > 2 {
			v |= uint16(bits[at+1]) << (8 - shift)
		}
		r[i] = max(r[i], uint8(v&63))
	}
	return nil
}

// addSparse reads runs: 00xxxxxx zeros, 01xxxxxx yyyyyyyy many zeros, 1vvvvvxx
// some of one value.
func (r *registers) addSparse(runs string) error {
	at := 0
	for i := 0; i < len(runs); i++ {
		b, value, n := runs[i], uint8(0), 0
		switch {
		case b&0x80 != 0:
			value, n = (b>>2)&31+1, int(b&3)+1
		case b&0x40 == 0:
			n = int(b) + 1
		case i+1 == len(runs):
			return errNoHLL
		default:
			n = (int(b&63)<<8 | int(runs[i+1])) + 1
			i++
		}
		if at+n > len(r) {
			return errNoHLL
		}
		for j := range r[at : at+n] {
			r[at+j] = max(r[at+j], value)
		}
		at += n
	}
	if at != len(r) {
		return errNoHLL
	}
	return nil
}

// count returns the estimate: O. Ertl, "New cardinality estimation algorithms for
// HyperLogLog sketches", arXiv:1702.01284, algorithm 6.
func (r *registers) count() int64 {
	const q = 50 // 64 bits of hash less 14 of index
	var histogram [64]float64
	for _, v := range r {
		histogram[v]++
	}
	m := float64(len(r))
	z := m * tau((m-histogram[q+1])/m)
	for j := q; j >= 1; j-- {
		z = 0.5 * (z + histogram[j])
	}
	z += m * sigma(histogram[0]/m)
	return int64(math.Round(0.721347520444481703680 * m * m / z))
}

func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for before := math.NaN(); before != z; {
		x = math.Sqrt(x)
		before = z
		y *= 0.5
		z -= (1 - x) * (1 - x) * y
	}
	return z / 3
}

func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for before := math.NaN(); before != z; {
		x *= x
		before = z
		z += x * y
		y += y
	}
	return z
}
