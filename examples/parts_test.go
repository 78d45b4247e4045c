package examples

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/examples/cunningbot/cunningkeys"
	"github.com/keywright/keywright/examples/githubbroker/brokerkeys"
	"github.com/keywright/keywright/examples/harca/harcakeys"
	"github.com/keywright/keywright/examples/pages/appkeys"
	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
	"github.com/keywright/keywright/examples/shop/shopkeys"
	"github.com/keywright/keywright/internal/everykeys"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/internal/tenants"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/keyspace/parts"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
	"github.com/keywright/keywright/ranking"
)

// generated lists the packages that are written from declarations, by the folder of each.
var generated = map[string]func(*keywright.Client) any{
	"cunningbot":            func(c *keywright.Client) any { return cunningkeys.New(c) },
	"githubbroker":          func(c *keywright.Client) any { return brokerkeys.New(c) },
	"harca":                 func(c *keywright.Client) any { return harcakeys.New(c) },
	"pages":                 func(c *keywright.Client) any { return appkeys.New(c) },
	"poppobuilder":          func(c *keywright.Client) any { return poppokeys.New(c) },
	"shop":                  func(c *keywright.Client) any { return shopkeys.New(c) },
	"../internal/everykeys": func(c *keywright.Client) any { return everykeys.New(c) },
	"../internal/tenants":   func(c *keywright.Client) any { return tenants.New(c) },
}

// TestHandlesTouchTheirParts: the keys and channels that a running generated handle uses
// are those that package bind names for the same values, in the same roles, and no others;
// and it uses each of them.
func TestHandlesTouchTheirParts(t *testing.T) {
	for folder, open := range generated {
		t.Run(strings.TrimPrefix(folder, "../internal/"), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, keywrighttest.Redis)
			ks, _ := load.File(os.DirFS(folder), "keyspace.yaml")
			var k [2]reflect.Value
			for i := range k {
				c := servertest.Open(t, s.URL(), keywright.Options{Sealer: servertest.Ring(t, "a")})
				k[i] = reflect.ValueOf(open(c))
			}
			tried := 0
			for _, e := range ks.Entries {
				if e.Construct != keyspace.Script {
					(&touching{t: t, s: s, ks: ks, e: e, of: k[0], next: k[1]}).try()
					tried++
				}
			}
			if tried < 4 {
				t.Errorf("only %d entries", tried)
			}
		})
	}
}

// touching runs the handle of one entry.
type touching struct {
	t      *testing.T
	s      *keywrighttest.Server
	ks     *keyspace.Keyspace
	e      *keyspace.Entry
	of     reflect.Value // the Keyspace of the generated package
	next   reflect.Value // that of another process
	values bind.Values
}

// sample returns a text of a type, as it is in a key or a field.
func sample(t scalar.Type) string {
	t.Optional, t.Encrypted = false, false
	switch t.Kind {
	case scalar.JSON:
		return "{}"
	case scalar.Bytes, scalar.Text:
		return "x"
	case scalar.Timestamp:
		return "2026-01-02T03:04:05Z"
	}
	p, err := pattern.Parse("{v}", func(string) (scalar.Type, bool) { return t, true })
	if err != nil {
		return "x"
	}
	key, _, _ := pattern.Witness([]*pattern.Pattern{p}, nil)
	return string(key)
}

// value returns a text as a Go value.
func (x *touching) value(to reflect.Type, t scalar.Type, text string) reflect.Value {
	v := reflect.New(to).Elem()
	switch {
	case to.Kind() == reflect.Pointer:
		v = reflect.New(to.Elem())
		v.Elem().Set(x.value(to.Elem(), t, text))
	case to == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(moment(x.t, t, text)))
	case to == reflect.TypeFor[json.RawMessage](), to == reflect.TypeFor[[]byte]():
		v.SetBytes([]byte(text))
	case to.Kind() == reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		x.fail("number", err)
		v.SetInt(n)
	case to.Kind() == reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		x.fail("number", err)
		v.SetFloat(n)
	case to.Kind() == reflect.Bool:
		v.SetBool(text == "true" || text == "1")
	case to.Kind() == reflect.String:
		v.SetString(text)
	}
	return v
}

