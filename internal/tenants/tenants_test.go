package tenants_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/gen/python"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/tenants"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
)

var must = expect.NoError

// in gives the handles of a namespace.
func in(t *testing.T, c *keywright.Client, name string) *tenants.Keyspace {
	t.Helper()
	ns, err := tenants.InNamespace(name)
	must(t, err)
	return tenants.NewTuned(c, tenants.Tuning{Namespace: ns})
}

// finder finds the declared key that a key of the server belongs to in a namespace.
func finder(t *testing.T, name string) func(string) *keyspace.Key {
	t.Helper()
	ks, found := load.In(os.DirFS("."), "keyspace.yaml", map[string]string{"poppo": name})
	if len(found) > 0 {
		t.Fatal(found[0].Message)
	}
	items, targets := ks.Items()
	m, _, err := match.Compile(items)
	must(t, err)
	return func(key string) *keyspace.Key {
		if i := m.Match([]byte(key), nil); i != match.None {
			return targets[i].Key
		}
		return nil
	}
}

var spaces = []string{"poppo", "poppo-test", "pop"} // each begins with another one, or is the beginning

// TestNamespacesShareAServer: every construct is used in each of three namespaces of one
// server. Each finds what it wrote and nothing of the others, and every key of the
// server is declared in exactly one of them.
func TestNamespacesShareAServer(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			s := keywrighttest.Start(t, brand)
			c, err := keywright.Open(t.Context(), s.URL(), keywright.Options{})
			must(t, err)
			defer c.Close()
			for i, name := range spaces {
				use(t, in(t, c, name), int64(i+1))
			}
			for i, name := range spaces {
				look(t, in(t, c, name), int64(i+1))
			}
			homes(t, s)
		})
	}
}

// use writes with every construct; n tells the namespaces apart.
func use(t *testing.T, k *tenants.Keyspace, n int64) {
	t.Helper()
	ctx, day := t.Context(), time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	heard := make(chan string, 10)
	stop, err := k.MemoMadeTopics().Subscribe(ctx, event.Options{},
		func(m event.Message[tenants.MemoMadeMessage], err error) {
			if err == nil {
				heard <- m.Channel
			}
		})
	must(t, err)
	defer stop()
	lease, err := k.Mutex(1).Try(ctx) // held in the others, too
	must(t, err)
	t.Cleanup(func() { _ = lease.Release(context.WithoutCancel(ctx)) })
	must(t, k.Text("a").Set(fmt.Sprint(n)).Do(ctx))
	must(t, k.Slow("abc-1", n).Set("x").Do(ctx))
	_, err = k.Inside().Add(fmt.Sprint(n)).Do(ctx)
	must(t, err)
	_, err = k.Tasks().Enqueue(ctx, queue.Task[string]{ID: "job", Unique: "one", Payload: fmt.Sprint(n)})
	must(t, err)
	_, err = k.Tagged().Enqueue(ctx, queue.Task[string]{ID: "job", Unique: "one", Payload: fmt.Sprint(n)})
	must(t, err)
	for _, page := range []cache.Item[string]{k.Page(1), k.Page2(1)} {
		got, err := page.GetOrLoad(ctx, func(context.Context) (string, error) { return fmt.Sprint(n), nil })
		if err != nil || got != fmt.Sprint(n) {
			t.Errorf("%s: cached %q, %v", k.Namespace(), got, err)
		}
	}
	for range 10 {
		if r, err := k.Rate(1).Allow(ctx); err != nil || !r.Allowed {
			t.Fatalf("%s: the rate is used up by others: %v %v", k.Namespace(), r, err)
		}
	}
	_, err = k.Board(day).Add("m", n).Do(ctx)
	must(t, err)
	_, err = k.MemoStore().Create(ctx, 1, tenants.MemoValue{K: "a", At: time.UnixMilli(n)})
	must(t, err)
	_, err = k.SharedStore(day).Create(ctx, 1, tenants.SharedValue{K: "b"})
	must(t, err)
	_, err = k.Logged().Publish(ctx, tenants.LoggedMessage{ID: n})
	must(t, err)
	select {
	case channel := <-heard:
		if want := k.Namespace().String() + ":made:a"; channel != want {
			t.Errorf("heard on %s, not %s", channel, want)
		}
	case <-ctx.Done():
		t.Fatal("no message")
	}
	if len(heard) > 0 {
		t.Errorf("%s heard %s, too", k.Namespace(), <-heard)
	}
}

