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
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
)

// trackerTest represents a tracker with a clock that is moved by hand.
type trackerTest struct {
	*testing.T
	*Tracker
	at       time.Time
	path     string
	silences []Silence
	unread   []string // queues that could not be read
}

func newDesk(t *testing.T) *trackerTest {
	d := &trackerTest{T: t, at: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC),
		path: filepath.Join(t.TempDir(), "alerts.json")}
	d.restart()
	return d
}

func (d *trackerTest) restart() {
	d.Helper()
	b, err := Open(d.path, func() time.Time { return d.at },
		func(path string, text []byte) error { return os.WriteFile(path, text, 0o600) })
	if err != nil {
		d.Fatal(err)
	}
	d.Tracker = b
	b.connect([]string{hook})
}

// hook is the only webhook of a test.
const hook = "hook"

// audit is an audit with so many violations of each name, some time later.
func (d *trackerTest) audit(after time.Duration, counts map[string]int64) {
	d.at = d.at.Add(after)
	v := audited{}
	for name, n := range counts {
		code, entry, _ := strings.Cut(name, "/")
		v[name] = count{entry, code, "some keys are wrong", n}
	}
	d.Tracker.update("t", d.at, d.Tracker.audit("t", v, d.at), judged{NewViolation: nil, GrownViolation: nil}, d.silent)
}

// glance says which queues are late.
func (d *trackerTest) glance(after time.Duration, queues ...string) {
	d.at = d.at.Add(after)
	var found []Condition
	for _, q := range queues {
		found = append(found, Condition{ID: "t/queue/" + q, Kind: LateQueue, Target: "t", Entry: q, Text: "late"})
	}
	d.Tracker.update("t", d.at, found, judged{LateQueue: d.unread}, d.silent)
}

func (d *trackerTest) silent(id string) bool { return Silent(d.silences, id, d.at) }

// checkSent returns the messages since the last call, sent and kept as a Sender does it.
func (d *trackerTest) checkSent(want ...string) {
	d.Helper()
	var got []string
	for m, ok := d.first(hook); ok; m, ok = d.first(hook) {
		got = append(got, fmt.Sprintf("%s %s", m.Event, strings.TrimPrefix(m.ID, "t/")))
		if m.More > 0 {
			got[len(got)-1] = fmt.Sprintf("more %d", m.More)
		}
		if err := d.sent(hook, &m); err != nil {
			d.Fatal(err)
		}
	}
	if err := d.keep(); err != nil { // what was not sent is kept, too
		d.Fatal(err)
	}
	if !slices.Equal(got, want) {
		d.Errorf("told %q, not %q", got, want)
	}
}

// TestViolations: what there was at first is not reported; a new kind, one that has grown and
// its end are, each once, also over restarts; what becomes fewer is what is compared with.
func TestViolations(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.audit(0, map[string]int64{"KW505/a": 100, "KW502/": 1000})
	d.checkSent()
	d.audit(time.Hour, map[string]int64{"KW505/a": 110, "KW502/": 1050, "KW504/b": 1})
	d.checkSent("begun violation/KW504/b")
	d.restart()
	d.audit(time.Hour, map[string]int64{"KW505/a": 111, "KW502/": 1050, "KW504/b": 2})
	d.checkSent("begun violation/KW505/a")
	d.audit(time.Hour, map[string]int64{"KW505/a": 140, "KW502/": 1050, "KW504/b": 2})
	d.checkSent("grown violation/KW505/a")
	d.restart()
	d.audit(time.Hour, map[string]int64{"KW505/a": 50, "KW502/": 1050})
	d.checkSent("ended violation/KW504/b", "ended violation/KW505/a")
	d.audit(time.Hour, map[string]int64{"KW505/a": 70, "KW502/": 1050, "KW504/b": 1})
	d.checkSent("begun violation/KW504/b", "begun violation/KW505/a")
}

// TestWhatIsNotJudgedHasNotEnded: a state without queues ends no alert of a queue, one
// without an audit none of violations; and a queue that comes and goes is reported once.
func TestWhatIsNotJudgedHasNotEnded(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.audit(0, nil)
	d.audit(time.Hour, map[string]int64{"KW504/b": 1})
	d.glance(0, "jobs")
	d.checkSent("begun violation/KW504/b", "begun queue/jobs")
	for range 10 {
		d.glance(goneFor/2 + time.Second)
		d.glance(goneFor/2-time.Second, "jobs")
	}
	d.audit(time.Hour, map[string]int64{"KW504/b": 1})
	d.checkSent()
	d.glance(0)
	d.unread = []string{"jobs"}
	d.glance(2 * goneFor) // it could not be read
	d.checkSent()
	d.unread = []string{"mails"}
	d.glance(0)
	d.glance(goneFor)
	d.checkSent("ended queue/jobs")
	d.audit(0, nil)
	d.checkSent("ended violation/KW504/b")
}

