// Package crc computes the checksum of snapshots, and of the payloads of DUMP and RESTORE.
package crc

import (
	"encoding/binary"
	"sync"
)

// The checksum of a snapshot is CRC-64 with the Jones polynomial, reflected,
// starting at 0 and not inverted at the end. It is read eight bytes at a time
// and, where there are enough, in three lanes side by side: one lane waits for
// its own tables most of the time, three fill that time. A lane's result is
// moved over the bytes that follow it by a table of its own, since CRC is linear:
// crc(a ‖ b) = shift(crc(a), len(b)) ^ crc(b).
const (
	jones = 0x95AC9329AC4BC9B5
	lane  = 8 << 10
)

type crcTables struct {
	slices [8][256]uint64 // byte i of a word, moved over the bytes that follow it
	shift  [8][256]uint64 // byte i of a CRC, moved over one lane of zeros
}

var tables = sync.OnceValue(func() *crcTables {
	t := &crcTables{}
	for i := range 256 {
		crc := uint64(i)
		for range 8 {
			crc = crc>>1 ^ jones&-(crc&1)
		}
		t.slices[0][i] = crc
	}
	for i := range 256 {
		crc := t.slices[0][i]
		for k := 1; k < 8; k++ {
			crc = t.slices[0][crc&0xff] ^ crc>>8
			t.slices[k][i] = crc
		}
	}
	zeros := make([]byte, lane)
	for i := range 8 {
		for b := 1; b < 256; b++ { // one bit by the way, more of them by their sum
			if low := b & -b; low == b {
				t.shift[i][b] = t.bytes(uint64(b)<<(8*i), zeros)
			} else {
				t.shift[i][b] = t.shift[i][low] ^ t.shift[i][b^low]
			}
		}
	}
	return t
})

// update returns the CRC of what crc is of, followed by p.
func (t *crcTables) update(crc uint64, p []byte) uint64 {
	for len(p) >= 3*lane {
		crc = t.lanes(crc, (*[lane]byte)(p), (*[lane]byte)(p[lane:]), (*[lane]byte)(p[2*lane:]))
		p = p[3*lane:]
	}
	return t.bytes(crc, p)
}

func (t *crcTables) lanes(x uint64, p, q, r *[lane]byte) uint64 {
	var y, z uint64
	s := &t.slices
	for i := 0; i < lane; i += 8 {
		x ^= binary.LittleEndian.Uint64(p[i:])
		y ^= binary.LittleEndian.Uint64(q[i:])
		z ^= binary.LittleEndian.Uint64(r[i:])
		x = s[7][byte(x)] ^ s[6][byte(x>>8)] ^ s[5][byte(x>>16)] ^ s[4][byte(x>>24)] ^ s[3][byte(x>>32)] ^ s[2][byte(x>>40)] ^
			s[1][byte(x>>48)] ^ s[0][x>>56]
		y = s[7][byte(y)] ^ s[6][byte(y>>8)] ^ s[5][byte(y>>16)] ^ s[4][byte(y>>24)] ^ s[3][byte(y>>32)] ^ s[2][byte(y>>40)] ^
			s[1][byte(y>>48)] ^ s[0][y>>56]
		z = s[7][byte(z)] ^ s[6][byte(z>>8)] ^ s[5][byte(z>>16)] ^ s[4][byte(z>>24)] ^ s[3][byte(z>>32)] ^ s[2][byte(z>>40)] ^
			s[1][byte(z>>48)] ^ s[0][z>>56]
	}
	return t.over(t.over(x)^y) ^ z
}

// over moves a CRC over one lane of zeros.
func (t *crcTables) over(crc uint64) uint64 {
	var out uint64
	for i := range 8 {
		out ^= t.shift[i][byte(crc>>(8*i))]
	}
	return out
}

func (t *crcTables) bytes(crc uint64, p []byte) uint64 {
	s := &t.slices
	for ; len(p) >= 8; p = p[8:] {
		crc ^= binary.LittleEndian.Uint64(p)
		crc = s[7][byte(crc)] ^ s[6][byte(crc>>8)] ^ s[5][byte(crc>>16)] ^ s[4][byte(crc>>24)] ^ s[3][byte(crc>>32)] ^
			s[2][byte(crc>>40)] ^ s[1][byte(crc>>48)] ^ s[0][crc>>56]
	}
	for _, b := range p {
		crc = s[0][byte(crc)^b] ^ crc>>8
	}
	return crc
}

// Update returns the checksum of some bytes and more that follow them.
func Update(crc uint64, p []byte) uint64 { return tables().update(crc, p) }
