package serve_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/operate"
	"github.com/keywright/keywright/cmd/keywright/internal/serve"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/auth"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/document"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keyspace"
)

// noopPlanner makes plans that change nothing.
type noopPlanner struct{}

func (*noopPlanner) Request(a operate.Ask) (plan.Request, string, error) {
	return plan.Request{Entries: []string{a.Select["entry"]}}, a.Verb, nil
}

func (*noopPlanner) Plan(_ context.Context, verb string, q plan.Request) (*plan.Plan, error) {
	p := &plan.Plan{Format: plan.Format, Verb: verb, Request: q, Total: plan.Counts{Keys: 1, Change: 1},
		Entries: []plan.Part{{Entry: "e", Counts: plan.Counts{Keys: 1, Change: 1}}}}
	return p, p.Seal()
}

func (*noopPlanner) Execute(ctx context.Context, _ string, _ func(int64)) (operate.Outcome, error) {
	<-ctx.Done()
	return operate.Outcome{Total: journal.KeyCounts{Keys: 1}}, ctx.Err()
}

// guarded represents a server whose target was never read, with users.
type guarded struct {
	*testing.T
	api *serve.Server
	dir string
}

func newGate(t *testing.T, g auth.Guard) *guarded {
	t.Helper()
	target, err := observe.New(observe.Options{ID: "main",
		Declaration: observe.Declaration{Keyspace: &keyspace.Keyspace{}}, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	desk, err := operate.Open(dir, operate.Options{Now: time.Now, Planners: map[string]operate.Planner{"main": &noopPlanner{}},
		Changed: func(_ string, all []observe.Run, changed observe.Run) { target.Ran(all, changed) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := desk.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, u := range []auth.User{{Name: "alice", Role: auth.Viewer}, {Name: "bob", Role: auth.Operator}} {
		if g.TLS {
			g.Tokens = append(g.Tokens, auth.Token{User: u, Digest: sha256.Sum256([]byte(u.Name + "'s secret"))})
		}
	}
	return &guarded{t, serve.New(serve.Options{Targets: []*observe.Target{target}, Rules: audit.Rules(), Now: time.Now,
		Guard: g, Desk: desk}), dir}
}

// send sends a request; header are names and values by turns.
func (g *guarded) send(method, path, body string, header ...string) *httptest.ResponseRecorder {
	g.Helper()
	q := httptest.NewRequest(method, "http://127.0.0.1:7380"+path, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "from" {
			q.RemoteAddr = header[i+1]
			continue
		}
		q.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	g.api.ServeHTTP(w, q)
	return w
}

func (g *guarded) want(code int, problem string, w *httptest.ResponseRecorder) *httptest.ResponseRecorder {
	g.Helper()
	var p reply.Problem
	_ = json.Unmarshal(w.Body.Bytes(), &p)
	if w.Code != code || p.Error.Code != problem {
		g.Errorf("%d %q, not %d %q: %s", w.Code, p.Error.Code, code, problem, w.Body)
	}
	return w
}

func (g *guarded) me(header ...string) (me serve.Me) {
	g.Helper()
	if err := json.Unmarshal(g.want(200, "", g.send("GET", "/api/v1/me", "", header...)).Body.Bytes(),
		&me); err != nil {
		g.Fatal(err)
	}
	return me
}

const (
	plans   = "/api/v1/t/main/plans"
	askable = `{"verb":"clean"}`
)

var asJSON = []string{"Content-Type", "application/json"}

// What changes something needs --allow-apply, an operator, and what a page of another site
// cannot send. Each refusal says why.
func TestChangesAreGuarded(t *testing.T) {
	t.Parallel()
	shut := newGate(t, auth.Guard{})
	csrf := func(g *guarded, header ...string) []string {
		return append(append([]string{auth.CSRFHeader, g.me(header...).CSRF}, asJSON...), header...)
	}
	shut.want(403, "not-allowed", shut.send("POST", plans, askable, csrf(shut)...))

	g := newGate(t, auth.Guard{AllowApply: true, TLS: true})
	alice, bob := []string{"Authorization", "Bearer alice's secret"}, []string{"Authorization", "Bearer bob's secret"}
	g.want(403, "not-operator", g.send("POST", plans, askable, csrf(g, alice...)...))
	g.want(200, "", g.send("POST", plans, askable, append(bob,
		asJSON...)...)) // a program that has the token needs no more
	g.want(415, "no-json", g.send("POST", plans, askable, append(bob, "Content-Type", "text/plain")...))
	for _, other := range [][]string{{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Origin",
		"http://localhost:9999"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}} {
		g.want(403, "other-site", g.send("POST", plans, askable, append(append(other, bob...), asJSON...)...))
	}

	w := g.want(200, "", g.send("POST", "/api/v1/session", `{"token":"bob's secret"}`, asJSON...))
	cookie := w.Result().Cookies()[0]
	if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteStrictMode ||
		strings.Contains(cookie.Value, "secret") {
		t.Errorf("%+v", cookie)
	}
	page := []string{"Cookie", cookie.Name + "=" + cookie.Value}
	g.want(403, "no-csrf", g.send("POST", plans, askable, append(page, asJSON...)...))
	g.want(403, "no-csrf", g.send("POST", plans, askable, append(append(page, asJSON...), auth.CSRFHeader,
		g.me(bob...).CSRF)...)) // another's
	w = g.want(200, "", g.send("POST", plans, askable, csrf(g, page...)...))
	var made document.PlanPage
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || made.State != "planned" || made.By != "bob" {
		t.Fatalf("%v %s", err, w.Body)
	}
	for _, path := range []string{plans + "/" + made.ID + "/apply", plans + "/" + made.ID + "/stop"} {
		g.want(403, "no-csrf", g.send("POST", path, `{}`, page...))
		g.want(403, "not-operator", g.send("POST", path, `{}`, csrf(g, alice...)...))
		g.want(200, "", g.send("POST", path, `{}`, csrf(g, page...)...))
	}
	g.want(401, "no-token", g.send("GET", "/api/v1/me", "", "Cookie", cookie.Name+"=x"))
	if cookie.Name != "keywright-7380" { // browsers send a cookie to all ports of a host
		t.Errorf("the cookie is named %s on port 7380", cookie.Name)
	}
	g.want(403, "other-site", g.send("DELETE", "/api/v1/session", "", append(page, "Sec-Fetch-Site", "cross-site")...))
	g.me(page...)
	w = g.want(200, "", g.send("DELETE", "/api/v1/session", "", page...))
	if c := w.Result().Cookies(); len(c) != 1 || c[0].Name != cookie.Name || c[0].MaxAge >= 0 {
		t.Errorf("the cookie stays: %+v", c)
	}
	g.want(401, "no-token", g.send("GET", "/api/v1/me", "", page...))
	g.want(401, "no-token", g.send("POST", "/api/v1/session", `{"token":""}`, asJSON...))
}

// A token that is taken out is good no longer, and neither are the sessions that it has begun.
func TestTokensThatAreTakenOut(t *testing.T) {
	t.Parallel()
	g := newGate(t, auth.Guard{TLS: true})
	session := func(user string) []string {
		w := g.want(200, "", g.send("POST", "/api/v1/session", `{"token":"`+user+`'s secret"}`, asJSON...))
		return []string{"Cookie", w.Result().Cookies()[0].Name + "=" + w.Result().Cookies()[0].Value}
	}
	alice, bob := session("alice"), session("bob")
	g.api.Admit([]auth.Token{{User: auth.User{Name: "alice", Role: auth.Viewer},
		Digest: sha256.Sum256([]byte("alice's secret"))}})
	g.me(alice...)
	g.me("Authorization", "Bearer alice's secret")
	g.want(401, "no-token", g.send("GET", "/api/v1/me", "", bob...))
	g.want(401, "no-token", g.send("GET", "/api/v1/me", "", "Authorization", "Bearer bob's secret"))
	g.api.Admit(nil) // without any it is not open to all
	g.want(401, "no-token", g.send("GET", "/api/v1/me", "", alice...))
}

// One user that a proxy names cannot have all streams of events.
func TestStreamsOfOneUserOfAProxy(t *testing.T) {
	t.Parallel()
	g := newGate(t, auth.Guard{Proxy: &auth.Proxy{Header: "X-Forwarded-User",
		From: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}})
	web := httptest.NewServer(g.api)
	defer web.Close()
	defer g.api.Close()
	open := func(user string) int {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+"/api/v1/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("X-Forwarded-User", user)
		answer, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { answer.Body.Close() })
		return answer.StatusCode
	}
	for n := range 50 {
		if code := open("mallory"); code != http.StatusOK {
			t.Fatalf("stream %d: %d", n, code)
		}
	}
	if one, other := open("mallory"), open("alice"); one != http.StatusServiceUnavailable || other != http.StatusOK {
		t.Errorf("%d for the one that has 50, %d for another", one, other)
	}
}

// A proxy names the user only from its own address, and only once.
func TestUserOfAProxy(t *testing.T) {
	t.Parallel()
	g := newGate(t, auth.Guard{AllowApply: true, Proxy: &auth.Proxy{Header: "X-Forwarded-User",
		From: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, Operators: []string{"bob"}}})
	near, far := []string{"from", "10.1.2.3:4567"}, []string{"from", "10.2.2.3:4567"}
	if me := g.me(append(near, "X-Forwarded-User", "bob")...); me.User != "bob" || me.Role != "operator" {
		t.Error(me)
	}
	if me := g.me("from", "[::ffff:10.1.2.3]:4567", "X-Forwarded-User", "carol"); me.User != "carol" ||
		me.Role != "viewer" {
		t.Error(me)
	}
	// What the proxy checks itself, and forwards, is not for this server; from any other address it is.
	for _, login := range []string{"Basic Ym9iOmhpcyBwYXNzd29yZA==", "Bearer of-the-proxy"} {
		header := []string{"X-Forwarded-User", "bob", "Authorization", login}
		if me := g.me(append(header, near...)...); me.User != "bob" {
			t.Error(me)
		}
		g.want(401, "no-token", g.send("GET", "/api/v1/me", "", append(header, far...)...))
		forged := append([]string{"Content-Type", "application/json"}, append(header, near...)...)
		g.want(403, "no-csrf", g.send("POST", plans, askable, forged...)) // a browser sends it by itself
	}
	for _, header := range [][]string{far, append(far, "X-Forwarded-User", "bob"), near, append(near,
		"X-Forwarded-User", ""), append(near, "X-Forwarded-User", "bob\x1b[2J"),
		append(near, "X-Forwarded-User", "carol", "X-Forwarded-User", "bob"), append(far, "X-Forwarded-User", "bob",
			"X-Forwarded-For", "10.1.2.3")} {
		g.want(401, "no-token", g.send("GET", "/api/v1/me", "", header...))
	}
}

// A user that sends too many requests is refused for a while, and others are not.
func TestRequestsAreLimited(t *testing.T) {
	t.Parallel()
	g := newGate(t, auth.Guard{TLS: true})
	limited := false
	for range 100_000 {
		if w := g.send("GET", "/api/v1/me", "", "Authorization", "Bearer guess"); w.Code == http.StatusTooManyRequests {
			limited = w.Header().Get("Retry-After") != ""
			break
		}
	}
	if !limited {
		t.Error("tokens can be guessed without end")
	}
	g.me("Authorization", "Bearer alice's secret")
	g.want(413, "too-long", g.send("POST", "/api/v1/session", `{"token":"`+strings.Repeat("x", 1<<17)+`"}`,
		append(asJSON, "from", "9.9.9.9:1")...))
}

// TestTokensEnd: a token that has expired is refused with that reason, by itself, when signing in, and in a session
// that was begun before.
func TestTokensEnd(t *testing.T) {
	t.Parallel()
	now := time.Now()
	g := newGate(t, auth.Guard{TLS: true})
	g.api.Now = func() time.Time { return now }
	g.api.Admit([]auth.Token{{User: auth.User{Name: "alice", Role: auth.Viewer},
		Digest: sha256.Sum256([]byte("alice's secret")), Ends: now.Add(time.Hour)}})
	g.me("Authorization", "Bearer alice's secret")
	w := g.want(200, "", g.send("POST", "/api/v1/session", `{"token":"alice's secret"}`, asJSON...))
	cookie := w.Result().Cookies()[0]
	g.me("Cookie", cookie.Name+"="+cookie.Value)
	now = now.Add(time.Hour)
	g.want(401, "token-ended", g.send("GET", "/api/v1/me", "", "Authorization", "Bearer alice's secret"))
	g.want(401, "token-ended", g.send("POST", "/api/v1/session", `{"token":"alice's secret"}`, asJSON...))
	g.want(401, "no-token", g.send("GET", "/api/v1/me", "", "Cookie", cookie.Name+"="+cookie.Value))
	g.want(401, "no-token", g.send("GET", "/api/v1/me", "", "Authorization", "Bearer another"))
}

// TestOtherSitesSpendNothing: what pages of other sites make a browser ask for takes no request from its user.
func TestOtherSitesSpendNothing(t *testing.T) {
	t.Parallel()
	now := time.Now()
	g := newGate(t, auth.Guard{})
	g.api.Now = func() time.Time { return now }
	for range 3000 {
		g.send("GET", "/icon.svg", "", "Sec-Fetch-Site", "cross-site")
		g.send("GET", "/metrics", "", "Sec-Fetch-Site", "cross-site")
	}
	g.me()
}

// TestAddressesOfClientsOfAProxy: clients of a proxy differ by the address that it sends, and of any other nothing is
// read: one that signs in wrongly again and again locks no other out.
func TestAddressesOfClientsOfAProxy(t *testing.T) {
	t.Parallel()
	g := newGate(t, auth.Guard{TLS: true,
		Proxy: &auth.Proxy{From: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}})
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
	g := newGate(t, auth.Guard{})
	g.want(403, "other-site", g.send("GET", "/api/v1/targets", "", "Sec-Fetch-Site", "cross-site"))
	g.want(403, "other-site", g.send("GET", "/metrics", "", "Sec-Fetch-Site", "cross-site"))
	for path, site := range map[string]string{"/api/v1/targets": "same-origin", "/api/v1/me": "none",
		"/healthz": "cross-site"} {
		if code := g.send("GET", path, "", "Sec-Fetch-Site", site).Code; code != http.StatusOK {
			t.Errorf("%s from %s: %d", path, site, code)
		}
	}
}

// The log of changes is bounded, and what cannot be logged is not done.
func TestLogOfChanges(t *testing.T) {
	t.Parallel()
	g := newGate(t, auth.Guard{AllowApply: true})
	header := append([]string{auth.CSRFHeader, g.me().CSRF}, asJSON...)
	log := filepath.Join(g.dir, "plans.log")
	writeFile(t, log, bytes.Repeat([]byte("x\n"), 3<<20))
	g.want(200, "", g.send("POST", plans, askable, header...))
	if text := expect.Text(t, log); strings.Count(text, "\n") != 1 || !strings.Contains(text, `"action":"plan"`) ||
		len(expect.Text(t, log+".1")) != 6<<20 {
		t.Errorf("%s", text)
	}
	blockFile(t, log)
	g.want(507, "not-logged", g.send("POST", plans, askable, header...))
}

// No more plans are kept than there is room for, and the oldest that is over goes first.
func TestPlansAreBounded(t *testing.T) {
	t.Parallel()
	g := newGate(t, auth.Guard{AllowApply: true})
	header := append([]string{auth.CSRFHeader, g.me().CSRF}, asJSON...)
	for range 105 {
		g.want(200, "", g.send("POST", plans, askable, header...))
	}
	files, err := filepath.Glob(filepath.Join(g.dir, "*.plan"))
	if err != nil || len(files) != 100 {
		t.Errorf("%d plans, %v", len(files), err)
	}
	var list document.RunList
	if err := json.Unmarshal(g.send("GET", "/api/v1/t/main/runs", "").Body.Bytes(), &list); err != nil ||
		list.Total != 100 {
		t.Error(fmt.Sprint(list.Total), err)
	}
}

func writeFile(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// blockFile puts a folder in the place of a file.
func blockFile(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
}
