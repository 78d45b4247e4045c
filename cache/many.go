package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/kernel/notice"
)

// Result is one of several values: Err is ErrNotFound for one that is not there.
type Result[V any] struct {
	Value V
	Err   error
}

// ManyLoader gets the values of the items with the given indexes, in one go. One
// that it leaves out does not exist. Its context is that of a Loader.
type ManyLoader[V any] = func(ctx context.Context, missing []int) (map[int]V, error)

// GetMany reads several values, each with its own result: one pipeline per
// server. It reads the server, and no copy in this process unless the server does
// not answer (ServeStale).
func (c *Cache[V]) GetMany(ctx context.Context, items []Item[V]) []Result[V] {
	out := make([]Result[V], len(items))
	for n, r := range c.readMany(ctx, items) {
		c.read(ctx, r)
		out[n] = Result[V]{r.value, r.err}
	}
	return out
}

func (c *Cache[V]) readMany(ctx context.Context, items []Item[V]) []reading[V] {
	out := make([]reading[V], len(items))
	var b keywright.Batch
	waiting := make([]*keywright.Pending[V], len(items))
	for n, i := range items {
		if out[n].err = i.of(c); out[n].err == nil {
			waiting[n] = keywright.Queue(&b, i.reading())
		}
	}
	if b.Len() == 0 {
		return out
	}
	if c.guard != nil && !c.guard.Allow() {
		for n := range waiting {
			if waiting[n] != nil {
				out[n] = items[n].without(c.unavailable("get many"))
			}
		}
		return out
	}
	short, cancel := c.patient(ctx)
	defer cancel()
	c.recordResult(ctx, b.Run(short))
	for n, p := range waiting {
		if p != nil {
			out[n] = items[n].settled(ctx, p)
		}
	}
	return out
}

// settled returns the result of one of several. What failed for a passing reason is read
// again alone, unless the server is to be left alone soon.
func (i Item[V]) settled(ctx context.Context, p *keywright.Pending[V]) reading[V] {
	v, err := p.Result()
	class, ours := keywright.ClassOf(err)
	switch {
	case err == nil && i.c.copies != nil:
		i.c.copies.put(i.main, v, time.Now())
	case !ours || ctx.Err() != nil:
	case i.c.guard == nil && class == keywright.Retryable:
		v, err = i.plain(ctx)
	case i.c.guard != nil && failing(err):
		return i.without(err)
	}
	return reading[V]{value: v, left: -1, err: err}
}

// GetOrLoadMany reads several values, and loads all that are missing and that
// no other one is loading with one call of the loader. Those that another process
// or call is loading are waited for. One pipeline per server for the hits; two
// more and the load otherwise. An error of the loader is the result of every item
// that it was to load. ctx bounds the waiting and does not stop the load.
func (c *Cache[V]) GetOrLoadMany(ctx context.Context, items []Item[V], load ManyLoader[V]) []Result[V] {
	out := make([]Result[V], len(items))
	m := &many[V]{c: c, items: items, out: make([]Result[V], len(items)), load: load, loaded: map[int]bool{}}
	for n, r := range c.readMany(ctx, items) {
		out[n] = Result[V]{r.value, r.err}
		if r.err == keywright.ErrNotFound || c.o.Down != Fail && ctx.Err() == nil && failing(r.err) {
			m.open = append(m.open, n)
		} else {
			c.read(ctx, r)
		}
	}
	if len(m.open) == 0 {
		return out
	}
	wanted := m.open
	done := make(chan struct{})
	inner, leave := c.apart(ctx)
	go func() {
		defer close(done)
		m.fly(inner)
	}()
	defer leave()
	select {
	case <-done:
		for _, n := range wanted {
			out[n] = m.out[n]
			if !m.loaded[n] {
				c.notice(ctx, notice.CacheMiss, 0, nil)
			}
		}
	case <-ctx.Done():
		for _, n := range wanted {
			out[n].Err = &keywright.Error{Class: keywright.Retryable, Op: "get or load many", Entry: c.entry.Name,
				Err: ctx.Err()}
		}
	case <-c.client.Life().Done():
		for _, n := range wanted {
			out[n].Err = c.over(c.client.Life())
		}
	}
	return out
}

func (i Item[V]) reading() keywright.Op[V] {
	main := i.main
	return kernel.NewOp(kernel.Spec[V]{Action: i.action("get", keywright.Reads), Decode: i.decode, Build: get(main)})
}

// many represents the load of several items under way.
type many[V any] struct {
	c     *Cache[V]
	items []Item[V]
	out   []Result[V]
	load  ManyLoader[V]
	open  []int // those without a result

	loaded map[int]bool // those that the loader was asked for
}

// fly claims, loads what it may, and waits for the rest. It loads before it waits:
// two of these never wait for each other.
func (m *many[V]) fly(ctx context.Context) {
	for waits, tries := 0, 0; len(m.open) > 0; {
		token := newToken()
		own, left, err := m.claim(ctx, token)
		switch {
		case failing(err) && m.c.o.Down != Fail && ctx.Err() == nil:
			go m.release(ctx, token, m.open)
			m.fill(m.run(ctx, m.open))
			return
		case err != nil:
			go m.release(ctx, token, m.open)
			m.fail(m.open, err)
			return
		case ctx.Err() != nil:
			m.release(ctx, token, own)
			m.fail(own, m.c.over(ctx))
			m.fail(m.open, m.c.over(ctx))
			return
		case len(own) > 0:
			m.own(ctx, token, own, tries == refusals)
			tries++
			continue
		case len(m.open) == 0:
			return
		}
		if err := m.items[m.open[0]].await(ctx, waits, left); err != nil {
			m.fail(m.open, err)
			return
		}
		waits++
	}
}

