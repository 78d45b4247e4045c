package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/topology"
)

// link represents a connection that only sends what Commands lists.
type link struct {
	*wire.Conn
	address string
	db      int // the database that is selected
}

func dial(ctx context.Context, c connect.Config) (*link, error) {
	conn, err := connect.Dial(ctx, c)
	if err != nil {
		return nil, err
	}
	return &link{conn, c.Addresses[0], 0}, nil
}

func (l *link) close() {
	if l != nil && l.Conn != nil {
		l.Conn.Close()
	}
}

// allowed lists the commands as they begin on the wire.
var allowed = func() map[string]bool {
	m := map[string]bool{}
	for _, c := range Commands() {
		m[c.Name] = true
	}
	return m
}()

// ask sends one command of the list and reads its reply.
func (l *link) ask(ctx context.Context, args ...string) (any, error) {
	name := strings.ToLower(args[0])
	sub := name
	if len(args) > 1 {
		sub += "|" + strings.ToLower(args[1])
	}
	if !allowed[name] && !allowed[sub] && !onlyTried[name] && !onlyTried[sub] {
		return nil, fmt.Errorf("%s is not a command this package may send: this is a bug in keywright, please report it",
			args[0])
	}
	stop := context.AfterFunc(ctx, l.Interrupt)
	defer stop()
	reply, err := connect.Ask(l.Conn, args...)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return reply, connect.Explain(l.address, err)
}

// info reads all of INFO that the scan needs; empty if forbidden.
func (l *link) info(ctx context.Context) (topology.Info, error) {
	info, err := topology.ReadInfo(ctx, l.ask, "default", "commandstats")
	var refused *wire.ServerError
	if errors.As(err, &refused) && refused.Code == "NOPERM" {
		return topology.Info{}, nil
	}
	return info, l.strange(err)
}

func (l *link) nodes(ctx context.Context) (topology.Nodes, error) {
	nodes, err := topology.ReadNodes(ctx, l.ask, l.address)
	return nodes, l.strange(err)
}

// strange explains a reply that is none of the command's.
func (l *link) strange(err error) error {
	if reply, ok := errors.AsType[*topology.ReplyError](err); ok {
		return connect.Explain(l.address, &wire.ProtocolError{Got: reply.Got, Want: reply.Want})
	}
	return err
}

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

// clock returns the server's time.
func (l *link) clock(ctx context.Context) (time.Time, error) {
	reply, err := l.ask(ctx, "TIME")
	if err != nil {
		return time.Time{}, err
	}
	pair, _ := reply.([]any)
	if len(pair) != 2 {
		return time.Time{},
			connect.Explain(l.address, &wire.ProtocolError{Got: fmt.Sprintf("%T", reply), Want: "the two of TIME"})
	}
	seconds, err1 := strconv.ParseInt(fmt.Sprint(pair[0]), 10, 64)
	micros, err2 := strconv.ParseInt(fmt.Sprint(pair[1]), 10, 64)
	return time.Unix(seconds, micros*1000).UTC(), errors.Join(err1, err2)
}
