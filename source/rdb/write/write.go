// Package write writes a snapshot, an RDB file of Redis or Valkey, key by key. It does not change a value for another
// version; package dump does.
//
// API: may change until 1.0.
package write

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb/fault"
	"github.com/keywright/keywright/source/rdb/internal/crc"
	"github.com/keywright/keywright/source/rdb/internal/layout"
	"github.com/keywright/keywright/source/rdb/internal/window"
)

// Writer writes a snapshot. Keys are written one after the other: Key, and then one
// value. It is for one goroutine, and holds nothing but a small buffer.
type Writer struct {
	out     io.Writer
	version int
	crc     uint64
	buf     []byte
	err     error
}

// New begins a snapshot of an RDB version that VersionOf gives. aux are fields about
// it, as pairs of a name and a value.
func New(out io.Writer, version int, aux ...string) *Writer {
	w := &Writer{out: out, version: version}
	magic := fmt.Sprintf("REDIS%04d", version)
	if version >= layout.NewestValkey {
		magic = fmt.Sprintf("VALKEY%03d", version)
	}
	w.buf = append(w.buf, magic...)
	for i := 0; i+1 < len(aux) && version >= 7; i += 2 {
		w.buf = append(w.buf, 250)
		w.text([]byte(aux[i]))
		w.text([]byte(aux[i+1]))
	}
	return w
}

// Library writes a library of functions, before the first database. Versions before 10 have none.
func (w *Writer) Library(code []byte) error {
	if w.version < 10 {
		return fmt.Errorf("a library of functions is %w: servers have them from Redis 7 on", fault.ErrUnknown)
	}
	w.buf = append(w.buf, 245)
	w.text(code)
	return w.err
}

// flush writes what is in the buffer if it is more than least.
func (w *Writer) flush(least int) {
	if len(w.buf) <= least {
		return
	}
	w.crc = crc.Update(w.crc, w.buf)
	if w.err == nil {
		_, w.err = w.out.Write(w.buf)
	}
	w.buf = w.buf[:0]
}

func (w *Writer) text(p []byte) {
	w.buf = window.AppendLength(w.buf, uint64(len(p)))
	w.raw(p)
}

func (w *Writer) raw(p []byte) {
	if len(p) < 32<<10 {
		w.buf = append(w.buf, p...)
		w.flush(64 << 10)
		return
	}
	w.flush(0)
	w.crc = crc.Update(w.crc, p)
	if w.err == nil {
		_, w.err = w.out.Write(p)
	}
}

// Database begins the keys of a database, of which there are about so many.
func (w *Writer) Database(db int, keys int64) {
	w.buf = window.AppendLength(append(w.buf, 254), uint64(db))
	if w.version >= 7 {
		w.buf = window.AppendLength(append(w.buf, 251), uint64(keys))
		w.buf = window.AppendLength(w.buf, 0)
	}
}

// key writes what comes before a value. expires is in Unix milliseconds; 0: never.
func (w *Writer) key(name []byte, expires int64, typeByte byte) {
	if expires > 0 {
		w.buf = binary.LittleEndian.AppendUint64(append(w.buf, 252), uint64(expires))
	}
	w.buf = append(w.buf, typeByte)
	w.text(name)
}

// Dump writes a key with a value as DUMP returns it without its last ten bytes, of a
// version that the snapshot's readers load.
func (w *Writer) Dump(name []byte, expires int64, value []byte) {
	w.key(name, expires, value[0])
	w.raw(value[1:])
}

// Value represents a value whose elements are known, to be written as a snapshot has it. Elements
// calls each with them, part by part, as source.Content has them, each time again; of sets,
// hashes and sorted sets no element twice.
type Value struct {
	Name     []byte
	Expires  int64
	Kind     source.Kind
	Taken    int64 // the moment, in Unix milliseconds, that idle times are counted from
	Elements func(each func(elements [][]byte, more bool) error) error
}

