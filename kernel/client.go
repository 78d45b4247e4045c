// Package kernel runs operations on servers: it retries what may be retried, and says of an error whether anything
// was applied. It has the operations (Op, Script), calls of many goroutines that share a script (Shared),
// transactions, the TTL policies of entries, subscriptions, and a state that each package keeps per client (Part).
// How a connection is made, and a call left, is in kernel/internal/conn.
//
// It is for the packages of constructs and for generated code; programs use the names of package keywright. The
// client library, rueidis, is known here and in guard only.
//
// API: no promise, at no version.
package kernel

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/kernel/internal/conn"
	"github.com/redis/rueidis"
)

// Options of a client. The zero value is a good choice.
type Options struct {
	Name string // CLIENT SETNAME; shows in CLIENT LIST

	CAFile, CertFile, KeyFile, ServerName string // TLS, with a rediss:// URL

	Insecure bool // do not verify the server's certificate

	// Timeout bounds dialling, and how long a command waits for its reply before the connection is given up. With
	// client-side caching it also bounds how stale a cached value can be while a network partition drops packets without
	// closing the connection (about 1.2 times this). 0: 5 s.
	Timeout time.Duration
	// Attempts bounds how often a read or an idempotent script is sent, and a write that was refused without being
	// applied. 8 attempts take about a second, 16 about seven, as long as most failovers; the context of a call ends them
	// earlier. 1 turns retries off. Without a deadline a read may wait Attempts times Timeout for a frozen server. 0: 8.
	Attempts int
	// Backoff sets the wait before the second attempt. It doubles with each attempt up to a second, half of it at random.
	// 0: 10 ms.
	Backoff time.Duration
	// NoCache turns off client-side caching, which needs RESP3. A client whose ACL user may not use it does without, too,
	// and tells the Logger.
	NoCache bool
	// Connections sets how many connections per server send pipelined commands, as a power of two: 2 means four. 0:
	// rueidis' choice; -1: one.
	Connections int
	// MaxFlushDelay bounds how long the writer collects commands: fewer system calls under load, a later reply for a
	// single caller. 20 µs is a sensible value for a busy server. 0: no delay.
	MaxFlushDelay time.Duration

	Hooks []Hook // called around every operation, in order
	// Logger receives operations at Debug and failures at Warn, with names of entries and never keys or values. It also
	// receives what no caller gets: notices, and errors of workers without OnError. nil: slog.Default; for no logs, one
	// of slog.DiscardHandler.
	Logger *slog.Logger

	// Sealer seals and opens what is declared encrypted. nil: such values can neither be written nor read.
	Sealer Sealer

	// Wrap returns a client between this one and rueidis, such as a guard. That client must pass on the contexts of
	// calls, or contexts derived from them.
	Wrap func(rueidis.Client) rueidis.Client

	Getenv func(string) string // for KEYWRIGHT_URL, REDIS_URL and REDISCLI_AUTH; nil: no environment
}

// Client represents a connection to a server, a cluster, or a primary that sentinels
// name. It is safe for concurrent use.
type Client struct {
	raw      rueidis.Client
	rooms    *conn.CallLimiter
	server   string
	database int
	slots    bool // a cluster: keys used together must share a slot
	retry    retryPolicy
	hooks    []Hook
	noticing bool // a hook wants notices
	log      *slog.Logger
	talks    bool // the logger gets operations, too
	unheard  unheard
	now      func() time.Time
	hub      *invalidations // nil without client-side caching
	parts    parts
	sealer   Sealer

	life context.Context // until Close
	end  context.CancelCauseFunc
}

