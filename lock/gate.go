package lock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/kernel"
)

// ErrStale reports a write with a fencing token that is older than one that was seen
// already: its holder had lost the lock without knowing. Nothing was written.
var ErrStale = errors.New("a newer holder of the lock has written already")

// mostArgs says how many arguments a command has at most: a script can pass on no
// more of them.
const mostArgs = 7000

// Gate describes what a lock protects, as a key: it lets a command through only with a
// fencing token at least as new as all before. The check and the command are one
// step on the server.
type Gate struct {
	client *keywright.Client
	key    string
	seen   string
	ttl    time.Duration
}

// NewGate makes the gate of a key. The newest token is kept beside it, under
// key:seen in the same slot, for at least ttl (0: a day) after the last write:
// longer than any holder may be late. With a ttl below 1ms every call is Invalid.
func NewGate(c *keywright.Client, key string, ttl time.Duration) Gate {
	if ttl == 0 {
		ttl = helpers
	}
	return Gate{c, key, slot.Sibling(key) + ":seen", ttl}
}

// Do runs a command on the key with a lease's fencing token: Do(ctx, lease.Fence(),
// "SET", value, "PX", "1000"). ErrStale if a newer holder was here before; a
// command that fails has written nothing and leaves the gate as it was. It gives what
// the command answers: nil, a string, an int64, or a list of them. One round trip; it
// is sent once, since a command may not bear to be repeated.
func (g Gate) Do(ctx context.Context, fence int64, command string, args ...string) (any, error) {
	entry := keywright.Entry{Name: "gate", Pattern: g.key}
	if fence < 0 || fence >= 1<<53 || len(args) > mostArgs {
		return nil, &keywright.Error{Class: keywright.Invalid, Op: command, Entry: entry.Name,
			Err:  fmt.Errorf("a fencing token of %d with %d arguments", fence, len(args)),
			Hint: fmt.Sprintf("tokens are below 2^53, and a command has at most %d arguments", mostArgs)}
	}
	if g.ttl < time.Millisecond {
		return nil, &keywright.Error{Class: keywright.Invalid, Op: command, Entry: entry.Name,
			Err:  fmt.Errorf("the newest token would be kept for %v", g.ttl),
			Hint: "keep it for longer than any holder may be late; 0 means a day"}
	}
	return kernel.NewOp(kernel.Spec[any]{
		Action: kernel.Action{Client: g.client, Name: command, Entry: &entry, Effect: keywright.Writes, Key: g.key},
		Script: script.gate, Keys: []string{g.seen, g.key},
		Args:   append([]string{fmt.Sprint(fence), milliseconds(g.ttl), command}, args...),
		Decode: passed,
	}).Do(ctx)
}

func passed(r kernel.Reply) (any, error) {
	all, err := r.ToArray()
	if err != nil {
		return nil, err
	}
	switch open, err := readInteger(all[0]); {
	case err != nil:
		return nil, err
	case open == 0:
		return nil, &keywright.Error{Class: keywright.NotApplied, Err: ErrStale, Hint: "stop: the lock was lost"}
	}
	if len(all) < 2 { // the command answered nil, which ends a Lua list
		return nil, nil
	}
	reply, err := all[1].ToAny()
	if kernel.IsNil(err) {
		return nil, nil
	}
	return reply, err
}

// Execer represents a database or a transaction of database/sql.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// ExecFenced runs a statement that writes one row under a fencing token, and
// gives ErrStale if the row has seen a newer one. The statement does the
// comparison, in the same step as the write:
//
//	UPDATE coupons SET issued = $2, fence = $1 WHERE id = $3 AND fence <= $1
//
// A row that is not there is ErrStale too: insert it first, with fence 0.
func ExecFenced(ctx context.Context, db Execer, query string, args ...any) error {
	result, err := db.ExecContext(ctx, query, args...)
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrStale
	}
	return nil
}
