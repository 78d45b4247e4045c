package scan

import (
	"context"
	"errors"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/internal/link"
)

const (
	typeCommand   = "*2\r\n$4\r\nTYPE\r\n"
	pttlCommand   = "*2\r\n$4\r\nPTTL\r\n"
	MemoryCommand = "*3\r\n$6\r\nMEMORY\r\n$5\r\nUSAGE\r\n"
)

func (w *Walk) askFacts(p *Page) {
	c := w.Shard.Conn
	p.sized = w.bytes
	for i := range p.Ends {
		name := p.Name(i)
		if p.expected(w, name) == source.Unknown {
			c.Raw(typeCommand)
			c.ArgBytes(name)
		}
		c.Raw(pttlCommand)
		c.ArgBytes(name)
		if w.bytes {
			c.Raw(MemoryCommand)
			c.ArgBytes(name)
		}
	}
}

// expected returns the type that the next name of the page tells.
func (p *Page) expected(w *Walk, name []byte) source.Kind {
	if w.Request.Expect == nil {
		return source.Unknown
	}
	p.expects = append(p.expects, w.Request.Expect(name))
	return p.expects[len(p.expects)-1]
}

// readFacts reads what askFacts asked for, and asks for the values.
func (w *Walk) readFacts(_ context.Context, p *Page) error {
	gone, before := 0, w.Denied
	for i := range p.Ends {
		k := source.Key{Name: p.Name(i), DB: w.DB, Bytes: -1}
		if len(p.expects) > 0 {
			k.Kind = p.expects[i]
		}
		guessed := k.Kind != source.Unknown
		there, err := w.readKey(&k, p.sized)
		if err != nil {
			return connect.Explain(w.Shard.Address, err)
		}
		if there {
			p.batch, p.guessed = append(p.batch, k), append(p.guessed, guessed)
		} else {
			gone++
		}
	}
	p.denied = w.Denied - before
	p.gone = gone - int(p.denied) // out of reach is not gone
	w.Looked += int64(len(p.Ends)+len(p.had)) + p.left
	w.want(p)
	return w.askValues(p)
}

// readKey reads the replies about one key. Keys that are gone, or out of the
// user's reach, are not there.
func (w *Walk) readKey(k *source.Key, sized bool) (there bool, err error) {
	c := w.Shard.Conn
	there = true
	if k.Kind == source.Unknown {
		if there, err = w.readKind(k); err != nil {
			return false, err
		}
	}
	ttl, _, err := c.Int()
	if no, err := link.Refused(err); err != nil {
		return false, err
	} else if no {
		if there {
			w.Denied++
		}
		return false, w.skipSize(sized)
	}
	switch {
	case ttl == -2:
		there = false
	case ttl == -1:
		k.TTL = source.NoTTL
	default:
		k.TTL = source.TTL(ttl)
	}
	if !sized {
		return there, nil
	}
	n, ok, err := c.Int()
	if err != nil {
		return there, w.withoutBytes(err, there)
	}
	if ok {
		k.Bytes = n
	} else {
		there = false
	}
	return there, nil
}

// readKind reads the reply to TYPE.
func (w *Walk) readKind(k *source.Key) (there bool, err error) {
	kind, err := w.Shard.Conn.Status()
	no, err := link.Refused(err)
	if err != nil {
		return false, err
	}
	if no {
		w.Denied++
	}
	k.Kind = link.KindOf(kind)
	return !no && string(kind) != "none", nil
}

// skipSize reads past the reply to MEMORY USAGE of a key that does not count.
func (w *Walk) skipSize(sized bool) error {
	if !sized {
		return nil
	}
	_, _, err := w.Shard.Conn.Int()
	if link.Unavailable(err) {
		return nil
	}
	_, err = link.Refused(err)
	return err
}

// withoutBytes goes on without MEMORY USAGE where the server does not give it.
// About a key that is out of reach it says nothing of the command.
func (w *Walk) withoutBytes(err error, there bool) error {
	var answer *wire.ServerError
	if !errors.As(err, &answer) {
		return err
	}
	if !there {
		return nil
	}
	w.bytes = false
	w.Remark("bytes are unknown: MEMORY USAGE is not to be had (" + answer.Code + ")")
	return nil
}
