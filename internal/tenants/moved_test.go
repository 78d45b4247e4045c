package tenants_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/apply"
	"github.com/keywright/keywright/apply/copier"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/tenants"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/server"
)

// declared returns the declaration in a namespace.
func declared(t *testing.T, name string) *keyspace.Keyspace {
	t.Helper()
	ks, found := load.In(os.DirFS("."), "keyspace.yaml", map[string]string{"poppo": name})
	if len(found) > 0 {
		t.Fatal(found[0].Message)
	}
	return ks
}

// TestMovedToAnotherNamespace: what was written with every construct in one namespace is
// copied to another one, or renamed, or both, and generated code goes on with it there.
func TestMovedToAnotherNamespace(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		for how, move := range map[string]func(*testing.T, string, func(int) (*keywright.Client, error)){"copied": copied,
			"renamed": renamed} {
			t.Run(how+" "+string(brand), func(t *testing.T) {
				s := keywrighttest.Start(t, brand)
				c, err := keywright.Open(t.Context(), s.URL(), keywright.Options{})
				must(t, err)
				defer c.Close()
				from, to := in(t, c, "poppo"), in(t, c, "poppo-test")
				use(t, from, 1)
				last := released(t, from)
				must(t, from.Text("z").Set("x").Do(t.Context()))
				move(t, s.URL(), func(int) (*keywright.Client, error) { return c, nil })
				look(t, to, 1)
				goesOn(t, to, last)
				if how == "copied" {
					look(t, from, 1)
				} else if left := keysOf(s, "poppo:"); !slices.Equal(left, []string{"poppo:lock:1", "poppo:{poppo:lock:1}:fence"}) {
					t.Errorf("they keep their names: %q", left) // but those of the lock that is held
				}
				for _, key := range keysOf(s, "poppo-test:") {
					if finder(t, "poppo-test")(key) == nil {
						t.Errorf("no entry declares %s", key)
					}
				}
			})
		}
	}
}

