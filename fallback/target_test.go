package fallback_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/fallback"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/lua"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/redis/rueidis"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"))
}

var (
	parts      = lua.New(os.DirFS("testdata"))
	readScript = keywright.NewReadOnlyScript("read", parts.Script("read"))
	entry      = keywright.Entry{Name: "note", Pattern: "note:{id}", Type: "hash"}
)

// hashes represents a target: hashes with a version.
type hashes struct {
	c      *keywright.Client
	script *keywright.Script
}

func target(c *keywright.Client) hashes {
	return hashes{c, keywright.NewScript("write", parts.Script("write"))}
}

// unchecked returns the target whose writes do not look at the version.
func unchecked(t *testing.T, c *keywright.Client) hashes {
	t.Helper()
	const guard = "if wanted ~= '-1' and wanted ~= (version or '0') then return -1 end"
	mutant, n := parts.Mutant("write", guard, "")
	if n == 0 {
		t.Fatal("the guard is not there any more: the mutation tests nothing")
	}
	return hashes{c, keywright.NewScript("mutated", mutant.Script("write"))}
}

func (h hashes) Get(ctx context.Context, id string) (fallback.Item[fallback.Fields], error) {
	return kernel.NewOp(kernel.Spec[fallback.Item[fallback.Fields]]{
		Action: kernel.Action{Client: h.c, Name: "get", Entry: &entry},
		Script: readScript, Keys: []string{"note:" + id}, Decode: decode,
	}).Do(ctx)
}

func decode(r rueidis.RedisResult) (item fallback.Item[fallback.Fields], err error) {
	list, err := r.ToArray()
	if err != nil {
		return item, err
	}
	if item.Value, err = list[0].AsStrMap(); err != nil {
		return item, err
	}
	left, err := list[1].AsInt64()
	if err != nil {
		return item, err
	}
	if len(item.Value) == 0 {
		return item, keywright.ErrNotFound
	}
	item.Version, err = strconv.ParseInt(item.Value["version"], 10, 64)
	delete(item.Value, "version")
	if left > 0 {
		item.Expires = time.Now().Add(time.Duration(left) * time.Millisecond)
	}
	return item, err
}

func (h hashes) Write(ctx context.Context, id string, c fallback.Change) (int64, error) {
	ttl := int64(0)
	if !c.Expires.IsZero() {
		ttl = max(time.Until(c.Expires).Milliseconds(), 1)
	}
	args := []string{c.Kind.String(), strconv.FormatInt(c.If, 10), strconv.FormatInt(ttl, 10), strconv.Itoa(len(c.Drop))}
	args = append(args, c.Drop...)
	for name, v := range c.Fields {
		args = append(args, name, v)
	}
	version, err := kernel.NewOp(kernel.Spec[int64]{
		Action: kernel.Action{Client: h.c, Name: "write", Entry: &entry, Effect: keywright.Writes},
		Script: h.script, Keys: []string{"note:" + id}, Args: args,
		Decode: func(r rueidis.RedisResult) (int64, error) { return r.AsInt64() },
	}).Do(ctx)
	switch version {
	case -1:
		return 0, fallback.ErrConflict
	case -2:
		return 0, keywright.ErrNotFound
	}
	return version, err
}

func (h hashes) Prepare(id string, c fallback.Change) (fallback.Change, error) {
	if id == "" {
		return c, errors.New("the id is empty")
	}
	return c, nil
}

func (h hashes) Ping(ctx context.Context) error {
	_, err := kernel.NewOp(kernel.Spec[string]{
		Action: kernel.Action{Client: h.c, Name: "ping", Entry: &entry},
		Build:  func(b rueidis.Builder) rueidis.Completed { return b.Ping().Build() },
		Decode: func(r rueidis.RedisResult) (string, error) { return r.ToString() },
	}).Do(ctx)
	return err
}

func (h hashes) Encode(_ string, v fallback.Fields) (fallback.Fields, error) {
	return maps.Clone(v), nil
}

func (h hashes) Decode(_ string, f fallback.Fields) (fallback.Fields, error) {
	return maps.Clone(f), nil
}

func (h hashes) Same(_ string, stored, wanted fallback.Fields) bool {
	return maps.Equal(stored, wanted)
}

// world represents a server with a proxy before it, and a guard.
type world struct {
	*testing.T
	s     *keywrighttest.Server
	proxy *keywrighttest.Proxy
	c     *keywright.Client // by the proxy
	raw   hashes            // past the guard and the proxy: another process
	store fallback.Store
	g     *fallback.Guard[fallback.Fields]
	saw   *events
}

// fast returns options with which tests do not wait for long.
func fast(o fallback.Options) fallback.Options {
	o.Name, o.Flush, o.Fresh = "note", time.Millisecond, cmp.Or(o.Fresh, -1)
	o.Patience = cmp.Or(o.Patience, time.Second) // a busy machine is not a server that is away
	o.WritePatience = cmp.Or(o.WritePatience, 250*time.Millisecond)
	if o.Probe == 0 {
		o.Probe = 20 * time.Millisecond
	}
	return o
}

func connect(t *testing.T, addr string) *keywright.Client {
	t.Helper()
	return servertest.Open(t, "redis://"+addr,
		keywright.Options{NoCache: true, Timeout: time.Second, Attempts: 2, Connections: -1})
}

func newWorld(t *testing.T, brand keywrighttest.Brand, o fallback.Options, options ...keywrighttest.Option) world {
	t.Helper()
	t.Parallel()
	s := keywrighttest.Start(t, brand, options...)
	w := world{T: t, s: s, proxy: keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{}),
		store: fallback.NewMemory(fallback.Limits{})}
	w.c, w.raw = connect(t, w.proxy.Addr()), target(connect(t, s.Addr()))
	return w.guard(target(w.c), o)
}

// guard returns the world with another guard.
func (w world) guard(t fallback.Target[fallback.Fields], o fallback.Options) world {
	w.Helper()
	w.saw = &events{}
	o = fast(o)
	o.OnEvent = w.saw.add
	g, err := fallback.New(t, w.store, o)
	w.ok(err)
	w.Cleanup(func() { w.close(g) })
	w.g = g
	return w
}

func (w world) close(g *fallback.Guard[fallback.Fields]) {
	w.Helper()
	w.ok(g.Close())
}

func (w world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func brands(t *testing.T, o fallback.Options, test func(w world)) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			test(newWorld(t, brand, o))
		})
	}
}

func same[V comparable](t *testing.T, what string, got, want V) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

func is(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: %v, want %v", what, err, want)
	}
}

var eventually = expect.Eventually
