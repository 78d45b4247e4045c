package alert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/keyspace"
)

// desk is a book with a clock that is moved by hand.
type desk struct {
	*testing.T
	*Book
	at       time.Time
	path     string
	silences []Silence
}

func newDesk(t *testing.T) *desk {
	d := &desk{T: t, at: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), path: filepath.Join(t.TempDir(), "alerts.json")}
	d.restart()
	return d
}

func (d *desk) restart() {
	d.Helper()
	b, err := Open(d.path, func() time.Time { return d.at }, func(path string, text []byte) error { return os.WriteFile(path, text, 0o600) })
	if err != nil {
		d.Fatal(err)
	}
	d.Book = b
}

// audit is an audit with so many violations of each name, some time later.
func (d *desk) audit(after time.Duration, counts map[string]int64) {
	d.at = d.at.Add(after)
	v := audited{}
	for name, n := range counts {
		code, entry, _ := strings.Cut(name, "/")
		v[name] = count{entry, code, "some keys are wrong", n}
	}
	d.Book.update("t", d.at, d.Book.audit("t", v, d.at), judged{NewViolation: true, GrownViolation: true}, d.silent)
}

// glance says which queues are late.
func (d *desk) glance(after time.Duration, queues ...string) {
	d.at = d.at.Add(after)
	var found []Condition
	for _, q := range queues {
		found = append(found, Condition{ID: "t/queue/" + q, Kind: LateQueue, Target: "t", Entry: q, Text: "late"})
	}
	d.Book.update("t", d.at, found, judged{LateQueue: true}, d.silent)
}

func (d *desk) silent(id string) bool { return Silent(d.silences, id, d.at) }

// told are the messages since the last call, sent and kept as a Sender does it.
func (d *desk) told(want ...string) {
	d.Helper()
	var got []string
	for m, ok := d.first(); ok; m, ok = d.first() {
		got = append(got, fmt.Sprintf("%s %s", m.Event, strings.TrimPrefix(m.ID, "t/")))
		if m.More > 0 {
			got[len(got)-1] = fmt.Sprintf("more %d", m.More)
		}
		if err := d.sent(m.Number); err != nil {
			d.Fatal(err)
		}
	}
	if err := d.sent(0); err != nil { // what was not told is kept, too
		d.Fatal(err)
	}
	if !slices.Equal(got, want) {
		d.Errorf("told %q, not %q", got, want)
	}
}

// TestViolations: what there was at first is not told; a new kind, one that has grown and
// its end are, each once, also over restarts; what becomes fewer is what is compared with.
func TestViolations(t *testing.T) {
	d := newDesk(t)
	d.audit(0, map[string]int64{"KW505/a": 100, "KW502/": 1000})
	d.told()
	d.audit(time.Hour, map[string]int64{"KW505/a": 110, "KW502/": 1050, "KW504/b": 1})
	d.told("begun violation/KW504/b")
	d.restart()
	d.audit(time.Hour, map[string]int64{"KW505/a": 111, "KW502/": 1050, "KW504/b": 2})
	d.told("begun violation/KW505/a")
	d.audit(time.Hour, map[string]int64{"KW505/a": 140, "KW502/": 1050, "KW504/b": 2})
	d.told("grown violation/KW505/a")
	d.restart()
	d.audit(time.Hour, map[string]int64{"KW505/a": 50, "KW502/": 1050})
	d.told("ended violation/KW504/b", "ended violation/KW505/a")
	d.audit(time.Hour, map[string]int64{"KW505/a": 70, "KW502/": 1050, "KW504/b": 1})
	d.told("begun violation/KW504/b", "begun violation/KW505/a")
}

