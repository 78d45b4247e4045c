package kernel

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/wire"
	"github.com/redis/rueidis"
)

// OpenNode connects to one server of a topology, as a replica of which only a primary knows the address. The login and
// TLS are those of the configuration. The client retries nothing and caches nothing.
func OpenNode(c connect.Config, address string) (Raw, error) {
	return rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}, Username: c.User,
		Password: c.Password.Reveal(), TLSConfig: c.TLS,
		ForceSingleClient: true, DisableCache: true, DisableRetry: true, ConnWriteTimeout: c.Timeout,
		Dialer: net.Dialer{Timeout: c.Timeout}, DialCtxFn: dialGuarded})
}

// dialGuarded connects to a server whose replies are not believed.
func dialGuarded(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (conn net.Conn, err error) {
	if t != nil {
		conn, err = (&tls.Dialer{NetDialer: d, Config: t}).DialContext(ctx, "tcp", address)
	} else {
		conn, err = d.DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return nil, err
	}
	return wire.Guard(conn), nil
}
