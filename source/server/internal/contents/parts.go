package contents

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/internal/link"
)

// partBytes is about how many bytes one part has, if its elements are of one size.
const partBytes = 256 << 10

// readings says how often a value that is written to is read before it is given as torn.
const readings = 3

// inParts reads a value that is too large for one step. WATCH tells whether it was
// written to between the first part and the last.
func (w *contentWalk) inParts(ctx context.Context, name []byte, size int64) error {
	for reading := 1; ; reading++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		done, err := w.reading(name, size, reading == readings)
		if err != nil || done {
			return err
		}
	}
}

// parted represents a value that is read in parts.
type parted struct {
	*contentWalk
	name  []byte
	kind  source.Kind
	count int // elements of a part
	part  int
	held  source.Content // the last part, which is given when it is known whether others follow
}

// reading reads a value once. It is done if the value did not change meanwhile, is
// gone, or if this was the last time.
func (w *contentWalk) reading(name []byte, size int64, last bool) (done bool, err error) {
	key := string(name)
	if _, err := w.command("WATCH", key); err != nil {
		return w.partsDenied(err)
	}
	kind, err := w.command("TYPE", key)
	if err != nil {
		return w.partsDenied(err)
	}
	text, _ := kind.(string)
	p := &parted{contentWalk: w, name: name, kind: link.KindOf([]byte(text)), part: -1}
	if text == "none" {
		w.gone++
		_, err := w.command("UNWATCH")
		return true, err
	}
	read := partReaders[p.kind]
	if read == nil { // a module's type: it can only be read whole
		_, err := w.command("UNWATCH")
		if err == nil {
			err = w.wholeAfterAll(name)
		}
		return true, err
	}
	p.count = p.perPart(key, size)
	err = read(p, key)
	switch no, wrong := link.Refused(err); {
	case errors.Is(err, errPending), errors.Is(err, errElement), errors.Is(err, errFieldEnds),
		errors.Is(err, errEndsDenied):
		w.notWhole(name, err)
		_, err = w.command("UNWATCH")
		return true, err
	case err != nil && !no && errors.As(wrong, new(*wire.ServerError)):
		return w.exchanged(name, err, last)
	case err != nil:
		return w.partsDenied(err)
	}
	unchanged, expires, err := w.unchanged(key)
	switch {
	case err != nil:
		return false, err
	case unchanged && expires == -2: // it was never there
		w.gone++
		return true, nil
	case !unchanged && !last:
		return false, nil
	}
	if expires == -2 {
		w.gone++
		return true, nil
	}
	p.held.More, p.held.Expires, p.held.Torn = false, max(expires, 0), !unchanged
	return true, p.give()
}

// notWhole notes that a value is not in what was read, or not all of it.
func (w *contentWalk) notWhole(name []byte, why error) {
	if w.byName { // it was asked for: its consumer gets the reason
		w.batch = append(w.batch, source.Content{Name: name, DB: w.DB, Lost: why.Error()})
		return
	}
	w.Note(source.Why(source.ValueCut, w.Shard.Address, fmt.Sprintf("%q is not whole: %v", shortName(name), why)).In(w.DB))
}

// shortName is as much of a name as a note has room for.
func shortName(name []byte) []byte { return name[:min(len(name), 200)] }

// exchanged goes on after an answer that does not fit the key's type: it was deleted, or
// has become another one while it was read.
func (w *contentWalk) exchanged(name []byte, why error, last bool) (done bool, err error) {
	_, expires, err := w.unchanged(string(name))
	switch {
	case err != nil:
		return false, err
	case expires == -2:
		w.gone++
		return true, nil
	case last:
		w.notWhole(name, why)
	}
	return last, nil
}

// partsDenied goes on after a refusal that is about this key only. What is watched no
// longer concerns what is read next.
func (w *contentWalk) partsDenied(err error) (bool, error) {
	no, err := link.Refused(err)
	if no {
		w.Denied++
		if _, err = w.command("UNWATCH"); errors.As(err, new(*wire.ServerError)) {
			err = nil
		}
	}
	return true, err
}

// command asks one thing and reads the answer.
func (w *contentWalk) command(args ...string) (any, error) {
	return connect.Ask(w.Shard.Conn.Conn, args...)
}

// unchanged ends the watch: EXEC does nothing if the key was written to.
func (w *contentWalk) unchanged(key string) (bool, int64, error) {
	c := w.Shard.Conn
	c.Command("MULTI")
	c.Command("PEXPIRETIME", key)
	c.Command("EXEC")
	if err := c.Flush(); err != nil {
		return false, 0, err
	}
	var replies [3]any
	for i := range replies {
		var err error
		if replies[i], err = c.Any(); err != nil {
			return false, 0, err
		}
	}
	if list, ok := replies[2].([]any); ok && len(list) == 1 {
		expires, _ := list[0].(int64)
		return true, expires, nil
	}
	reply, err := w.command("PEXPIRETIME", key)
	expires, _ := reply.(int64)
	return false, expires, err
}

// perPart returns how many elements a part has.
func (p *parted) perPart(key string, size int64) int {
	length := map[source.Kind]string{source.Hash: "HLEN", source.Set: "SCARD", source.ZSet: "ZCARD", source.List: "LLEN",
		source.Stream: "XLEN"}[p.kind]
	if length == "" {
		return 0
	}
	reply, err := p.command(length, key)
	n, _ := reply.(int64)
	if err != nil || n == 0 {
		return 100
	}
	return int(min(max(partBytes*n/size, 1), 1000))
}