// TestWhatIsNotJudgedHasNotEnded: a state without queues ends no alert of a queue, one
// without an audit none of violations; and a queue that comes and goes is told once.
func TestWhatIsNotJudgedHasNotEnded(t *testing.T) {
	d := newDesk(t)
	d.audit(0, nil)
	d.audit(time.Hour, map[string]int64{"KW504/b": 1})
	d.glance(0, "jobs")
	d.told("begun violation/KW504/b", "begun queue/jobs")
	for range 10 {
		d.glance(goneFor/2 + time.Second)
		d.glance(goneFor/2-time.Second, "jobs")
	}
	d.audit(time.Hour, map[string]int64{"KW504/b": 1})
	d.told()
	d.glance(0)
	d.glance(goneFor)
	d.told("ended queue/jobs")
	d.audit(0, nil)
	d.told("ended violation/KW504/b")
}

// TestLive: a queue is late by its own lease, not while it is paused; a server is away when it
// could not be read for a minute; what was not read says nothing.
func TestLive(t *testing.T) {
	ks, findings := keyspace.Load(fstest.MapFS{"k.yaml": {Data: []byte("keywright: 1\npackage: p\nkeys:\n" +
		"  jobs: {key: jobs, type: queue, lease: 30m, ttl: none}\n  mails: {key: mails, type: queue, ttl: none}\n")}}, "k.yaml")
	if ks == nil {
		t.Fatal(findings)
	}
	target := &observe.Target{Options: observe.Options{ID: "t", Server: &observe.Server{}, Declaration: observe.Declaration{Keyspace: ks}}}
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	queue := func(name string, oldest float64, paused bool) answer.Queue {
		return answer.Queue{Entry: name, Paused: paused, Lanes: []answer.Lane{{Jobs: 3, Oldest: oldest}}}
	}
	failed := &observe.Failure{At: at, What: "refused"}
	for _, c := range []struct {
		queues observe.Reading[answer.Queues]
		shards observe.Reading[[]observe.Shard]
		ids    string
		says   judged
	}{
		{ids: "[]", says: judged{}},
		{observe.Reading[answer.Queues]{Value: &answer.Queues{Queues: []answer.Queue{queue("jobs", 1799, false), queue("mails", 16, false)}}}, observe.Reading[[]observe.Shard]{},
			"[t/queue/mails]", judged{LateQueue: true}},
		{observe.Reading[answer.Queues]{Value: &answer.Queues{Queues: []answer.Queue{queue("jobs", 1801, false), queue("mails", 16, true)}}}, observe.Reading[[]observe.Shard]{},
			"[t/queue/jobs]", judged{LateQueue: true}},
		{observe.Reading[answer.Queues]{Value: &answer.Queues{Queues: []answer.Queue{queue("jobs", 1801, false)}}, Failed: failed},
			observe.Reading[[]observe.Shard]{Value: &[]observe.Shard{}, At: at.Add(-awayFor + time.Second), Failed: failed}, "[]", judged{Away: true}},
		{observe.Reading[answer.Queues]{}, observe.Reading[[]observe.Shard]{Value: &[]observe.Shard{}, At: at.Add(-awayFor), Failed: failed}, "[t/server]", judged{Away: true}},
		{observe.Reading[answer.Queues]{}, observe.Reading[[]observe.Shard]{Failed: failed}, "[t/server]", judged{Away: true}}, // never read
	} {
		found, says := live(target, &observe.State{Began: at.Add(-time.Hour), Queues: c.queues, Shards: c.shards}, at)
		ids := []string{}
		for _, one := range found {
			ids = append(ids, one.ID)
		}
		if fmt.Sprint(ids) != c.ids || !maps.Equal(says, c.says) {
			t.Errorf("%v and %v, not %s and %v", ids, says, c.ids, c.says)
		}
	}
}

