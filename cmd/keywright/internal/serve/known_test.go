package serve_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cmd/keywright/internal/alert"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/serve"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/document"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/source"
)

// judging lets the rig's server say what is wrong with what it watches.
func (r *rig) judging(all ...*observe.Target) {
	book := alert.New(r.now)
	r.api = serve.New(serve.Options{Targets: all, Now: r.now,
		Alerts: func(id string) ([]alert.Alert, int64) {
			for _, t := range all {
				if t.ID == id {
					expect.NoError(r, book.Look(t, func(string) bool { return false }))
				}
			}
			return book.Now(id)
		}})
}

// known reports whether all of the rig's target is known.
func (r *rig) known(st observe.State) bool { return len(r.target.Unknown(&st, r.now())) == 0 }

// unknown returns why a part of a target is not known; "": it is.
func unknown(n document.NowList, target, part string) string {
	i := slices.IndexFunc(n.NotKnown, func(p document.NotKnown) bool { return p.Target == target && p.Part == part })
	if i < 0 {
		return ""
	}
	return n.NotKnown[i].Why
}

// readingUp reports whether the metrics say that a reading gave all.
func (r *rig) readingUp(part string) bool {
	r.Helper()
	return strings.Contains(r.text("/metrics"),
		`keywright_reading_up{keyspace="shopkeys",target="main",reading="`+part+`"} 1`)
}

// TestQuietIsKnown: it is quiet only where every part of every target was read by its latest attempt, and nothing in it
// was left unread; what is not known is listed with the reason, and neither the metrics nor the list of targets say
// that it is.
func TestQuietIsKnown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.judging(r.target)
	changes, stop := r.target.Subscribe()
	defer stop()
	r.until(changes, r.known)
	now := ask[document.NowList](r, "/api/v1/now")
	if !now.Quiet || len(now.NotKnown) != 0 || !r.readingUp("queues") {
		t.Errorf("%+v", now)
	}

	r.redis.Do("DEL", "shop:jobs:a:high")
	r.redis.Do("SET", "shop:jobs:a:high", "x")
	r.until(changes, func(s observe.State) bool { return len(s.Queues.Value.Unread) > 0 })
	row := ask[document.Targets](r, "/api/v1/targets").Items[0]
	now = ask[document.NowList](r, "/api/v1/t/main/now")
	if now.Quiet || len(now.Items) > 0 || !strings.Contains(unknown(now, "main", "queues"), "tasks (team=a): ") ||
		row.State != "partial" || !strings.Contains(row.Why, "queues: not read: tasks (team=a): ") ||
		r.readingUp("queues") || !r.readingUp("locks") {
		t.Errorf("%+v %+v", now, row)
	}
	r.redis.Do("DEL", "shop:jobs:a:high")
	r.until(changes, func(s observe.State) bool { return len(s.Queues.Value.Unread) == 0 })

	r.breaks.Store(true)
	r.target.AuditNow()
	r.until(changes, func(s observe.State) bool { return s.Partial != nil })
	row = ask[document.Targets](r, "/api/v1/targets").Items[0]
	now = ask[document.NowList](r, "/api/v1/now")
	if now.Quiet || !strings.Contains(unknown(now, "main", "audit"), "not whole") || len(now.NotKnown) != 1 ||
		row.State != "partial" || !strings.Contains(row.Why, "audit: ") || r.readingUp("audit") {
		t.Errorf("%+v %+v", now, row)
	}

	r.redis.Kill()
	r.until(changes, func(s observe.State) bool { return s.Queues.Failed != nil && s.Locks.Failed != nil })
	row = ask[document.Targets](r, "/api/v1/targets").Items[0]
	if row.State != "away" || row.Why == "" ||
		!strings.Contains(r.text("/metrics"), `keywright_up{keyspace="shopkeys",target="main"} 0`) {
		t.Errorf("no diagnosis has failed yet: %+v", row)
	}
	now = ask[document.NowList](r, "/api/v1/now")
	for _, part := range []string{"queues", "locks"} {
		if why := unknown(now, "main", part); now.Quiet || why == "" || r.readingUp(part) {
			t.Errorf("%s: %q, %+v", part, why, now)
		}
	}
}