// Open connects: redis://[user:password@]host:port/db, rediss:// with TLS,
// unix:///path, redis+cluster://host:port,…, redis+sentinel://host:port,…/name.
// An empty url is taken from the environment (Options.Getenv), else
// redis://127.0.0.1:6379. It fails when the server cannot be reached now; later
// a lost connection is made again, with backoff and jitter per address.
func Open(ctx context.Context, url string, o Options) (*Client, error) {
	config, err := connect.New(connect.Options{URL: url, CAFile: o.CAFile, CertFile: o.CertFile, KeyFile: o.KeyFile,
		ServerName: o.ServerName, Insecure: o.Insecure, Timeout: o.Timeout, Getenv: o.Getenv})
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	gate := conn.NewDialGate(config.Network, config.Timeout)
	gate.Login = conn.NewLogin(config)
	opened := gate.Opening(ctx)
	option := clientOption(config, o, gate)
	var hub *invalidations
	if !o.NoCache {
		hub = newInvalidations()
		option.OnInvalidations = hub.tell
	}
	untracked := false
	c, err := newClient(gate, func() (rueidis.Client, error) {
		raw, err := rueidis.NewClient(option)
		if untracked = errors.Is(err, rueidis.ErrNoCache) && strings.Contains(err.Error(), "NOPERM"); untracked {
			hub, option.OnInvalidations, option.DisableCache = nil, nil, true
			return rueidis.NewClient(option)
		}
		return raw, err
	}, config.String(), o)
	if opened() && err == nil {
		c.Close()
		err = ctx.Err()
	}
	if err != nil {
		class, hint := NotApplied, openHint(err)
		if refusal(err) != "" {
			class, _, _ = judge(err, true) // time does not heal a wrong login
		}
		if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
			err = fmt.Errorf("%w: %w", ended, err)
		}
		return nil, &Error{Class: class, Op: "open", Server: config.String(), Err: err, Hint: hint}
	}
	c.hub, c.database = hub, config.DB
	if untracked && c.log != nil {
		c.log.Warn("keywright works without client-side caching: the ACL user lacks client|tracking", "server", c.server)
	}
	return c, nil
}

// New makes a client of a rueidis client that exists already. That client should
// have DisableRetry set: what it retries, and how long its calls wait for a
// connection, is not this package's to answer for.
func New(raw rueidis.Client, o Options) *Client {
	c, _ := newClient(nil, func() (rueidis.Client, error) { return raw, nil }, "", o)
	return c
}

func newClient(gate *conn.DialGate, open func() (rueidis.Client, error), server string, o Options) (*Client, error) {
	life, end := context.WithCancelCause(context.Background())
	c := &Client{life: life, end: end, rooms: conn.NewCallLimiter(gate, life), server: server, database: noDatabase,
		hooks:    o.Hooks,
		noticing: slices.ContainsFunc(o.Hooks, func(h Hook) bool { return h.Notice != nil }), sealer: o.Sealer,
		log: cmp.Or(o.Logger, slog.Default()), talks: o.Logger != nil,
		now:   time.Now,
		retry: retryPolicy{attempts: cmp.Or(max(o.Attempts, 0), 8), backoff: cmp.Or(max(o.Backoff, 0), 10*time.Millisecond)}}
	if o.Logger != nil && o.Logger.Handler() == slog.DiscardHandler {
		c.log, c.talks = nil, false
	}
	if gate != nil {
		gate.Tell, gate.Life = (&connections{client: c}).tell, life
	}
	raw, err := open()
	if err != nil {
		end(ErrClosed)
		gate.Close()
		return nil, err
	}
	if c.slots = raw.Mode() == rueidis.ClientModeCluster; c.slots {
		c.rooms.Nodes = conn.NewNodeMap(raw)
	}
	c.raw = &conn.Client{Client: raw, CallLimiter: c.rooms}
	if o.Wrap != nil {
		c.raw = o.Wrap(c.raw)
	}
	return c, nil
}