// look finds what was written, and nothing else.
func look(t *testing.T, k *tenants.Keyspace, n int64) {
	t.Helper()
	ctx, ns := t.Context(), k.Namespace()
	if got, err := k.Text("a").Get().Do(ctx); err != nil || got != fmt.Sprint(n) {
		t.Errorf("%s: text %q, %v", ns, got, err)
	}
	if got, err := k.Inside().Members().Do(ctx); err != nil || !slices.Equal(got, []string{fmt.Sprint(n)}) {
		t.Errorf("%s: set %v, %v", ns, got, err)
	}
	for _, q := range []queue.Queue[string]{k.Tasks(), k.Tagged()} {
		if st, err := q.Stats(ctx); err != nil || st.Lanes[0].Length != 1 {
			t.Errorf("%s: %+v, %v", ns, st, err)
		}
	}
	ids, err := k.MemoStore().IDs(ctx, entity.Query[tenants.MemoValue]{Of: k.MemoStore().ByK("a")})
	if err != nil || !slices.Equal(ids.IDs, []int64{1}) {
		t.Errorf("%s: items %+v, %v", ns, ids, err)
	}
	if item, err := k.MemoStore().Get(ctx, 1); err != nil || item.Value.At.UnixMilli() != n {
		t.Errorf("%s: item %+v, %v", ns, item, err)
	}
	report, err := k.MemoStore().Check(ctx, entity.CheckOptions{})
	if err != nil || report.Problems > 0 || report.Items != 1 {
		t.Errorf("%s: %+v, %v", ns, report, err)
	}
	if list, err := k.Logged().Read(ctx, event.Begin, event.End, 10); err != nil || len(list) != 1 ||
		list[0].Data.ID != n {
		t.Errorf("%s: messages %+v, %v", ns, list, err)
	}
}

// homes: every key is in one namespace: it begins with its name, and is declared there.
func homes(t *testing.T, s *keywrighttest.Server) {
	t.Helper()
	kinds := map[string]bool{}
	finders := map[string]func(string) *keyspace.Key{}
	for _, ns := range spaces {
		finders[ns] = finder(t, ns)
	}
	for _, key := range s.Do("SCAN", "0", "COUNT", "10000").([]any)[1].([]any) {
		name, found := key.(string), 0
		for ns, find := range finders {
			if k := find(name); k != nil {
				found++
				kinds[k.Name] = true
				if !strings.HasPrefix(name, ns+":") {
					t.Errorf("%s is not in %s", name, ns)
				}
			}
		}
		if found != 1 {
			t.Errorf("%s is declared in %d namespaces", name, found)
		}
	}
	if len(kinds) < 15 {
		t.Errorf("only %d declared keys were written: %v", len(kinds), kinds)
	}
}

// TestNamesOfNamespaces: what the declaration does not allow is refused.
func TestNamesOfNamespaces(t *testing.T) {
	for _, name := range []string{"", "other", "poppo:x", "*", "poppo ", strings.Repeat("p", 65)} {
		if ns, err := tenants.InNamespace(name); err == nil {
			t.Errorf("%q is a namespace: %s", name, ns)
		}
	}
	ns, err := tenants.InNamespace("poppo-test")
	must(t, err)
	key, err := ns.MutexFenceKey(7)
	if must(t, err); key != "poppo-test:{poppo-test:lock:7}:fence" {
		t.Error(key)
	}
	if _, ok := ns.ParseMutexFenceKey("poppo:{poppo:lock:7}:fence"); ok {
		t.Error("a key of another namespace was read")
	}
	if id, ok := ns.ParseMutexFenceKey(key); !ok || id != 7 {
		t.Error(id, ok)
	}
	slow, err := ns.SlowKey("abc-1", 5)
	must(t, err)
	if weird, n, ok := ns.ParseSlowKey(slow); !ok || weird != "abc-1" || n != 5 {
		t.Error(weird, n, ok)
	}
	if _, _, ok := (tenants.Namespace{}).ParseSlowKey(slow); ok {
		t.Error("a key of another namespace was read")
	}
}

// TestPythonInNamespace: the Python module builds and reads the same keys.
func TestPythonInNamespace(t *testing.T) {
	ks, found := load.File(os.DirFS("."), "keyspace.yaml")
	if len(found) > 0 {
		t.Fatal(found[0].Message)
	}
	files, err := python.Generate(ks)
	must(t, err)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, files[0].Name), files[0].Text, 0o600))
	c := exec.Command("/usr/bin/python3", "-B", "-c", `
import tenants
k = tenants.InNamespace("poppo-test")
assert k.mutex.key(id_=5) == "poppo-test:lock:5" and tenants.mutex.key(id_=5) == "poppo:lock:5"
assert k.mutex_fence.key(id_=5) == "poppo-test:{poppo-test:lock:5}:fence"
assert k.mutex_fence.scan_pattern == "poppo-test:{poppo-test:lock:*}:fence"
assert k.mutex.parse("poppo:lock:5") is None and k.mutex.parse("poppo-test:lock:5") == {"id_": 5}
assert k.memo_made_channel.subscribe_pattern == "poppo-test:made:*"
for name in ("", "other", "poppo:x", "*", "poppo\n"):
    try:
        tenants.InNamespace(name)
    except tenants.KeyValueError:
        continue
    raise AssertionError(name)
`)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
