package serve_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/answer/phases"
	"github.com/keywright/keywright/cmd/keywright/internal/history/file"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/operate"
	"github.com/keywright/keywright/cmd/keywright/internal/serve"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/auth"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/document"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const declared = `keywright: 1
package: shopkeys
doc: What the shop keeps.
owner: shop
owns: ["shop:*"]
foreign: ["bull:*"]
vars:
  id: int 0..
  day: date
  lane: high|low
  team: slug
keys:
  product:
    doc: A product page, rendered.
    key: shop:product:{id}
    type: cache
    ttl: 10m
  tasks:
    key: shop:jobs:{team}:{lane}
    type: queue
    order: lane
    ttl: none
  hold:
    key: shop:lock:{id}
    type: lock
    ttl: 30s
  sales:
    key: shop:sales:{day}
    type: ranking
    member: id
    ttl: 7d
  log:
    key: shop:log
    type: stream
    ttl: none
    maxlen: 100
`

// hostile are names that would command a terminal, a page or a spreadsheet, or are no
// text at all.
var hostile = []string{"=cmd|' /C calc'!A0", "<script>alert(1)</script>", "\x1b[2J\x1b]0;title\x07",
	"\xff\xfe\x00bytes", "a\nb\tc", "\u202eevil", "::error::x"}

// rig represents a watched server, with what answers for it.
type rig struct {
	*testing.T
	redis  *keywrighttest.Server
	target *observe.Target
	api    *serve.Server
	plan   string      // the id of one
	breaks atomic.Bool // the next audits are not whole
	began  time.Time
	runs   atomic.Bool // its clock runs
}

// now returns when the rig began, unless its clock runs. Readings are made every 50 ms, so that by a clock that runs
// they are old as soon as a machine is busy. By one that does not run none is old, and a history has no point of now.
func (r *rig) now() time.Time {
	if r.runs.Load() {
		return time.Now()
	}
	return r.began
}

func fill(s *keywrighttest.Server) {
	s.Do("EVAL",
		`for i = 1, 300 do redis.call('SET', 'shop:product:'..i, 'x', 'EX', 500); redis.call('SET', 'shop:oops:'..i, 'v'); redis.call('SET', 'bull:'..i, '1') end`, "0")
	s.Do("SET", "shop:product:999", "never expires")
	s.Do("SET", "shop:lock:7", "worker/abc", "EX", "3000")
	s.Do("ZADD", "shop:sales:2026-11-20", "5", "1", "7", "2")
	s.Do("XADD", "shop:log", "*", "a", "1")
	s.Do("XGROUP", "CREATE", "shop:log", "readers", "0")
	s.Do("RPUSH", "shop:jobs:a:high", "j1")
	for _, name := range hostile {
		s.Do("SET", name, "v")
		s.Do("SET", "shop:"+name, "v")
	}
}