func moment(t *testing.T, typ scalar.Type, text string) time.Time {
	t.Helper()
	n, _ := strconv.ParseInt(text, 10, 64)
	switch typ.Kind {
	case scalar.UnixS:
		return time.Unix(n, 0)
	case scalar.UnixMS:
		return time.UnixMilli(n)
	case scalar.Timestamp:
		at, _ := time.Parse(time.RFC3339, text)
		return at
	}
	layout := strings.NewReplacer("YYYY", "2006", "MM", "01", "DD", "02", "HH", "15").Replace(typ.Layout)
	at, err := time.Parse(layout, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UTC()
}

func (x *touching) fail(what string, err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatalf("%s: %s: %v", x.e.Name, what, err)
	}
}

// flat returns a name without what differs between a declaration and Go.
func flat(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name))
}

// method returns the method of the Keyspace that gives a handle, with values for its
// parameters; invalid if there is none.
func (x *touching) method(suffix string, places []string, before ...any) (handle reflect.Value) {
	x.t.Helper()
	for i := range x.of.NumMethod() {
		if flat(x.of.Type().Method(i).Name) != flat(x.e.Name)+suffix {
			continue
		}
		m := x.of.Method(i)
		if m.Type().NumIn() != len(places)+len(before) {
			x.t.Fatalf("%s takes %s, and there are values for %v", x.e.Name, m.Type(), places)
		}
		var in []reflect.Value
		for _, v := range before {
			in = append(in, reflect.ValueOf(v))
		}
		for _, name := range places {
			in = append(in, x.value(m.Type().In(len(in)), x.place(name), x.values[name]))
		}
		out := m.Call(in)
		if err, _ := out[len(out)-1].Interface().(error); err != nil {
			x.fail("handle", err)
		}
		return out[0]
	}
	return handle
}

func (x *touching) place(name string) scalar.Type {
	for _, p := range x.e.Keys[0].Pattern.Placeholders() {
		if p.Name == name {
			return p.Type
		}
	}
	return scalar.Type{}
}

func (x *touching) try() {
	x.t.Helper()
	main := x.e.Keys[0].Pattern
	key, _, _ := pattern.Witness([]*pattern.Pattern{main}, nil)
	var ok bool
	if x.values, ok = bind.Read(main, string(key)); !ok {
		x.t.Fatalf("%s: %q is no key of it", x.e.Name, key)
	}
	shared := bind.Values{}
	for _, name := range parts.Values(x.e) {
		shared[name] = x.values[name]
	}
	use, named := constructs[x.e.Construct]
	if !named {
		x.t.Fatalf("the test has no use for a %s", x.e.Construct)
	}
	want := shared
	if x.e.Construct == keyspace.Ranking { // the handle fills in the date and the window
		want = x.values.With("window", x.window())
	}
	x.s.Do("FLUSHALL")
	stop := x.s.Monitor()
	idle := use(x)
	x.judge(stop(), want, idle)
}

// judge compares what the server was sent with the parts of the handle. idle are parts
// that this use does not need.
func (x *touching) judge(lines []string, v bind.Values, idle []string) {
	x.t.Helper()
	bound, err := bind.Parts(x.e, v)
	x.fail("parts", err)
	used := map[string]bool{}
	for name, channel := range x.touched(lines) {
		i := slices.IndexFunc(bound, func(b bind.Bound) bool { return b.Channel() == channel && b.Has(name) })
		if i < 0 && x.announced(name) {
			continue
		}
		if i < 0 {
			x.t.Errorf("%s: the handle uses %q, which is no part of it", x.e.Name, name)
			continue
		}
		used[bound[i].Name] = true
	}
	for _, b := range bound {
		if used[b.Name] == slices.Contains(idle, b.Name) {
			x.t.Errorf("%s: the handle uses %s: %t", x.e.Name, b.Name, used[b.Name])
		}
	}
}

// announced reports whether a name is a channel on which the entry announces changes.
func (x *touching) announced(name string) bool {
	for _, channel := range x.e.Emits {
		if _, ok := x.ks.Channel(channel).Pattern.Match([]byte(name)); ok {
			return true
		}
	}
	return false
}

// touched returns the keys in what the server was sent, by scripts too, and the channels.
func (x *touching) touched(lines []string) map[string]bool {
	out := map[string]bool{}
	for _, line := range lines {
		_, rest, _ := strings.Cut(line, "] ")
		var words []string
		for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				break
			}
			word, _ := strconv.Unquote(quoted)
			words, rest = append(words, word), rest[len(quoted):]
		}
		if len(words) < 2 {
			continue
		}
		switch strings.ToUpper(words[0]) {
		case "PUBLISH", "SPUBLISH":
			out[words[1]] = true
			continue
		case "SUBSCRIBE", "SSUBSCRIBE":
			for _, name := range words[1:] {
				if !strings.HasPrefix(name, "__") {
					out[name] = true
				}
			}
			continue
		}
		keys, err := x.s.Try(append([]string{"COMMAND", "GETKEYS"}, words...)...)
		if err != nil {
			continue // a command without keys
		}
		for _, key := range keys.([]any) {
			if _, ok := out[key.(string)]; !ok {
				out[key.(string)] = false
			}
		}
	}
	return out
}

