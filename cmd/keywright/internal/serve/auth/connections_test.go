package auth_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/serve/auth"
	"github.com/keywright/keywright/internal/expect"
)

// TestConnectionsAreBounded: one address has half of them, a proxy all; one that is closed makes room.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		proxies []netip.Prefix
		most    int
	}{"one address": {nil, 3}, "a proxy": {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, 6}} {
		bare, err := net.Listen("tcp", "127.0.0.1:0")
		expect.NoError(t, err)
		l := &auth.Connections{Listener: bare, Most: 6, Proxies: c.proxies}
		accepted := make(chan net.Conn, 10)
		go func() {
			for {
				one, err := l.Accept()
				if err != nil {
					close(accepted)
					return
				}
				accepted <- one
			}
		}()
		dial := func() net.Conn {
			one, err := net.Dial("tcp", bare.Addr().String())
			expect.NoError(t, err)
			t.Cleanup(func() { one.Close() })
			return one
		}
		var open []net.Conn
		for range c.most {
			dial()
			open = append(open, <-accepted)
		}
		beyond := dial()
		if _, err := beyond.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: one more is answered", name)
		}
		expect.NoError(t, open[0].Close())
		_ = open[0].Close() // twice is as once
		dial()
		open[0] = <-accepted
		beyond = dial()
		if _, err := beyond.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: one more is answered after one was closed", name)
		}
		for _, one := range open {
			one.Close()
		}
		expect.NoError(t, l.Close())
	}
}