// Value writes a key and its elements. They are read twice: a snapshot says how many there
// are before them.
func (w *Writer) Value(v Value) error {
	var count, size uint64
	var stream streamParts
	err := v.Elements(func(elements [][]byte, more bool) error {
		if v.Kind == source.Stream {
			return stream.count(elements, more)
		}
		count += uint64(len(elements))
		for _, e := range elements {
			size += uint64(len(e))
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch v.Kind {
	case source.String:
		w.key(v.Name, v.Expires, 0)
		w.buf = window.AppendLength(w.buf, size)
		err = v.Elements(func(elements [][]byte, _ bool) error {
			for _, e := range elements {
				w.raw(e)
			}
			return w.err
		})
	case source.List, source.Set, source.Hash:
		w.key(v.Name, v.Expires, map[source.Kind]byte{source.List: 1, source.Set: 2, source.Hash: 4}[v.Kind])
		if v.Kind == source.Hash {
			count /= 2
		}
		w.buf = window.AppendLength(w.buf, count)
		err = v.Elements(func(elements [][]byte, _ bool) error {
			for _, e := range elements {
				w.text(e)
			}
			return w.err
		})
	case source.ZSet:
		err = w.sorted(v, count/2)
	case source.Stream:
		err = w.stream(v, &stream)
	default:
		err = fmt.Errorf("a %s is %w", v.Kind, fault.ErrUnknown)
	}
	if err == nil {
		err = w.err
	}
	return err
}

func (w *Writer) sorted(v Value, count uint64) error {
	binaryScores := w.version >= 8
	w.key(v.Name, v.Expires, map[bool]byte{false: 3, true: 5}[binaryScores])
	w.buf = window.AppendLength(w.buf, count)
	return v.Elements(func(elements [][]byte, _ bool) error {
		for i := 0; i+1 < len(elements); i += 2 {
			score, err := strconv.ParseFloat(string(elements[i+1]), 64)
			if err != nil {
				return err
			}
			w.text(elements[i])
			if binaryScores {
				w.buf = binary.LittleEndian.AppendUint64(w.buf, math.Float64bits(score))
				continue
			}
			switch {
			case math.IsInf(score, 1):
				w.buf = append(w.buf, window.ScoreInfinity)
			case math.IsInf(score, -1):
				w.buf = append(w.buf, window.ScoreNegative)
			default:
				digits := strconv.FormatFloat(score, 'g', 17, 64)
				w.buf = append(append(w.buf, byte(len(digits))), digits...)
			}
		}
		return w.err
	})
}

// lastPart reads the last part of a stream.
func lastPart(elements [][]byte, state *source.StreamState) error {
	if len(elements) != 1 {
		return fmt.Errorf("the last part of a stream has %d elements, not its state", len(elements))
	}
	return json.Unmarshal(elements[0], state)
}

// entries calls each with the entries in a part of a stream, and counts them.
func entries(elements [][]byte, each func(id []byte, fields [][]byte) error) (n uint64, err error) {
	for ; len(elements) > 1; n++ {
		fields, err := strconv.Atoi(string(elements[1]))
		if err != nil || fields < 0 || fields > len(elements)-2 || fields%2 != 0 {
			return n, fmt.Errorf("an entry of a stream is cut")
		}
		if err := each(elements[0], elements[2:2+fields]); err != nil {
			return n, err
		}
		elements = elements[2+fields:]
	}
	return n, nil
}

// Entries calls each with the entries in a part of a stream, as source.Content has them.
func Entries(elements [][]byte, each func(id []byte, fields [][]byte) error) error {
	_, err := entries(elements, each)
	return err
}

// bytesOf returns an ID as a snapshot has it.
func bytesOf(id source.StreamID) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, id.MS), id.Seq)
}

// Bounds of a node of a stream: how many entries share it, and how many bytes.
const (
	perNode   = 100
	nodeBytes = 64 << 10
)

// streamParts describes what must be known of a stream before its entries are written.
type streamParts struct {
	state       source.StreamState
	entries     uint64
	nodes       []byte // entries of each
	bytes       int    // of the last
	first, last source.StreamID
}

func (s *streamParts) count(elements [][]byte, more bool) error {
	if !more {
		return lastPart(elements, &s.state)
	}
	_, err := entries(elements, func(name []byte, fields [][]byte) (err error) {
		if s.last, err = source.ParseStreamID(string(name)); s.entries == 0 {
			s.first = s.last
		}
		s.entries++
		if n := len(s.nodes); n == 0 || s.nodes[n-1] == perNode || s.bytes > nodeBytes {
			s.nodes, s.bytes = append(s.nodes, 0), 0
		}
		s.nodes[len(s.nodes)-1]++
		for _, f := range fields {
			s.bytes += len(f)
		}
		return err
	})
	return err
}

