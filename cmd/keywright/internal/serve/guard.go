package serve

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// Role describes what a user may do.
type Role string

// The roles.
const (
	Viewer   Role = "viewer"   // looks
	Operator Role = "operator" // may apply plans and look at values, where that is allowed at all
)

// User sends requests.
type User struct {
	Name string
	Role Role
}

type userKey struct{}

// caller represents the user of a request, and how it is known.
type caller struct {
	User
	proof string // what a browser sends by itself: a token against forged requests is made for it
	// session says that it is known by the cookie of a session.
	session bool
	own     bool // it was sent by a program of the user's, which no page of another site can make do so
}

func callerOf(r *http.Request) caller {
	c, _ := r.Context().Value(userKey{}).(caller)
	return c
}

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

// open lists the paths that need no user and no name of the host: what watches the process
// asks them, by whatever address it has.
var open = map[string]bool{HealthPath: true, ReadyPath: true}

// public reports whether a path has nothing of a server: the dashboard's own files.
func public(r *http.Request) bool {
	return r.URL.Path != "/metrics" && !strings.HasPrefix(r.URL.Path, "/api/") || r.URL.Path == sessionPath
}

// admit gives the user of a request, or why it is refused.
func (s *Server) admit(r *http.Request) (caller, *failure) {
	g := &s.Guard
	if open[r.URL.Path] {
		return caller{}, nil
	}
	if !g.named(r.Host) {
		return caller{}, problem(http.StatusMisdirectedRequest, "wrong-host",
			"this server does not answer for that host name",
			"name it with --host, or open the page by the address that it listens at")
	}
	if failed := g.site(r); failed != nil {
		return caller{}, failed
	}
	if public(r) && foreign(r) { // it spends nothing of the user whose browser has sent it
		return caller{}, s.rates.pass("other sites", s.Now(), strangerCost)
	}
	c, known := s.identify(r)
	if !known {
		if failed := s.rates.pass("address "+s.address(r), s.Now(), strangerCost); failed != nil {
			return c, failed
		}
		if public(r) {
			return caller{}, nil
		}
		if token, ok := s.token(secretOf(r)); ok && token.Ended(s.Now()) {
			return caller{}, token.ended()
		}
		return caller{}, problem(http.StatusUnauthorized, "no-token", "this server wants a token",
			"send Authorization: Bearer TOKEN, or sign in on the page")
	}
	return c, s.rates.pass("user "+c.Name, s.Now(), 1)
}

// identify finds out which user sends a request.
func (s *Server) identify(r *http.Request) (caller, bool) {
	g := &s.Guard
	named, byProxy := g.Proxy.user(r)
	if secret := secretOf(r); secret != "" {
		token, ok := s.token(secret)
		if ok || !byProxy { // what a proxy forwards may be a login of its own
			own := strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ")
			return caller{User: token.User, proof: secret, own: own}, ok && !token.Ended(s.Now())
		}
	}
	if user, id, ok := s.sessions.user(r, s.Now(), s.knows); ok {
		return caller{User: user, proof: id, session: true}, true
	}
	if byProxy {
		return caller{User: named, proof: named.Name}, true
	}
	if s.hasUsers() {
		return caller{}, false
	}
	role := Viewer
	if g.AllowApply || g.ShowValues {
		role = Operator
	}
	return caller{User: User{"local", role}, proof: "local"}, true
}

// hasUsers reports whether clients sign in as users: else each client is the local one. It does not
// change when tokens are taken out.
func (s *Server) hasUsers() bool {
	return len(s.Guard.Tokens) > 0 || s.Guard.Proxy != nil && s.Guard.Proxy.Header != ""
}

// site refuses what a page of another site has sent, but for a look at the dashboard's own files.
func (g *Guard) site(r *http.Request) *failure {
	origin, from := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		if !foreign(r) || public(r) {
			return nil
		}
	}
	if origin != "" && !g.own(origin, r.Host) || from != "" && from != "same-origin" && from != "none" {
		return problem(http.StatusForbidden, "other-site", "a page of another site has sent this", "")
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

// csrf returns what a page must send with what changes something: another site's page cannot
// read it.
func (s *Server) csrf(c caller) string {
	sum := hmac.New(sha256.New, s.secret[:])
	_, _ = sum.Write([]byte(c.Name + "\x00" + c.proof))
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// CSRFHeader is the header of what changes something.
const CSRFHeader = "X-Keywright-CSRF"

// changes refuses a request that would change something and may not.
func (q *request) changes() *failure {
	s := q.server
	if failed := q.operates(s.Guard.AllowApply, "nothing can be changed here",
		"start keywright serve with --allow-apply"); failed != nil {
		return failed
	}
	if s.Desk == nil {
		return problem(http.StatusConflict, "no-server", "a snapshot file is shown: there is nothing to change", "")
	}
	return nil
}

// looks refuses a request that asks for a value and may not.
func (q *request) looks() *failure {
	s := q.server
	if failed := q.operates(s.Guard.ShowValues, "values of keys are not shown here",
		"start keywright serve with --show-values"); failed != nil {
		return failed
	}
	if s.Desk == nil || q.target.Server == nil {
		return problem(http.StatusConflict, "no-server", "a snapshot file is shown: there is no server to ask", "")
	}
	return nil
}

// operates refuses a request for what only operators may do, or that the program does not allow.
func (q *request) operates(allowed bool, not, hint string) *failure {
	switch s := q.server; {
	case !q.own && subtle.ConstantTimeCompare([]byte(q.Header.Get(CSRFHeader)), []byte(s.csrf(q.caller))) != 1:
		return problem(http.StatusForbidden, "no-csrf", "the request does not have the right "+CSRFHeader,
			"/api/v1/me has it; reload the page")
	case !allowed:
		return problem(http.StatusForbidden, "not-allowed", not, hint)
	case q.user.Role != Operator:
		return problem(http.StatusForbidden, "not-operator",
			"your role is "+string(q.user.Role)+", and this is for an operator",
			"`keywright serve token NAME --role operator` makes a token for one")
	}
	return nil
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

// address returns the address that a request comes from, without its port: of the client that a proxy names, the last
// one before its own.
func (s *Server) address(r *http.Request) string {
	host, p := hostOf(r.RemoteAddr), s.Guard.Proxy
	if p == nil || !p.trusted(r) {
		return host
	}
	named := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, one := range slices.Backward(named) {
		ip, err := netip.ParseAddr(strings.TrimSpace(one))
		if err != nil {
			return host
		}
		if host = ip.Unmap().String(); !within(p.From, host) {
			break
		}
	}
	return host
}

// harden sets the headers that keep browsers from doing more than they should.
func harden(h http.Header, tls bool) {
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