// Bounds of what one part has: elements are put into the next one before they are more
// than maxPart, and a single one that is larger than maxElement has no place in an archive.
const (
	maxPart    = 8 << 20
	maxElement = 31 << 20
)

var errElement = errors.New("an element of it has more than 31 MiB, which is more than an archive takes")

// add gives elements, in one part or in several if they are large.
func (p *parted) add(elements [][]byte) error {
	for first := true; first || len(elements) > 0; first = false {
		n, size := 0, 0
		for n < len(elements) {
			unit, more := p.unit(elements[n:]), 0
			for _, e := range elements[n : n+unit] {
				more += len(e) + binary.MaxVarintLen32
			}
			if more > maxElement {
				return errElement
			}
			if n > 0 && size+more > maxPart {
				break
			}
			n, size = n+unit, size+more
		}
		if err := p.next(elements[:n:n]); err != nil {
			return err
		}
		elements = elements[n:]
	}
	return nil
}

// unit returns how many of the next elements belong together: a field and its value, an entry
// of a stream.
func (p *parted) unit(elements [][]byte) int {
	n := 1
	switch {
	case p.kind == source.Hash || p.kind == source.ZSet:
		n = 2
	case p.kind == source.Stream && len(elements) > 1:
		fields, _ := strconv.Atoi(string(elements[1]))
		n = 2 + fields
	}
	return min(n, len(elements))
}

// next gives the elements of the next part.
func (p *parted) next(elements [][]byte) error {
	if p.part >= 0 {
		if err := p.give(); err != nil {
			return err
		}
	}
	p.part++
	p.held = source.Content{Name: p.name, DB: p.DB, Kind: p.kind, Elements: elements, Part: p.part, More: true}
	return nil
}

// give hands the held part over.
func (p *parted) give() error {
	p.batch = append(p.batch, p.held)
	return p.hand(false)
}

// partReaders read a value in parts. They never hold the server for long, however
// large the value is.
var partReaders = map[source.Kind]func(p *parted, key string) error{
	source.String: (*parted).bytes,
	source.List:   (*parted).list,
	source.Hash:   func(p *parted, key string) error { return p.scan("HSCAN", key) },
	source.Set:    func(p *parted, key string) error { return p.scan("SSCAN", key) },
	source.ZSet:   func(p *parted, key string) error { return p.scan("ZSCAN", key) },
	source.Stream: (*parted).stream,
}

func (p *parted) bytes(key string) error {
	for from := 0; ; from += partBytes {
		reply, err := p.command("GETRANGE", key, strconv.Itoa(from), strconv.Itoa(from+partBytes-1))
		if err != nil {
			return err
		}
		text, _ := reply.(string)
		if text != "" || from == 0 {
			if err := p.add([][]byte{[]byte(text)}); err != nil {
				return err
			}
		}
		if len(text) < partBytes {
			return nil
		}
	}
}

func (p *parted) list(key string) error {
	for from := 0; ; from += p.count {
		reply, err := p.command("LRANGE", key, strconv.Itoa(from), strconv.Itoa(from+p.count-1))
		if err != nil {
			return err
		}
		elements, _ := reply.([]any)
		if len(elements) > 0 || from == 0 {
			if err := p.add(texts(elements)); err != nil {
				return err
			}
		}
		if len(elements) < p.count {
			return nil
		}
	}
}

// scan reads by cursor. An element may come twice, and means the same twice.
func (p *parted) scan(verb, key string) error {
	for cursor := "0"; ; {
		reply, err := p.command(verb, key, cursor, "COUNT", strconv.Itoa(p.count))
		if err != nil {
			return err
		}
		pair, ok := reply.([]any)
		if !ok || len(pair) != 2 {
			return &wire.ProtocolError{Got: fmt.Sprintf("%T", reply), Want: "the two of " + verb}
		}
		elements, _ := pair[1].([]any)
		if p.kind == source.Hash {
			if err := p.ends(key, elements); err != nil {
				return err
			}
		}
		if len(elements) > 0 || p.part < 0 {
			if err := p.add(texts(elements)); err != nil {
				return err
			}
		}
		if cursor = fmt.Sprint(pair[0]); cursor == "0" {
			return nil
		}
	}
}

// wholeAfterAll reads a value in one step whatever its size: one of a type that has no
// other way.
func (w *contentWalk) wholeAfterAll(name []byte) error {
	c := w.Shard.Conn
	c.Raw(multiCommand)
	w.askWhole(name)
	c.Raw(execCommand)
	if err := c.Flush(); err != nil {
		return err
	}
	why, err := w.executed(1)
	if err != nil {
		return err
	}
	if why != nil {
		w.outOfReach(name, why)
		return nil
	}
	k := source.Content{Name: name, DB: w.DB}
	there, err := w.readWhole(&k)
	if err != nil || !there {
		return err
	}
	if len(k.Payload) > maxElement {
		w.notWhole(name, errElement)
		w.slab = w.slab[:0]
		return nil
	}
	w.batch = append(w.batch, k)
	return w.hand(false)
}

// texts returns the strings of a reply.
func texts(list []any) [][]byte {
	out := make([][]byte, 0, len(list))
	for _, item := range list {
		s, _ := item.(string)
		out = append(out, []byte(s))
	}
	return out
}
