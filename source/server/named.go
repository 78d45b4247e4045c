package server

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source"
)

// redirect represents a key that is at another node of the cluster.
type redirect struct {
	name    []byte
	address string // where it was said to be
}

// movedAway notes a key that has to be read at another node.
func (w *contentWalk) movedAway(name []byte, to string) {
	w.moved++
	if w.byName {
		w.asks = append(w.asks, redirect{slices.Clone(name), to})
	}
}

// readNamed reads the values of keys of one server.
func readNamed(ctx context.Context, run *run, sh *shard, db int, request ContentsRequest, names [][]byte,
	each func([]source.Content) error) error {
	w := &contentWalk{walk: &walk{run: run, sh: sh, db: db}, wanted: request, each: each, byName: true}
	return w.named(ctx, names)
}

// exist calls yes for those of the keys that one server has.
func exist(ctx context.Context, sh *shard, db int, names [][]byte, yes func([]byte)) error {
	w := &contentWalk{walk: &walk{sh: sh, db: db}, byName: true}
	return w.exist(ctx, names, yes)
}

// named reads the values of keys.
func (w *contentWalk) named(ctx context.Context, names [][]byte) error {
	stop := context.AfterFunc(ctx, w.sh.conn.Interrupt)
	defer stop()
	if err := w.select1(); err != nil {
		return connect.Explain(w.sh.address, err)
	}
	t := &turn{page: &page{}}
	for _, name := range names {
		t.page.slab = append(t.page.slab, name...)
		t.page.ends = append(t.page.ends, len(t.page.slab))
	}
	err := w.ask(nil, t, "", false)
	if err == nil {
		err = w.read(nil, t)
	}
	if err == nil {
		err = w.finishTurn(ctx, t)
	}
	for i := 0; err == nil && i < len(w.asks); i++ {
		err = w.elsewhere(ctx, w.asks[i])
	}
	if err != nil {
		return w.explain(err)
	}
	if w.denied > 0 {
		return connect.Explain(w.sh.address,
			&wire.ServerError{Code: "NOPERM", Message: fmt.Sprintf("NOPERM %d keys are out of the user's reach", w.denied)})
	}
	return nil
}

// select1 selects the database if it is another one.
func (w *contentWalk) select1() error {
	if w.sh.conn.db == w.db && w.sh.asked {
		return nil
	}
	w.sh.asked = true
	return w.begin()
}

// errElsewhere is why keys are asked for again: no one says where they are.
var errElsewhere = &wire.ServerError{Code: "MOVED", Message: "MOVED: the slots of the cluster have changed"}

// elsewhere reads a key of a slot that moves at the node that it moves to.
func (w *contentWalk) elsewhere(ctx context.Context, k redirect) error {
	conn, err := w.asking(ctx, k)
	if err != nil {
		return err
	}
	defer conn.close()
	own := w.sh
	w.sh = &shard{config: own.config, address: k.address, conn: conn, before: own.before}
	defer func() { w.sh = own }()
	w.asks, w.moved = w.asks[:len(w.asks):len(w.asks)], 0
	if err := w.wholeAfterAll(k.name); err != nil {
		return err
	}
	if w.moved > 0 {
		return errElsewhere
	}
	return nil
}

// asking connects to the node that a slot moves to, and says so.
func (w *contentWalk) asking(ctx context.Context, k redirect) (*link, error) {
	if k.address == "" {
		return nil, errElsewhere
	}
	conn, err := dial(ctx, w.sh.config.At(k.address))
	if err != nil {
		return nil, err
	}
	conn.LimitBulk(wire.MaxBulk)
	if _, err := connect.Ask(conn.Conn, "ASKING"); err != nil {
		conn.close()
		return nil, err
	}
	return conn, nil
}

// exist calls yes for those of the keys that are there.
func (w *contentWalk) exist(ctx context.Context, names [][]byte, yes func([]byte)) error {
	stop := context.AfterFunc(ctx, w.sh.conn.Interrupt)
	defer stop()
	c := w.sh.conn
	if c.db != w.db {
		if _, err := connect.Ask(c.Conn, "SELECT", strconv.Itoa(w.db)); err != nil {
			return connect.Explain(w.sh.address, err)
		}
		c.db = w.db
	}
	for _, name := range names {
		c.Header(2)
		c.Arg("EXISTS")
		c.ArgBytes(name)
	}
	if err := c.Flush(); err != nil {
		return connect.Explain(w.sh.address, err)
	}
	for _, name := range names {
		n, _, err := c.Int()
		if to, is := redirected(err); is {
			w.movedAway(name, to)
		} else if err != nil {
			return connect.Explain(w.sh.address, err)
		}
		if n > 0 {
			yes(name)
		}
	}
	for _, k := range w.asks {
		conn, err := w.asking(ctx, k)
		if err != nil {
			return err
		}
		n, err := connect.Ask(conn.Conn, "EXISTS", string(k.name))
		conn.close()
		if err != nil {
			return connect.Explain(k.address, err)
		}
		if n == int64(1) {
			yes(k.name)
		}
	}
	return nil
}
