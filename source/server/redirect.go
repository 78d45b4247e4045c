package server

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source"
)

// redirect represents a key that is at another node of the cluster.
type redirect struct {
	name    []byte
	address string // where it was said to be
}

// redirected tells the answers of a cluster whose slots move: the key is at another
// node, or soon will be.
func redirected(err error) (address string, is bool) {
	if err == nil { // nearly always: a variable whose address is taken would be allocated for each reply
		return "", false
	}
	var answer *wire.ServerError
	if !errors.As(err, &answer) {
		return "", false
	}
	switch answer.Code {
	case "ASK", "MOVED":
		words := strings.Fields(answer.Message)
		if answer.Code == "ASK" && len(words) > 0 {
			address = words[len(words)-1]
		}
		return address, true
	case "TRYAGAIN":
		return "", true
	}
	return "", false
}

// movedAway notes a key that has to be read at another node.
func (w *contentWalk) movedAway(name []byte, to string) {
	w.moved++
	if w.byName {
		w.asks = append(w.asks, redirect{slices.Clone(name), to})
	}
}

// throughAll walks the database, and says what it could not read.
func (w *contentWalk) throughAll(ctx context.Context) error {
	err := w.through(ctx)
	if err == nil && w.moved > 0 {
		moved := source.Why(source.SlotsMoved, w.sh.address, nil).In(w.db)
		moved.Keys = w.moved
		w.note(moved)
	}
	return err
}
