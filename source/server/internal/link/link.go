// Package link is a connection to one server that sends only what Commands lists, and what the replies to it mean: a
// refusal, a command that there is not, a key that is at another node. It does not know which servers there are.
package link

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/connect/topology"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source/server/allowed"
)

// Link represents a connection that only sends what Commands lists.
type Link struct {
	*wire.Conn
	Address string
	DB      int // the database that is selected
}

// Dial connects to a server.
func Dial(ctx context.Context, c connect.Config) (*Link, error) {
	conn, err := connect.Dial(ctx, c)
	if err != nil {
		return nil, err
	}
	return &Link{conn, c.Addresses[0], 0}, nil
}

// Close closes the connection, if there is one.
func (l *Link) Close() {
	if l != nil && l.Conn != nil {
		l.Conn.Close()
	}
}

// Allowed lists the commands as they begin on the wire.
var Allowed = func() map[string]bool {
	m := map[string]bool{}
	for _, c := range allowed.Commands() {
		m[c.Name] = true
	}
	return m
}()

// Ask sends one command of the list and reads its reply.
func (l *Link) Ask(ctx context.Context, args ...string) (any, error) {
	name := strings.ToLower(args[0])
	sub := name
	if len(args) > 1 {
		sub += "|" + strings.ToLower(args[1])
	}
	if !Allowed[name] && !Allowed[sub] && !OnlyTried[name] && !OnlyTried[sub] {
		return nil, fmt.Errorf("%s is not a command this package may send: this is a bug in keywright, please report it",
			args[0])
	}
	stop := context.AfterFunc(ctx, l.Interrupt)
	defer stop()
	reply, err := connect.Ask(l.Conn, args...)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return reply, connect.Explain(l.Address, err)
}

// Info reads all of INFO that the scan needs; empty if forbidden.
func (l *Link) Info(ctx context.Context) (topology.Info, error) {
	info, err := topology.ReadInfo(ctx, l.Ask, "default", "commandstats")
	var refused *wire.ServerError
	if errors.As(err, &refused) && refused.Code == "NOPERM" {
		return topology.Info{}, nil
	}
	return info, l.Explained(err)
}

// Nodes returns the nodes of the cluster, as this one sees them.
func (l *Link) Nodes(ctx context.Context) (topology.Nodes, error) {
	nodes, err := topology.ReadNodes(ctx, l.Ask, l.Address)
	return nodes, l.Explained(err)
}

// Explained explains a reply that the command does not have.
func (l *Link) Explained(err error) error {
	if reply, ok := errors.AsType[*topology.ReplyError](err); ok {
		return connect.Explain(l.Address, &wire.ProtocolError{Got: reply.Got, Want: reply.Want})
	}
	return err
}

// Clock returns the server's time.
func (l *Link) Clock(ctx context.Context) (time.Time, error) {
	reply, err := l.Ask(ctx, "TIME")
	if err != nil {
		return time.Time{}, err
	}
	pair, _ := reply.([]any)
	if len(pair) != 2 {
		return time.Time{},
			connect.Explain(l.Address, &wire.ProtocolError{Got: fmt.Sprintf("%T", reply), Want: "the two of TIME"})
	}
	seconds, err1 := strconv.ParseInt(fmt.Sprint(pair[0]), 10, 64)
	micros, err2 := strconv.ParseInt(fmt.Sprint(pair[1]), 10, 64)
	return time.Unix(seconds, micros*1000).UTC(), errors.Join(err1, err2)
}

// LacksDatabase says that the server has no such database, and how many it has; "" if it has it,
// or the user may not select it. Every server has database 0.
func (l *Link) LacksDatabase(ctx context.Context, db int) (string, error) {
	if db <= 0 {
		return "", nil
	}
	_, err := l.Ask(ctx, "SELECT", strconv.Itoa(db))
	var answer *wire.ServerError
	var refused *connect.ConfigError
	switch {
	case err == nil:
		_, err = l.Ask(ctx, "SELECT", "0")
		return "", err
	case errors.As(err, &refused): // a cluster
		return refused.What, nil
	case !errors.As(err, &answer):
		return "", err
	case answer.Code == "NOPERM":
		return "", nil
	}
	reply, err := l.Ask(ctx, "CONFIG", "GET", "databases")
	if err != nil && !Denied(err) {
		return fmt.Sprintf("%s has no database %d", l.Address, db), err
	}
	return fmt.Sprintf("%s has no database %d%s", l.Address, db, countOf(reply)), nil
}

// countOf returns what the setting databases says, as the end of a sentence.
func countOf(reply any) string {
	pair, _ := reply.([]any)
	if len(pair) < 2 {
		return ""
	}
	n, err := strconv.Atoi(fmt.Sprint(pair[1]))
	switch {
	case err != nil || n < 1:
		return ""
	case n == 1:
		return ": it has one, 0"
	}
	return fmt.Sprintf(": it has %d, 0 to %d", n, n-1)
}

// patience says how long a replica is given to reach what its primary has.
const patience = 2 * time.Second

// Reaches waits until a replica has all that its primary had when it named its
// offset. One that INFO of the primary lists as in step may, in a small server,
// lack every key.
func (l *Link) Reaches(ctx context.Context, offset string) error {
	want, _ := strconv.ParseInt(offset, 10, 64)
	for end := time.Now().Add(patience); ; {
		info, err := l.Info(ctx)
		if err != nil {
			return err
		}
		if has, err := strconv.ParseInt(info["master_repl_offset"], 10, 64); err == nil && has >= want {
			return nil
		}
		if time.Now().After(end) {
			return &connect.Error{Kind: connect.Unreachable, Server: l.Address,
				Err: errors.New("it lacks what its primary has, or INFO is not allowed")}
		}
		if err := Sleep(ctx, patience/200); err != nil {
			return err
		}
	}
}

// Sleep waits, or ends with the context.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// NoSuchKey is a name that is unlikely to be that of a key or channel.
const NoSuchKey = "keywright:doctor:nothing"

// OnlyTried lists the commands that are tried and that this package does without.
var OnlyTried = map[string]bool{"evalsha": true, "script|exists": true, "subscribe": true, "acl|dryrun": true}
