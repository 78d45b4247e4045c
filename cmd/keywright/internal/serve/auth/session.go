package auth

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
)

// SessionPath says where the page signs in: it answers without a user.
const SessionPath = "/api/v1/session"

// Bounds of sessions: how long one lasts and how many there are.
const (
	sessionTime = 12 * time.Hour
	maxSessions = 1000
)

// cookieName returns the name of the cookie that has the id of a session. Browsers send a cookie to all
// ports of a host: each port has a name of its own.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if n, wrong := strconv.ParseUint(port, 10, 16); err == nil && wrong == nil {
		return fmt.Sprintf("keywright-%d", n)
	}
	return "keywright"
}

// sessions holds the users that have signed in on the page.
type sessions struct {
	mu  sync.Mutex
	all map[string]session // by id
}

type session struct {
	Token
	ends time.Time
}

// begin begins a session and gives its id. Of too many the one that ends first goes.
func (s *sessions) begin(t Token, now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]session{}
	}
	for len(s.all) >= maxSessions {
		first := ""
		for id, one := range s.all {
			if first == "" || one.ends.Before(s.all[first].ends) {
				first = id
			}
		}
		delete(s.all, first)
	}
	id := rand.Text()
	s.all[id] = session{t, now.Add(sessionTime)}
	return id
}

// end ends the session of a request.
func (s *sessions) end(r *http.Request) {
	if c, err := r.Cookie(cookieName(r)); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.all, c.Value)
	}
}

// user returns the user of a request's session, whose token must be good still.
func (s *sessions) user(r *http.Request, now time.Time, good func(Token) bool) (u User, id string, ok bool) {
	c, err := r.Cookie(cookieName(r))
	if err != nil {
		return u, "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.all[c.Value]
	if ok && (now.After(one.ends) || !good(one.Token)) {
		delete(s.all, c.Value)
		ok = false
	}
	return one.User, c.Value, ok
}

// SignIn begins a session for a page, which then need not keep the token, and gives its user and its cookie.
func (a *Authenticator) SignIn(r *http.Request, secret string) (Caller, *http.Cookie, *reply.Failure) {
	token, ok := a.token(secret)
	if !ok {
		if failed := a.rates.pass("address "+a.Address(r), a.now(), wrongCost); failed != nil {
			return Caller{}, nil, failed
		}
		return Caller{}, nil, reply.Fail(http.StatusUnauthorized, "no-token", "this token is not known", "")
	}
	if token.Ended(a.now()) {
		return Caller{}, nil, token.ended()
	}
	id := a.sessions.begin(token, a.now())
	return Caller{User: token.User, proof: id, Session: true}, a.cookie(r, id, int(sessionTime/time.Second)), nil
}

func (a *Authenticator) cookie(r *http.Request, id string, seconds int) *http.Cookie {
	return &http.Cookie{Name: cookieName(r), Value: id, Path: "/", MaxAge: seconds, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: a.TLS || a.Private}
}

// SignOut ends the session of a page, and gives the cookie that takes its own away.
func (a *Authenticator) SignOut(r *http.Request) *http.Cookie {
	a.sessions.end(r)
	return a.cookie(r, "", -1)
}
