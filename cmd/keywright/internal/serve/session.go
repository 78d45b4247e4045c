package serve

import (
	"net/http"

	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/auth"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
)

// Me represents the user of a request.
type Me struct {
	User       string `json:"user"`
	Role       string `json:"role" enum:"viewer,operator"`
	AllowApply bool   `json:"allow_apply"`
	ShowValues bool   `json:"show_values"` // this user may look at values of keys
	Session    bool   `json:"session"`     // it has signed in on a page, and can sign out
	CSRF       string `json:"csrf"`        // to be sent with what changes something, as the header X-Keywright-CSRF
	Version    string `json:"version"`
}

func me(q *request) (any, error) {
	return Me{User: q.User.Name, Role: string(q.User.Role), AllowApply: q.server.Guard.AllowApply, Session: q.Session,
		ShowValues: q.server.Guard.ShowValues && q.User.Role == auth.Operator,
		CSRF:       q.server.auth.CSRF(q.Caller), Version: q.server.Version}, nil
}

// SignIn represents the token that a user signs in with.
type SignIn struct {
	Token string `json:"token"`
}

// signIn begins a session for the page.
func signIn(q *request) (any, error) {
	var in SignIn
	if err := q.read(&in); err != nil {
		return nil, err
	}
	c, cookie, failed := q.server.auth.SignIn(q.Request, in.Token)
	if failed != nil {
		return nil, failed
	}
	q.setCookie, q.Caller = cookie, c
	return me(q)
}

// SignedOut represents the end of a session.
type SignedOut struct {
	User string `json:"user"` // that was signed in; "": none was
}

// signOut ends the session of the page.
func signOut(q *request) (any, error) {
	q.setCookie = q.server.auth.SignOut(q.Request)
	return SignedOut{q.User.Name}, nil
}

// changes refuses a request that would change something and may not.
func (q *request) changes() *reply.Failure {
	s := q.server
	if failed := s.auth.Operates(q.Request, q.Caller, s.Guard.AllowApply, "nothing can be changed here",
		"start keywright serve with --allow-apply"); failed != nil {
		return failed
	}
	if s.Desk == nil {
		return reply.Fail(http.StatusConflict, "no-server", "a snapshot file is shown: there is nothing to change", "")
	}
	return nil
}

// looks refuses a request that asks for a value and may not.
func (q *request) looks() *reply.Failure {
	s := q.server
	if failed := s.auth.Operates(q.Request, q.Caller, s.Guard.ShowValues, "values of keys are not shown here",
		"start keywright serve with --show-values"); failed != nil {
		return failed
	}
	if s.Desk == nil || q.target.Server == nil {
		return reply.Fail(http.StatusConflict, "no-server", observe.NoServer, "")
	}
	return nil
}
