package kernel

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/keywright/keywright/connect/slot"
)

// parts describes what constructs keep per client: a lock's waiters, a subscription.
type parts struct {
	byType sync.Map // by reflect.Type; read at every call, written once

	mu     sync.Mutex // of making and closing
	closed bool
}

// Part returns the one T of this client, made when it is first asked for and closed
// before the client closes its connections. It is for the packages of
// constructs, which keep there what all handles of a client share.
func Part[T interface{ Close() }](c *Client, make func(*Client) T) T {
	p, typ := &c.parts, reflect.TypeFor[T]()
	if old, ok := p.byType.Load(typ); ok {
		return old.(T)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if old, ok := p.byType.Load(typ); ok {
		return old.(T)
	}
	t := make(c)
	p.byType.Store(typ, t)
	if p.closed {
		t.Close()
	}
	return t
}

func (p *parts) Close() {
	p.mu.Lock()
	p.closed = true
	var all []interface{ Close() }
	p.byType.Range(func(_, part any) bool {
		all = append(all, part.(interface{ Close() }))
		return true
	})
	p.mu.Unlock()
	for _, part := range all { // those that come later are closed as they are made
		part.Close()
	}
}

// Binding says what a handle works with: a client, what is declared of a key, and the
// key. Every constructor of a handle or a construct takes one.
type Binding struct {
	Client *Client
	Entry  *Entry
	Key    string // "" for a construct with several keys, which takes them beside it
	Err    error  // why a key could not be built, nil if all could
}

// Invalid returns what every operation of the handle fails with before anything is sent,
// where a key could not be built; nil where all could. op is what was asked for, "" where
// the operations say it.
func (b Binding) Invalid(op string) error {
	switch known := b.Err.(type) {
	case nil:
		return nil
	case *Error:
		return known
	}
	name := ""
	if b.Entry != nil {
		name = b.Entry.Name
	}
	return &Error{Class: Invalid, Op: op, Entry: name, Err: b.Err}
}

// To returns the binding of another key of the same entry, as a builder of keys gives it.
func (b Binding) To(key string, err error) Binding {
	b.Key, b.Err = key, err
	return b
}

// noDatabase is the database of a client that was made of another one.
const noDatabase = -1

// Database returns the number of the database that the keys are in; -1: it is not
// known, since New has made the client. Channels are shared by all databases of a
// server: a message that is about a key says in which one it is.
func (c *Client) Database() int { return c.database }

// errSlots is what a cluster would answer (CROSSSLOT), before rueidis panics
// over it.
var errSlots = errors.New("the keys lie in different cluster slots")

// checkSameSlot checks that keys may be used in one command or transaction: in a
// cluster they must share a slot. The error is an *Error of class Invalid.
func (c *Client) checkSameSlot(keys ...string) error {
	if !c.slots || len(keys) < 2 {
		return nil
	}
	first := slot.Of([]byte(keys[0]))
	for _, k := range keys[1:] {
		if s := slot.Of([]byte(k)); s != first {
			return &Error{Class: Invalid, Err: fmt.Errorf("%w: %d and %d", errSlots, first, s),
				Hint: "give their patterns the same hash tag, {#…}; with `cluster: true` lint says where one is missing"}
		}
	}
	return nil
}
