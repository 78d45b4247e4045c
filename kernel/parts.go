package kernel

import (
	"reflect"
	"sync"
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

func (p *parts) close() {
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
