package conn

import (
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
	Sentinels                      *net.Resolver // marks the dialer of sentinels
}

// lookAgain says how soon a connection uses new credentials.
const lookAgain = time.Second

// SetCredentials gives connections another user or password: see kernel.Client.SetCredentials.
func (g *DialGate) SetCredentials(user, password string) {
	g.Mu.Lock()
	defer g.Mu.Unlock()
	g.Login.user, g.Login.password = user, password
	g.Login.version++
}

// NewLogin returns the credentials of a configuration.
func NewLogin(c connect.Config) login {
	return login{user: c.User, password: c.Password.Reveal(), version: 1,
		sentinelUser: c.SentinelUser, sentinelPassword: c.SentinelPassword.Reveal(), Sentinels: &net.Resolver{}}
}

// linkAddr represents the address of a connection with its credentials, which tell connections apart.
type linkAddr struct {
	net.Addr
	link *Link
}

// RemoteAddr implements net.Conn.
func (l *Link) RemoteAddr() net.Addr { return linkAddr{l.Conn.RemoteAddr(), l} }

// Credentials returns what a connection logs in with. rueidis asks once more when they
// are to be refreshed, and sends nothing if they are empty then.
func (g *DialGate) Credentials(ctx rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
	addr, ok := ctx.Address.(linkAddr)
	g.Mu.Lock()
	defer g.Mu.Unlock()
	if ok && addr.link.ofSentinel {
		return rueidis.AuthCredentials{Username: g.Login.sentinelUser, Password: g.Login.sentinelPassword}, nil
	}
	if !ok {
		return rueidis.AuthCredentials{Username: g.Login.user, Password: g.Login.password}, nil
	}
	next := g.Now().Add(lookAgain)
	if addr.link.login == g.Login.version {
		return rueidis.AuthCredentials{RefreshAfter: next}, nil
	}
	addr.link.login = g.Login.version
	return rueidis.AuthCredentials{Username: g.Login.user, Password: g.Login.password, RefreshAfter: next}, nil
}
