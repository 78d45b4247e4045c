// Package packed visits the elements of values that share one string: listpacks, ziplists, intsets and zipmaps. It
// trusts no length, and knows neither a snapshot nor the kinds of values.
package packed

import (
	"encoding/binary"
	"errors"
	"math"
	"strconv"
)

// Heads of packed values: a listpack has its bytes and its entries, a ziplist
// also the offset of its tail, an intset the bytes of a number and how many.
const (
	ListpackHead = 6
	ziplistHead  = 10
	intsetHead   = 8
	MaxHead      = ziplistHead
)

// MaxWalked bounds the bytes of a packed value that is looked into.
const MaxWalked = 8 << 20

// Uncounted is the count that says: walk it.
const Uncounted = math.MaxUint16

// Packing represents a form that many elements share one string in.
type Packing struct {
	Head int
	Size func(head []byte) uint64             // in bytes, as the head has it
	N    func(head []byte) (uint64, bool)     // entries; false: walk it
	Walk func([]byte, func([]byte) bool) bool // false: makes no sense
}

// Packings lists the forms by the names of encodings.
var Packings = map[string]*Packing{
	"listpack":   {ListpackHead, size32, func(h []byte) (uint64, bool) { return short(h[4:]) }, WalkListpack},
	"listpackex": {ListpackHead, size32, func(h []byte) (uint64, bool) { return short(h[4:]) }, WalkListpack},
	"ziplist":    {ziplistHead, size32, func(h []byte) (uint64, bool) { return short(h[8:]) }, walkZiplist},
	"intset": {intsetHead, func(h []byte) uint64 {
		return intsetHead + uint64(binary.LittleEndian.Uint32(h))*uint64(binary.LittleEndian.Uint32(h[4:]))
	}, func(h []byte) (uint64, bool) { return uint64(binary.LittleEndian.Uint32(h[4:])), true }, walkIntset},
	"zipmap": {1, nil, func(h []byte) (uint64, bool) { return 2 * uint64(h[0]), h[0] < 254 }, walkZipmap},
}

func size32(h []byte) uint64 { return uint64(binary.LittleEndian.Uint32(h)) }

func short(h []byte) (uint64, bool) {
	n := binary.LittleEndian.Uint16(h)
	return uint64(n), n != Uncounted
}

// ErrPacked reports a packed value that is damaged.
var ErrPacked = errors.New("a packed value whose entries make no sense")

func walkIntset(p []byte, each func([]byte) bool) bool {
	if len(p) < intsetHead {
		return false
	}
	width := int(binary.LittleEndian.Uint32(p))
	var space [20]byte
	for p = p[intsetHead:]; len(p) >= width; p = p[width:] {
		var v int64
		switch width {
		case 2:
			v = int64(int16(binary.LittleEndian.Uint16(p)))
		case 4:
			v = int64(int32(binary.LittleEndian.Uint32(p)))
		case 8:
			v = int64(binary.LittleEndian.Uint64(p))
		default:
			return false
		}
		if !each(strconv.AppendInt(space[:0], v, 10)) {
			return true
		}
	}
	return len(p) == 0
}

// walkZipmap: a length byte per string (254: four bytes follow), and after a
// value's length one byte that says how many bytes lie unused after it.
func walkZipmap(p []byte, each func([]byte) bool) bool {
	if len(p) == 0 {
		return false
	}
	p = p[1:]
	for place := 0; len(p) > 0 && p[0] != 255; place++ {
		n, head := int(p[0]), 1
		if n == 254 {
			if len(p) < 5 {
				return false
			}
			n, head = int(binary.LittleEndian.Uint32(p[1:])), 5
		}
		free := 0
		if place%2 == 1 {
			if len(p) <= head {
				return false
			}
			free = int(p[head])
			head++
		}
		if n < 0 || n > len(p) || head+n+free > len(p) {
			return false
		}
		if !each(p[head : head+n]) {
			return true
		}
		p = p[head+n+free:]
	}
	return len(p) > 0
}

// WalkListpack visits the entries of a listpack, integers in decimal. See
// https://github.com/antirez/listpack/blob/master/listpack.md.
func WalkListpack(p []byte, each func([]byte) bool) bool {
	if len(p) < ListpackHead+1 {
		return false
	}
	p = p[ListpackHead:]
	var space [20]byte
	for len(p) > 0 && p[0] != 0xff {
		v, size := listpackEntry(p, &space)
		if size == 0 || size > len(p) {
			return false
		}
		if !each(v) {
			return true
		}
		p = p[size:]
		back := BackSize(size)
		if len(p) < back {
			return false
		}
		p = p[back:]
	}
	return len(p) > 0
}

