package keywright

import (
	"reflect"
	"sync"
)

// parts are what constructs keep per client: a lock's waiters, a subscription.
type parts struct {
	mu     sync.Mutex
	closed bool
	byType map[reflect.Type]interface{ Close() }
}

// Part is the one T of this client, made when it is first asked for and closed
// before the client closes its connections. It is for the packages of
// constructs, which keep there what all handles of a client share.
func Part[T interface{ Close() }](c *Client, make func(*Client) T) T {
	p := &c.parts
	p.mu.Lock()
	defer p.mu.Unlock()
	typ := reflect.TypeFor[T]()
	if old, ok := p.byType[typ]; ok {
		return old.(T)
	}
	if p.byType == nil {
		p.byType = map[reflect.Type]interface{ Close() }{}
	}
	t := make(c)
	p.byType[typ] = t
	if p.closed {
		t.Close()
	}
	return t
}

func (p *parts) close() {
	p.mu.Lock()
	p.closed = true
	all := p.byType
	p.mu.Unlock()
	for _, part := range all { // no part is added to all any more that is not closed
		part.Close()
	}
}