// TestTheFiguresOfAQueueThatWasNotRead: the page of a queue that could not be read has no figures, and says why; what
// is listed of it is no more than its total.
func TestTheFiguresOfAQueueThatWasNotRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	changes, stop := r.target.Subscribe()
	defer stop()
	figures := func() map[string]any { return ask[map[string]any](r, "/api/v1/t/main/queues/tasks/team=a") }
	page := figures()
	for _, name := range []string{"entry", "instance", "waiting", "jobs", "dead", "lanes", "workers", "unread", "at"} {
		if page[name] == nil {
			t.Errorf("no %s: %v", name, page)
		}
	}
	if page["waiting"] != 1.0 || page["partial"] != nil {
		t.Errorf("%v", page)
	}
	r.redis.Do("SET", "shop:jobs:a:low", "x")
	r.until(changes, func(s observe.State) bool { return len(s.Queues.Value.Unread) > 0 })
	page = figures()
	for _, name := range []string{"waiting", "jobs", "dead", "oldest_seconds", "running", "paused", "lanes", "workers"} {
		if figure, there := page[name]; there {
			t.Errorf("%s: %v", name, figure)
		}
	}
	why, _ := page["partial"].(string)
	if unread, _ := page["unread"].([]any); page["entry"] != "tasks" || page["instance"] != "team=a" || len(unread) != 1 ||
		!strings.HasPrefix(why, "not read: tasks (team=a): ") || page["stale"] != false {
		t.Errorf("%v", page)
	}
	jobs := ask[document.QueueJobs](r, "/api/v1/t/main/queues/tasks/team=a/jobs?lane=high")
	if len(jobs.Items) != 1 || jobs.Total != 1 {
		t.Errorf("%+v", jobs)
	}
}

