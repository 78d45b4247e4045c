package write

import (
	"encoding/binary"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb/internal/packed"
)

// listpackWriter writes the node of a stream.
type listpackWriter struct {
	b []byte
	n int
}

func (l *listpackWriter) begin(entries uint64, fields [][]byte) {
	l.b, l.n = append(l.b[:0], 0, 0, 0, 0, 0, 0), 0
	l.integer(int64(entries))
	l.integer(0) // deleted
	l.integer(int64(len(fields) / 2))
	for i := 0; i < len(fields); i += 2 {
		l.string(fields[i])
	}
	l.integer(0)
}

func (l *listpackWriter) entry(id, master source.StreamID, fields [][]byte) {
	l.integer(0) // no flags: with the names of its fields
	l.integer(int64(id.MS - master.MS))
	l.integer(int64(id.Seq - master.Seq))
	l.integer(int64(len(fields) / 2))
	for _, f := range fields {
		l.string(f)
	}
	l.integer(int64(len(fields) + 4))
}

// integer appends an integer: in 64 bits, or as one byte.
func (l *listpackWriter) integer(n int64) {
	from := len(l.b)
	if n >= 0 && n < 128 {
		l.b = append(l.b, byte(n))
	} else {
		l.b = binary.LittleEndian.AppendUint64(append(l.b, 0xf4), uint64(n))
	}
	l.back(from)
}

func (l *listpackWriter) string(p []byte) {
	from := len(l.b)
	switch n := len(p); {
	case n < 1<<6:
		l.b = append(l.b, 0x80|byte(n))
	case n < 1<<12:
		l.b = append(l.b, 0xe0|byte(n>>8), byte(n))
	default:
		l.b = binary.LittleEndian.AppendUint32(append(l.b, 0xf0), uint32(n))
	}
	l.b = append(l.b, p...)
	l.back(from)
}

// back appends the length of the entry that begins at from, for who reads backwards.
func (l *listpackWriter) back(from int) {
	l.n++
	n := len(l.b) - from
	for size, i := packed.BackSize(n), 0; i < size; i++ {
		b := byte(n >> (7 * (size - 1 - i)) & 127)
		if i > 0 {
			b |= 128
		}
		l.b = append(l.b, b)
	}
}

func (l *listpackWriter) end() []byte {
	l.b = append(l.b, 0xff)
	binary.LittleEndian.PutUint32(l.b, uint32(len(l.b)))
	binary.LittleEndian.PutUint16(l.b[4:], uint16(min(l.n, packed.Uncounted)))
	return l.b
}