func newRig(t *testing.T, options ...func(*observe.Options)) *rig {
	t.Helper()
	r := &rig{T: t, redis: keywrighttest.Start(t, keywrighttest.Redis), began: time.Now()}
	fill(r.redis)
	ks, found := load.File(fstest.MapFS{"keyspace.yaml": {Data: []byte(declared)}}, "keyspace.yaml")
	if finding.Count(found).Errors > 0 {
		t.Fatal(found)
	}
	config, err := connect.New(connect.Options{URL: r.redis.URL(), Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	o := observe.Options{ID: "main", Name: "main", Declaration: observe.Declaration{Keyspace: ks, File: "keyspace.yaml"},
		Every: time.Hour, Glance: 50 * time.Millisecond,
		Health: time.Hour, Pace: 1000, Now: time.Now, Audit: audit.Options{MinKeys: 1},
		Migrations: func(context.Context, *keywright.Client, error) ([]phases.Migration, error) {
			return []phases.Migration{{Name: "move",
				Parts: []phases.MigrationPart{{Part: "notes", Phase: "shadow", Authority: "files",
					Processes: []phases.MigrationProcess{},
					Forward: &phases.MigrationStep{To: "live",
						Gates: []phases.MigrationGate{{Gate: "marks", Has: "3", Want: "0"}}}}}},
				{Name: "other", Away: "its files are on another machine", Absent: true}}, nil
		},
		Source: func() (source.Source, source.Request, func(), error) {
			return breaking{server.New(config, server.Options{OnlyDB: -1}), &r.breaks}, source.Request{Bytes: true},
				func() {}, nil
		},
		Server: &observe.Server{Config: config, Open: func(ctx context.Context) (*keywright.Client, error) {
			return keywright.Open(ctx, r.redis.URL(), keywright.Options{NoCache: true, Timeout: 5 * time.Second, Attempts: 1})
		}}}
	for _, set := range options {
		set(&o)
	}
	store, err := file.Open(filepath.Join(t.TempDir(), "h.db"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	o.Keep = func(ctx context.Context, a *observe.Audit) error {
		return store.Append(ctx, "main", a.At, r.api.Points(r.target, a))
	}
	if r.target, err = observe.New(o); err != nil {
		t.Fatal(err)
	}
	desk, err := operate.Open(t.TempDir(),
		operate.Options{Now: time.Now, Planners: map[string]operate.Planner{"main": &noopPlanner{}},
			Changed: func(_ string, all []observe.Run, changed observe.Run) { r.target.Ran(all, changed) }})
	if err != nil {
		t.Fatal(err)
	}
	made := (<-chan struct{})(nil)
	if r.plan, made, err = desk.Make("main", operate.By{User: "test"}, operate.Ask{Verb: "clean"}); err != nil {
		t.Fatal(err)
	}
	<-made
	t.Cleanup(func() { _ = desk.Close() })
	r.api = serve.New(serve.Options{Targets: []*observe.Target{r.target}, History: store, Desk: desk, Rules: audit.Rules(),
		Version: "test", Now: r.now})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	changes, unsubscribe := r.target.Subscribe()
	go func() { defer close(done); r.target.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done; unsubscribe(); store.Close() })
	r.until(changes, func(s observe.State) bool {
		return s.Audit != nil && s.Server.Value != nil && s.Queues.Value != nil && len(s.Queues.Value.Queues) == 1 &&
			s.Streams.Value != nil && len(s.Streams.Value.Streams) == 1 && s.Rankings.Value != nil &&
			len(s.Rankings.Value.Rankings) == 1 && s.Shards.Value != nil && s.Moves.Value != nil && s.Locks.Value != nil
	})
	return r
}

// breaking represents a source that does not see everything while a test says so.
type breaking struct {
	source.Source
	now *atomic.Bool
}

func (b breaking) Scan(ctx context.Context, req source.Request, each func([]source.Key) error) (source.Summary, error) {
	sum, err := b.Source.Scan(ctx, req, each)
	if b.now.Load() {
		sum.Incomplete = sum.Incomplete.Add(source.Why(source.Flushed, "here", nil))
	}
	return sum, err
}

// until waits for a state.
func (r *rig) until(changes <-chan observe.Change, good func(observe.State) bool) {
	r.Helper()
	limit := time.NewTimer(expect.Patience)
	defer limit.Stop()
	for !good(r.target.State()) {
		select {
		case <-changes:
		case <-limit.C:
			r.Fatalf("the state never came: %+v", r.target.State())
		}
	}
}

// get asks, and fails for another status.
func (r *rig) get(status int, path string, header ...string) *http.Response {
	r.Helper()
	w := r.request(path, header...)
	if w.StatusCode != status {
		text, _ := io.ReadAll(w.Body)
		r.Fatalf("%s: %d, not %d: %s", path, w.StatusCode, status, text)
	}
	return w
}

// request asks, and takes any answer.
func (r *rig) request(path string, header ...string) *http.Response {
	q := httptest.NewRequest("GET", "http://127.0.0.1:7380"+path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	r.api.ServeHTTP(w, q)
	return w.Result()
}

func (r *rig) text(path string) string {
	r.Helper()
	text, err := io.ReadAll(r.get(200, path).Body)
	if err != nil {
		r.Fatal(err)
	}
	return string(text)
}

func ask[T any](r *rig, path string) (answer T) {
	r.Helper()
	if err := json.Unmarshal([]byte(r.text(path)), &answer); err != nil {
		r.Fatal(path, err)
	}
	return answer
}

// Every path of the description is answered as it says, and there is no other path.
func TestAnswersAreAsDescribed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	fresh, err := serve.Describe(os.DirFS("../../../.."), "github.com/keywright/keywright")
	if err != nil {
		t.Fatal(err)
	}
	text := r.text("/api/v1/openapi.json")
	if text != string(fresh) {
		t.Fatal("openapi.json is stale: go generate ./cmd/keywright")
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("api.json", doc); err != nil {
		t.Fatal(err)
	}
	fillers := strings.NewReplacer("{target}", "main", "{name}", "tasks", "{entry}", "tasks", "{instance}", "team=a",
		"{id}", r.plan)
	asked := 0
	for path, methods := range doc.(map[string]any)["paths"].(map[string]any) {
		get, reads := methods.(map[string]any)["get"].(map[string]any)
		if !reads {
			continue // it changes something
		}
		content := get["responses"].(map[string]any)["200"].(map[string]any)["content"].(map[string]any)
		if content["application/json"] == nil {
			continue // events
		}
		ref := content["application/json"].(map[string]any)["schema"].(map[string]any)["$ref"].(string)
		schema, err := c.Compile("api.json" + ref)
		if err != nil {
			t.Fatal(path, err)
		}
		at := fillers.Replace(path)
		if strings.HasSuffix(at, "/explain") {
			at += "?key=shop:product:1"
		}
		answer, err := jsonschema.UnmarshalJSON(strings.NewReader(r.text(at)))
		if err != nil {
			t.Fatal(at, err)
		}
		if err := schema.Validate(answer); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		if content["text/csv"] != nil {
			if rows, err := csv.NewReader(r.get(200, at+"?format=csv").Body).ReadAll(); err != nil || len(rows) == 0 {
				t.Errorf("%s as a table: %v", at, err)
			}
		}
		asked++
	}
	if asked < 15 {
		t.Errorf("only %d paths", asked)
	}
}

// The figures of a page are of one audit, and add up.
func TestOverviewAddsUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := ask[document.Overview](r, "/api/v1/t/main/overview")
	var keys, size, noTTL, violations int64
	for _, e := range o.Entries {
		keys, size, noTTL, violations = keys+e.Keys, size+e.Bytes, noTTL+e.NoTTL, violations+e.Violations
		var codes int64
		for _, n := range e.Codes {
			codes += n
		}
		if codes != e.Violations {
			t.Errorf("%s: %d violations, by rule %d", e.Name, e.Violations, codes)
		}
	}
	dbsize := r.redis.Do("DBSIZE").(int64)
	if keys != o.Totals.Keys || size != o.Totals.Bytes || noTTL != o.Totals.NoTTL || violations != o.Totals.Violations ||
		keys != dbsize {
		t.Errorf("%d keys, %d bytes, %d without TTL, %d violations; the totals: %+v; DBSIZE %d", keys, size, noTTL,
			violations, o.Totals, dbsize)
	}
	u := ask[document.Undeclared](r, "/api/v1/t/main/undeclared")
	sum, sumBytes := u.Others.Keys, u.Others.Bytes
	for _, g := range u.Items {
		sum, sumBytes = sum+g.Keys, sumBytes+g.Bytes
		if _, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte("keywright: 1\npackage: p\nowner: o\n" + g.Proposal)}}, "k.yaml"); finding.Count(found).Errors > 0 {
			t.Errorf("the proposal for %s is no declaration: %v\n%s", g.Pattern, found, g.Proposal)
		}
	}
	if sum != o.Totals.Undeclared || sum != u.Keys || sumBytes != o.Totals.UndeclaredBytes || o.Totals.Foreign != 300 {
		t.Errorf("%d undeclared keys with %d bytes, the overview has %+v", sum, sumBytes, o.Totals)
	}
	e := ask[struct {
		Declaration string
		Counts      document.EntryCounts
		TTLs        []document.Bucket `json:"ttl_buckets"`
		Sizes       []document.Bucket `json:"size_buckets"`
		Offending   []document.Offending
	}](r, "/api/v1/t/main/entries/product")
	var sized, lasting int64
	for _, b := range e.Sizes {
		sized += b.Keys
	}
	for _, b := range e.TTLs {
		lasting += b.Keys
	}
	if e.Counts.Keys != 301 || sized != 301 || lasting != 300 || e.Counts.NoTTL != 1 || len(e.Offending) != 1 ||
		string(e.Offending[0].Keys[0].Key) != "shop:product:999" {
		t.Errorf("%+v", e)
	}
	if !strings.HasPrefix(e.Declaration, "product:\n  doc:") || strings.Contains(e.Declaration, "tasks") {
		t.Errorf("%q", e.Declaration)
	}
	if m := ask[document.MigrationList](r, "/api/v1/t/main/migrations"); len(m.Items) != 1 ||
		m.Items[0].Migration != "move" || m.Items[0].Phase != "shadow" ||
		!strings.Contains(m.Partial, "other: its files are on another machine") {
		t.Errorf("%+v", m)
	}
	r.runs.Store(true)
	if s := ask[document.Series](r, "/api/v1/t/main/history"); len(s.Series) != 3 || len(s.Series[0].Points) != 1 ||
		s.Series[0].Points[0][1] != float64(dbsize) {
		t.Errorf("%+v", s)
	}
}

