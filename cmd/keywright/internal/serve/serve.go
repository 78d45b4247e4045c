// Package serve is the HTTP side of `keywright serve`: the API, its events, the metrics,
// the files of the dashboard, and what keeps them safe. All it answers with is in the
// states that package observe keeps, and in the history: no request scans a server.
//
// It knows no Redis command, and stores nothing.
package serve

import (
	"cmp"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/alert"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/operate"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/auth"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/deadsearch"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/document"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/scrape"
	"github.com/keywright/keywright/internal/history"
	"github.com/keywright/keywright/keyspace/finding"
)

// Options of a server.
type Options struct {
	Targets []*observe.Target // at first: see Watch
	History history.Store     // nil: none is kept
	Rules   []finding.Rule
	Files   fs.FS // the dashboard; nil: the API alone
	Version string
	Guard   auth.Guard
	Desk    *operate.PlanQueue // nil: nothing can be changed
	// Alerts gives what is wrong with a target now, and how much more there is; nil: no one judges that.
	Alerts func(target string) (now []alert.Alert, left int64)
	Now    func() time.Time
}

// Server answers requests. Close ends its streams of events.
type Server struct {
	Options
	fleet   sync.RWMutex
	targets map[string]*observe.Target // by ID
	watched []*observe.Target          // the same, by ID
	broken  []Broken
	others  chan struct{} // closed when the targets are others

	rules map[string]finding.Rule
	mux   *http.ServeMux

	auth     *auth.Authenticator
	write    *document.Writer
	asking   chan struct{} // room for requests that ask a server
	searches *deadsearch.Searches
	bases    reply.Bases

	mu      sync.Mutex
	streams map[string]int // of events, open now, by user
	closed  chan struct{}
	close   sync.Once
}

// maxAsking bounds the requests that ask a server at one time.
const maxAsking = 8

// New prepares a server.
func New(o Options) *Server {
	s := &Server{Options: o, rules: map[string]finding.Rule{},
		mux: http.NewServeMux(), closed: make(chan struct{}),
		streams: map[string]int{}, asking: make(chan struct{}, maxAsking)}
	now := func() time.Time { return s.Now() }
	s.auth = auth.New(o.Guard, now)
	s.searches = deadsearch.New(now)
	s.write = &document.Writer{Rules: s.rules, History: o.History, Now: now}
	s.Watch(o.Targets, nil)
	for _, r := range o.Rules {
		s.rules[r.Code] = r
	}
	for _, r := range allRoutes {
		s.mux.Handle(r.method+" "+r.path, s.api(r))
	}
	s.mux.HandleFunc("GET /api/v1/events", s.events)
	s.mux.HandleFunc("GET /api/v1/openapi.json", serveOpenAPI)
	s.mux.HandleFunc("GET /metrics", s.metrics)
	s.mux.HandleFunc("GET "+auth.HealthPath, func(w http.ResponseWriter, _ *http.Request) {
		writePlain(w, http.StatusOK, "ok")
	})
	s.mux.HandleFunc("GET "+auth.ReadyPath, s.ready)
	s.mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) {
		reply.Refuse(w, reply.Fail(http.StatusNotFound, "no-such-path", "the API has no such path or method",
			"its paths are in /api/v1/openapi.json"))
	})
	s.mux.Handle("/", s.files())
	return s
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	auth.Harden(w.Header(), s.Guard.TLS)
	c, failed := s.auth.Check(r)
	if c.Name == "" && s.auth.HasUsers() { // a stranger keeps no connection
		w.Header().Set("Connection", "close")
	}
	if failed != nil {
		reply.Refuse(w, failed)
		return
	}
	reply.Pack(s.mux, w, auth.With(r, c), unpacked[r.URL.Path])
}

// unpacked lists paths whose answers are not compressed: a stream, and those with a secret, of which a length would
// tell.
var unpacked = map[string]bool{"/api/v1/events": true, "/api/v1/me": true, auth.SessionPath: true}

// Admit takes other tokens from now on. The sessions of those that are not among them end.
func (s *Server) Admit(tokens []auth.Token) { s.auth.Admit(tokens) }