func clientOption(c connect.Config, o Options, gate *conn.DialGate) rueidis.ClientOption {
	option := rueidis.ClientOption{
		InitAddress: c.Addresses, AuthCredentialsFn: gate.Credentials, SelectDB: c.DB, TLSConfig: c.TLS,
		ClientName: o.Name, DisableRetry: true, DisableCache: o.NoCache, ConnWriteTimeout: c.Timeout,
		Dialer: net.Dialer{Timeout: c.Timeout, KeepAlive: time.Second},
		DialCtxFn: func(dial context.Context, addr string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
			return gate.Dial(dial, addr, d, t)
		},
		PipelineMultiplex: o.Connections, MaxFlushDelay: o.MaxFlushDelay,
		// Else the deadline of one caller breaks a connection that others wait on, too.
		AlwaysPipelining: true,
		// Connections of blocking reads and transactions go back when they are idle.
		BlockingPoolCleanup: idleFor, BlockingPoolMinSize: 1, BlockingPoolSize: conn.DedicatedConnections(),
		ForceSingleClient: c.Mode == connect.Auto && c.DB != 0,
		// A reader that waits half a minute for a moved slot is no reader.
		ClusterOption: rueidis.ClusterOption{ShardsRefreshInterval: 10 * time.Second},
	}
	if c.Mode == connect.Sentinel {
		option.Sentinel = rueidis.SentinelOption{MasterSet: c.Master, TLSConfig: c.TLS, ClientName: o.Name,
			Dialer: option.Dialer, TopologyRefreshInterval: time.Second}
		option.Sentinel.Dialer.Resolver = gate.Login.Sentinels
	}
	return option
}

// idleFor says how long a connection of its own is kept that is not used.
var idleFor = 30 * time.Second

func openHint(err error) string {
	switch {
	case errors.Is(err, rueidis.ErrNoCache):
		return "set Options.NoCache: this server has no client-side caching"
	case Passes(err):
		return refusals[refusal(err)].hint
	case refusal(err) != "":
		return "check the login and its ACL rules; `keywright acl print` shows what a component needs"
	}
	return "check the URL, and that the server is up: `keywright doctor`"
}

// SetCredentials gives a running client another user or password, as when a
// password is changed in turn. Connections that are made from now on log in with
// them, and those that live do so within about a second; one that listens to channels
// when it is made again. First let the server take both passwords (ACL SETUSER name
// >new), then call this, then take the old one away. A login that the server refuses
// costs the connection. The credentials of sentinels stay.
func (c *Client) SetCredentials(user, password string) error {
	g := c.rooms.Gate
	switch {
	case g == nil:
		return &Error{Op: "set credentials", Err: errors.New("this client was made by New, of one that logs in by itself")}
	case password == "":
		return &Error{Op: "set credentials", Err: errors.New("there is no password")}
	}
	g.SetCredentials(user, password)
	return nil
}

// Close ends every connection. What is under way and what comes later fails with
// ErrClosed.
func (c *Client) Close() {
	c.parts.Close()
	c.end(ErrClosed)
	c.raw.Close()
	c.rooms.Gate.Close()
}

// Life returns a context that ends when the client is closed, with ErrClosed as its
// cause. It is for constructs: what they run in the background ends with it.
func (c *Client) Life() context.Context { return c.life }

// While returns ctx, ended by the end of the client, too: context.Cause is ErrClosed
// then. It is for constructs: a Run, Serve or All works under it. The function
// that it gives frees it.
func (c *Client) While(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.life, func() { end(ErrClosed) })
	return ctx, func() { stop(); end(context.Canceled) }
}

// Ended returns the error of an operation whose context, from While, ended because the
// client was closed, or by an error that is Permanent; nil if ctx has not ended, or for another reason. It is for
// constructs.
func (c *Client) Ended(ctx context.Context, op string, e *Entry) error {
	if refused := Permanent(context.Cause(ctx)); refused != nil {
		return refused
	}
	if !errors.Is(context.Cause(ctx), ErrClosed) {
		return nil
	}
	failed := &Error{Class: NotApplied, Op: op, Err: ErrClosed}
	if e != nil {
		failed.Entry = e.Name
	}
	return failed
}

// Raw returns the rueidis client below, for commands that no handle has. What is
// written through it has no TTL policy.
func (c *Client) Raw() rueidis.Client { return c.raw }

// Server returns the server as it was given, without secrets.
func (c *Client) Server() string { return c.server }

// String implements fmt.Stringer.
func (c *Client) String() string { return fmt.Sprintf("keywright.Client(%s)", c.server) }