// An audit that is not whole is shown beside the whole one, and never takes its place; a
// server that is away leaves the figures there and says that they are stale; one that
// is back or flushed is audited again.
func TestWholeFiguresStay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	changes, stop := r.target.Subscribe()
	defer stop()
	whole := ask[document.Overview](r, "/api/v1/t/main/overview")
	r.breaks.Store(true)
	r.redis.Do("FLUSHALL")
	r.target.AuditNow()
	r.until(changes, func(s observe.State) bool { return s.Partial != nil })
	o := ask[document.Overview](r, "/api/v1/t/main/overview")
	if o.Totals != whole.Totals || o.At != whole.At || o.Failed == nil || !strings.Contains(o.Failed.What, "not whole") {
		t.Errorf("%+v", o.Measured)
	}
	r.redis.Stop()
	r.target.AuditNow()
	r.until(changes, func(s observe.State) bool { return s.Failed != nil })
	o = ask[document.Overview](r, "/api/v1/t/main/overview")
	if o.Totals != whole.Totals || !o.Stale || o.Target.State != "away" || o.Target.Why == "" {
		t.Errorf("%+v %+v", o.Measured, o.Target)
	}
	r.until(changes, func(s observe.State) bool { return s.Queues.Failed != nil })
	if q := ask[document.QueueList](r, "/api/v1/t/main/queues"); !q.Stale || q.Failed == nil || len(q.Items) != 1 {
		t.Errorf("%+v", q)
	}
	if !strings.Contains(r.text("/metrics"), `keywright_up{keyspace="shopkeys",target="main"} 0`) {
		t.Error("the metrics say that it is up")
	}
	r.breaks.Store(false)
	r.redis.Restart()
	r.redis.Do("FLUSHALL")
	r.redis.Do("SET", "shop:product:1", "x", "EX", "100")
	r.target.AuditNow()
	r.until(changes, func(s observe.State) bool {
		return s.Failed == nil && s.Audit.Report.Total.Keys == 1 &&
			!slices.ContainsFunc(s.Parts(), func(p observe.Part) bool { return p.Failed != nil && p.Name != "server" })
	})
	o = ask[document.Overview](r, "/api/v1/t/main/overview")
	if o.Totals.Keys != 1 || o.Target.State != "ok" || o.Failed != nil || o.Since == "" || len(o.Changed) == 0 {
		t.Errorf("%+v %+v, since %q: %+v", o.Totals, o.Target, o.Since, o.Changed)
	}
}

