package examine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/wire"
	"github.com/keywright/keywright/source/server/internal/link"
)

// Purpose says what a command is tried for.
type Purpose uint8

// The purposes.
const (
	ForAudit Purpose = iota
	ForPrograms
)

// trial represents a command in a form that changes nothing, sent to see whether the user
// may run it.
type trial struct {
	name    string // as shown
	args    []string
	purpose Purpose
	own     bool // on a connection of its own: it changes what the connection is for
	cluster bool // a cluster only needs it
}

// trialList is tried in order. None of them writes: of those that could, the key, the
// channel and the script do not exist.
var trialList = []trial{
	{name: "PING", args: []string{"PING"}},
	{name: "SELECT", args: []string{"SELECT", "0"}},
	{name: "SCAN", args: []string{"SCAN", "0", "COUNT", "1"}},
	{name: "TYPE", args: []string{"TYPE", link.NoSuchKey}},
	{name: "PTTL", args: []string{"PTTL", link.NoSuchKey}},
	{name: "MEMORY USAGE", args: []string{"MEMORY", "USAGE", link.NoSuchKey}},
	{name: "DBSIZE", args: []string{"DBSIZE"}},
	{name: "INFO", args: []string{"INFO", "server"}},
	{name: "OBJECT ENCODING", args: []string{"OBJECT", "ENCODING", link.NoSuchKey}},
	{name: "XLEN", args: []string{"XLEN", link.NoSuchKey}},
	{name: "GETRANGE", args: []string{"GETRANGE", link.NoSuchKey, "0", "0"}},
	{name: "LLEN", args: []string{"LLEN", link.NoSuchKey}},
	{name: "LRANGE", args: []string{"LRANGE", link.NoSuchKey, "0", "0"}},
	{name: "HRANDFIELD", args: []string{"HRANDFIELD", link.NoSuchKey, "1"}},
	{name: "HLEN", args: []string{"HLEN", link.NoSuchKey}},
	{name: "HSCAN", args: []string{"HSCAN", link.NoSuchKey, "0"}},
	{name: "SRANDMEMBER", args: []string{"SRANDMEMBER", link.NoSuchKey, "1"}},
	{name: "SCARD", args: []string{"SCARD", link.NoSuchKey}},
	{name: "SSCAN", args: []string{"SSCAN", link.NoSuchKey, "0"}},
	{name: "ZRANDMEMBER", args: []string{"ZRANDMEMBER", link.NoSuchKey, "1"}},
	{name: "ZCARD", args: []string{"ZCARD", link.NoSuchKey}},
	{name: "ZSCAN", args: []string{"ZSCAN", link.NoSuchKey, "0"}},
	{name: "XRANGE", args: []string{"XRANGE", link.NoSuchKey, "-", "+", "COUNT", "1"}},
	{name: "XREVRANGE", args: []string{"XREVRANGE", link.NoSuchKey, "+", "-", "COUNT", "1"}},
	{name: "READONLY", args: []string{"READONLY"}, own: true, cluster: true},
	{name: "CLUSTER NODES", args: []string{"CLUSTER", "NODES"}, cluster: true},
	{name: "CLUSTER COUNTKEYSINSLOT", args: []string{"CLUSTER", "COUNTKEYSINSLOT", "0"}, cluster: true},
	{name: "CLUSTER GETKEYSINSLOT", args: []string{"CLUSTER", "GETKEYSINSLOT", "0", "1"}, cluster: true},
	{name: "EVALSHA", args: []string{"EVALSHA", strings.Repeat("0", 40), "0"}, purpose: ForPrograms},
	{name: "SCRIPT EXISTS", args: []string{"SCRIPT", "EXISTS", strings.Repeat("0", 40)}, purpose: ForPrograms},
	{name: "SUBSCRIBE", args: []string{"SUBSCRIBE", link.NoSuchKey}, purpose: ForPrograms, own: true},
}

// trials holds the results.
type trials struct {
	refused []trial
	fewKeys bool // the user may run a command, but not on every key
}

func (t *trials) denied() []string {
	return append(t.deniedFor(ForAudit), t.deniedFor(ForPrograms)...)
}

func (t *trials) deniedFor(p Purpose) []string {
	var out []string
	for _, one := range t.refused {
		if one.purpose == p {
			out = append(out, one.name)
		}
	}
	return out
}

// try sends what the user may or may not run. A connection that breaks ends it; any
// answer but NOPERM means that it may be run.
func (p *Patient) try(ctx context.Context, l *link.Link, _ func() time.Time) error {
	for _, t := range trialList {
		if t.name == "SELECT" && p.Info.Clustered() || t.cluster && !p.Info.Clustered() {
			continue
		}
		err := t.send(ctx, l, p)
		var answer *wire.ServerError
		switch {
		case err == nil:
		case !errors.As(err, &answer):
			return err
		case answer.Code != "NOPERM":
		case link.AboutKeys(answer.Message):
			p.tried.fewKeys = p.tried.fewKeys || !t.own // a user of some channels is nothing to tell
		case !slices.ContainsFunc(p.tried.refused, func(r trial) bool { return r.name == t.name }):
			p.tried.refused = append(p.tried.refused, t)
		}
	}
	return nil
}

func (t trial) send(ctx context.Context, l *link.Link, p *Patient) error {
	if t.own {
		own, err := link.Dial(ctx, p.config)
		if err != nil {
			return err
		}
		defer own.Close()
		l = own
	}
	_, err := l.Ask(ctx, t.args...)
	return err
}

// stranger tries what a connection may do that does not log in. One that shows a certificate is
// not anybody's.
func (p *Patient) stranger(ctx context.Context, _ *link.Link, _ func() time.Time) error {
	c := p.config
	if c.TLS != nil && (len(c.TLS.Certificates) > 0 || c.TLS.GetClientCertificate != nil) {
		return nil
	}
	c.User, c.Password = "", connect.Secret{}
	l, err := link.Dial(ctx, c)
	if err != nil {
		return nil // it is not let in, which is an answer
	}
	defer l.Close()
	_, err = l.Ask(ctx, "TYPE", link.NoSuchKey)
	var answer *wire.ServerError
	p.Open = err == nil || errors.As(err, &answer) && answer.Code == "NOPERM" && link.AboutKeys(answer.Message)
	return nil
}
