package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/keywright/keywright/internal/wire"
)

// Dial opens a connection to the first address that answers and logs in. For a
// sentinel URL it asks the sentinels for the primary first. The error is an
// *Error. The database is not selected.
func Dial(ctx context.Context, c Config) (*wire.Conn, error) {
	if c.Mode == Sentinel {
		primary, err := c.Primary(ctx)
		if err != nil {
			return nil, err
		}
		c = c.At(primary)
	}
	var first error
	for _, address := range c.Addresses {
		conn, err := c.dialOne(ctx, address)
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// Primary asks the sentinels, one after the other, which server is the primary
// of Master now.
func (c Config) Primary(ctx context.Context) (string, error) {
	var first error
	for _, address := range c.Addresses {
		s := c
		s.User, s.Password = c.SentinelUser, c.SentinelPassword
		primary, err := s.askSentinel(ctx, address)
		if err == nil {
			return primary, nil
		}
		if first == nil {
			first = err
		}
	}
	return "", first
}

func (c Config) askSentinel(ctx context.Context, address string) (string, error) {
	conn, err := c.dialOne(ctx, address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	reply, err := Ask(conn, "SENTINEL", "get-master-addr-by-name", c.Master)
	if err != nil {
		return "", Explain(address, err)
	}
	pair, ok := reply.([]any)
	if !ok || len(pair) != 2 {
		return "", &Error{Unreachable, address, fmt.Errorf("the sentinel knows no primary %q", c.Master),
			"check the name after the last / of the URL"}
	}
	return net.JoinHostPort(fmt.Sprint(pair[0]), fmt.Sprint(pair[1])), nil
}

func (c Config) dialOne(ctx context.Context, address string) (*wire.Conn, error) {
	timeout := c.Timeout
	if timeout == 0 {
		timeout = 5 * time.Second
	}
	dialer := net.Dialer{Timeout: timeout}
	nc, err := dialer.DialContext(ctx, c.Network, address)
	if err != nil {
		return nil, unreachable(address, err)
	}
	if c.TLS != nil && c.Network == "tcp" {
		if nc, err = c.handshake(ctx, nc, address, timeout); err != nil {
			return nil, err
		}
	}
	conn := wire.New(nc, timeout)
	stop := context.AfterFunc(ctx, conn.Interrupt)
	defer stop()
	if err := c.authenticate(conn); err != nil {
		conn.Close()
		return nil, Explain(address, err)
	}
	return conn, nil
}

func (c Config) handshake(ctx context.Context, nc net.Conn, address string, timeout time.Duration) (net.Conn, error) {
	conf := c.TLS.Clone()
	if conf.ServerName == "" {
		conf.ServerName, _, _ = net.SplitHostPort(address)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	secure := tls.Client(nc, conf)
	if err := secure.HandshakeContext(ctx); err != nil {
		nc.Close()
		if isTimeout(err) || errors.Is(err, context.DeadlineExceeded) {
			return nil, &Error{Unreachable, address, errors.New("no answer to the TLS handshake in time"),
				"does the server speak TLS there? if not, write redis:// instead of rediss://"}
		}
		return nil, unreachable(address, err)
	}
	return secure, nil
}

// sick lists the errors that a server answers a PING with although it can be read, at least in part: PING is not ours
// to use, the last snapshot failed, a replica has lost its primary, too few replicas are in step.
var sick = []string{"NOPERM", "MISCONF", "MASTERDOWN", "NOREPLICAS"}

// authenticate logs in and makes sure that a Redis is at the other end.
func (c Config) authenticate(conn *wire.Conn) error {
	if !c.Password.Empty() || c.User != "" {
		args := []string{"AUTH"}
		if c.User != "" {
			args = append(args, c.User)
		}
		if _, err := Ask(conn, append(args, c.Password.Reveal())...); err != nil {
			return err
		}
	}
	_, err := Ask(conn, "PING")
	var refused *wire.ServerError
	if errors.As(err, &refused) && (slices.Contains(sick, refused.Code) || c.Loading && refused.Code == "LOADING") {
		return nil
	}
	return err
}

// Ask sends one command and reads its reply.
func Ask(conn *wire.Conn, args ...string) (any, error) {
	conn.Command(args...)
	if err := conn.Flush(); err != nil {
		return nil, err
	}
	return conn.Any()
}

// codes says what an error reply means for a program that wants to use the server.
var codes = map[string]struct {
	kind Kind
	hint string
}{
	"NOAUTH":    {Denied, "the server wants a password: set REDISCLI_AUTH, or KEYWRIGHT_URL with user and password"},
	"WRONGPASS": {Denied, "check the user and the password"},
	"NOPERM":    {Denied, "grant the permission; `keywright acl print --self` prints a user that has what an audit needs"},
	"DENIED":    {Denied, "the server runs in protected mode and takes connections from its own machine only"},
	"LOADING":   {Unreachable, "the server is loading its data; try again when it is done"},
	"BUSY":      {Unreachable, "a script keeps the server busy"},
	"ERR":       {Unsupported, ""},
}

// Explain turns an error of a connection into an *Error with a hint.
func Explain(server string, err error) error {
	var already *Error
	var reply *wire.ServerError
	var protocol *wire.ProtocolError
	switch {
	case err == nil || errors.As(err, &already):
		return err
	case errors.As(err, &reply):
		known, ok := codes[reply.Code]
		if !ok {
			known.kind = Broken
		}
		if strings.Contains(reply.Message, "AUTH") && reply.Code == "ERR" {
			known.kind, known.hint = Denied, "the server knows no such login"
		}
		if OnlyDatabase0(reply) {
			return &ConfigError{server + " is of a cluster, and has database 0 only", hintDatabase0}
		}
		return &Error{known.kind, server, &answer{reply}, known.hint}
	case errors.As(err, &protocol):
		return &Error{Unsupported, server, err,
			"is this the port of a Redis or Valkey, and is TLS on at both ends (rediss://) or at none (redis://)?"}
	}
	return unreachable(server, err)
}

// hintDatabase0 says what to do where a database is meant that a cluster does not have.
const hintDatabase0 = "write --db 0, or give the keys of another database to that one: --db 5 --to-db 0"

// OnlyDatabase0 tells whether an error is that of SELECT in a cluster without more databases.
func OnlyDatabase0(err error) bool {
	return err != nil && strings.Contains(err.Error(), "SELECT is not allowed in cluster mode")
}

// answer represents an error reply in a sentence; the reply itself is unwrapped.
type answer struct{ reply *wire.ServerError }

func (a *answer) Error() string { return fmt.Sprintf("the server answers %q", a.reply.Message) }

func (a *answer) Unwrap() error { return a.reply }

// unreachable explains an error of the network.
func unreachable(server string, err error) error {
	var dns *net.DNSError
	var unknownCA x509.UnknownAuthorityError
	var wrongName x509.HostnameError
	var notTLS tls.RecordHeaderError
	var alert tls.AlertError
	hint := ""
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, syscall.ECONNREFUSED):
		hint = "nothing listens there: is the server running, is the port right?"
	case errors.As(err, &dns):
		hint = "check the name of the host"
	case errors.As(err, &unknownCA):
		hint = "give the CA of the server's certificate with --tls-ca"
	case errors.As(err, &wrongName):
		hint = "give the name that the certificate is for with --tls-server-name"
	case errors.As(err, &notTLS):
		hint = "the server does not speak TLS there: write redis:// instead of rediss://"
	case errors.As(err, &alert):
		hint = "the server refuses the TLS handshake: does it want a client certificate (--tls-cert, --tls-key)?"
	case errors.Is(err, syscall.ENOENT):
		hint = "the socket does not exist"
	case isTimeout(err):
		hint = "no answer in time: a firewall, a wrong address, or raise --timeout"
	default:
		hint = "the connection was closed: is TLS on at both ends, is a client certificate wanted, did the server stop?"
	}
	return &Error{Unreachable, server, err, hint}
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}