// Names of keys are text, whatever they hold, in every form.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{"overview", "undeclared", "findings", "locks", "rankings", "entries/product"} {
		text := r.text("/api/v1/t/main/" + path)
		if i := strings.IndexFunc(text,
			func(c rune) bool { return c < ' ' && c != '\n' || c == 0x7f || c == 0x202e }); i >= 0 {
			t.Errorf("%s: a character that commands: %q", path, text[i:min(i+20, len(text))])
		}
	}
	rows, err := csv.NewReader(r.get(200, "/api/v1/t/main/undeclared?format=csv").Body).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for _, cell := range row {
			if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
				t.Errorf("a spreadsheet would run %q", cell)
			}
		}
	}
	for _, name := range hostile {
		e := ask[serve.Explained](r, "/api/v1/t/main/explain?key="+url.QueryEscape(name))
		if !bytes.Equal(e.Key, []byte(name)) || e.Status != "undeclared" || e.Live == nil || !e.Live.Exists {
			t.Errorf("%q: %+v", name, e)
		}
	}
	metrics := r.text("/metrics")
	for line := range strings.Lines(metrics) {
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "keywright_") {
			t.Errorf("a line of the metrics is none: %q", line)
		}
	}
}

// A page of another site cannot read the answers by a name server's help, nor put the
// dashboard into a frame, nor send what changes something; a wrong request is refused with its reason.
func TestRequestsOfOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	q := httptest.NewRequest("GET", "http://evil.example/api/v1/targets", nil)
	w := httptest.NewRecorder()
	r.api.ServeHTTP(w, q)
	if w.Code != http.StatusMisdirectedRequest || strings.Contains(w.Body.String(), "main") {
		t.Error(w.Code, w.Body)
	}
	h := r.get(200, "/api/v1/targets").Header
	for name, want := range map[string]string{"Content-Security-Policy": "frame-ancestors 'none'",
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
		"Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store"} {
		if !strings.Contains(h.Get(name), want) {
			t.Errorf("%s is %q", name, h.Get(name))
		}
	}
	if csp := h.Get("Content-Security-Policy"); strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") {
		t.Error(csp)
	}
	if h.Get("Access-Control-Allow-Origin") != "" {
		t.Error("other sites may read the answers")
	}
	for path, status := range map[string]int{"/api/v1/t/nosuch/overview": 404, "/api/v1/t/main/entries/nosuch": 404,
		"/api/v1/nosuch": 404, "/api/v1/t/main/explain": 400,
		"/api/v1/t/main/overview?x=1": 400, "/api/v1/t/main/overview?format=xml": 400, "/api/v1/t/main/findings?limit=0": 400,
		"/api/v1/t/main/findings?limit=100000": 400, "/api/v1/t/main/findings?cursor=-1": 400,
		"/api/v1/t/main/history?step=week": 400, "/api/v1/t/main/history?from=yesterday": 400,
		"/api/v1/t/main/queues/tasks/nosuch": 404, "/api/v1/t/main/queues/hold/-": 404,
		"/api/v1/t/main/explain?key=" + strings.Repeat("x", 70000): 400, "/api/v1/t/main/overview?%zz": 400} {
		var p reply.Problem
		if err := json.NewDecoder(r.get(status, path).Body).Decode(&p); err != nil || p.Error.Code == "" ||
			p.Error.Message == "" {
			t.Errorf("%s: %+v, %v", path[:min(len(path), 60)], p, err)
		}
	}
	type list struct {
		Items []any
		reply.Page
	}
	some := ask[list](r, "/api/v1/t/main/findings?limit=1")
	rest := ask[list](r, "/api/v1/t/main/findings?limit=1000&cursor="+some.Next)
	if !some.Cut || len(some.Items) != 1 || int64(len(rest.Items)) != some.Total-1 || rest.Cut {
		t.Errorf("%+v %+v", some.Page, rest.Page)
	}
}

