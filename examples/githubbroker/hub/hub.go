// Package hub serves one repository as GitHub's REST API does: what the broker and its
// agents need of it. It is for tests, and for trying the broker without a token.
//
// It does what https://docs.github.com/en/rest says of authentication, pagination by Link,
// conditional requests, and primary and secondary rate limits. It keeps everything in
// memory.
package hub

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Server represents one repository.
type Server struct {
	Repo  string // owner/name
	Token string // that is asked for; "": none

	mu       sync.Mutex
	items    map[int64]*item
	next     int64
	comments int64
	limits   limits
	seen     []Request
	open     int // requests under way
	at       func(Request)
}

// item represents an issue or a pull request.
type item struct {
	number  int64
	title   string
	author  string
	labels  []string
	pull    bool
	state   string
	created time.Time
	updated time.Time
	moved   string // where it was transferred to
	gone    bool   // deleted
	review  []comment
}

type comment struct {
	id      int64
	author  string
	body    string
	path    string
	line    int
	created time.Time
}

// Request represents one that was made.
type Request struct {
	Method, Path string
	Header       http.Header
	Status       int
	Others       int // under way at that time
	At           time.Time
}

// New makes a repository without issues.
func New(repo, token string) *Server {
	return &Server{Repo: repo, Token: token, items: map[int64]*item{}, limits: limits{limit: 5000}}
}

// Requests returns those that were made so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// OnRequest calls f when an answer has been made and not yet sent.
func (s *Server) OnRequest(f func(Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = f
}

// Open opens an issue, and gives its number.
func (s *Server) Open(title string, labels ...string) int64 {
	return s.add(item{title: title, labels: labels, author: "hana"})
}

// OpenPull opens a pull request of an author.
func (s *Server) OpenPull(title, author string) int64 {
	return s.add(item{title: title, author: author, pull: true})
}

func (s *Server) add(i item) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	i.number, i.state, i.created = s.next, "open", time.Now().UTC()
	i.updated = i.created
	s.items[i.number] = &i
	return i.number
}

// change changes an item that exists, and says when.
func (s *Server) change(number int64, f func(*item)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.items[number]
	if i == nil {
		return false
	}
	f(i)
	i.updated = time.Now().UTC()
	return true
}

// Close closes an issue or a pull request.
func (s *Server) Close(number int64) { s.change(number, func(i *item) { i.state = "closed" }) }

// Reopen opens it again.
func (s *Server) Reopen(number int64) { s.change(number, func(i *item) { i.state = "open" }) }

// Label says which labels it has.
func (s *Server) Label(number int64, labels ...string) {
	s.change(number, func(i *item) { i.labels = labels })
}

// Transfer moves an issue to another repository: GitHub redirects to it.
func (s *Server) Transfer(number int64, location string) {
	s.change(number, func(i *item) { i.state, i.moved = "closed", location })
}

// Delete deletes an issue: GitHub answers 410.
func (s *Server) Delete(number int64) {
	s.change(number, func(i *item) { i.state, i.gone = "closed", true })
}

// Comment makes a review comment on a pull request, and gives its id.
func (s *Server) Comment(number int64, author, body string) int64 {
	return s.review(number, comment{author: author, body: body, path: "README.md", line: 1})
}

func (s *Server) review(number int64, c comment) (id int64) {
	s.change(number, func(i *item) {
		s.comments++
		c.id, c.created = s.comments, time.Now().UTC()
		i.review = append(i.review, c)
		id = c.id
	})
	return id
}

// Numbers returns those of the open issues, without pull requests.
func (s *Server) Numbers() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []int64
	for _, i := range s.items {
		if i.state == "open" && !i.pull {
			all = append(all, i.number)
		}
	}
	slices.Sort(all)
	return all
}

// ServeHTTP answers as GitHub does.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.open++
	others := s.open - 1
	s.mu.Unlock()
	a := s.answer(r)
	done := Request{r.Method, r.URL.RequestURI(), r.Header.Clone(), a.status, others, time.Now()}
	s.mu.Lock()
	s.open--
	s.seen = append(s.seen, done)
	if n := len(s.seen); n > 10_000 { // of a server that runs for long
		s.seen = slices.Clone(s.seen[n-1000:])
	}
	at := s.at
	s.mu.Unlock()
	if at != nil {
		at(done)
	}
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(a.status)
	if a.status != http.StatusNotModified {
		_, _ = w.Write(a.body)
	}
}

// JSON of an issue, as the API has it: with much that the broker does not read.
func (s *Server) issue(base string, i *item) json.RawMessage {
	url := fmt.Sprintf("%s/repos/%s/issues/%d", base, s.Repo, i.number)
	labels := []map[string]any{}
	for n, name := range i.labels {
		labels = append(labels, map[string]any{"id": 1000 + n, "node_id": "LA_" + name, "url": base + "/repos/" + s.Repo +
			"/labels/" + name, "name": name, "color": "d73a4a", "default": false, "description": nil})
	}
	out := map[string]any{
		"id": 9_007_199_254_740_993 + i.number, "node_id": "I_" + strconv.FormatInt(i.number, 10), "url": url,
		"repository_url": base + "/repos/" + s.Repo,
		"comments_url":   url + "/comments", "number": i.number, "state": i.state, "title": i.title, "body": "本文 <&>",
		"user": user(i.author), "labels": labels,
		"assignee": nil, "assignees": []any{}, "milestone": nil, "locked": false, "comments": 0, "closed_at": nil,
		"author_association": "OWNER",
		"created_at":         i.created.Format(time.RFC3339), "updated_at": i.updated.Format(time.RFC3339),
		"reactions": map[string]any{"url": url + "/reactions", "total_count": 0, "+1": 0}, "state_reason": nil,
	}
	if i.pull {
		pull := fmt.Sprintf("%s/repos/%s/pulls/%d", base, s.Repo, i.number)
		out["pull_request"] = map[string]any{"url": pull, "html_url": pull, "diff_url": pull + ".diff", "patch_url": pull +
			".patch", "merged_at": nil}
	}
	return encoded(out)
}

func (s *Server) comment(base string, i *item, c comment) json.RawMessage {
	return encoded(map[string]any{
		"id": c.id, "node_id": "PRRC_" + strconv.FormatInt(c.id, 10), "body": c.body, "path": c.path, "line": c.line,
		"side": "RIGHT", "diff_hunk": "@@ -1 +1 @@",
		"user": user(c.author), "created_at": c.created.Format(time.RFC3339), "updated_at": c.created.Format(time.RFC3339),
		"html_url":         fmt.Sprintf("%s/%s/pull/%d#discussion_r%d", base, s.Repo, i.number, c.id),
		"pull_request_url": fmt.Sprintf("%s/repos/%s/pulls/%d", base, s.Repo, i.number),
	})
}

func user(login string) map[string]any {
	return map[string]any{"login": login, "id": 1, "type": "User", "site_admin": false}
}

// encoded returns v as JSON, or, for what cannot be encoded, an object that says why.
func encoded(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage(`{"message":` + strconv.Quote(err.Error()) + `}`)
	}
	return text
}

// sorted returns the open items in the order that GitHub has: newest first.
func (s *Server) sorted() []*item {
	var all []*item
	for _, i := range s.items {
		if i.state == "open" {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b *item) int { return cmp.Compare(b.number, a.number) })
	return all
}