// TestLive: a queue is late by its own lease, not while it is paused; a server is away when it
// could not be read for a minute; what was not read says nothing.
func TestLive(t *testing.T) {
	t.Parallel()
	ks, findings := load.File(fstest.MapFS{"k.yaml": {Data: []byte("keywright: 1\npackage: p\nkeys:\n" +
		"  jobs: {key: jobs, type: queue, lease: 30m, ttl: none}\n  mails: {key: mails, type: queue, ttl: none}\n")}},
		"k.yaml")
	if ks == nil {
		t.Fatal(findings)
	}
	target := &observe.Target{
		Options: observe.Options{ID: "t", Server: &observe.Server{}, Declaration: observe.Declaration{Keyspace: ks}}}
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	queue := func(name string, oldest float64, paused bool) answer.Queue {
		return answer.Queue{Entry: name, Paused: paused, Lanes: []answer.Lane{{Jobs: 3, Oldest: oldest}}}
	}
	mark := func(ago time.Duration) observe.Mark {
		return observe.Mark{Failed: &observe.Failure{At: at, What: "refused", Since: at.Add(-ago)}}
	}
	queued := func(not ...string) judged {
		not = append([]string{}, not...)
		return judged{LateQueue: not, DeadQueue: not, LostLease: not, OldReading: nil}
	}
	late := []answer.Queue{queue("jobs", 1801, false)}
	gaps := answer.Gaps{Unread: []answer.Unread{{Entry: "mails"}}, Cut: []answer.Cut{{Entry: "jobs"}}}
	type queues = observe.Reading[answer.Queues]
	type shards = observe.Reading[[]observe.Shard]
	for _, c := range []struct {
		queues observe.Reading[answer.Queues]
		shards observe.Reading[[]observe.Shard]
		ids    string
		says   judged
	}{
		{ids: "[]", says: judged{OldReading: nil}},
		{queues{Value: &answer.Queues{Queues: []answer.Queue{queue("jobs", 1799, false), queue("mails", 16, false)}}},
			shards{}, "[t/queue/mails]", queued()},
		{queues{Value: &answer.Queues{Queues: []answer.Queue{queue("jobs", 1801, false), queue("mails", 16, true)}}},
			shards{}, "[t/queue/jobs]", queued()},
		{queues{Value: &answer.Queues{Queues: late, Gaps: gaps}}, shards{}, "[t/queue/jobs]",
			queued("mails", "jobs")},
		{queues{Value: &answer.Queues{Queues: late}, Mark: mark(0)},
			shards{Value: &[]observe.Shard{}, Mark: mark(awayFor - time.Second)}, "[]",
			judged{Away: nil}},
		{queues{}, shards{Value: &[]observe.Shard{}, Mark: mark(awayFor)}, "[t/server]",
			judged{Away: nil}},
		{queues{}, shards{Mark: mark(0)}, "[]", judged{Away: nil}},               // one failure
		{queues{}, shards{Mark: mark(awayFor)}, "[t/server]", judged{Away: nil}}, // never read
	} {
		found, says := live(target, &observe.State{Began: at.Add(-time.Hour), Queues: c.queues, Shards: c.shards}, at)
		ids := []string{}
		for _, one := range found {
			ids = append(ids, one.ID)
		}
		if fmt.Sprint(ids) != c.ids || !maps.EqualFunc(says, c.says, slices.Equal) {
			t.Errorf("%v and %v, not %s and %v", ids, says, c.ids, c.says)
		}
	}
}

