package githubbroker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-github/v75/github"
)

// The bounds of what is read of GitHub.
const (
	perPage     = 100      // the most that GitHub gives
	maxIssues   = 20_000   // open ones of a repository
	maxComments = 5_000    // of a pull request
	maxPage     = 32 << 20 // bytes of a page
	maxKept     = 64 << 20 // bytes of pages that are kept for their ETags
)

// GitHubOptions says how GitHub is asked.
type GitHubOptions struct {
	Base    string        // URL of the API; "": https://api.github.com/
	Token   string        // "": what is public, 60 requests an hour
	Timeout time.Duration // of a request; 0: 30 s
}

// GitHub reads one repository by the REST API, one request at a time, as GitHub asks its
// clients to do. What has not changed is not sent again (ETag), and when GitHub says that
// it has been asked too much it is not asked before the time it names.
type GitHub struct {
	client *github.Client
	repo   string

	one   sync.Mutex // one request at a time, and what follows
	pages map[string]page
	kept  int
	limit limits
}

// page represents the answer to a GET.
type page struct {
	etag string
	next string // URL of the next page, "" after the last one
	body []byte
}

// ErrTooMany reports a list that is longer than what is read.
var ErrTooMany = errors.New("GitHub lists more than is read")

var repoName = regexp.MustCompile(`^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$`)

// NewGitHub makes a client for a repository, as in "owner/name". It refuses to send a token
// unencrypted to another machine.
func NewGitHub(repo string, o GitHubOptions) (*GitHub, error) {
	if !repoName.MatchString(repo) || strings.HasSuffix(repo, "/.") || strings.Contains(repo, "..") {
		return nil, fmt.Errorf("%q is no repository: write owner/name", repo)
	}
	base, err := url.Parse(strings.TrimSuffix(cmp.Or(o.Base, "https://api.github.com"), "/") + "/")
	if err != nil || base.Host == "" || base.User != nil || base.Scheme != "https" && base.Scheme != "http" {
		return nil, errors.New("the URL of the API cannot be used: write https://HOST/PATH")
	}
	if base.Scheme == "http" && o.Token != "" && !local(base.Hostname()) {
		return nil, errors.New("the token would be sent unencrypted: use https")
	}
	c := github.NewClient(&http.Client{Timeout: cmp.Or(o.Timeout, 30*time.Second), CheckRedirect: sameHost(base.Host)})
	if o.Token != "" {
		c = c.WithAuthToken(o.Token)
	}
	c.BaseURL, c.UserAgent, c.DisableRateLimitCheck = base, "github-broker", true
	return &GitHub{client: c, repo: repo, pages: map[string]page{}}, nil
}

func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// stay represents the key of a context whose request follows no redirection.
type stay struct{}

// sameHost follows redirections, of a repository that was renamed, within the host of the
// API: the token goes with each request.
func sameHost(host string) func(*http.Request, []*http.Request) error {
	return func(r *http.Request, via []*http.Request) error {
		switch {
		case r.Context().Value(stay{}) != nil:
			return http.ErrUseLastResponse
		case r.URL.Host != host || len(via) > 5:
			return fmt.Errorf("a redirection to %s is not followed", r.URL.Host)
		}
		return nil
	}
}

// Open gives all open issues and pull requests. It is whole, or an error.
func (g *GitHub) Open(ctx context.Context) (issues []Issue, err error) {
	at := fmt.Sprintf("repos/%s/issues?state=open&per_page=%d", g.repo, perPage)
	err = g.each(ctx, at, maxIssues/perPage, func(raw json.RawMessage) error {
		issue, err := parseIssue(raw)
		issues = append(issues, issue)
		return err
	})
	return issues, err
}