// stream writes a stream of type 15, or of 19 for versions that load it.
func (w *Writer) stream(v Value, s *streamParts) error {
	second := w.version >= 10
	w.key(v.Name, v.Expires, map[bool]byte{false: 15, true: 19}[second])
	w.lengths(uint64(len(s.nodes)))
	var node listpackWriter
	var master source.StreamID
	left := byte(0) // entries of the node that are still to come
	nodes := s.nodes
	err := v.Elements(func(elements [][]byte, more bool) error {
		if !more {
			return nil
		}
		_, err := entries(elements, func(name []byte, fields [][]byte) error {
			id, err := source.ParseStreamID(string(name))
			if err != nil || len(nodes) == 0 && left == 0 {
				return errors.Join(err, errChanged)
			}
			if left == 0 {
				master, left = id, nodes[0]
				node.begin(uint64(left), fields)
				nodes = nodes[1:]
			}
			node.entry(id, master, fields)
			if left--; left == 0 {
				w.text(bytesOf(master))
				w.text(node.end())
			}
			return w.err
		})
		return err
	})
	if err == nil && (left > 0 || len(nodes) > 0) {
		err = errChanged
	}
	if err != nil {
		return err
	}
	return w.streamState(v, s, second)
}

var errChanged = errors.New("a value was read twice, and was not the same")

func (w *Writer) lengths(all ...uint64) {
	for _, n := range all {
		w.buf = window.AppendLength(w.buf, n)
	}
}

func (w *Writer) streamState(v Value, s *streamParts, second bool) error {
	state := &s.state
	last, err1 := source.ParseStreamID(state.LastID)
	deleted, err2 := source.ParseStreamID(state.MaxDeleted)
	if err1 != nil || err2 != nil {
		return fmt.Errorf("the last ID of a stream, %q, makes no sense", state.LastID)
	}
	w.lengths(s.entries, last.MS, last.Seq)
	if second {
		w.lengths(s.first.MS, s.first.Seq, deleted.MS, deleted.Seq, uint64(max(state.Added, int64(s.entries))))
	}
	w.lengths(uint64(len(state.Groups)))
	for i := range state.Groups {
		if err := w.group(&state.Groups[i], v.Taken, second); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) group(g *source.StreamGroup, taken int64, second bool) error {
	last, err := source.ParseStreamID(g.LastID)
	if err != nil {
		return err
	}
	w.text(g.Name)
	w.lengths(last.MS, last.Seq)
	if second {
		w.lengths(uint64(g.Read))
	}
	own := map[string][]source.StreamID{}
	w.lengths(uint64(len(g.Pending)))
	for _, p := range g.Pending {
		id, err := source.ParseStreamID(p.ID)
		if err != nil {
			return err
		}
		own[string(p.Consumer)] = append(own[string(p.Consumer)], id)
		w.raw(bytesOf(id))
		w.raw(binary.LittleEndian.AppendUint64(nil, uint64(max(taken-p.Idle, 0))))
		w.lengths(uint64(p.Deliveries))
	}
	w.lengths(uint64(len(g.Consumers)))
	for _, c := range g.Consumers {
		w.text(c)
		w.raw(binary.LittleEndian.AppendUint64(nil, uint64(taken)))
		w.lengths(uint64(len(own[string(c)])))
		for _, id := range own[string(c)] {
			w.raw(bytesOf(id))
		}
		delete(own, string(c))
	}
	if len(own) > 0 {
		return fmt.Errorf("pending entries of a consumer that the group does not have")
	}
	return w.err
}

// Close ends the snapshot with its checksum.
func (w *Writer) Close() error {
	w.buf = append(w.buf, 255)
	w.flush(0)
	if w.version >= 5 {
		sum := binary.LittleEndian.AppendUint64(nil, w.crc)
		if w.err == nil {
			_, w.err = w.out.Write(sum)
		}
	}
	return w.err
}
