package file

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/history"
)

// A chunk is its form, a checksum of the rest, and its points: of each the seconds since
// the one before, and the changes of keys and bytes, as varints, then its violations.
const chunkForm = 1

// encode writes points, which are in order, as a chunk.
func encode(points []history.Point) []byte {
	out := make([]byte, 0, 16*len(points))
	var at, keys, bytes int64
	for _, p := range points {
		out = binary.AppendVarint(out, p.At.Unix()-at)
		out = binary.AppendVarint(out, p.Keys-keys)
		out = binary.AppendVarint(out, p.Bytes-bytes)
		at, keys, bytes = p.At.Unix(), p.Keys, p.Bytes
		out = binary.AppendUvarint(out, uint64(len(p.Violations)))
		for _, code := range slices.Sorted(maps.Keys(p.Violations)) {
			out = binary.AppendUvarint(out, uint64(len(code)))
			out = append(out, code...)
			out = binary.AppendVarint(out, p.Violations[code])
		}
	}
	return sealed(out)
}

// sealed is a chunk with this text.
func sealed(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{chunkForm}, crc32.ChecksumIEEE(body)), body...)
}

// decode reads a chunk; nothing is no point.
func decode(chunk []byte) (points []history.Point, err error) {
	if len(chunk) == 0 {
		return nil, nil
	}
	if len(chunk) < 5 || chunk[0] != chunkForm || crc32.ChecksumIEEE(chunk[5:]) != binary.BigEndian.Uint32(chunk[1:]) {
		return nil, fmt.Errorf("%w: a chunk of the history", errDamaged)
	}
	r := reader{rest: chunk[5:]}
	var at, keys, bytes int64
	for len(r.rest) > 0 && !r.failed {
		at, keys, bytes = at+r.varint(), keys+r.varint(), bytes+r.varint()
		p := history.Point{At: time.Unix(at, 0).UTC(), Keys: keys, Bytes: bytes}
		for range min(r.uvarint(), history.MaxCodes) {
			if p.Violations == nil {
				p.Violations = map[string]int64{}
			}
			code := r.text()
			p.Violations[code] = r.varint()
		}
		points = append(points, p)
	}
	if r.failed {
		return nil, fmt.Errorf("%w: a chunk of the history", errDamaged)
	}
	return points, nil
}

// reader reads numbers and texts of a chunk.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) took(n int) {
	if n <= 0 || n > len(r.rest) {
		r.failed, n = true, len(r.rest)
	}
	r.rest = r.rest[n:]
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	r.took(n)
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	r.took(n)
	return v
}

func (r *reader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.failed, r.rest = true, nil
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}