// TestNothingIsOldForAnAbsence: what was due only while the server was away is not old as soon as it is back; it is when
// it was not read for twice its pace since then, or its attempts have failed for a minute since then.
func TestNothingIsOldForAnAbsence(t *testing.T) {
	t.Parallel()
	target := &observe.Target{Options: observe.Options{ID: "t", Server: &observe.Server{},
		Declaration: observe.Declaration{Keyspace: &keyspace.Keyspace{}}}}
	back := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	refused := func(at, since time.Duration) *observe.Failure {
		return &observe.Failure{At: back.Add(at), What: "refused", Since: back.Add(since)}
	}
	for _, c := range []struct {
		after  time.Duration // the server is back
		failed *observe.Failure
		old    bool
	}{
		{0, nil, false}, {0, refused(-time.Minute, -time.Hour), false},
		{19 * time.Second, refused(-time.Minute, -time.Hour), false},
		{21 * time.Second, refused(-time.Minute, -time.Hour), true}, {21 * time.Second, nil, true},
		{11 * time.Second, refused(10*time.Second, -time.Hour), false},
		{61 * time.Second, refused(55*time.Second, -time.Hour), true},
	} {
		now := back.Add(c.after)
		st := &observe.State{Began: back.Add(-2 * time.Hour), Back: back}
		st.Shards = observe.Reading[[]observe.Shard]{Value: &[]observe.Shard{}, Mark: observe.Mark{At: now}}
		st.Queues.Mark = observe.Mark{At: back.Add(-time.Hour), Every: 10 * time.Second, Failed: c.failed}
		found, _, ok := old(target, st, now)
		if !ok || len(found) > 0 != c.old {
			t.Errorf("after %v with %+v: %+v", c.after, c.failed, found)
		}
	}
}

// TestABrokenTarget: a target that cannot be watched is reported once, whatever the reason is meanwhile and over
// restarts, not while it is silenced, and its end when its server was read for a while.
func TestABrokenTarget(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	broken := func(after time.Duration, why string) {
		t.Helper()
		d.at = d.at.Add(after)
		if err := d.Broken("t", why, d.silent); err != nil {
			t.Fatal(err)
		}
	}
	d.silences = []Silence{{"t/target", d.at.Add(time.Minute)}}
	broken(0, "no such file")
	d.checkSent()
	broken(time.Minute, "no such file")
	d.checkSent("begun target")
	d.restart()
	broken(time.Minute, "it has 1 error")
	d.checkSent()
	if now, _ := d.Now("t"); len(now) != 1 || now[0].Kind != Away || !strings.Contains(now[0].Text, "1 error") {
		t.Errorf("%+v", now)
	}
	for range 2 {
		d.at = d.at.Add(goneFor)
		d.update("t", d.at, nil, judged{Away: nil}, d.silent)
	}
	d.checkSent("ended target")
}

// TestSilences: what is silenced is reported when the silence ends and it is there still; not
// when it has ended before, and neither is its end.
func TestSilences(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.silences = []Silence{{"t/queue/*", d.at.Add(time.Hour)}}
	d.glance(0, "jobs", "mails")
	d.glance(time.Minute, "jobs")
	d.glance(goneFor, "jobs") // mails has ended
	d.checkSent()
	d.restart()
	d.glance(time.Hour, "jobs")
	d.checkSent("begun queue/jobs")
	path := filepath.Join(t.TempDir(), "silences")
	for text, ok := range map[string]bool{"": true, "# none\n\nt/* 2026-12-01T00:00:00Z planned maintenance\n": true,
		"t/*": false, "t/* tomorrow": false,
		strings.Repeat("t/* 2026-12-01T00:00:00Z\n", maxSilences+1):            false,
		"t/* 2026-12-01T00:00:00Z\n" + strings.Repeat("#\n", maxSilenceFile/2): false} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSilences(path); (err == nil) != ok {
			t.Errorf("%.30q: %v", text, err)
		}
	}
}

// TestManyAtOnce: a flood is reported by a number; nothing of it is reported later, and the book is
// bounded.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
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
	d.checkSent(append(want, fmt.Sprintf("more %d", maxOpen+100-maxAtOnce))...)
	if n := len(d.kept.Open); n != maxOpen {
		t.Errorf("%d are open", n)
	}
	for i := range 10 { // nothing of it is reported again, however often one looks, and after a restart
		if i == 5 {
			d.restart()
		}
		d.audit(time.Minute, flood)
		d.checkSent()
	}
	for i := range 2000 {
		flood[fmt.Sprintf("KW505/f%05d", i)] = 1
	}
	d.audit(time.Minute, flood)
	d.checkSent("more 2000")
	d.audit(time.Minute, nil)
	ended := []string{}
	for _, begun := range want {
		ended = append(ended, strings.Replace(begun, "begun", "ended", 1))
	}
	d.checkSent(ended...)
	d.audit(time.Minute, flood) // the second flood is reported as the first one was
	d.checkSent(append(want, fmt.Sprintf("more %d", maxOpen+2100-maxAtOnce))...)
}

