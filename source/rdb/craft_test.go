package rdb_test

import (
	"encoding/binary"
	"hash/crc64"
	"math"
	"strconv"
)

// craft writes snapshots by hand: of versions and types that no server here
// writes, and broken ones.
type craft struct{ b []byte }

func snapshot(magic string) *craft { return &craft{[]byte(magic)} }

func (c *craft) raw(p ...byte) *craft { c.b = append(c.b, p...); return c }

func (c *craft) len(n uint64) *craft {
	switch {
	case n < 1<<6:
		return c.raw(byte(n))
	case n < 1<<14:
		return c.raw(0x40|byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		c.b = binary.BigEndian.AppendUint32(append(c.b, 0x80), uint32(n))
	default:
		c.b = binary.BigEndian.AppendUint64(append(c.b, 0x81), n)
	}
	return c
}

func (c *craft) str(s string) *craft {
	c.len(uint64(len(s)))
	c.b = append(c.b, s...)
	return c
}

func (c *craft) u64(n uint64) *craft { c.b = binary.LittleEndian.AppendUint64(c.b, n); return c }

func (c *craft) aux(k, v string) *craft { return c.raw(250).str(k).str(v) }

func (c *craft) db(n uint64) *craft { return c.raw(254).len(n) }

// key begins a key of a type.
func (c *craft) key(typ byte, name string) *craft { return c.raw(typ).str(name) }

// end closes the snapshot with its checksum.
func (c *craft) end() []byte {
	c.raw(255)
	crc := ^crc64.Update(^uint64(0), crc64.MakeTable(0x95AC9329AC4BC9B5), c.b)
	return c.u64(crc).b
}

// open closes it without.
func (c *craft) open() []byte { return c.raw(255).u64(0).b }

// lzf compresses as badly as LZF may: literals only.
func (c *craft) lzf(s string) *craft {
	var packed []byte
	for rest := s; rest != ""; {
		n := min(len(rest), 32)
		packed = append(append(packed, byte(n-1)), rest[:n]...)
		rest = rest[n:]
	}
	c.raw(0xc3).len(uint64(len(packed))).len(uint64(len(s)))
	c.b = append(c.b, packed...)
	return c
}

func listpack(entries ...string) string {
	var body []byte
	for _, e := range entries {
		start := len(body)
		if n, err := strconv.ParseInt(e, 10, 64); err == nil && strconv.FormatInt(n, 10) == e {
			body = appendListpackInt(body, n)
		} else if len(e) < 64 {
			body = append(append(body, 0x80|byte(len(e))), e...)
		} else if len(e) < 4096 {
			body = append(append(body, 0xe0|byte(len(e)>>8), byte(len(e))), e...)
		} else {
			body = append(binary.LittleEndian.AppendUint32(append(body, 0xf0), uint32(len(e))), e...)
		}
		body = appendBack(body, len(body)-start)
	}
	head := binary.LittleEndian.AppendUint32(nil, uint32(6+len(body)+1))
	head = binary.LittleEndian.AppendUint16(head, uint16(min(len(entries), 0xffff)))
	return string(head) + string(body) + "\xff"
}

func appendListpackInt(p []byte, n int64) []byte {
	switch {
	case 0 <= n && n < 128:
		return append(p, byte(n))
	case -4096 <= n && n < 4096:
		return append(p, 0xc0|byte(n>>8)&0x1f, byte(n))
	case math.MinInt16 <= n && n <= math.MaxInt16:
		return append(p, 0xf1, byte(n), byte(n>>8))
	case -1<<23 <= n && n < 1<<23:
		return append(p, 0xf2, byte(n), byte(n>>8), byte(n>>16))
	case math.MinInt32 <= n && n <= math.MaxInt32:
		return binary.LittleEndian.AppendUint32(append(p, 0xf3), uint32(n))
	}
	return binary.LittleEndian.AppendUint64(append(p, 0xf4), uint64(n))
}

func appendBack(p []byte, n int) []byte {
	var groups []byte
	for {
		groups = append([]byte{byte(n & 127)}, groups...)
		if n >>= 7; n == 0 {
			break
		}
	}
	for i := range groups {
		if i > 0 {
			groups[i] |= 128
		}
	}
	return append(p, groups...)
}

func ziplist(entries ...string) string {
	var body []byte
	prev, tail := 0, 10
	for _, e := range entries {
		start := len(body)
		tail = 10 + start
		if prev < 254 {
			body = append(body, byte(prev))
		} else {
			body = binary.LittleEndian.AppendUint32(append(body, 254), uint32(prev))
		}
		n, err := strconv.ParseInt(e, 10, 64)
		switch {
		case err == nil && 0 <= n && n <= 12:
			body = append(body, 0xf1+byte(n))
		case err == nil && math.MinInt8 <= n && n <= math.MaxInt8:
			body = append(body, 0xfe, byte(n))
		case err == nil && math.MinInt16 <= n && n <= math.MaxInt16:
			body = append(body, 0xc0, byte(n), byte(n>>8))
		case err == nil && -1<<23 <= n && n < 1<<23:
			body = append(body, 0xf0, byte(n), byte(n>>8), byte(n>>16))
		case err == nil && math.MinInt32 <= n && n <= math.MaxInt32:
			body = binary.LittleEndian.AppendUint32(append(body, 0xd0), uint32(n))
		case err == nil:
			body = binary.LittleEndian.AppendUint64(append(body, 0xe0), uint64(n))
		case len(e) < 64:
			body = append(append(body, byte(len(e))), e...)
		case len(e) < 1<<14:
			body = append(append(body, 0x40|byte(len(e)>>8), byte(len(e))), e...)
		default:
			body = append(binary.BigEndian.AppendUint32(append(body, 0x80), uint32(len(e))), e...)
		}
		prev = len(body) - start
	}
	head := binary.LittleEndian.AppendUint32(nil, uint32(10+len(body)+1))
	head = binary.LittleEndian.AppendUint32(head, uint32(tail))
	head = binary.LittleEndian.AppendUint16(head, uint16(min(len(entries), 0xffff)))
	return string(head) + string(body) + "\xff"
}

func intset(width uint32, values ...int64) string {
	p := binary.LittleEndian.AppendUint32(nil, width)
	p = binary.LittleEndian.AppendUint32(p, uint32(len(values)))
	for _, v := range values {
		for i := range width {
			p = append(p, byte(v>>(8*i)))
		}
	}
	return string(p)
}

// node returns a stream's node: the entries share its fields.
func node(ms uint64, fields []string, entries ...[]string) (id, blob string) {
	id = string(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, ms), 0))
	parts := []string{strconv.Itoa(len(entries)), "0", strconv.Itoa(len(fields))}
	parts = append(append(parts, fields...), "0")
	for i, e := range entries {
		parts = append(parts, "2", strconv.Itoa(i), "0")
		parts = append(append(parts, e...), strconv.Itoa(len(e)+3))
	}
	return id, listpack(parts...)
}