// IsOpen asks for one issue. One that was deleted, or transferred to another repository, is
// not open.
func (g *GitHub) IsOpen(ctx context.Context, number int64) (bool, error) {
	p, err := g.get(context.WithValue(ctx, stay{}, true), fmt.Sprintf("repos/%s/issues/%d", g.repo, number))
	var refused *github.ErrorResponse
	var moved *github.RedirectionError
	switch {
	case errors.As(err, &moved):
		return false, nil
	case errors.As(err, &refused) && slices.Contains([]int{http.StatusNotFound, http.StatusGone},
		refused.Response.StatusCode):
		return false, nil
	case err != nil:
		return false, err
	}
	var issue struct {
		State string `json:"state"`
	}
	err = json.Unmarshal(p.body, &issue)
	return issue.State == "open", err
}

// Comments gives the review comments of a pull request, oldest first. It is whole, or an
// error.
func (g *GitHub) Comments(ctx context.Context, number int64) (comments []Comment, err error) {
	at := fmt.Sprintf("repos/%s/pulls/%d/comments?per_page=%d", g.repo, number, perPage)
	err = g.each(ctx, at, maxComments/perPage, func(raw json.RawMessage) error {
		c, err := parseComment(raw)
		comments = append(comments, c)
		return err
	})
	return comments, err
}

// each calls fn for what is listed, over all pages.
func (g *GitHub) each(ctx context.Context, at string, pages int, fn func(json.RawMessage) error) error {
	for n := 0; at != ""; n++ {
		if n == pages {
			return fmt.Errorf("%w: more than %d", ErrTooMany, pages*perPage)
		}
		p, err := g.get(ctx, at)
		if err != nil {
			return err
		}
		var all []json.RawMessage
		if err := json.Unmarshal(p.body, &all); err != nil {
			return fmt.Errorf("GitHub's list cannot be read: %w", err)
		}
		for _, raw := range all {
			if err := fn(raw); err != nil {
				return err
			}
		}
		at = p.next
	}
	return nil
}

// get reads a page, or finds that the one that is kept is that of today.
func (g *GitHub) get(ctx context.Context, at string) (page, error) {
	g.one.Lock()
	defer g.one.Unlock()
	if err := g.limit.check(); err != nil {
		return page{}, err
	}
	request, err := g.client.NewRequest(http.MethodGet, at, nil)
	if err != nil {
		return page{}, err
	}
	if request.URL.Host != g.client.BaseURL.Host || request.URL.Scheme != g.client.BaseURL.Scheme {
		return page{}, fmt.Errorf("a link to %s is not followed", request.URL.Host)
	}
	known, had := g.pages[at]
	if had {
		request.Header.Set("If-None-Match", known.etag)
	}
	response, err := g.client.BareDo(ctx, request)
	if response == nil {
		return page{}, err
	}
	if limited := g.limit.learn(response.Response, err); limited != nil {
		return page{}, limited
	}
	if had && response.StatusCode == http.StatusNotModified {
		return known, nil
	}
	if err != nil {
		return page{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxPage+1))
	if err == nil && len(body) > maxPage {
		err = fmt.Errorf("a page of GitHub has more than %d bytes", maxPage)
	}
	if err != nil {
		return page{}, err
	}
	p := page{response.Header.Get("ETag"), next(response.Header), body}
	g.keep(at, p)
	return p, nil
}

// keep keeps a page for the next time. When there are too many all go, and are asked for
// again.
func (g *GitHub) keep(at string, p page) {
	if old, had := g.pages[at]; had {
		g.kept -= len(old.body)
		delete(g.pages, at)
	}
	var all []json.RawMessage
	full := json.Unmarshal(p.body, &all) == nil && len(all) >= perPage && p.next == ""
	if p.etag == "" || full || len(p.body) > maxKept { // a full one may be followed by a page tomorrow, and be as it is
		return
	}
	if g.kept += len(p.body); g.kept > maxKept {
		clear(g.pages)
		g.kept = len(p.body)
	}
	g.pages[at] = p
}

// next returns the URL of the next page: taken as it is, since GitHub pages some lists by number
// and others by a cursor.
func next(h http.Header) string {
	for _, link := range strings.Split(h.Get("Link"), ",") {
		at, rel, _ := strings.Cut(strings.TrimSpace(link), ">")
		if strings.Contains(rel, `rel="next"`) {
			return strings.TrimPrefix(at, "<")
		}
	}
	return ""
}