// TestTheOutboxIsBounded: of too many messages the oldest go, and each hook that did not get them
// gets their number instead.
func TestTheOutboxIsBounded(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.connect([]string{hook, "dead"})
	for i := range maxOutbox + 100 {
		d.post(Message{Event: "begun", Condition: Condition{ID: fmt.Sprint(i)}})
		if m, ok := d.first(hook); !ok || m.ID != fmt.Sprint(i) {
			t.Fatalf("%v %+v, not %d", ok, m, i)
		} else if err := d.sent(hook, &m); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(d.kept.Outbox); n != maxOutbox || d.kept.Hooks["dead"].Left != 100 {
		t.Errorf("%d wait, %+v", n, d.kept.Hooks["dead"])
	}
	for _, want := range []string{"more", "100", "101"} {
		m, ok := d.first("dead")
		if !ok || m.ID != want || want == "more" && m.More != 100 {
			t.Errorf("%+v, not %s", m, want)
		}
		if err := d.sent("dead", &m); err != nil {
			t.Fatal(err)
		}
	}
	b, err := Open(d.path, d.now, d.replace)
	if err != nil {
		t.Fatal(err)
	}
	b.connect([]string{hook, "dead", "new"})
	if m, ok := b.first("dead"); !ok || m.ID != "102" {
		t.Errorf("after a restart it gets %+v", m)
	}
	for _, id := range []string{hook, "new"} {
		if m, ok := b.first(id); ok {
			t.Errorf("%s gets %+v, which it has, or which was before it", id, m)
		}
	}
}

// TestAFileThatCannotBeWritten: what could not be written is written with the next look, also
// where nothing has changed meanwhile.
func TestAFileThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	whole, full := d.replace, errors.New("the disk is full")
	d.replace = func(string, []byte) error { return full }
	target := &observe.Target{Options: observe.Options{ID: "t"}}
	d.post(Message{Event: "begun", Condition: Condition{ID: "x"}})
	if err := d.Look(target, d.silent); !errors.Is(err, full) {
		t.Fatal(err)
	}
	d.replace = whole
	if err := d.Look(target, d.silent); err != nil {
		t.Fatal(err)
	}
	d.restart()
	if m, ok := d.first(hook); !ok || m.ID != "x" {
		t.Errorf("%+v was kept", m)
	}
}

// receiver represents a webhook that answers with each status in turn, and then with 200.
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
// other from it; redirects are not followed; and what is reported never has the address.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	slack, plain, gone := &receiver{status: []int{500, 429, 503}}, &receiver{},
		&receiver{status: slices.Repeat([]int{500}, mostTries)}
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
	var mu sync.Mutex
	var pauses []time.Duration
	var said []string
	s := &Sender{Book: d.Tracker, Hooks: hooks, Tell: func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, fmt.Sprintf(format, args...))
	}, Pause: func(_ context.Context, p time.Duration) error {
		mu.Lock()
		defer mu.Unlock()
		pauses = append(pauses, p)
		return nil
	}}
	d.kept.Hooks = map[string]*position{} // a file that is older than positions: what waits is for all
	ended := make(chan struct{})
	go func() { defer close(ended); s.Run(ctx) }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(expect.Patience); ; <-tick.C {
		d.mu.Lock()
		waiting := len(d.kept.Outbox)
		d.mu.Unlock()
		if waiting == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d messages wait still", waiting)
		}
	}
	stop()
	<-ended
	if len(said) != 3 || strings.Contains(strings.Join(said, ""), "secret-path") ||
		!strings.Contains(strings.Join(said, ""), "status 302") {
		t.Errorf("%q", said)
	}
	if len(slack.bodies) != 4 || len(plain.bodies) != 1 || len(gone.bodies) != mostTries || len(moved.bodies) != 1 ||
		len(pauses) != 3+2*(mostTries-1) {
		t.Errorf("%d, %d, %d and %d tries, %v", len(slack.bodies), len(plain.bodies), len(gone.bodies), len(moved.bodies),
			pauses)
	}
	if want := `{"text":"BEGUN t: late"}`; slack.bodies[0] != want {
		t.Errorf("%s, not %s", slack.bodies[0], want)
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(plain.bodies[0]), &m); err != nil || m["version"] != 1.0 || m["number"] != 1.0 ||
		m["event"] != "begun" || m["kind"] != "queue-late" {
		t.Errorf("%v %s", err, plain.bodies[0])
	}
	h := Webhook{Form: "slack"}
	if body, _ := h.body(&Message{Event: "ended", Condition: Condition{Text: "<!channel> & x"}}); !strings.Contains(
		string(body), `\u0026lt;!channel\u0026gt; \u0026amp; x`) {
		t.Errorf("%s", body)
	}
	for _, bad := range []string{"", "slack", "mail https://x/", "json ftp://secret-path/", "json https://",
		"json :secret-path",
		"json https://x/\njson https://x/\n", "json https://x/\n" + strings.Repeat("#\n", maxWebhookFile/2)} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadWebhooks(path); err == nil || strings.Contains(err.Error(), "secret-path") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestADeadWebhookHoldsUpNoOther: while one webhook is tried again and again, the others get what