// call calls a method with a context, or runs the operation that it gives, and gives what is returned before the error.
func (x *touching) call(handle reflect.Value, name string, args ...reflect.Value) reflect.Value {
	x.t.Helper()
	m := handle.MethodByName(name)
	if !m.IsValid() {
		x.t.Fatalf("%s has no %s", handle.Type(), name)
	}
	ctx, cancel := context.WithTimeout(x.t.Context(), expect.Patience)
	defer cancel()
	in := []reflect.Value{reflect.ValueOf(ctx)}
	if m.Type().NumIn() == 0 || m.Type().In(0) != reflect.TypeFor[context.Context]() {
		m, args = m.Call(args)[0].MethodByName("Do"), nil
	}
	out := m.Call(append(in, args...))
	if err, _ := out[len(out)-1].Interface().(error); err != nil {
		x.fail(name, err)
	}
	return out[0]
}

// filled returns a struct with a sample in each field that is declared, in their order; any
// other type has one sample.
func (x *touching) filled(to reflect.Type, fields []keyspace.Field, one *scalar.Type) reflect.Value {
	if to.Kind() != reflect.Struct || len(fields) == 0 {
		t := scalar.Type{}
		if one != nil {
			t = *one
		}
		return x.value(to, t, sample(t))
	}
	v := reflect.New(to).Elem()
	for i, f := range fields {
		text := sample(f.Type)
		if known, ok := x.values[f.Name]; ok {
			text = known
		}
		v.Field(i).Set(x.value(v.Field(i).Type(), f.Type, text))
	}
	return v
}

// window returns the last placeholder of the key of a window over the one date of the sample.
func (x *touching) window() string {
	h := parts.Of(x.e)
	step, ok := steps[h.Option("Step")]
	if !ok {
		return "none"
	}
	main, _ := h.Part("Main")
	return step.Window(moment(x.t, x.place(main.Own[0]), x.values[main.Own[0]]), []float64{1})
}

var steps = map[any]ranking.Step{parts.Constant("Hour"): ranking.Hour, parts.Constant("Day"): ranking.Day,
	parts.Constant("Month"): ranking.Month}

// constructs use the handle of each construct so that it needs its keys, and name the
// parts that are not needed then.
var constructs = map[keyspace.Construct]func(*touching) (idle []string){
	keyspace.Plain: plain, keyspace.Counter: func(x *touching) []string {
		x.call(x.method("", parts.Values(x.e)), "Drain")
		return nil
	},
	keyspace.RateLimit: func(x *touching) []string {
		x.call(x.method("", parts.Values(x.e)), "Allow")
		return nil
	},
	keyspace.Lock: locks, keyspace.Queue: queues, keyspace.Cache: caches,
	keyspace.Topic: topics, keyspace.Ranking: rankings, keyspace.Entity: entities,
}

func plain(x *touching) []string {
	x.call(x.method("", parts.Values(x.e)), "Exists")
	return nil
}

func locks(x *touching) []string {
	l := x.method("", parts.Values(x.e)).Interface().(lock.Lock)
	other := *x
	other.of = x.next
	waiter := other.method("", parts.Values(x.e)).Interface().(lock.Lock)
	ctx, cancel := context.WithTimeout(x.t.Context(), expect.Patience)
	defer cancel()
	held, err := l.Acquire(ctx)
	x.fail("acquire", err)
	next := make(chan error, 1)
	go func() {
		waited, err := waiter.Acquire(ctx)
		if err == nil {
			err = waited.Release(ctx)
		}
		next <- err
	}()
	for waiting := int64(0); waiting == 0; {
		h, err := l.Holder(ctx)
		x.fail("holder", err)
		waiting = h.Waiting
	}
	x.fail("release", held.Release(ctx))
	x.fail("next", <-next)
	return nil
}