// BackSize returns the bytes of the length after an entry, seven bits each. As the servers count them the largest
// number that two, three or four bytes could hold takes one more.
func BackSize(size int) int {
	switch {
	case size < 1<<7:
		return 1
	case size < 1<<14-1:
		return 2
	case size < 1<<21-1:
		return 3
	case size < 1<<28-1:
		return 4
	}
	return 5
}

// listpackEntry returns the entry p begins with, and its bytes without the length
// after it; 0 if it makes no sense.
func listpackEntry(p []byte, space *[20]byte) ([]byte, int) {
	b := p[0]
	body := func(head, n int) ([]byte, int) {
		if n < 0 || head+n > len(p) {
			return nil, 0
		}
		return p[head : head+n], head + n
	}
	integer := func(width int) ([]byte, int) {
		if len(p) < 1+width {
			return nil, 0
		}
		var u uint64
		for i := width; i > 0; i-- {
			u = u<<8 | uint64(p[i])
		}
		shift := 64 - 8*width
		return strconv.AppendInt(space[:0], int64(u<<shift)>>shift, 10), 1 + width
	}
	switch {
	case b < 0x80:
		return strconv.AppendInt(space[:0], int64(b), 10), 1
	case b < 0xc0:
		return body(1, int(b&0x3f))
	case b < 0xe0:
		if len(p) < 2 {
			return nil, 0
		}
		u := uint64(b&0x1f)<<8 | uint64(p[1])
		return strconv.AppendInt(space[:0], int64(u<<51)>>51, 10), 2
	case b < 0xf0:
		if len(p) < 2 {
			return nil, 0
		}
		return body(2, int(b&0x0f)<<8|int(p[1]))
	case b == 0xf0:
		if len(p) < 5 {
			return nil, 0
		}
		return body(5, int(binary.LittleEndian.Uint32(p[1:])))
	case b <= 0xf4:
		return integer([...]int{2, 3, 4, 8}[b-0xf1])
	}
	return nil, 0
}

// walkZiplist visits the entries of a ziplist. See the head of Redis'
// src/ziplist.c.
func walkZiplist(p []byte, each func([]byte) bool) bool {
	if len(p) < ziplistHead+1 {
		return false
	}
	p = p[ziplistHead:]
	var space [20]byte
	for len(p) > 0 && p[0] != 0xff {
		back := 1
		if p[0] == 0xfe {
			back = 5
		}
		if len(p) <= back {
			return false
		}
		p = p[back:]
		v, size := ziplistEntry(p, &space)
		if size == 0 || size > len(p) {
			return false
		}
		if !each(v) {
			return true
		}
		p = p[size:]
	}
	return len(p) > 0
}

func ziplistEntry(p []byte, space *[20]byte) ([]byte, int) {
	b := p[0]
	body := func(head, n int) ([]byte, int) {
		if n < 0 || head+n > len(p) {
			return nil, 0
		}
		return p[head : head+n], head + n
	}
	switch b >> 6 {
	case 0:
		return body(1, int(b))
	case 1:
		if len(p) < 2 {
			return nil, 0
		}
		return body(2, int(b&0x3f)<<8|int(p[1]))
	case 2:
		if len(p) < 5 {
			return nil, 0
		}
		return body(5, int(binary.BigEndian.Uint32(p[1:])))
	}
	if b >= 0xf1 && b <= 0xfd {
		return strconv.AppendInt(space[:0], int64(b&0x0f)-1, 10), 1
	}
	width, known := ziplistWidths[b]
	if !known || len(p) < 1+width {
		return nil, 0
	}
	var u uint64
	for i := width; i > 0; i-- {
		u = u<<8 | uint64(p[i])
	}
	shift := 64 - 8*width
	return strconv.AppendInt(space[:0], int64(u<<shift)>>shift, 10), 1 + width
}

// ziplistWidths lists the bytes of integers.
var ziplistWidths = map[byte]int{0xc0: 2, 0xd0: 4, 0xe0: 8, 0xf0: 3, 0xfe: 1}
