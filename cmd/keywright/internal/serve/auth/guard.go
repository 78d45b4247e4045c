package auth

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
)

// Guard decides which requests are answered, and for whom.
type Guard struct {
	Hosts      []string // names that requests may have as their host; loopback names are always good
	AllowApply bool
	ShowValues bool // operators may look at values of keys
	TLS        bool
	Private    bool    // what browsers send is not read on its way: by TLS, here or at a proxy
	Tokens     []Token // with no token and no proxy every client is the local user
	Proxy      *Proxy  // nil: no proxy says which user it is
}

// Proxy represents a reverse proxy, which may know its users.
type Proxy struct {
	Header    string         // that has the name of the user; "": it names none
	From      []netip.Prefix // the addresses of the proxy; headers of any other are not read
	Operators []string       // the users that are operators
}

// maxName bounds the name of a user that a proxy sends.
const maxName = 200

// user returns the user that a trusted proxy names.
func (p *Proxy) user(r *http.Request) (User, bool) {
	if p == nil || p.Header == "" {
		return User{}, false
	}
	name := ""
	if all := r.Header.Values(p.Header); len(all) == 1 {
		name = all[0]
	}
	if !p.trusted(r) || name == "" || len(name) > maxName || strings.ContainsFunc(name,
		func(c rune) bool { return !unicode.IsPrint(c) }) {
		return User{}, false
	}
	if slices.Contains(p.Operators, name) {
		return User{name, Operator}, true
	}
	return User{name, Viewer}, true
}

func (p *Proxy) trusted(r *http.Request) bool { return within(p.From, hostOf(r.RemoteAddr)) }

// HealthPath answers where the process runs, ReadyPath where there is something to show.
const (
	HealthPath = "/healthz"
	ReadyPath  = "/readyz"
)

// Open reports whether a path needs no user.
func Open(path string) bool { return openPaths[path] }

// openPaths lists the paths that need no user and no name of the host: what watches the process
// asks them, by whatever address it has.
var openPaths = map[string]bool{HealthPath: true, ReadyPath: true}

// public reports whether a path has nothing of a server: the dashboard's own files.
func public(r *http.Request) bool {
	return r.URL.Path != "/metrics" && !strings.HasPrefix(r.URL.Path, "/api/") || r.URL.Path == SessionPath
}

// site refuses what a page of another site has sent, but for a look at the dashboard's own files.
func (g *Guard) site(r *http.Request) *reply.Failure {
	origin, from := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		if !foreign(r) || public(r) {
			return nil
		}
	}
	if origin != "" && !g.own(origin, r.Host) || from != "" && from != "same-origin" && from != "none" {
		return reply.Fail(http.StatusForbidden, "other-site", "a page of another site has sent this", "")
	}
	return nil
}

// foreign reports whether a page of another site has made a browser send a request.
func foreign(r *http.Request) bool { return r.Header.Get("Sec-Fetch-Site") == "cross-site" }

// own reports whether an origin is this server's: another port of this machine is not.
func (g *Guard) own(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" &&
		(strings.EqualFold(u.Host, host) || slices.ContainsFunc(g.Hosts, func(name string) bool {
			return !loopback(name) && strings.EqualFold(name, u.Hostname())
		}))
}

// named reports whether the host of a request is this server: a page of another site
// that a name server sends here has that site's name.
func (g *Guard) named(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if loopback(name) {
		return true
	}
	for _, h := range g.Hosts {
		if strings.EqualFold(h, name) {
			return true
		}
	}
	return false
}

// loopback reports whether a name is one of this machine.
func loopback(name string) bool {
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback() || strings.EqualFold(name, "localhost")
}

// Harden sets the headers that keep browsers from doing more than they should.
func Harden(h http.Header, tls bool) {
	for _, line := range [][2]string{
		{"Content-Security-Policy",
			"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
				"connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
		{"X-Content-Type-Options", "nosniff"}, {"X-Frame-Options", "DENY"}, {"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Opener-Policy", "same-origin"}, {"Cross-Origin-Resource-Policy", "same-origin"},
		{"Permissions-Policy", "camera=(), geolocation=(), microphone=()"},
	} {
		h.Set(line[0], line[1])
	}
	if tls {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}
