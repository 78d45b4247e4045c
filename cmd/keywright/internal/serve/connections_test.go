package serve_test

import (
	"net"
	"net/http"
	"net/netip"
	"testing"

	"github.com/keywright/keywright/cmd/keywright/internal/serve"
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
		l := &serve.Connections{Listener: bare, Most: 6, Proxies: c.proxies}
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

// TestAddressesOfClientsOfAProxy: clients of a proxy differ by the address that it sends, and of any other nothing is
// read: one that signs in wrongly again and again locks no other out.
func TestAddressesOfClientsOfAProxy(t *testing.T) {
	t.Parallel()
	g := newGate(t, serve.Guard{TLS: true,
		Proxy: &serve.Proxy{From: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}})
	wrong := func(header ...string) int {
		return g.send("POST", "/api/v1/session", `{"token":"no"}`,
			append(header, "Content-Type", "application/json")...).Code
	}
	until := func(header ...string) (tries int) {
		for tries < 50 && wrong(header...) == http.StatusUnauthorized {
			tries++
		}
		return tries
	}
	if n := until("from", "10.1.2.3:1", "X-Forwarded-For", "192.0.2.1, 10.1.9.9"); n == 50 {
		t.Error("an address may guess for ever")
	}
	if code := wrong("from", "10.1.2.3:1", "X-Forwarded-For", "192.0.2.2"); code != http.StatusUnauthorized {
		t.Errorf("another client of the proxy: %d", code)
	}
	forged := []string{"from", "10.1.2.4:1", "X-Forwarded-For", "198.51.100.9, 192.0.2.1"}
	if code := wrong(forged...); code != http.StatusTooManyRequests {
		t.Errorf("a client that says it is another one: %d", code)
	}
	if n := until("from", "203.0.113.5:1", "X-Forwarded-For", "192.0.2.7"); n == 50 {
		t.Error("an address that is no proxy may guess for ever")
	}
	if code := wrong("from", "203.0.113.5:1", "X-Forwarded-For", "192.0.2.8"); code != http.StatusTooManyRequests {
		t.Errorf("an address that is no proxy is believed: %d", code)
	}
}

// TestOtherSitesLookAtNothing: a page of another site cannot ask the API, and the page itself can be linked to.
func TestOtherSitesLookAtNothing(t *testing.T) {
	t.Parallel()
	g := newGate(t, serve.Guard{})
	g.want(403, "other-site", g.send("GET", "/api/v1/targets", "", "Sec-Fetch-Site", "cross-site"))
	g.want(403, "other-site", g.send("GET", "/metrics", "", "Sec-Fetch-Site", "cross-site"))
	for path, site := range map[string]string{"/api/v1/targets": "same-origin", "/api/v1/me": "none",
		"/healthz": "cross-site"} {
		if code := g.send("GET", path, "", "Sec-Fetch-Site", site).Code; code != http.StatusOK {
			t.Errorf("%s from %s: %d", path, site, code)
		}
	}
}
