package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// answer describes what is sent.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func say(status int, message string) answer {
	return answer{status, http.Header{}, encoded(map[string]string{"message": message,
		"documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(status)})}
}

// answer decides on a request. The order is GitHub's: the login, whether it may ask at this
// time, what there is, and whether the client has it.
func (s *Server) answer(r *http.Request) answer {
	s.mu.Lock()
	now, base := time.Now(), "http://"+r.Host
	var early *answer
	switch {
	case r.Header.Get("User-Agent") == "":
		early = ref(say(http.StatusForbidden,
			"Request forbidden by administrative rules. Please make sure your request has a User-Agent header"))
	case s.Token != "" && r.Header.Get("Authorization") != "Bearer "+s.Token:
		early = ref(say(http.StatusUnauthorized, "Bad credentials"))
	default:
		early = s.limits.refuse(now)
	}
	s.mu.Unlock()
	var a answer
	if early != nil {
		a = *early
	} else {
		a = conditional(r, s.route(r, base))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.status != http.StatusNotModified && a.status != http.StatusUnauthorized && early == nil {
		s.limits.used++ // a 304 costs nothing
	}
	s.limits.tell(a.header)
	a.header.Set("Date", now.UTC().Format(http.TimeFormat))
	return a
}

func ref(a answer) *answer { return &a }

// conditional answers 304 if the request has what is there.
func conditional(r *http.Request, a answer) answer {
	if r.Method != http.MethodGet || a.status != http.StatusOK {
		return a
	}
	sum := sha256.Sum256(a.body) // not of the links: GitHub does not say that it is
	tag := `W/"` + hex.EncodeToString(sum[:]) + `"`
	a.header.Set("ETag", tag)
	a.header.Set("Cache-Control", "private, max-age=60, s-maxage=60")
	if r.Header.Get("If-None-Match") == tag {
		a.status, a.body = http.StatusNotModified, nil
	}
	return a
}

// route finds what is asked for, below /repos/OWNER/NAME.
func (s *Server) route(r *http.Request, base string) answer {
	path, ok := strings.CutPrefix(r.URL.Path, "/repos/"+s.Repo+"/")
	parts := strings.Split(path, "/")
	if !ok || len(parts) > 3 {
		return say(http.StatusNotFound, "Not Found")
	}
	var number int64
	if len(parts) > 1 {
		var err error
		if number, err = strconv.ParseInt(parts[1], 10, 64); err != nil {
			return say(http.StatusNotFound, "Not Found")
		}
		parts[1] = "N"
	}
	route, there := routes[r.Method+" "+strings.Join(parts, "/")]
	if !there {
		return say(http.StatusNotFound, "Not Found")
	}
	return route(s, r, base, number)
}

var routes = map[string]func(s *Server, r *http.Request, base string, number int64) answer{
	"GET issues":            (*Server).listIssues,
	"POST issues":           (*Server).openIssue,
	"GET issues/N":          (*Server).getIssue,
	"PATCH issues/N":        (*Server).changeIssue,
	"GET pulls/N/comments":  (*Server).listComments,
	"POST pulls/N/comments": (*Server).makeComment,
	"POST pulls":            (*Server).openPull,
}

func (s *Server) listIssues(r *http.Request, base string, _ int64) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []json.RawMessage
	if state := r.URL.Query().Get("state"); state == "" || state == "open" {
		for _, i := range s.sorted() {
			all = append(all, s.issue(base, i))
		}
	}
	return page(r.URL, base, all)
}

func (s *Server) getIssue(_ *http.Request, base string, number int64) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch i := s.items[number]; {
	case i == nil:
		return say(http.StatusNotFound, "Not Found")
	case i.gone:
		return say(http.StatusGone, "This issue was deleted")
	case i.moved != "":
		a := say(http.StatusMovedPermanently, "Moved Permanently")
		a.header.Set("Location", i.moved)
		return a
	default:
		return answer{http.StatusOK, http.Header{}, s.issue(base, i)}
	}
}

func (s *Server) listComments(r *http.Request, base string, number int64) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.items[number]
	if i == nil || !i.pull {
		return say(http.StatusNotFound, "Not Found")
	}
	var all []json.RawMessage
	for _, c := range i.review {
		all = append(all, s.comment(base, i, c))
	}
	return page(r.URL, base, all)
}

// page gives the page that is asked for, and links to the others.
func page(u *url.URL, base string, all []json.RawMessage) answer {
	q := u.Query()
	size, n := 30, 1
	if v, err := strconv.Atoi(q.Get("per_page")); err == nil && v > 0 {
		size = min(v, 100)
	}
	if v, err := strconv.Atoi(q.Get("page")); err == nil && v > 0 {
		n = v
	}
	last := (len(all) + size - 1) / size
	part := all[min((n-1)*size, len(all)):min(n*size, len(all))]
	a := answer{http.StatusOK, http.Header{}, encoded(append([]json.RawMessage{}, part...))}
	var links []string
	link := func(to int, rel string) {
		q.Set("page", strconv.Itoa(to))
		links = append(links, fmt.Sprintf(`<%s%s?%s>; rel="%s"`, base, u.Path, q.Encode(), rel))
	}
	if n > 1 {
		link(n-1, "prev")
	}
	if n < last {
		link(n+1, "next")
		link(last, "last")
	}
	if n > 1 {
		link(1, "first")
	}
	if len(links) > 0 {
		a.header.Set("Link", strings.Join(links, ", "))
	}
	return a
}

// readRequest reads what was sent.
func readRequest(r *http.Request, into any) *answer {
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 1<<20)).Decode(into); err != nil {
		return ref(say(http.StatusBadRequest, "Problems parsing JSON"))
	}
	return nil
}

func (s *Server) made(base string, number int64) answer {
	a := s.getIssue(nil, base, number)
	if a.status == http.StatusOK {
		a.status = http.StatusCreated
	}
	return a
}

func (s *Server) openIssue(r *http.Request, base string, _ int64) answer {
	var asked struct {
		Title  string   `json:"title"`
		Labels []string `json:"labels"`
	}
	if wrong := readRequest(r, &asked); wrong != nil {
		return *wrong
	}
	return s.made(base, s.Open(asked.Title, asked.Labels...))
}

func (s *Server) openPull(r *http.Request, base string, _ int64) answer {
	var asked struct {
		Title string `json:"title"`
	}
	if wrong := readRequest(r, &asked); wrong != nil {
		return *wrong
	}
	return s.made(base, s.OpenPull(asked.Title, "agent"))
}

func (s *Server) changeIssue(r *http.Request, base string, number int64) answer {
	var asked struct {
		State  string    `json:"state"`
		Labels *[]string `json:"labels"`
	}
	if wrong := readRequest(r, &asked); wrong != nil {
		return *wrong
	}
	s.change(number, func(i *item) {
		if asked.State != "" {
			i.state = asked.State
		}
		if asked.Labels != nil {
			i.labels = *asked.Labels
		}
	})
	return s.getIssue(nil, base, number)
}

func (s *Server) makeComment(r *http.Request, base string, number int64) answer {
	var asked struct {
		Body string `json:"body"`
		Path string `json:"path"`
		Line int    `json:"line"`
	}
	if wrong := readRequest(r, &asked); wrong != nil {
		return *wrong
	}
	if s.review(number, comment{author: "reviewer", body: asked.Body, path: asked.Path, line: asked.Line}) == 0 {
		return say(http.StatusNotFound, "Not Found")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.items[number]
	return answer{http.StatusCreated, http.Header{}, s.comment(base, i, i.review[len(i.review)-1])}
}