// TestSilences: what is silenced is told when the silence ends and it is there still; not
// when it has ended before, and neither is its end.
func TestSilences(t *testing.T) {
	d := newDesk(t)
	d.silences = []Silence{{"t/queue/*", d.at.Add(time.Hour)}}
	d.glance(0, "jobs", "mails")
	d.glance(time.Minute, "jobs")
	d.glance(goneFor, "jobs") // mails has ended
	d.told()
	d.restart()
	d.glance(time.Hour, "jobs")
	d.told("begun queue/jobs")
	path := filepath.Join(t.TempDir(), "silences")
	for text, ok := range map[string]bool{"": true, "# none\n\nt/* 2026-12-01T00:00:00Z moving house\n": true, "t/*": false, "t/* tomorrow": false,
		strings.Repeat("t/* 2026-12-01T00:00:00Z\n", maxSilences+1): false} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSilences(path); (err == nil) != ok {
			t.Errorf("%.30q: %v", text, err)
		}
	}
}

// TestManyAtOnce: a flood is told by a number; nothing of it is told later, and the book is
// bounded.
func TestManyAtOnce(t *testing.T) {
	d := newDesk(t)
	d.audit(0, nil)
	flood := map[string]int64{}
	for i := range maxOpen + 100 {
		flood[fmt.Sprintf("KW505/e%05d", i)] = 1
	}
	d.audit(time.Hour, flood)
	want := []string{}
	for i := range maxAtOnce {
		want = append(want, fmt.Sprintf("begun violation/KW505/e%05d", i))
	}
	d.told(append(want, fmt.Sprintf("more %d", maxOpen+100-maxAtOnce))...)
	if n := len(d.kept.Open); n != maxOpen {
		t.Errorf("%d are open", n)
	}
	for i := range 2 * maxOutbox {
		d.post(Message{Event: "begun", Condition: Condition{ID: fmt.Sprint(i)}})
	}
	if n := len(d.kept.Outbox); n != maxOutbox || d.kept.Left != maxOutbox {
		t.Errorf("%d wait, %d were left out", n, d.kept.Left)
	}
}

// receiver is a webhook that answers with each status in turn, and then with 200.
type receiver struct {
	mu     sync.Mutex
	status []int
	bodies []string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies = append(r.bodies, string(body))
	code := http.StatusOK
	if len(r.status) > 0 {
		code, r.status = r.status[0], r.status[1:]
	}
	w.Header().Set("Location", "/elsewhere")
	w.WriteHeader(code)
}