// TestABrokenTargetIsWrong: a target that cannot be watched is in the list of what is wrong since it was found, in the
// metrics with its keyspace, and under its own path; its other paths say why they have nothing.
func TestABrokenTargetIsWrong(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	changes, stop := r.target.Subscribe()
	defer stop()
	r.until(changes, r.known)
	book := alert.New(r.now)
	r.api = serve.New(serve.Options{Now: r.now, Alerts: book.Now})
	r.api.Watch([]*observe.Target{r.target}, []serve.Broken{{ID: "bad", Keyspace: "appkeys", Why: "no such file",
		Labels: map[string]string{"region": "eu"}}, {ID: "worse", Why: "no url"}})
	for range 2 {
		expect.NoError(t, book.Broken("bad", "no such file", func(string) bool { return false }))
	}
	for path, parts := range map[string]int{"/api/v1/now": 2, "/api/v1/t/bad/now": 1} {
		now := ask[document.NowList](r, path)
		if now.Quiet || len(now.Items) != 1 || now.Items[0].Target != "bad" || now.Items[0].Kind != alert.Away ||
			now.Items[0].Since == "" || !strings.Contains(now.Items[0].Text, "no such file") || now.Items[0].Next == "" ||
			len(now.NotKnown) != parts || unknown(now, "bad", "target") != "it is not watched: no such file" {
			t.Errorf("%s: %+v", path, now)
		}
	}
	if now := ask[document.NowList](r, "/api/v1/t/worse/now"); now.Quiet || len(now.NotKnown) != 1 {
		t.Errorf("%+v", now)
	}
	if now := ask[document.NowList](r, "/api/v1/t/main/now"); !now.Quiet {
		t.Errorf("%+v", now)
	}
	text := r.text("/metrics")
	for _, want := range []string{`keywright_wrong{keyspace="appkeys",target="bad",kind="server-away"} 1`,
		`keywright_wrong{keyspace="appkeys",target="bad",kind="queue-late"} 0`,
		`keywright_up{keyspace="appkeys",target="bad"} 0`, `keywright_up{target="worse"} 0`,
		`keywright_target_info{keyspace="appkeys",target="bad",label_region="eu"} 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	why, err := io.ReadAll(r.get(404, "/api/v1/t/bad/overview").Body)
	expect.NoError(t, err)
	if !strings.Contains(string(why), "not watched: no such file") {
		t.Errorf("%s", why)
	}
	if text := r.text("/api/v1/t/bad/now?format=csv"); !strings.Contains(text, "bad/target") {
		t.Errorf("%s", text)
	}
}

// watches watches a target until the test ends.
func (r *rig) watches(o observe.Options) *observe.Target {
	r.Helper()
	target, err := observe.New(o)
	expect.NoError(r, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); target.Run(ctx) }()
	r.Cleanup(func() { stop(); <-done })
	return target
}

// TestWhatWasNeverReadIsNotQuiet: a target whose first attempts all fail, and a snapshot file, of which nothing live is
// looked at, are never quiet.
func TestWhatWasNeverReadIsNotQuiet(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.target.Options
	o.ID, o.Server, o.Keep, o.Migrations = "cut", nil, nil, nil
	r.breaks.Store(true)
	file := r.watches(o)
	r.judging(file)
	expect.Eventually(t, "the file is read", func() bool { st := file.State(); return st.Partial != nil })
	now := ask[document.NowList](r, "/api/v1/now")
	if now.Quiet || !strings.Contains(unknown(now, "cut", "audit"), "not whole") ||
		!strings.Contains(unknown(now, "cut", "server"), "no server to ask") {
		t.Errorf("%+v", now)
	}

	for _, list := range []string{"queues", "locks", "entities", "rankings", "streams", "migrations", "server"} {
		answer := ask[map[string]any](r, "/api/v1/t/cut/"+list)
		why, _ := answer["partial"].(string)
		if at, there := answer["at"]; there || why != observe.NoServer {
			t.Errorf("%s, read at %v: %v", list, at, answer)
		}
	}

	o = r.target.Options
	refused := errors.New("WRONGPASS invalid username-password pair")
	o.ID, o.Keep, o.Migrations = "away", nil, nil
	o.Source = func() (source.Source, source.Request, func(), error) { return nil, source.Request{}, nil, refused }
	config, err := connect.New(connect.Options{URL: "redis://127.0.0.1:1"})
	expect.NoError(t, err)
	o.Server = &observe.Server{Config: config,
		Open: func(context.Context) (*keywright.Client, error) { return nil, refused }}
	away := r.watches(o)
	r.judging(away)
	expect.Eventually(t, "all was tried", func() bool {
		st := away.State()
		return !slices.ContainsFunc(st.Parts(), func(p observe.Part) bool { return p.Failed == nil })
	})
	now = ask[document.NowList](r, "/api/v1/now")
	if now.Quiet || len(now.Starting) != 0 || !strings.Contains(unknown(now, "away", "queues"), "WRONGPASS") ||
		!strings.Contains(unknown(now, "away", "audit"), "WRONGPASS") {
		t.Errorf("%+v", now)
	}
}

// TestTheNewestReadingSaysWhetherItAnswers: a server that is read is up, though the diagnosis of a minute ago failed,
// which is not known then.
func TestTheNewestReadingSaysWhetherItAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	o := r.target.Options
	config, err := connect.New(connect.Options{URL: "redis://127.0.0.1:1"})
	expect.NoError(t, err)
	o.Keep, o.Server = nil, &observe.Server{Config: config, Open: o.Server.Open} // a diagnosis an hour, which fails
	back := r.watches(o)
	r.judging(back)
	expect.Eventually(t, "all was tried", func() bool {
		st := back.State()
		return st.Audit != nil && st.Server.Failed != nil && st.Locks.Value != nil && len(back.Unknown(&st, r.now())) == 1 &&
			st.Shards.At.After(st.Server.Failed.Since)
	})
	row := ask[document.Targets](r, "/api/v1/targets").Items[0]
	if row.State != "stale" || row.Stale || !strings.Contains(row.Why, "server: ") ||
		!strings.Contains(r.text("/metrics"), `keywright_up{keyspace="shopkeys",target="main"} 1`) || r.readingUp("server") {
		t.Errorf("%+v", row)
	}
}