func queues(x *touching) []string {
	q := x.method("", parts.Values(x.e))
	task := reflect.New(q.MethodByName("Enqueue").Type().In(1)).Elem()
	task.FieldByName("Payload").Set(x.filled(task.FieldByName("Payload").Type(), x.e.Shape, x.e.Key("job").Value))
	task.FieldByName("Unique").SetString("once")
	lanes, _ := parts.Of(x.e).Part("Lanes")
	jobs, places := 0, x.e.Key("job").Pattern.Placeholders()
	for _, lane := range append(lanes.Words, "") {
		task.FieldByName("Lane").SetString(lane)
		if id := places[len(places)-1].Type; id.Kind != scalar.Text {
			jobs++
			task.FieldByName("ID").SetString("task-" + strconv.Itoa(jobs)) // of the one example with ids of its own
		}
		x.call(q, "Enqueue", task)
		task.FieldByName("Unique").SetString("")
	}
	ctx, stop := context.WithCancel(x.t.Context())
	defer stop()
	worker := q.MethodByName("Worker")
	handle := reflect.MakeFunc(worker.Type().In(0), func(in []reflect.Value) []reflect.Value {
		in[1].MethodByName("SetResult").Call([]reflect.Value{reflect.ValueOf("done")})
		stop()
		return []reflect.Value{reflect.Zero(reflect.TypeFor[error]())}
	})
	w := worker.Call([]reflect.Value{handle, reflect.Zero(worker.Type().In(1))})[0]
	if err, _ := w.MethodByName("Run").Call([]reflect.Value{reflect.ValueOf(ctx)})[0].Interface().(error); err != nil &&
		ctx.Err() == nil {
		x.fail("run", err)
	}
	x.call(q, "Dead", reflect.ValueOf(int64(0)), reflect.ValueOf(int64(1)))
	return nil
}

func caches(x *touching) []string {
	item := x.method("", parts.Values(x.e))
	load := item.MethodByName("GetOrLoad").Type().In(1)
	x.call(item, "GetOrLoad", reflect.MakeFunc(load, func([]reflect.Value) []reflect.Value {
		return []reflect.Value{x.filled(load.Out(0), x.e.Keys[0].JSON, x.e.Keys[0].Value),
			reflect.Zero(reflect.TypeFor[error]())}
	}))
	return nil
}

func topics(x *touching) []string {
	stream := x.method("", parts.Values(x.e))
	x.call(stream, "Publish", x.filled(stream.MethodByName("Publish").Type().In(1), x.e.Topic.Message,
		&scalar.Type{Kind: scalar.JSON}))
	dead := stream.MethodByName("Dead")
	x.call(stream, "Dead", reflect.Zero(dead.Type().In(1)), reflect.ValueOf(1))
	return nil
}

func rankings(x *touching) (idle []string) {
	h := parts.Of(x.e)
	board := x.method("board", parts.Values(x.e))
	if !board.IsValid() { // without a date it is a sorted set
		x.call(x.method("", parts.Values(x.e)), "Exists")
		return nil
	}
	main, _ := h.Part("Main")
	at := moment(x.t, x.place(main.Own[0]), x.values[main.Own[0]])
	set := board.MethodByName("Set").Type()
	x.call(board, "Set", reflect.ValueOf(at), x.filled(set.In(2), nil, x.e.Keys[0].Member),
		x.filled(set.In(3), nil, &scalar.Type{Kind: scalar.Int}))
	windows := x.method("windows", parts.Values(x.e), []float64{1})
	if !windows.IsValid() { // none are kept, or ties are ordered by time
		return []string{"Window"}
	}
	ending := windows.MethodByName("Ending").Call([]reflect.Value{reflect.ValueOf(at)})[0]
	x.call(ending, "Top", reflect.ValueOf(1))
	return nil
}

func entities(x *touching) (idle []string) {
	store := x.method("store", parts.Values(x.e))
	create := store.MethodByName("Create").Type()
	id := reflect.New(create.In(1)).Elem()
	own := parts.Of(x.e).Item.Own
	if len(own) == 1 {
		id.Set(x.value(create.In(1), x.place(own[0]), x.values[own[0]]))
	} else {
		for i, name := range own {
			id.Field(i).Set(x.value(id.Field(i).Type(), x.place(name), x.values[name]))
		}
	}
	x.call(store, "Create", id, x.filled(create.In(2), x.e.Keys[0].Fields, nil))
	if x.e.TTL.Policy == keyspace.TTLNone {
		return []string{"Pending"} // in a cluster only
	}
	sweep := store.MethodByName("Sweep").Type()
	x.call(store, "Sweep", reflect.Zero(sweep.In(1)))
	return nil
}
