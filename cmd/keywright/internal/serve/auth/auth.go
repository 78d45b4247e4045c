// Package auth finds out which user sends a request to `keywright serve`, and refuses the requests that may not be
// answered: by tokens, sessions, what a proxy says of its users, the host and the site that a request names, and how
// many requests one may send.
//
// It knows no route of the API, and nothing of what is answered.
package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
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

// Caller represents the user of a request, and how it is known.
type Caller struct {
	User
	proof string // what a browser sends by itself: a token against forged requests is made for it
	// Session says that it is known by the cookie of a session.
	Session bool
	own     bool // it was sent by a program of the user's, which no page of another site can make do so
}

// Authenticator finds out which users send requests, and refuses the requests of the others. Admit changes the tokens.
type Authenticator struct {
	Guard
	now      func() time.Time
	tokens   atomic.Pointer[[]Token] // that are good now: Admit changes them
	secret   [32]byte                // of tokens against forged requests
	sessions sessions
	rates    rates
}

// New returns an authenticator with the tokens of a guard, by a clock.
func New(g Guard, now func() time.Time) *Authenticator {
	a := &Authenticator{Guard: g, now: now}
	_, _ = rand.Read(a.secret[:])
	a.Admit(g.Tokens)
	return a
}

type userKey struct{}

// With notes the user of a request in its context.
func With(r *http.Request, c Caller) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), userKey{}, c))
}

// CallerOf returns the user of a request that With has noted.
func CallerOf(r *http.Request) Caller {
	c, _ := r.Context().Value(userKey{}).(Caller)
	return c
}

// Check gives the user of a request, or why it is refused.
func (a *Authenticator) Check(r *http.Request) (Caller, *reply.Failure) {
	g := &a.Guard
	if openPaths[r.URL.Path] {
		return Caller{}, nil
	}
	if !g.named(r.Host) {
		return Caller{}, reply.Fail(http.StatusMisdirectedRequest, "wrong-host",
			"this server does not answer for that host name",
			"name it with --host, or open the page by the address that it listens at")
	}
	if failed := g.site(r); failed != nil {
		return Caller{}, failed
	}
	if public(r) && foreign(r) { // it spends nothing of the user whose browser has sent it
		return Caller{}, a.rates.pass("other sites", a.now(), strangerCost)
	}
	c, known := a.identify(r)
	if !known {
		if failed := a.rates.pass("address "+a.Address(r), a.now(), strangerCost); failed != nil {
			return c, failed
		}
		if public(r) {
			return Caller{}, nil
		}
		if token, ok := a.token(secretOf(r)); ok && token.Ended(a.now()) {
			return Caller{}, token.ended()
		}
		return Caller{}, reply.Fail(http.StatusUnauthorized, "no-token", "this server wants a token",
			"send Authorization: Bearer TOKEN, or sign in on the page")
	}
	return c, a.rates.pass("user "+c.Name, a.now(), 1)
}

// identify finds out which user sends a request.
func (a *Authenticator) identify(r *http.Request) (Caller, bool) {
	g := &a.Guard
	named, byProxy := g.Proxy.user(r)
	if secret := secretOf(r); secret != "" {
		token, ok := a.token(secret)
		if ok || !byProxy { // what a proxy forwards may be a login of its own
			own := strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ")
			return Caller{User: token.User, proof: secret, own: own}, ok && !token.Ended(a.now())
		}
	}
	if user, id, ok := a.sessions.user(r, a.now(), a.knows); ok {
		return Caller{User: user, proof: id, Session: true}, true
	}
	if byProxy {
		return Caller{User: named, proof: named.Name}, true
	}
	if a.HasUsers() {
		return Caller{}, false
	}
	role := Viewer
	if g.AllowApply || g.ShowValues {
		role = Operator
	}
	return Caller{User: User{"local", role}, proof: "local"}, true
}

// HasUsers reports whether clients sign in as users: else each client is the local one. It does not
// change when tokens are taken out.
func (a *Authenticator) HasUsers() bool {
	return len(a.Tokens) > 0 || a.Proxy != nil && a.Proxy.Header != ""
}

// CSRFHeader is the header of what changes something.
const CSRFHeader = "X-Keywright-CSRF"

// CSRF returns what a page must send with what changes something: another site's page cannot
// read it.
func (a *Authenticator) CSRF(c Caller) string {
	sum := hmac.New(sha256.New, a.secret[:])
	_, _ = sum.Write([]byte(c.Name + "\x00" + c.proof))
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// Operates refuses a request for what only operators may do, or that the program does not allow.
func (a *Authenticator) Operates(r *http.Request, c Caller, allowed bool, not, hint string) *reply.Failure {
	switch {
	case !c.own && subtle.ConstantTimeCompare([]byte(r.Header.Get(CSRFHeader)), []byte(a.CSRF(c))) != 1:
		return reply.Fail(http.StatusForbidden, "no-csrf", "the request does not have the right "+CSRFHeader,
			"/api/v1/me has it; reload the page")
	case !allowed:
		return reply.Fail(http.StatusForbidden, "not-allowed", not, hint)
	case c.Role != Operator:
		return reply.Fail(http.StatusForbidden, "not-operator",
			"your role is "+string(c.Role)+", and this is for an operator",
			"`keywright serve token NAME --role operator` makes a token for one")
	}
	return nil
}

// Address returns the address that a request comes from, without its port: of the client that a proxy names, the last
// one before its own.
func (a *Authenticator) Address(r *http.Request) string {
	host, p := hostOf(r.RemoteAddr), a.Proxy
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
