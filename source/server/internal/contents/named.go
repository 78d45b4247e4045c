package contents

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server/internal/fleet"
	"github.com/keywright/keywright/source/server/internal/link"
	"github.com/keywright/keywright/source/server/internal/scan"
	"github.com/keywright/keywright/source/server/request"
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

// Named reads the values of keys of one server.
func Named(ctx context.Context, run *scan.Run, sh *fleet.Shard, db int, wanted request.Contents, names [][]byte,
	each func([]source.Content) error) error {
	w := &contentWalk{Walk: &scan.Walk{Run: run, Shard: sh, DB: db}, wanted: wanted, each: each, byName: true}
	return w.named(ctx, names)
}

// Exist calls yes for those of the keys that one server has.
func Exist(ctx context.Context, sh *fleet.Shard, db int, names [][]byte, yes func([]byte)) error {
	w := &contentWalk{Walk: &scan.Walk{Shard: sh, DB: db}, byName: true}
	return w.exist(ctx, names, yes)
}

// named reads the values of keys.
func (w *contentWalk) named(ctx context.Context, names [][]byte) error {
	stop := context.AfterFunc(ctx, w.Shard.Conn.Interrupt)
	defer stop()
	if err := w.select1(); err != nil {
		return connect.Explain(w.Shard.Address, err)
	}
	t := &turn{page: &scan.Page{}}
	for _, name := range names {
		t.page.Slab = append(t.page.Slab, name...)
		t.page.Ends = append(t.page.Ends, len(t.page.Slab))
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
	if w.Denied > 0 {
		return connect.Explain(w.Shard.Address,
			&wire.ServerError{Code: "NOPERM", Message: fmt.Sprintf("NOPERM %d keys are out of the user's reach", w.Denied)})
	}
	return nil
}

// select1 selects the database if it is another one.
func (w *contentWalk) select1() error {
	if w.Shard.Conn.DB == w.DB && w.Shard.Asked {
		return nil
	}
	w.Shard.Asked = true
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
	defer conn.Close()
	own := w.Shard
	w.Shard = &fleet.Shard{Config: own.Config, Address: k.address, Conn: conn, Before: own.Before}
	defer func() { w.Shard = own }()
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
func (w *contentWalk) asking(ctx context.Context, k redirect) (*link.Link, error) {
	if k.address == "" {
		return nil, errElsewhere
	}
	conn, err := link.Dial(ctx, w.Shard.Config.At(k.address))
	if err != nil {
		return nil, err
	}
	conn.LimitBulk(wire.MaxBulk)
	if _, err := connect.Ask(conn.Conn, "ASKING"); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// exist calls yes for those of the keys that are there.
func (w *contentWalk) exist(ctx context.Context, names [][]byte, yes func([]byte)) error {
	stop := context.AfterFunc(ctx, w.Shard.Conn.Interrupt)
	defer stop()
	c := w.Shard.Conn
	if c.DB != w.DB {
		if _, err := connect.Ask(c.Conn, "SELECT", strconv.Itoa(w.DB)); err != nil {
			return connect.Explain(w.Shard.Address, err)
		}
		c.DB = w.DB
	}
	for _, name := range names {
		c.Header(2)
		c.Arg("EXISTS")
		c.ArgBytes(name)
	}
	if err := c.Flush(); err != nil {
		return connect.Explain(w.Shard.Address, err)
	}
	for _, name := range names {
		n, _, err := c.Int()
		if to, is := link.Redirected(err); is {
			w.movedAway(name, to)
		} else if err != nil {
			return connect.Explain(w.Shard.Address, err)
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
		conn.Close()
		if err != nil {
			return connect.Explain(k.address, err)
		}
		if n == int64(1) {
			yes(k.name)
		}
	}
	return nil
}
