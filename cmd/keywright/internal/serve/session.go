package serve

import (
	"crypto/rand"
	"net/http"
	"sync"
	"time"
)

// sessionPath is where the page signs in: it answers without a user.
const sessionPath = "/api/v1/session"

// Bounds of sessions: how long one lasts and how many there are.
const (
	sessionTime = 12 * time.Hour
	maxSessions = 1000
)

// cookieName is the name of the cookie that has the id of a session.
const cookieName = "keywright"

// sessions are the users that have signed in on the page.
type sessions struct {
	mu  sync.Mutex
	all map[string]session // by id
}

type session struct {
	User
	ends time.Time
}

// begin begins a session and gives its id. Of too many the one that ends first goes.
func (s *sessions) begin(u User, now time.Time) string {
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
	s.all[id] = session{u, now.Add(sessionTime)}
	return id
}

// user is the user of a request's session.
func (s *sessions) user(r *http.Request, now time.Time) (u User, id string, ok bool) {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return u, "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.all[c.Value]
	if ok && now.After(one.ends) {
		delete(s.all, c.Value)
		ok = false
	}
	return one.User, c.Value, ok
}

// SignIn is the token that a user signs in with.
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
	user, ok := s.Guard.who(in.Token)
	if !ok {
		if failed := s.rates.pass("address "+address(q.Request), s.Now(), wrongCost); failed != nil {
			return nil, failed
		}
		return nil, problem(http.StatusUnauthorized, "no-token", "this token is not known", "")
	}
	id := s.sessions.begin(user, s.Now())
	q.setCookie = &http.Cookie{Name: cookieName, Value: id, Path: "/", MaxAge: int(sessionTime / time.Second),
		HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: s.Guard.TLS}
	q.caller = caller{User: user, proof: id}
	q.user = user
	return me(q)
}
