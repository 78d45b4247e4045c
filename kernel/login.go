package kernel

import (
	"errors"
	"net"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/redis/rueidis"
)

// login describes what the connections of a client log in with.
type login struct {
	user, password string
	version        uint64 // of the two; 0: a connection has not logged in yet

	sentinelUser, sentinelPassword string
	sentinels                      *net.Resolver // marks the dialer of sentinels
}

// lookAgain says how soon a connection uses new credentials.
const lookAgain = time.Second

// SetCredentials gives a running client another user or password, as when a
// password is changed in turn. Connections that are made from now on log in with
// them, and those that live do so within about a second; one that listens to channels
// when it is made again. First let the server take both passwords (ACL SETUSER name
// >new), then call this, then take the old one away. A login that the server refuses
// costs the connection. The credentials of sentinels stay.
func (c *Client) SetCredentials(user, password string) error {
	g := c.rooms.gate
	switch {
	case g == nil:
		return &Error{Op: "set credentials", Err: errors.New("this client was made by New, of one that logs in by itself")}
	case password == "":
		return &Error{Op: "set credentials", Err: errors.New("there is no password")}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.login.user, g.login.password = user, password
	g.login.version++
	return nil
}

func newLogin(c connect.Config) login {
	return login{user: c.User, password: c.Password.Reveal(), version: 1,
		sentinelUser: c.SentinelUser, sentinelPassword: c.SentinelPassword.Reveal(), sentinels: &net.Resolver{}}
}

// linkAddr represents the address of a connection that is distinguished by credentials.
type linkAddr struct {
	net.Addr
	link *link
}

// RemoteAddr implements net.Conn.
func (l *link) RemoteAddr() net.Addr { return linkAddr{l.Conn.RemoteAddr(), l} }

// credentials returns what a connection logs in with. rueidis asks once more when they
// are to be refreshed, and sends nothing if they are empty then.
func (g *dialGate) credentials(ctx rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
	addr, ok := ctx.Address.(linkAddr)
	g.mu.Lock()
	defer g.mu.Unlock()
	if ok && addr.link.ofSentinel {
		return rueidis.AuthCredentials{Username: g.login.sentinelUser, Password: g.login.sentinelPassword}, nil
	}
	if !ok {
		return rueidis.AuthCredentials{Username: g.login.user, Password: g.login.password}, nil
	}
	next := g.now().Add(lookAgain)
	if addr.link.login == g.login.version {
		return rueidis.AuthCredentials{RefreshAfter: next}, nil
	}
	addr.link.login = g.login.version
	return rueidis.AuthCredentials{Username: g.login.user, Password: g.login.password, RefreshAfter: next}, nil
}