// claim settles what is there or known to be absent, and gives the indexes that
// are ours to load.
func (m *many[V]) claim(ctx context.Context, token string) (own []int, left time.Duration, err error) {
	if m.c.guard != nil && !m.c.guard.Allow() {
		return nil, 0, m.c.unavailable("claim many")
	}
	if err := m.announce(ctx); err != nil {
		return nil, 0, err
	}
	var b keywright.Batch
	pending := make([]*keywright.Pending[claimed[V]], len(m.open))
	for k, n := range m.open {
		pending[k] = keywright.Queue(&b, m.items[n].claim(token, onMiss))
	}
	short, cancel := m.c.patient(context.WithoutCancel(ctx)) // as in Item.ask
	defer cancel()
	m.c.recordResult(ctx, b.Run(short))
	var busied []int
	for k, n := range m.open {
		got, bad := pending[k].Result()
		switch {
		case bad != nil && !failing(bad):
			m.out[n].Err = bad
		case bad != nil:
			err = errors.Join(err, bad)
		case got.state == hit:
			m.out[n] = Result[V]{Value: got.value}
		case got.state == absent:
			m.out[n].Err = keywright.ErrNotFound
		case got.state == mine:
			own = append(own, n)
		default:
			busied, left = append(busied, n), got.left
		}
	}
	if err != nil {
		return nil, 0, err
	}
	m.open = busied
	return own, left, nil
}

// announce enters what is open in its tags. An item whose tag the server refuses
// fails alone.
func (m *many[V]) announce(ctx context.Context) error {
	var open []int
	for _, n := range m.open {
		err := m.items[n].announce(ctx)
		switch {
		case failing(err):
			return err
		case err != nil:
			m.out[n].Err = err
			continue
		}
		open = append(open, n)
	}
	m.open = open
	return nil
}

// own loads the items that are ours. Those whose fill was refused, because they
// were invalidated meanwhile, are open again, unless it is the last try.
func (m *many[V]) own(ctx context.Context, token string, own []int, last bool) {
	stop := m.c.renewing(ctx, token, m.pick(own)...)
	defer stop()
	began := time.Now()
	results := m.run(ctx, own)
	spent := time.Since(began) / time.Duration(len(own)) // one loader has loaded them all
	stop()
	limited, cancel := m.c.finishing(ctx)
	defer cancel()
	var ops []keywright.Op[bool]
	for _, n := range own {
		switch r := results[n]; {
		case r.Err == nil || r.Err == keywright.ErrNotFound:
			if m.items[n].announce(limited) == nil {
				ops = append(ops, m.items[n].loaded(token, r.Value, r.Err == nil, spent))
				continue
			}
		}
		ops = append(ops, m.items[n].lease(token, 0))
	}
	stored := m.runFills(limited, ops)
	for k, n := range own {
		r := results[n]
		if err := stored[k].err; err != nil && !failing(err) {
			r.Err = err
		}
		if refused := stored[k].err == nil && !stored[k].ok && (r.Err == nil || r.Err == keywright.ErrNotFound); refused &&
			!last {
			m.open = append(m.open, n)
			continue
		}
		m.out[n] = r
	}
}

type outcome struct {
	ok  bool
	err error
}

// runFills runs the fills in one pipeline, and those that failed for a passing
// reason again alone.
func (m *many[V]) runFills(ctx context.Context, ops []keywright.Op[bool]) []outcome {
	var b keywright.Batch
	pending := make([]*keywright.Pending[bool], len(ops))
	for k, op := range ops {
		pending[k] = keywright.Queue(&b, op)
	}
	_ = b.Run(ctx)
	out := make([]outcome, len(ops))
	for k, p := range pending {
		if out[k].ok, out[k].err = p.Result(); failing(out[k].err) {
			out[k].ok, out[k].err = ops[k].Do(ctx)
		}
	}
	return out
}

// run calls the loader; what it leaves out is not found.
func (m *many[V]) run(ctx context.Context, wanted []int) map[int]Result[V] {
	ctx, free := m.c.apart(ctx)
	defer free()
	ctx, cancel := context.WithTimeout(ctx, m.c.o.Limit)
	defer cancel()
	began := time.Now()
	values, err := m.guarded(ctx, wanted)
	err = m.c.stopped(ctx, err)
	spent := time.Since(began)
	m.c.spent.add(spent)
	m.c.ran(ctx, spent, err)
	out := make(map[int]Result[V], len(wanted))
	for _, n := range wanted {
		m.loaded[n] = true
		v, found := values[n]
		switch {
		case err != nil:
			out[n] = Result[V]{Err: err}
		case !found:
			out[n] = Result[V]{Err: keywright.ErrNotFound}
		default:
			out[n] = Result[V]{Value: v}
		}
	}
	return out
}

func (m *many[V]) guarded(ctx context.Context, wanted []int) (values map[int]V, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the loader of %s panicked: %v", m.c.entry.Name, r)
		}
	}()
	return m.load(ctx, append([]int(nil), wanted...))
}

func (m *many[V]) fill(results map[int]Result[V]) {
	for n, r := range results {
		m.out[n] = r
	}
}

func (m *many[V]) fail(indexes []int, err error) {
	for _, n := range indexes {
		m.out[n].Err = err
	}
}

func (m *many[V]) release(ctx context.Context, token string, indexes []int) {
	ctx, cancel := m.c.finishing(ctx)
	defer cancel()
	var b keywright.Batch
	for _, i := range m.pick(indexes) {
		keywright.Queue(&b, i.lease(token, 0))
	}
	_ = b.Run(ctx)
}

func (m *many[V]) pick(indexes []int) []Item[V] {
	out := make([]Item[V], len(indexes))
	for k, n := range indexes {
		out[k] = m.items[n]
	}
	return out
}
