package githubbroker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	broker "github.com/keywright/keywright/examples/githubbroker"
	"github.com/keywright/keywright/examples/githubbroker/hub"
	"github.com/keywright/keywright/keywrighttest"
)

// TestGitHub: all pages are read, pull requests are distinguished from issues, labels are those of
// the objects, and an issue is kept byte for byte.
func TestGitHub(t *testing.T) {
	h, url := repository(t)
	for n := range 230 {
		if n%10 == 9 {
			h.OpenPull(fmt.Sprint("change ", n), "hana")
		} else {
			h.Open(fmt.Sprint("issue ", n), "bug", "needs-review")
		}
	}
	h.Close(7)
	all, err := reader(t, url).Open(t.Context())
	must(t, err)
	pulls := 0
	for _, i := range all {
		if i.PullRequest {
			pulls++
		} else if !slices.Equal(i.Labels, []string{"bug", "needs-review"}) || i.Kind() != broker.ReviewTask ||
			i.Author != "hana" || i.Updated.IsZero() {
			t.Fatalf("%+v", i)
		}
	}
	if len(all) != 229 || pulls != 23 {
		t.Errorf("%d issues, of them %d pull requests", len(all), pulls)
	}
	seen := h.Requests()
	if len(seen) != 3 {
		t.Errorf("%d requests for 229 issues", len(seen))
	}
	for _, r := range seen {
		if r.Header.Get("X-GitHub-Api-Version") == "" || r.Header.Get("Accept") == "" || r.Others > 0 {
			t.Errorf("%+v", r)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/repos/"+repo+"/issues?per_page=1", nil)
	must(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(request)
	must(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	must(t, err)
	if want := "[" + string(all[0].Raw) + "]"; string(body) != want || !strings.Contains(want, `"id":9007199254741`) {
		t.Errorf("GitHub sent\n%s\nand this is kept:\n%s", body, want)
	}
}

// TestUnchanged: what has not changed is not sent again and costs nothing, and what has
// changed is seen, on whichever page.
func TestUnchanged(t *testing.T) {
	h, url := repository(t)
	for n := range 201 {
		h.Open(fmt.Sprint("issue ", n))
	}
	g := reader(t, url)
	count := func(want int) {
		t.Helper()
		all, err := g.Open(t.Context())
		must(t, err)
		if len(all) != want {
			t.Errorf("%d issues, want %d", len(all), want)
		}
	}
	count(201)
	used := h.Used()
	count(201)
	if n := h.Used() - used; n != 0 {
		t.Errorf("%d requests were counted although nothing had changed", n)
	}
	h.Label(1, "bug") // on the last page
	count(201)
	if n := h.Used() - used; n != 1 {
		t.Errorf("%d pages were sent again for one change", n)
	}
	h.Close(1)
	count(200)
	g = reader(t, url) // it sees two pages, both full
	count(200)
	h.Reopen(1) // a third page, after two that are as before
	count(201)
}

// TestMissing: an issue that is closed, deleted, moved or was never there is not open; one
// that cannot be asked for is an error.
func TestMissing(t *testing.T) {
	h, url := repository(t)
	other, otherURL := repository(t)
	for range 4 {
		h.Open("an issue")
		other.Open("moved here")
	}
	h.Close(2)
	h.Delete(3)
	h.Transfer(4, otherURL+"/repos/other/code/issues/1")
	g := reader(t, url)
	for number, want := range map[int64]bool{1: true, 2: false, 3: false, 4: false, 99: false} {
		if is, err := g.IsOpen(t.Context(), number); err != nil || is != want {
			t.Errorf("issue %d is open: %t, %v", number, is, err)
		}
	}
	if len(other.Requests()) > 0 {
		t.Error("the client followed an issue to another server")
	}
	bad, err := broker.NewGitHub(repo, broker.GitHubOptions{Base: url, Token: "old"})
	must(t, err)
	if is, err := bad.IsOpen(t.Context(), 1); err == nil {
		t.Errorf("open: %t, without a login", is)
	}
	if _, err := bad.Open(t.Context()); err == nil || strings.Contains(err.Error(), "old") {
		t.Errorf("without a login: %v", err)
	}
}

// TestTokenStays: the token goes to the host of the API only, and never unencrypted to
// another machine.
func TestTokenStays(t *testing.T) {
	stolen := make(chan string, 10)
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stolen <- r.Header.Get("Authorization")
		_, _ = w.Write([]byte("[]"))
	}))
	defer thief.Close()
	for name, answer := range map[string]http.HandlerFunc{
		"a redirection": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, thief.URL, http.StatusMovedPermanently)
		},
		"a link": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "<"+thief.URL+`/page2>; rel="next"`)
			_, _ = w.Write([]byte("[]"))
		},
	} {
		web := httptest.NewServer(answer)
		defer web.Close()
		if _, err := reader(t, web.URL).Open(t.Context()); err == nil {
			t.Errorf("%s to another host was followed", name)
		}
	}
	if len(stolen) > 0 {
		t.Errorf("another host got %q", <-stolen)
	}
	for _, base := range []string{"http://github.example.com/api/v3", "ftp://localhost", "https://user:pw@github.com",
		"nothing", "http://127.0.0.1.example.com"} {
		if _, err := broker.NewGitHub(repo, broker.GitHubOptions{Base: base, Token: token}); err == nil {
			t.Errorf("%s is taken", base)
		}
	}
	for _, name := range []string{"", "code", "team/code/more", "team/..", "team/.", "team/co de"} {
		if _, err := broker.NewGitHub(name, broker.GitHubOptions{}); err == nil {
			t.Errorf("%q is taken as a repository", name)
		}
	}
}