// keysOf returns the keys of a server that begin with a text.
func keysOf(s *keywrighttest.Server, prefix string) (out []string) {
	for _, key := range s.Do("SCAN", "0", "COUNT", "10000").([]any)[1].([]any) {
		if name := key.(string); strings.HasPrefix(name, prefix) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// released gives the lock of use back that is not needed, and says which token was the last.
func released(t *testing.T, k *tenants.Keyspace) int64 {
	t.Helper()
	lease, err := k.Mutex(2).Try(t.Context())
	must(t, err)
	must(t, lease.Release(t.Context()))
	return lease.Fence()
}

// copied copies all keys of one namespace.
func copied(t *testing.T, url string, clients func(int) (*keywright.Client, error)) {
	t.Helper()
	names := func() *plan.Elsewhere {
		e, err := plan.NewElsewhere(declared(t, "poppo"), declared(t, "poppo-test"))
		must(t, err)
		return e
	}
	place, content, meant := names(), names(), names()
	report, err := copier.Copy(t.Context(), reader(t, url), reader(t, url), clients, copier.Options{
		Options: restore.Options{Place: func(rec *archive.Record) (restore.Place, error) {
			name, content, left := place.Name(rec.Key)
			if left != "" {
				return restore.Place{}, &restore.LeftOut{Code: left}
			}
			return restore.Place{Key: name, DB: rec.DB, Expires: rec.Expires, Content: content}, nil
		}},
		Meant: func(name []byte) (int, bool) {
			_, _, left := meant.Name(name)
			return 0, left == "" && !strings.HasSuffix(string(name), ":sweep")
		},
		Content: func(name []byte) *plan.Content { _, c, _ := content.Name(name); return c },
	})
	if err != nil || !report.Settled() || report.Checked.Differ() > 0 || report.Left > 0 {
		t.Fatalf("%+v %v", report, err)
	}
}

func reader(t *testing.T, url string) *server.Reader {
	t.Helper()
	config, err := connect.Parse(url)
	must(t, err)
	r, err := server.NewReader(t.Context(), config, server.Options{Role: server.Primary, OnlyDB: -1},
		server.ContentsRequest{Largest: 64 << 10})
	must(t, err)
	t.Cleanup(r.Close)
	return r
}

// renamed renames all keys of one namespace.
func renamed(t *testing.T, url string, clients func(int) (*keywright.Client, error)) {
	t.Helper()
	to := declared(t, "poppo-test")
	pairs, err := plan.Moved(declared(t, "poppo"), to)
	must(t, err)
	rule, err := plan.NewRename(to, pairs, plan.RenameOptions{})
	must(t, err)
	config, err := connect.Parse(url)
	must(t, err)
	scan := func(ctx context.Context, each func([]source.Key) error) (source.Summary, error) {
		return server.New(config, server.Options{Role: server.Primary, OnlyDB: -1}).Scan(ctx, source.Request{}, each)
	}
	report, err := apply.Keys(t.Context(), clients, scan, rule, apply.KeysOptions{Live: reader(t, url)})
	must(t, err)
	if report.KeyCounts.Left != 2 || report.Refused+report.Unknown != 0 {
		t.Errorf("%+v", report.KeyCounts)
	}
}

// goesOn uses what was moved as a program would that starts there.
func goesOn(t *testing.T, k *tenants.Keyspace, last int64) {
	t.Helper()
	ctx, day := t.Context(), time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	lease, err := k.Mutex(2).Try(ctx)
	must(t, err)
	if lease.Fence() <= last {
		t.Errorf("the fencing tokens begin again: %d after %d", lease.Fence(), last)
	}
	must(t, lease.Release(ctx))
	for what, q := range map[string]queue.Queue[string]{"tasks": k.Tasks(), "tagged": k.Tagged()} {
		if back, err := q.Reconcile(ctx, true); err != nil || len(back) > 0 {
			t.Errorf("%s: lost %v, %v", what, back, err)
		}
		works(t, q)
	}
	got, err := k.Page(1).GetOrLoad(ctx, func(context.Context) (string, error) { return "loaded again", nil })
	if err != nil || got != "1" {
		t.Errorf("cached: %q, %v", got, err)
	}
	if r, err := k.Rate(1).Allow(ctx); err != nil || r.Allowed {
		t.Errorf("the rate is as if nothing had been used: %+v, %v", r, err)
	}
	if rows, err := k.Board(day).Top(10).Do(ctx); err != nil || len(rows) != 1 || rows[0].Member != "m" ||
		rows[0].Score != 1 {
		t.Errorf("the ranking: %+v, %v", rows, err)
	}
	entityGoesOn(t, k)
	if list, err := k.SharedStore(day).IDs(ctx,
		entity.Query[tenants.SharedValue]{Of: k.SharedStore(day).ByK("b")}); err != nil ||
		!slices.Equal(list.IDs, []int64{1}) {
		t.Errorf("items of one day: %+v, %v", list, err)
	}
	_, err = k.Logged().Publish(ctx, tenants.LoggedMessage{ID: 2})
	must(t, err)
	if list, err := k.Logged().Read(ctx, event.Begin, event.End, 10); err != nil || len(list) != 2 ||
		list[1].Data.ID != 2 {
		t.Errorf("the stream: %+v, %v", list, err)
	}
}

// works runs the job of a queue.
func works(t *testing.T, q queue.Queue[string]) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan string, 1)
	worker := q.Worker(func(_ context.Context, j *queue.Job[string]) error {
		done <- fmt.Sprint(j.ID, " ", j.Payload)
		return nil
	}, queue.WorkerOptions{})
	ended := make(chan struct{})
	defer func() { stop(); <-ended }()
	go func() { defer close(ended); _ = worker.Run(ctx) }()
	select {
	case got := <-done:
		if got != "job 1" {
			t.Errorf("the job is %s", got)
		}
	case <-ctx.Done():
		t.Fatal("no job")
	}
}

// entityGoesOn changes and deletes items, whose index entries are recorded.
func entityGoesOn(t *testing.T, k *tenants.Keyspace) {
	t.Helper()
	ctx, store := t.Context(), k.MemoStore()
	_, err := store.Put(ctx, 1, tenants.MemoValue{K: "b", At: time.UnixMilli(1)})
	must(t, err)
	for value, want := range map[string][]int64{"a": nil, "b": {1}} {
		ids, err := store.IDs(ctx, entity.Query[tenants.MemoValue]{Of: store.ByK(tenants.K(value))})
		if err != nil || !slices.Equal(ids.IDs, want) {
			t.Errorf("the items with %s: %v, %v", value, ids.IDs, err)
		}
	}
	_, err = store.Delete(ctx, 1)
	must(t, err)
	report, err := store.Check(ctx, entity.CheckOptions{})
	if err != nil || report.Items != 0 || report.Problems != 0 {
		t.Errorf("%+v %v", report, err)
	}
}
