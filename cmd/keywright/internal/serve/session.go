package serve

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// sessionPath says where the page signs in: it answers without a user.
const sessionPath = "/api/v1/session"

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

// SignIn represents the token that a user signs in with.
type SignIn struct {
	Token string `json:"token"`
}

// signIn begins a session for the page, which then need not keep the token.
func signIn(q *request) (any, error) {
	var in SignIn
	if err := q.read(&in); err != nil {
		return nil, err
	}
	s := q.server
	token, ok := s.token(in.Token)
	if !ok {
		if failed := s.rates.pass("address "+q.server.address(q.Request), s.Now(), wrongCost); failed != nil {
			return nil, failed
		}
		return nil, problem(http.StatusUnauthorized, "no-token", "this token is not known", "")
	}
	if token.Ended(s.Now()) {
		return nil, token.ended()
	}
	id := s.sessions.begin(token, s.Now())
	q.setCookie = q.cookie(id, int(sessionTime/time.Second))
	q.caller = caller{User: token.User, proof: id, session: true}
	q.user = token.User
	return me(q)
}

func (q *request) cookie(id string, seconds int) *http.Cookie {
	return &http.Cookie{Name: cookieName(q.Request), Value: id, Path: "/", MaxAge: seconds, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: q.server.Guard.TLS || q.server.Guard.Private}
}

// SignedOut represents the end of a session.
type SignedOut struct {
	User string `json:"user"` // that was signed in; "": none was
}

// signOut ends the session of the page.
func signOut(q *request) (any, error) {
	q.server.sessions.end(q.Request)
	q.setCookie = q.cookie("", -1)
	return SignedOut{q.user.Name}, nil
}