// TestLimits: each way in which GitHub says that it was asked too much, by its documentation.
// The client does not ask before the time that follows of it.
func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limit    func(*hub.Server)
		requests int           // that are made, of three tries
		least    time.Duration // of the pause
		most     time.Duration
	}{
		"the hour is used up": {func(h *hub.Server) { h.Limit(0, time.Now().Add(40*time.Minute)) }, 1,
			40 * time.Minute, 41 * time.Minute},
		"the last request of the hour": {func(h *hub.Server) { h.Limit(1, time.Now().Add(40*time.Minute)) }, 1,
			40 * time.Minute, 41 * time.Minute},
		"too fast, for so long": {func(h *hub.Server) {
			h.Refuse(hub.Secondary{Status: 403, RetryAfter: time.Hour,
				Times: 9})
		}, 1, time.Hour, time.Hour},
		"too fast, for so long, by 429": {func(h *hub.Server) {
			h.Refuse(hub.Secondary{Status: 429, RetryAfter: time.Hour,
				Times: 9})
		}, 1, time.Hour, time.Hour},
		"too fast, not for how long": {func(h *hub.Server) { h.Refuse(hub.Secondary{Status: 403, Times: 9}) }, 1,
			time.Minute, time.Minute},
		"too fast, not for how long 429": {func(h *hub.Server) { h.Refuse(hub.Secondary{Status: 429, Times: 9}) }, 1,
			time.Minute, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			h, url := repository(t)
			h.Open("an issue")
			begin := time.Now()
			c.limit(h)
			g := reader(t, url)
			var limited *broker.Limited
			for range 3 {
				_, err := g.Open(t.Context())
				errors.As(err, &limited)
			}
			end := time.Now()
			if n := len(h.Requests()); n != c.requests || limited == nil {
				t.Fatalf("%d requests, %v", n, limited)
			}
			// headers have whole seconds
			if limited.Until.Before(begin.Add(c.least-2*time.Second)) || limited.Until.After(end.Add(c.most)) {
				t.Errorf("it waits until %v, asked between %v and %v", limited.Until, begin, end)
			}
		})
	}
	t.Run("what is forbidden is no limit", func(t *testing.T) {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(map[string]string{"message": "Resource not accessible by personal access token"})
		}))
		defer web.Close()
		var limited *broker.Limited
		if _, err := reader(t, web.URL).Open(t.Context()); err == nil || errors.As(err, &limited) {
			t.Errorf("%v", err)
		}
	})
}

// TestClockOfGitHub: when a limit ends is by GitHub's clock, which need not be that of this
// machine.
func TestClockOfGitHub(t *testing.T) {
	there := time.Now().Add(-3 * time.Hour)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", there.UTC().Format(http.TimeFormat))
		w.Header().Set("X-RateLimit-Remaining", "0")
		w.Header().Set("X-RateLimit-Reset", fmt.Sprint(there.Add(30*time.Minute).Unix()))
		w.WriteHeader(http.StatusForbidden)
	}))
	defer web.Close()
	_, err := reader(t, web.URL).Open(t.Context())
	var limited *broker.Limited
	if !errors.As(err, &limited) || time.Until(limited.Until) < 28*time.Minute ||
		time.Until(limited.Until) > 31*time.Minute {
		t.Errorf("%v", err)
	}
}

// TestPollWaits: while GitHub is not to be asked the poller does not ask, and lets others
// have the lock; then it goes on.
func TestPollWaits(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		h, url := repository(t)
		h.Open("an issue")
		h.Refuse(hub.Secondary{Status: 429, RetryAfter: time.Second, Times: 1})
		s := keywrighttest.Start(t, brand)
		p := broker.NewPoller(open(t, s.URL()), reader(t, url), broker.PollerOptions{Poll: time.Millisecond})
		ctx, stop := context.WithCancel(t.Context())
		ended, told := make(chan struct{}), make(chan error, 100)
		go func() { defer close(ended); p.Run(ctx, func(err error) { told <- err }) }()
		await(t, "the issue", func() bool { return s.Do("EXISTS", "issue:1") == int64(1) })
		stop()
		<-ended
		seen := h.Requests()
		var limited *broker.Limited
		if err := <-told; !errors.As(err, &limited) {
			t.Errorf("it told %v", err)
		}
		if len(seen) < 2 || seen[0].Status != http.StatusTooManyRequests || seen[1].At.Sub(seen[0].At) < time.Second {
			t.Errorf("%+v", seen[:min(len(seen), 2)])
		}
	})
}