// Points returns the figures of an audit for the history.
func (s *Server) Points(t *observe.Target, a *observe.Audit) map[string]history.Point {
	return s.write.Points(t, a)
}

// Close ends the streams of events, which would go on for as long as clients listen, and the searches.
func (s *Server) Close() {
	s.close.Do(func() { close(s.closed) })
	s.searches.Close()
}

// metrics answers what Prometheus scrapes.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	m := scrape.Metrics{Targets: s.all(), Rows: s.write.Rows, Alerts: s.Alerts, Now: s.Now()}
	broken, _ := s.fleetNow()
	for _, b := range broken {
		m.Broken = append(m.Broken, scrape.Broken{ID: b.ID, Keyspace: b.Keyspace, Labels: b.Labels})
	}
	m.Write(w, r)
}

// ready says whether each target has been read or is known to be away: what it answers is then worth reading, also
// while the first audit of a large server goes on.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if broken, _ := s.fleetNow(); len(s.all())+len(broken) == 0 {
		writePlain(w, http.StatusServiceUnavailable, "no target is watched yet")
		return
	}
	for _, t := range s.all() {
		st := t.State()
		if st.Shown() == nil && st.Failed == nil && st.Shards.At.IsZero() && st.Shards.Failed == nil {
			writePlain(w, http.StatusServiceUnavailable, "nothing was read of "+t.ID+" yet")
			return
		}
	}
	writePlain(w, http.StatusOK, "ready")
}

func writePlain(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text + "\n"))
}

// files serves the dashboard. Names with a digest in them never change.
func (s *Server) files() http.Handler {
	if s.Files == nil {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			writePlain(w, http.StatusNotFound, "this program was built without the dashboard; the API is under /api/v1/")
		})
	}
	files := http.FileServerFS(s.Files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			writePlain(w, http.StatusMethodNotAllowed, "this path is only read")
			return
		}
		w.Header().Set("Cache-Control", "no-cache")
		if strings.HasPrefix(r.URL.Path, "/assets/") {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		files.ServeHTTP(w, r)
	})
}

// Broken represents a target that cannot be watched.
type Broken struct {
	ID, Name, Declaration string
	Keyspace              string // the package of the declaration; "": it is not known
	Labels                map[string]string
	Why                   string
}

// Watch makes the targets those that are given, and names those that cannot be watched. Streams
// of events end, and clients begin them again.
func (s *Server) Watch(all []*observe.Target, broken []Broken) {
	s.fleet.Lock()
	defer s.fleet.Unlock()
	s.targets = map[string]*observe.Target{}
	s.watched = slices.Clone(all)
	slices.SortFunc(s.watched, func(a, b *observe.Target) int { return cmp.Compare(a.ID, b.ID) })
	for _, t := range all {
		s.targets[t.ID] = t
	}
	s.broken = slices.Clone(broken)
	slices.SortFunc(s.broken, func(a, b Broken) int { return cmp.Compare(a.ID, b.ID) })
	if s.others != nil {
		close(s.others)
	}
	s.others = make(chan struct{})
}

// all returns the targets that are watched, by name.
func (s *Server) all() []*observe.Target {
	s.fleet.RLock()
	defer s.fleet.RUnlock()
	return s.watched
}

// find returns a target; nil: there is none.
func (s *Server) find(id string) *observe.Target {
	s.fleet.RLock()
	defer s.fleet.RUnlock()
	return s.targets[id]
}

// fleetNow returns the targets that cannot be watched, and what is closed when there are others.
func (s *Server) fleetNow() ([]Broken, <-chan struct{}) {
	s.fleet.RLock()
	defer s.fleet.RUnlock()
	return s.broken, s.others
}

// Target returns a target that is watched; nil: no target has that ID.
func (s *Server) Target(id string) *observe.Target { return s.find(id) }

// ids returns the targets by name.
func (s *Server) ids() (out []string) {
	for _, t := range s.all() {
		out = append(out, t.ID)
	}
	return out
}