// comes, in order.
func TestADeadWebhookHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	dead := httptest.NewServer(&receiver{status: slices.Repeat([]int{500}, 10_000)})
	defer dead.Close()
	got := make(chan string, 100)
	alive := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		got <- string(body)
	}))
	defer alive.Close()
	path := filepath.Join(t.TempDir(), "webhooks")
	if err := os.WriteFile(path, []byte("json "+dead.URL+"/a\njson "+alive.URL+"/b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hooks, err := ReadWebhooks(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	s := &Sender{Book: d.Tracker, Hooks: hooks, Tell: func(string, ...any) {},
		Pause: func(ctx context.Context, _ time.Duration) error { <-ctx.Done(); return ctx.Err() }} // it waits for ever
	d.kept.Hooks = map[string]*position{}
	d.glance(0, "q0")
	go func() { defer close(ended); s.Run(ctx) }()
	for i := range 5 {
		select {
		case body := <-got:
			if !strings.Contains(body, fmt.Sprintf(`"id":"t/queue/q%d"`, i)) {
				t.Errorf("%d: %s", i, body)
			}
		case <-time.After(expect.Patience):
			t.Fatalf("message %d does not come", i)
		}
		d.mu.Lock()
		d.glance(0, fmt.Sprintf("q%d", i+1))
		d.mu.Unlock()
	}
	stop()
	<-ended
}

