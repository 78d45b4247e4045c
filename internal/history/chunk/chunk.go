// Package chunk is the form in which stores keep points: those of an entry and a step in one chunk for a day or more,
// with a checksum, so that what has been damaged is reported and never drawn. Down-sampling is adding to a chunk.
//
// It does no I/O: a store keeps chunks by target, step, entry and begin.
package chunk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"time"

	"github.com/keywright/keywright/internal/history"
)

// Spans say how long the chunks of a step are.
var Spans = map[history.Step]time.Duration{history.Raw: 24 * time.Hour, history.Hour: 7 * 24 * time.Hour,
	history.Day: 64 * 24 * time.Hour}

// units say what one point of a step means.
var units = map[history.Step]time.Duration{history.Raw: time.Second, history.Hour: time.Hour,
	history.Day: 24 * time.Hour}

// Steps lists the steps, the finest first.
var Steps = []history.Step{history.Raw, history.Hour, history.Day}

// ErrDamaged reports what is not what was written.
var ErrDamaged = errors.New("it is not what was written")

// Begin returns the time, in seconds, at which the chunk begins that has a moment.
func Begin(t time.Time, step history.Step) int64 {
	span := int64(Spans[step] / time.Second)
	return t.Unix() / span * span
}

// Oldest returns the begin before which the chunks of a step have been kept for long enough.
func Oldest(now time.Time, step history.Step) int64 {
	return now.Add(-history.Kept[step] - Spans[step]).Unix()
}

// Add returns a chunk with one point more, which is after those that it has. One in the unit of the last point takes
// its place: the violations are the most of both.
func Add(chunk []byte, step history.Step, at time.Time, p history.Point) ([]byte, error) {
	points, err := Decode(chunk)
	if err != nil {
		return nil, err
	}
	p.At = time.Unix(at.Unix(), 0).UTC()
	if n := len(points); n > 0 && points[n-1].At.Truncate(units[step]).Equal(p.At.Truncate(units[step])) {
		p.Violations = most(p.Violations, points[n-1].Violations)
		points = points[:n-1]
	}
	return Encode(append(points, p)), nil
}

// most returns the most of each code.
func most(a, b map[string]int64) map[string]int64 {
	all := map[string]int64{}
	maps.Copy(all, a)
	for code, n := range b {
		if len(all) < history.MaxCodes || all[code] > 0 {
			all[code] = max(all[code], n)
		}
	}
	return all
}

// Within adds the points of a chunk that are in a query's time to some that are before them.
func Within(points []history.Point, chunk []byte, q history.Query) ([]history.Point, error) {
	all, err := Decode(chunk)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if !p.At.Before(q.From) && !p.At.After(q.To) {
			points = append(points, p)
		}
	}
	if len(points) > history.MaxPoints {
		return nil, history.ErrTooMany
	}
	return points, nil
}

// LastBefore returns the last point of a chunk that is not after a time.
func LastBefore(chunk []byte, at time.Time) (last history.Point, ok bool, err error) {
	var codes reader
	err = walk(chunk, func(p history.Point, violations reader) {
		if !p.At.After(at) {
			last, codes, ok = p, violations, true
		}
	})
	last.Violations = codes.violations()
	return last, ok && err == nil, err
}

// A chunk is its form, a checksum of the rest, and its points: of each the seconds since
// the one before, and the changes of keys and bytes, as varints, then its violations.
const chunkForm = 1

// Encode writes points, which are in order, as a chunk.
func Encode(points []history.Point) []byte {
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

// sealed returns a chunk with this text.
func sealed(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{chunkForm}, crc32.ChecksumIEEE(body)), body...)
}

// Decode reads a chunk; nothing is no point.
func Decode(chunk []byte) (points []history.Point, err error) {
	err = walk(chunk, func(p history.Point, violations reader) {
		p.Violations = violations.violations()
		points = append(points, p)
	})
	if err != nil {
		return nil, err
	}
	return points, nil
}

// walk visits the points of a chunk, each with the place where its violations are.
func walk(chunk []byte, visit func(p history.Point, violations reader)) error {
	if len(chunk) == 0 {
		return nil
	}
	if len(chunk) < 5 || chunk[0] != chunkForm || crc32.ChecksumIEEE(chunk[5:]) != binary.BigEndian.Uint32(chunk[1:]) {
		return fmt.Errorf("%w: a chunk of the history", ErrDamaged)
	}
	r := reader{rest: chunk[5:]}
	var at, keys, bytes int64
	for len(r.rest) > 0 {
		at, keys, bytes = at+r.varint(), keys+r.varint(), bytes+r.varint()
		violations := r
		for range min(r.uvarint(), history.MaxCodes) {
			r.text()
			r.varint()
		}
		if r.failed {
			return fmt.Errorf("%w: a chunk of the history", ErrDamaged)
		}
		visit(history.Point{At: time.Unix(at, 0).UTC(), Keys: keys, Bytes: bytes}, violations)
	}
	return nil
}

// violations reads those of a point; nil: it has none.
func (r *reader) violations() (out map[string]int64) {
	if len(r.rest) == 0 {
		return nil
	}
	for range min(r.uvarint(), history.MaxCodes) {
		if out == nil {
			out = map[string]int64{}
		}
		code := string(r.text())
		out[code] = r.varint()
	}
	return out
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

func (r *reader) text() []byte {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.failed, r.rest = true, nil
		return nil
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}