// No answer has the value of a key, nor the token that proves that a lock is held.
func TestNoValueIsShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, words := range [][]string{{"SET", "shop:product:5", "s3cret"}, {"HSET", "shop:oops:h", "f", "s3cret"},
		{"RPUSH", "shop:oops:l", "s3cret"}, {"SADD", "shop:oops:s", "s3cret"}, {"ZADD", "shop:oops:z", "1", "s3cret"},
		{"XADD", "shop:log", "*", "a", "s3cret"}} {
		r.redis.Do(words...)
	}
	changes, stop := r.target.Subscribe()
	defer stop()
	was := r.target.State().Audit
	r.target.AuditNow()
	r.until(changes, func(s observe.State) bool {
		return s.Audit != was && s.Locks.Value != nil && len(s.Locks.Value.Locks) > 0
	})
	var doc struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal([]byte(r.text("/api/v1/openapi.json")), &doc); err != nil {
		t.Fatal(err)
	}
	fillers := strings.NewReplacer("{target}", "main", "{name}", "product", "{entry}", "tasks", "{instance}", "team=a",
		"{id}", r.plan)
	for path, methods := range doc.Paths {
		at := fillers.Replace(path)
		if methods["get"] == nil || strings.HasSuffix(at, "/events") {
			continue
		}
		if strings.HasSuffix(at, "/explain") {
			at += "?key=shop:product:5"
		}
		if text := r.text(at); strings.Contains(text, "s3cret") || strings.Contains(text, "worker/abc") {
			t.Errorf("%s shows a value: %s", at, text)
		}
	}
	if !strings.Contains(r.text("/api/v1/t/main/locks"), "shop:lock:7") {
		t.Error("the lock is not there")
	}
}