// TestAFileOfAlerts: another version and what is none are refused, and so is one too large;
// messages that were not sent are there after a restart.
func TestAFileOfAlerts(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.glance(0, "jobs")
	if err := d.keep(); err != nil {
		t.Fatal(err)
	}
	d.restart()
	d.checkSent("begun queue/jobs")
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

// TestJobsOfTheJanitor: a job that fails, or waits for an hour, is reported once and has an end; what is
// done elsewhere or waits for a moment is not reported; without a janitor nothing has ended.
func TestJobsOfTheJanitor(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	target, err := observe.New(observe.Options{ID: "t", Declaration: observe.Declaration{Keyspace: &keyspace.Keyspace{}},
		Server: &observe.Server{}, Now: func() time.Time { return d.at }})
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
	d.checkSent()
	look(time.Minute, bad)
	d.checkSent("begun janitor/saves")
	look(time.Minute, bad)
	d.restart()
	look(time.Minute, bad)
	d.checkSent()
	target.Tidy(nil) // a program without a janitor says nothing of it
	d.at = d.at.Add(time.Hour)
	if err := d.Look(target, d.silent); err != nil {
		t.Fatal(err)
	}
	d.checkSent()
	look(time.Minute, good)
	look(goneFor, good)
	d.checkSent("ended janitor/saves")
	waits := observe.Job{Name: "saves", Waits: "memory", Why: "it is short", Next: d.at}
	look(59*time.Minute, waits)
	d.checkSent()
	look(time.Minute, waits)
	d.checkSent("begun janitor/saves")
	if err := d.Leave("t"); err != nil {
		t.Fatal(err)
	}
	look(goneFor, good)
	look(goneFor, good)
	d.checkSent()
}

// TestEachKindIsFound: of each kind that a state shows there is a condition with how much and what helps, in the
// order of harm; what is as it should be has none.
func TestEachKindIsFound(t *testing.T) {
	t.Parallel()
	ks, _ := load.File(fstest.MapFS{"k.yaml": {Data: []byte(`keywright: 1
package: p
owner: o
vars: {id: int}
keys:
  jobs: {key: jobs, type: queue, lease: 1m, ttl: none}
  log: {key: log, type: stream, maxlen: 100, ttl: none}
  item: {key: "item:{id}", type: entity, ttl: 1h, fields: {n: int}, index: {n: "items:n"}}
`)}}, "k.yaml")
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	target := &observe.Target{Options: observe.Options{ID: "t", Server: &observe.Server{},
		Declaration: observe.Declaration{Keyspace: ks}}}
	mark := observe.Mark{At: at, Every: 5 * time.Second}
	size := func(n int64) *int64 { return &n }
	state := func(bad bool) *observe.State {
		n := map[bool]int64{true: 1}[bad]
		return &observe.State{Began: at.Add(-time.Hour),
			Shards: observe.Reading[[]observe.Shard]{Mark: mark, Value: &[]observe.Shard{
				{Address: "a:1", Memory: size(90 + n), MaxMemory: size(100), Replicas: 2 - int(n), Expected: 2},
				{Address: "b:1", Memory: size(500), MaxMemory: size(0)}, {Address: "c:1"}}},
			Queues: observe.Reading[answer.Queues]{Mark: mark, Value: &answer.Queues{Queues: []answer.Queue{{Entry: "jobs",
				Zombies: 2 * n, Dead: 3 * n, Lanes: []answer.Lane{{Jobs: 4, Oldest: 60 + float64(n)}}}}}},
			Streams: observe.Reading[answer.Streams]{Mark: mark, Value: &answer.Streams{Streams: []answer.Stream{{Entry: "log",
				Key: []byte("log"), Groups: []answer.StreamGroup{{Name: []byte("g"), Lag: size(80 + n)}, {Name: []byte("h")}}}}}},
			Entities: observe.Reading[answer.Entities]{Mark: mark, Value: &answer.Entities{Entities: []answer.Entity{
				{Entry: "item", Expired: 5, Late: 300 + float64(n)}}}},
			Locks: observe.Reading[answer.Locks]{Mark: observe.Mark{At: at.Add(-time.Duration(n) * time.Minute),
				Every: 15 * time.Second}},
			Jobs: []observe.Job{{Name: "saves", Failures: n}}}
	}
	if found := Judge(target, state(false), at); len(found) > 0 {
		t.Errorf("%+v", found)
	}
	var got []string
	for _, a := range Judge(target, state(true), at) {
		got = append(got, fmt.Sprint(strings.TrimPrefix(a.ID, "t/"), " ", a.Count))
		if a.Text == "" || a.Next == "" || a.Target != "t" || len(a.Page) == 0 {
			t.Errorf("%+v", a)
		}
	}
	if want := []string{"memory/a:1 0", "replica/a:1 0", "lease/jobs 2", "queue/jobs 4", "dead/jobs 3", "stream/log/g 81",
		"sweep/item 5", "janitor/saves 0", "reading/locks 0"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// TestNow: what holds is listed with since when, the worst first, also without any webhook; what is gone is not, at
// once; of what a state says since when it is so, that is reported.
func TestNow(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	b := New(func() time.Time { return at })
	look := func(found ...Condition) {
		b.update("t", at, found, judged{LateQueue: nil, DeadQueue: nil, Away: nil},
			func(id string) bool { return id == "t/dead" })
	}
	dead := Condition{ID: "t/dead", Kind: DeadQueue, Target: "t"}
	look(dead)
	at = at.Add(time.Minute)
	look(dead, Condition{ID: "t/late", Kind: LateQueue, Target: "t", from: at.Add(-time.Hour)},
		Condition{ID: "t/away", Kind: Away, Target: "t"}, Condition{ID: "x", Kind: "of-another-version", Target: "t"})
	now, left := b.Now("t")
	var got []string
	for _, a := range now {
		got = append(got, fmt.Sprint(a.ID, " ", at.Sub(a.Since), " ", a.Silent))
	}
	if want := []string{"x 0s false", "t/away 0s false", "t/late 1h0m0s false", "t/dead 1m0s true"}; left != 0 ||
		!slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	look(dead)
	if now, _ := b.Now("t"); len(now) != 2 { // nothing is said of the kind that is not known
		t.Errorf("%+v", now)
	}
	if now, _ := b.Now("other"); len(now) != 0 {
		t.Errorf("%+v", now)
	}
}
