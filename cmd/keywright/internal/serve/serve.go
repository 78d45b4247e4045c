// Package serve is the HTTP side of `keywright serve`: the API, its events, the metrics,
// the files of the dashboard, and what keeps them safe. All it answers with is in the
// states that package observe keeps, and in the history: no request scans a server.
//
// It knows no Redis command, and stores nothing.
package serve

import (
	"context"
	"crypto/rand"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/alert"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/operate"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/internal/history"
)

// Options of a server.
type Options struct {
	Targets []*observe.Target // at first: see Watch
	History history.Store     // nil: none is kept
	Rules   []finding.Rule
	Files   fs.FS // the dashboard; nil: the API alone
	Version string
	Guard   Guard
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

	tokens   atomic.Pointer[[]Token] // that are good now: Admit changes them
	secret   [32]byte                // of tokens against forged requests
	sessions sessions
	rates    rates
	asking   chan struct{} // room for requests that ask a server
	searches searches
	bases    bases

	mu      sync.Mutex
	streams map[string]int // of events, open now, by user
	closed  chan struct{}
	close   sync.Once
}

// HealthPath answers where the process runs, ReadyPath where there is something to show.
const (
	HealthPath = "/healthz"
	ReadyPath  = "/readyz"
)

// maxAsking bounds the requests that ask a server at one time.
const maxAsking = 8

// New prepares a server.
func New(o Options) *Server {
	s := &Server{Options: o, rules: map[string]finding.Rule{},
		mux: http.NewServeMux(), closed: make(chan struct{}),
		streams: map[string]int{}, asking: make(chan struct{}, maxAsking)}
	_, _ = rand.Read(s.secret[:])
	s.Admit(o.Guard.Tokens)
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
	s.mux.HandleFunc("GET "+HealthPath, func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok") })
	s.mux.HandleFunc("GET "+ReadyPath, s.ready)
	s.mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, problem(http.StatusNotFound, "no-such-path", "the API has no such path or method",
			"its paths are in /api/v1/openapi.json"))
	})
	s.mux.Handle("/", s.files())
	return s
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	harden(w.Header(), s.Guard.TLS)
	c, failed := s.admit(r)
	if c.Name == "" && s.hasUsers() { // a stranger keeps no connection
		w.Header().Set("Connection", "close")
	}
	if failed != nil {
		refuse(w, failed)
		return
	}
	pack(s.mux, w, r.WithContext(context.WithValue(r.Context(), userKey{}, c)))
}

// Close ends the streams of events, which would go on for as long as clients listen, and the searches.
func (s *Server) Close() {
	s.close.Do(func() { close(s.closed) })
	s.searches.work.Wait()
}

// ready says whether each target has been read or is known to be away: what it answers is then worth reading, also
// while the first audit of a large server goes on.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if broken, _ := s.fleetNow(); len(s.all())+len(broken) == 0 {
		plain(w, http.StatusServiceUnavailable, "no target is watched yet")
		return
	}
	for _, t := range s.all() {
		st := t.State()
		if st.Shown() == nil && st.Failed == nil && st.Shards.At.IsZero() && st.Shards.Failed == nil {
			plain(w, http.StatusServiceUnavailable, "nothing was read of "+t.ID+" yet")
			return
		}
	}
	plain(w, http.StatusOK, "ready")
}

func plain(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text + "\n"))
}

// files serves the dashboard. Names with a digest in them never change.
func (s *Server) files() http.Handler {
	if s.Files == nil {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			plain(w, http.StatusNotFound, "this program was built without the dashboard; the API is under /api/v1/")
		})
	}
	files := http.FileServerFS(s.Files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			plain(w, http.StatusMethodNotAllowed, "this path is only read")
			return
		}
		w.Header().Set("Cache-Control", "no-cache")
		if strings.HasPrefix(r.URL.Path, "/assets/") {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		files.ServeHTTP(w, r)
	})
}

// ids returns the targets by name.
func (s *Server) ids() (out []string) {
	for _, t := range s.all() {
		out = append(out, t.ID)
	}
	return out
}