// TestWebhooks: both forms; tries that end; a webhook that does not take a message keeps no
// other from it; redirects are not followed; and what is told never has the address.
func TestWebhooks(t *testing.T) {
	d := newDesk(t)
	slack, plain, gone := &receiver{status: []int{500, 429, 503}}, &receiver{}, &receiver{status: slices.Repeat([]int{500}, mostTries)}
	moved := &receiver{status: []int{http.StatusFound}}
	text := ""
	for form, r := range map[*receiver]string{slack: "slack", plain: "json", gone: "json", moved: "json"} {
		s := httptest.NewServer(form)
		defer s.Close()
		text += r + " " + s.URL + "/secret-path\n"
	}
	down := httptest.NewServer(nil)
	down.Close()
	text += "json " + down.URL + "/secret-path\n"
	path := filepath.Join(t.TempDir(), "webhooks")
	if err := os.WriteFile(path, []byte("# ours\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	hooks, err := ReadWebhooks(path)
	if err != nil {
		t.Fatal(err)
	}
	d.glance(0, "<!channel> & co")
	ctx, stop := context.WithCancel(t.Context())
	var pauses []time.Duration
	var said []string
	s := &Sender{Book: d.Book, Hooks: hooks, Tell: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) },
		Pause: func(_ context.Context, p time.Duration) error { pauses = append(pauses, p); return nil }}
	ended := make(chan struct{})
	go func() { defer close(ended); s.Run(ctx) }()
	for _, waiting := d.first(); waiting; _, waiting = d.first() {
	}
	stop()
	<-ended
	if len(said) != 3 || strings.Contains(strings.Join(said, ""), "secret-path") || !strings.Contains(strings.Join(said, ""), "status 302") {
		t.Errorf("%q", said)
	}
	if len(slack.bodies) != 4 || len(plain.bodies) != 1 || len(gone.bodies) != mostTries || len(moved.bodies) != 1 || len(pauses) != 3+2*(mostTries-1) {
		t.Errorf("%d, %d, %d and %d tries, %v", len(slack.bodies), len(plain.bodies), len(gone.bodies), len(moved.bodies), pauses)
	}
	if want := `{"text":"BEGUN t: late"}`; slack.bodies[0] != want {
		t.Errorf("%s, not %s", slack.bodies[0], want)
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(plain.bodies[0]), &m); err != nil || m["version"] != 1.0 || m["number"] != 1.0 || m["event"] != "begun" || m["kind"] != "queue-late" {
		t.Errorf("%v %s", err, plain.bodies[0])
	}
	h := Webhook{Form: "slack"}
	if body, _ := h.body(&Message{Event: "ended", Condition: Condition{Text: "<!channel> & x"}}); !strings.Contains(string(body), `\u0026lt;!channel\u0026gt; \u0026amp; x`) {
		t.Errorf("%s", body)
	}
	for _, bad := range []string{"", "slack", "mail https://x/", "json ftp://secret-path/", "json https://", "json :secret-path"} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadWebhooks(path); err == nil || strings.Contains(err.Error(), "secret-path") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestAFileOfAlerts: another version and what is none are refused, and so is one too large;
// messages that were not sent are there after a restart.
func TestAFileOfAlerts(t *testing.T) {
	d := newDesk(t)
	d.glance(0, "jobs")
	if err := d.sent(99); err != nil {
		t.Fatal(err)
	}
	d.restart()
	d.told("begun queue/jobs")
	for _, text := range []string{"", "{}", `{"keywright_alerts":2,"known":{},"seen":{},"open":{}}`, "[1]"} {
		if err := os.WriteFile(d.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(d.path, time.Now, nil); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if _, err := ReadWebhooks(d.path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestJobsOfTheJanitor: a job that fails, or waits for an hour, is told once and has an end; what is
// done elsewhere or waits for a moment is not told; without a janitor nothing has ended.
func TestJobsOfTheJanitor(t *testing.T) {
	d := newDesk(t)
	target, err := observe.New(observe.Options{ID: "t", Declaration: observe.Declaration{Keyspace: &keyspace.Keyspace{}}, Server: &observe.Server{}, Now: func() time.Time { return d.at }})
	if err != nil {
		t.Fatal(err)
	}
	look := func(after time.Duration, jobs ...observe.Job) {
		t.Helper()
		d.at = d.at.Add(after)
		target.Tidy(jobs)
		if err := d.Look(target, d.silent); err != nil {
			t.Fatal(err)
		}
	}
	good := observe.Job{Name: "saves", Runs: 1, Next: d.at.Add(time.Hour)}
	bad := observe.Job{Name: "saves", Runs: 2, Failures: 1, Did: "the disk is full", Next: d.at.Add(time.Hour)}
	look(0, good)
	d.told()
	look(time.Minute, bad)
	d.told("begun janitor/saves")
	look(time.Minute, bad)
	d.restart()
	look(time.Minute, bad)
	d.told()
	target.Tidy(nil) // a program without a janitor says nothing of it
	d.at = d.at.Add(time.Hour)
	if err := d.Look(target, d.silent); err != nil {
		t.Fatal(err)
	}
	d.told()
	look(time.Minute, good)
	look(goneFor, good)
	d.told("ended janitor/saves")
	waits := observe.Job{Name: "saves", Waits: "memory", Why: "it is short", Next: d.at}
	look(59*time.Minute, waits)
	d.told()
	look(time.Minute, waits)
	d.told("begun janitor/saves")
	if err := d.Leave("t"); err != nil {
		t.Fatal(err)
	}
	look(goneFor, good)
	look(goneFor, good)
	d.told()
}