// Without a token nothing is answered; each user has the role of its own token.
func TestTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tokens, err := auth.ReadTokens(
		strings.NewReader(
			"# users\nalice viewer sha256:2bd806c97f0e00af1a1fc3328fa763a9269723c8db8fac4f93af71db186d6e90\nbob operator " +
				"sha256:81b637d8fcd2c6da6359e6963113a1170de795e4b725b84d1e0b4cfd9ec58ce9\n"))
	if err != nil {
		t.Fatal(err)
	}
	r.api = serve.New(serve.Options{Targets: []*observe.Target{r.target}, Rules: audit.Rules(), Now: time.Now,
		Guard: auth.Guard{Tokens: tokens}})
	for _, path := range []string{"/api/v1/targets", "/metrics", "/api/v1/events", "/api/v1/openapi.json",
		"/api/v1/nosuch", "/api/v1/t/main/runs"} {
		r.get(401, path)
		r.get(401, path, "Authorization", "Bearer wrong")
		r.get(401, path, "Authorization", "Bearer ")
	}
	r.get(200, "/healthz")
	r.get(200, "/readyz")
	var me serve.Me
	if err := json.NewDecoder(r.get(200, "/api/v1/me", "Authorization", "Bearer alice").Body).Decode(&me); err != nil ||
		me.User != "alice" || me.Role != "viewer" {
		t.Error(me, err)
	}
	for _, bad := range []string{"alice viewer sha256:2bd806c97f0e00af1a1fc3328fa763a9269723c8db8fac4f93af71db186d6e90\n" +
		strings.Repeat("#\n", 1<<19), "", "alice viewer", "alice root sha256:00", "alice viewer sha256:00",
		"alice viewer secret"} {
		if _, err := auth.ReadTokens(strings.NewReader(bad)); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A stream of events tells that a state has changed, and ends when the server does.
func TestEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	web := httptest.NewUnstartedServer(r.api)
	web.Config.ReadTimeout = 200 * time.Millisecond // which ends with the request, and not the stream
	web.Start()
	defer web.Close()
	answer, err := http.Get(web.URL + "/api/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	r.target.AuditNow()
	seen := ""
	for buffer := make([]byte, 4096); !strings.Contains(seen, `"audit"`) || strings.Count(seen, "event: ") < 20; {
		n, err := answer.Body.Read(buffer)
		if seen += string(buffer[:n]); err != nil {
			t.Fatal(err, seen)
		}
	}
	r.api.Close()
	if _, err := io.ReadAll(answer.Body); err != nil {
		t.Error(err)
	}
}

// TestOldFiguresAreNoMetrics: what could not be read the last time has no series, and that is said.
func TestOldFiguresAreNoMetrics(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	families := []string{"keywright_queue_jobs{", "keywright_stream_length{", "keywright_server_memory_bytes{"}
	before := r.text("/metrics")
	for _, family := range append(families, `keywright_reading_up{keyspace="shopkeys",target="main",reading="queues"} 1`) {
		if !strings.Contains(before, family) {
			t.Errorf("no %s", family)
		}
	}
	changes, stop := r.target.Subscribe()
	defer stop()
	r.redis.Kill()
	r.until(changes, func(s observe.State) bool {
		return s.Queues.Failed != nil && s.Streams.Failed != nil && s.Shards.Failed != nil
	})
	after := r.text("/metrics")
	for _, family := range families {
		if strings.Contains(after, family) {
			t.Errorf("%s of a server that is away", family)
		}
	}
	for _, reading := range []string{"queues", "streams", "shards"} {
		if !strings.Contains(after, `keywright_reading_up{keyspace="shopkeys",target="main",reading="`+reading+`"} 0`) ||
			!strings.Contains(after,
				`keywright_reading_timestamp_seconds{keyspace="shopkeys",target="main",reading="`+reading+`"}`) {
			t.Errorf("nothing is said of %s:\n%s", reading, after)
		}
	}
}

// TestTargetsComeAndGo: what is not watched any more has no paths, one that cannot be watched is a
// row with its reason, and streams of events end so that clients receive the others.
func TestTargetsComeAndGo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := httptest.NewServer(r.api)
	defer w.Close()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.URL+"/api/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	r.api.Watch(nil, []serve.Broken{{ID: "other", Name: "other", Why: "no such file"}})
	if _, err := io.ReadAll(stream.Body); err != nil {
		t.Error(err)
	}
	r.get(404, "/api/v1/t/main/overview")
	all := ask[document.Targets](r, "/api/v1/targets")
	if len(all.Items) != 1 || all.Items[0].State != "broken" || all.Items[0].Why != "no such file" {
		t.Errorf("%+v", all)
	}
	r.get(200, "/readyz")
	r.api.Watch(nil, nil)
	r.get(503, "/readyz")
	r.api.Watch([]*observe.Target{r.target}, nil)
	r.get(200, "/api/v1/t/main/overview")
	r.target.Tidy([]observe.Job{{Name: "saves", Do: "backup", When: "backup keep 7, every 1d", Failures: 1, Runs: 1,
		Failed: 1, Did: "the disk is full"}})
	for _, path := range []string{"/api/v1/janitor", "/api/v1/t/main/janitor"} {
		if jobs := ask[document.JobList](r, path); len(jobs.Items) != 1 || jobs.Items[0].State != "failed" ||
			jobs.Items[0].Target != "main" {
			t.Errorf("%+v", jobs)
		}
	}
}
