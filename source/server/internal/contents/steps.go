package contents

import (
	"cmp"
	"strconv"

	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/internal/link"
)

const (
	multiCommand   = "*1\r\n$5\r\nMULTI\r\n"
	execCommand    = "*1\r\n$4\r\nEXEC\r\n"
	dumpCommand    = "*2\r\n$4\r\nDUMP\r\n"
	expiresCommand = "*2\r\n$11\r\nPEXPIRETIME\r\n"
)

// Bounds of a step: small values are read several at a time, since MULTI and EXEC for each cost a server as much
// as the value does. So many bytes hold it for less time than one value of the largest size.
const (
	stepOfKeys   = 16
	bytesOfAStep = 64 << 10
)

// step lists the keys of a page, by number, whose values and expiries are read in one step of the server.
type step []int

// askValues asks for the values of the next keys of a page, up to inFlight bytes.
func (w *contentWalk) askValues(t *turn) {
	t.steps = t.steps[:0]
	keys := stepOfKeys
	if w.Fleet.Cluster {
		keys = 1 // a step of several slots is refused
	}
	var next step
	for all, held := int64(0), int64(0); t.begun < len(t.sizes) && all < InFlight; t.begun++ {
		size := t.sizes[t.begun]
		if size < 0 || size > w.wanted.Largest {
			continue
		}
		if len(next) == keys || len(next) > 0 && held+size > bytesOfAStep {
			w.askStep(t, next)
			next, held = nil, 0
		}
		next, all, held = append(next, t.begun), all+size, held+size
	}
	if len(next) > 0 {
		w.askStep(t, next)
	}
}

// askStep asks for the values of some keys of a page.
func (w *contentWalk) askStep(t *turn, keys step) {
	c := w.Shard.Conn
	c.Raw(multiCommand)
	for _, i := range keys {
		w.askWhole(t.page.Name(i))
	}
	c.Raw(execCommand)
	t.steps = append(t.steps, keys)
}

// askWhole asks for value and expiry of a key; it is within a transaction.
func (w *contentWalk) askWhole(name []byte) {
	c := w.Shard.Conn
	c.Raw(dumpCommand)
	c.ArgBytes(name)
	c.Raw(expiresCommand)
	c.ArgBytes(name)
}

// readValues reads the values that were asked for.
func (w *contentWalk) readValues(t *turn) error {
	for _, keys := range t.steps {
		why, err := w.executed(len(keys))
		switch {
		case err != nil:
			return err
		case why == nil:
			err = w.readStep(t, keys)
		case len(keys) > 1: // it is not known which of them it is about
			t.alone = append(t.alone, keys...)
		default:
			w.outOfReach(t.page.Name(keys[0]), why)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// someValues asks for more values of a page, and reads them.
func (w *contentWalk) someValues(t *turn) error {
	w.askValues(t)
	if err := w.Shard.Conn.Flush(); err != nil {
		return err
	}
	return w.readValues(t)
}

// eachAlone reads the values that could not be read in one step with others.
func (w *contentWalk) eachAlone(t *turn) error {
	for len(t.alone) > 0 {
		if err := w.hand(false); err != nil {
			return err
		}
		t.steps = t.steps[:0]
		n, all := 0, int64(0)
		for ; n < len(t.alone) && all < InFlight; n++ {
			w.askStep(t, t.alone[n:n+1])
			all += t.sizes[t.alone[n]]
		}
		t.alone = t.alone[n:]
		if err := w.Shard.Conn.Flush(); err != nil {
			return err
		}
		if err := w.readValues(t); err != nil {
			return err
		}
	}
	return nil
}

// executed reads what comes before the values of a step. why says that the server has executed nothing of it, as it
// refused one of the commands.
func (w *contentWalk) executed(keys int) (why, err error) {
	c := w.Shard.Conn
	for range 1 + 2*keys { // MULTI, and QUEUED
		_, no := c.Status()
		if no == nil {
			continue
		}
		if _, elsewhere := link.Redirected(no); !elsewhere {
			if _, err := link.Refused(no); err != nil {
				return nil, err
			}
		}
		why = no
	}
	n, err := c.Array()
	switch {
	case aborted(err):
		return cmp.Or(why, err), nil
	case err == nil && n != 2*keys:
		err = &wire.ProtocolError{Got: strconv.Itoa(n) + " elements", Want: strconv.Itoa(2*keys) + " of EXEC"}
	}
	return nil, err
}

// readStep reads the values of a step.
func (w *contentWalk) readStep(t *turn, keys step) error {
	for _, i := range keys {
		k := source.Content{Name: t.page.Name(i), DB: w.DB}
		from := len(w.slab)
		there, err := w.readWhole(&k)
		switch size := int64(len(k.Payload)); {
		case err != nil:
			return err
		case there && w.Shard.Unsized && size > w.wanted.Largest: // that is known now
			t.sizes[i], w.slab = size, w.slab[:from]
		case there:
			w.batch = append(w.batch, k)
		default:
			w.gone++
		}
	}
	return nil
}

// footer is the length of what follows the value in the reply of DUMP: two bytes of
// RDB version, eight of a checksum.
const footer = 10

// readWhole reads value and expiry of a key.
func (w *contentWalk) readWhole(k *source.Content) (there bool, err error) {
	c := w.Shard.Conn
	dump, there, err := c.Bulk()
	if err != nil {
		return false, err
	}
	if there {
		err = w.keep(k, dump)
	}
	expires, _, wrong := c.Int()
	k.Expires = max(expires, 0)
	return there, cmp.Or(err, wrong)
}

// outOfReach counts a key that is at another node, or that the user may not read.
func (w *contentWalk) outOfReach(name []byte, why error) {
	if to, elsewhere := link.Redirected(why); elsewhere {
		w.movedAway(name, to)
	} else {
		w.Denied++
	}
}

// unsized is the size of a value that the server does not tell: few of such are asked for at a time.
const unsized = bytesOfAStep

// unsized goes on without sizes.
func (w *contentWalk) unsized() {
	w.Shard.Unsized = true
	w.Remark(
		"large values were read twice: the server has no MEMORY USAGE, or does not permit it, and tells no sizes")
}
