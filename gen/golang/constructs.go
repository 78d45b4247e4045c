package golang

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// construct is how the main key of a construct becomes Go.
type construct func(*generator, *keyCode, *keyspace.Key)

// constructs are written after the channels, whose builders they use.
var constructs = map[keyspace.Construct]construct{
	keyspace.Lock: (*generator).lock, keyspace.Queue: (*generator).queue, keyspace.Cache: (*generator).cache,
	keyspace.RateLimit: (*generator).rateLimit, keyspace.Counter: (*generator).counter, keyspace.Ranking: (*generator).ranking, keyspace.Entity: (*generator).entity,
	keyspace.Topic: (*generator).stream,
}

func (g *generator) constructs() {
	for _, e := range g.ks.Entries {
		if write := constructs[e.Construct]; write != nil && len(e.Keys) > 0 {
			write(g, g.keys[e.Keys[0]], e.Keys[0])
		}
	}
}

// tune adds the options of a construct to what NewTuned takes; defaults are
// those of the declaration.
func (g *generator) tune(name, typ string, defaults ...string) {
	g.tuning = append(g.tuning, fmt.Sprintf("%s %s", name, typ))
	for _, d := range defaults {
		field, value, _ := strings.Cut(d, " ")
		g.making = append(g.making, fmt.Sprintf("k.tuning.%s.%s = %s.Or(k.tuning.%s.%s, %s)", name, field, g.use("cmp"), name, field, value))
	}
}

// hold adds a field to Keyspace, and how it is made.
func (g *generator) hold(field, typ, make string) {
	g.held = append(g.held, field+" "+typ)
	g.making = append(g.making, fmt.Sprintf("k.%s = %s", field, make))
}

// built writes the building of several keys, each into a variable, and gives the
// parameters they need together.
type built struct {
	in     string // before the name of a builder
	params []param
	lines  []string
	errs   []string
}

// use takes a key into what is built; the parameters of fixed are not the
// caller's.
func (b *built) use(variable string, code *keyCode, kind string, fixed map[string]string, scope *gen.Names) {
	b.lines = append(b.lines, fmt.Sprintf("%s, %s := %s%s(%s)\n", variable, b.failure(), b.in+code.name, kind, strings.Join(b.pass(code.params, fixed, scope), ", ")))
}

func (b *built) failure() string {
	name := fmt.Sprintf("err%d", len(b.errs)+1)
	b.errs = append(b.errs, name)
	return name
}

func (b *built) pass(params []param, fixed map[string]string, scope *gen.Names) (passed []string) {
	for _, p := range params {
		if value, ok := fixed[p.place.Name]; ok {
			passed = append(passed, value)
			continue
		}
		same := slices.IndexFunc(b.params, func(q param) bool { return q.place.Name == p.place.Name && q.typ == p.typ })
		if same < 0 {
			same = len(b.params)
			p.name = scope.Take(unexported(p.place.Name), append([]string{"failed", "keys", "board", "config"}, taken...)...)
			b.params = append(b.params, p)
		}
		passed = append(passed, b.params[same].name)
	}
	return passed
}

func (b *built) text() string { return strings.Join(b.lines, "") }

func (b *built) failed(g *generator) string {
	return g.use("cmp") + ".Or(" + strings.Join(b.errs, ", ") + ")"
}

// variables of a body, which no parameter may be called.
func bodyNames() (scope gen.Names) {
	for i := range 20 {
		scope.Take(fmt.Sprintf("err%d", i))
		scope.Take(fmt.Sprintf("lane%d", i))
	}
	for _, n := range []string{"main", "fence", "waiters", "shared", "channel", "leases", "delayed", "dead", "state", "workers", "runs", "job", "result", "unique", "t", "end", "weights", "name"} {
		scope.Take(n)
	}
	return scope
}

// lock writes the method that gives a lock.
func (g *generator) lock(c *keyCode, k *keyspace.Key) {
	pkg, scope := g.use(module+"/lock"), bodyNames()
	b := built{in: g.call("")}
	for _, r := range []string{"", "fence", "waiters", "shared"} {
		b.use(map[string]string{"": "main"}[r]+r, g.keys[k.Entry.Key(r)], "Key", nil, &scope)
	}
	b.use("channel", g.channelCodes[k.Entry.Notify], "Channel", nil, &scope)
	var defaults []string
	if !k.Entry.Notify.Derived {
		g.making = append(g.making, fmt.Sprintf("k.tuning.%s.Announce = true // others listen on the declared channel", c.name))
	}
	g.tune(c.name, pkg+".Options", defaults...)
	g.about(c.name, k)
	g.printf("func (k *Keyspace) %s(%s) %s.Lock {\n%s", c.name, signature(b.params), pkg, b.text())
	g.printf("return %s.New(k.client, &entry_%s, %s.Keys{Main: main, Fence: fence, Waiters: waiters, Shared: shared, Channel: channel}, %s, &k.tuning.%s)\n}\n\n", pkg, c.name, pkg, b.failed(g), c.name)
}

// queue writes the method that gives a queue.
func (g *generator) queue(c *keyCode, k *keyspace.Key) {
	pkg, scope, e := g.use(module+"/queue"), bodyNames(), k.Entry
	b := built{in: g.call("")}
	lanes := g.lanes(&b, c, e, &scope)
	for _, r := range []string{"leases", "delayed", "dead", "state", "workers", "runs"} {
		b.use(r, g.keys[e.Key(r)], "Key", nil, &scope)
	}
	b.use("channel", g.channelCodes[e.Notify], "Channel", nil, &scope)
	var families []string
	for _, r := range []string{"job", "result", "unique"} {
		b.lines = append(b.lines, g.family(&b, r, g.keys[e.Key(r)], &scope))
		families = append(families, fmt.Sprintf("%s: %s", gen.Title(r), r))
	}
	payload := g.payload(c, e)
	codec := g.codecOf("payload", c, payload)
	var defaults []string
	if e.Lease > 0 {
		defaults = append(defaults, "Lease "+g.duration(e.Lease))
	}
	if e.Retry > 0 {
		defaults = append(defaults, fmt.Sprint("Retry ", e.Retry))
	}
	g.tune(c.name, pkg+".Options", defaults...)
	job := g.keys[e.Key("job")]
	legal := fmt.Sprintf("ID: func(id string) error {\nif %s_, ok := %sKey(job.Of(id)); !ok {\nreturn %s.Bad(%s)\n}\nreturn nil\n}", strings.Repeat("_, ", len(job.params)-1), g.call("Parse"+job.name), g.use(module+"/value"), quote("is no "+job.params[len(job.params)-1].place.Type.Definition()))
	g.about(c.name, k)
	g.printf("func (k *Keyspace) %s(%s) %s.Queue[%s] {\n%s", c.name, signature(b.params), pkg, payload.typ, b.text())
	g.printf("return %s.New(k.client, &entry_%s, %s.Keys{Lanes: []%s.Lane{%s}, %s, Leases: leases, Delayed: delayed, Dead: dead, State: state, Workers: workers, Runs: runs, Channel: channel, %s}, %s, &%s, &k.tuning.%s)\n}\n\n",
		pkg, c.name, pkg, pkg, strings.Join(lanes, ", "), strings.Join(families, ", "), legal, b.failed(g), codec, c.name)
}

// payload is the Go type of a job's payload: a struct where its fields are
// declared.
func (g *generator) payload(c *keyCode, e *keyspace.Entry) stored {
	if len(e.Shape) == 0 {
		return g.sealed(c.name+"_payload", e.Key("job").Value)
	}
	typ := c.name + "Value"
	return stored{typ: typ, codec: g.objectCodec(typ, g.structure(typ, "the payload of a job of "+printable(e.Name)+".", e.Shape, true))}
}

// lanes builds the key of every lane, in their order.
func (g *generator) lanes(b *built, c *keyCode, e *keyspace.Entry, scope *gen.Names) (lanes []string) {
	i := slices.IndexFunc(c.params, func(p param) bool { return p.place.Name == e.Order })
	if i < 0 {
		b.use("main", c, "Key", nil, scope)
		return []string{"{Key: main}"}
	}
	order := c.params[i]
	for n, constant := range g.enums.constants(order.typ) {
		lane := fmt.Sprintf("lane%d", n+1)
		b.use(lane, c, "Key", map[string]string{e.Order: constant}, scope)
		lanes = append(lanes, fmt.Sprintf("{Name: %s, Key: %s}", quote(order.place.Type.Values[n]), lane))
	}
	return lanes
}

// family is what is before and after the last placeholder of a pattern.
func (g *generator) family(b *built, variable string, c *keyCode, scope *gen.Names) string {
	last := len(c.params) - 1
	at := slices.IndexFunc(c.elems, func(e pattern.Element) bool { return e.Placeholder == last })
	return fmt.Sprintf("%s := %s.Name{Before: %s, After: %s}\n", variable, g.use(module+"/queue"), g.concat(b, c, c.elems[:at], scope), g.concat(b, c, c.elems[at+1:], scope))
}

// concat is a piece of a key as an expression. Its placeholders have been
// checked by the builder of another key of the same construct.
func (g *generator) concat(b *built, c *keyCode, elems []pattern.Element, scope *gen.Names) string {
	var literal strings.Builder
	var parts []string
	flush := func() {
		if literal.Len() > 0 {
			parts = append(parts, quote(literal.String()))
			literal.Reset()
		}
	}
	for _, e := range elems {
		if e.Placeholder < 0 && !e.Namespace {
			literal.WriteString(e.Literal)
			continue
		}
		flush()
		if e.Namespace {
			parts = append(parts, g.piece(e, "k.ns"))
			continue
		}
		p := c.params[e.Placeholder]
		p.name = b.pass([]param{p}, nil, scope)[0]
		parts = append(parts, g.textOf(&p))
	}
	flush()
	if len(parts) == 0 {
		return `""`
	}
	return strings.Join(parts, " + ")
}

// textOf is an expression: a parameter as it is in a key.
func (g *generator) textOf(p *param) string {
	switch {
	case p.typ == "string":
		return p.name
	case p.place.Type.Kind == scalar.Enum:
		return "string(" + p.name + ")"
	}
	return "string(" + strings.Replace(g.appendTo(p), "(b, ", "(nil, ", 1) + ")"
}

// cache writes the method that gives a cached value.
func (g *generator) cache(c *keyCode, k *keyspace.Key) {
	pkg := g.use(module + "/cache")
	typ, codec := g.stringCodec(c, k)
	var defaults []string
	if k.Entry.Fresh > 0 {
		defaults = append(defaults, "Fresh "+g.duration(k.Entry.Fresh))
	}
	if k.Entry.Absent > 0 {
		defaults = append(defaults, "Absent "+g.duration(k.Entry.Absent))
	}
	if k.Entry.TTL.Policy == keyspace.TTLAny { // it cannot be kept without one
		defaults = append(defaults, "TTL "+g.duration(time.Hour))
	}
	g.tune(c.name, pkg+".Options", defaults...)
	if fill := k.Entry.Key("fill"); fill.Derived && g.space != nil {
		g.making = append(g.making, fmt.Sprintf("k.tuning.%s.Fill = %s.FillKeyIn(k.ns.String())", c.name, pkg))
	} else if !fill.Derived {
		in := map[bool]string{true: "k."}[g.space != nil]
		g.making = append(g.making, fmt.Sprintf("k.tuning.%s.Fill = %sfill_%s", c.name, in, c.name))
		g.fillOf(c, g.keys[fill])
	}
	g.hold("cache_"+c.name, fmt.Sprintf("*%s.Cache[%s]", pkg, typ), fmt.Sprintf("%s.New(c, &entry_%s, &%s, k.tuning.%s)", pkg, c.name, codec, c.name))
	g.about(c.name, k)
	g.printf("func (k *Keyspace) %s(%s) %s.Item[%s] { return k.cache_%s.Key(%sKey(%s)) }\n\n", c.name, signature(c.params), pkg, typ, c.name, g.call(c.name), arguments(c.params))
	shared := g.methods.Take(c.name+"Cache", "Client")
	g.printf("// %s is what all %s have in common: several at once, tags, a tier of its own.\nfunc (k *Keyspace) %s() *%s.Cache[%s] { return k.cache_%s }\n\n", shared, c.name, shared, pkg, typ, c.name)
}

// fillOf writes the function from the key of a cached value to that of its fill.
func (g *generator) fillOf(c, fill *keyCode) {
	g.printf("func %sfill_%s(main string) string {\n", g.method0(), c.name)
	b := built{in: g.call("")}
	scope := bodyNames()
	passed := b.pass(c.params, nil, &scope)
	if len(passed) > 0 {
		g.printf("%s, _ := %sKey(main)\n", strings.Join(passed, ", "), g.call("Parse"+c.name))
	}
	own := b.pass(fill.params, nil, &scope)
	g.printf("name, _ := %sKey(%s)\nreturn name\n}\n\n", g.call(fill.name), strings.Join(own, ", "))
}

var rules = map[keyspace.Method]string{keyspace.GCRA: "GCRA", keyspace.Sliding: "Sliding", keyspace.Fixed: "Fixed"}

func (g *generator) rateLimit(c *keyCode, k *keyspace.Key) {
	pkg, r := g.use(module+"/limit"), k.Entry.Rate
	arguments_ := fmt.Sprintf("%d, %s", max(r.Count, 1), g.duration(max(r.Per, time.Millisecond)))
	if k.Entry.Method == keyspace.GCRA {
		arguments_ += fmt.Sprintf(", %d", r.Burst)
	}
	g.hold("limit_"+c.name, "*"+pkg+".Limits", fmt.Sprintf("%s.New(c, &entry_%s, %s.%s(%s))", pkg, c.name, pkg, rules[k.Entry.Method], arguments_))
	g.about(c.name, k)
	g.printf("func (k *Keyspace) %s(%s) %s.Limiter { return k.limit_%s.Of(%sKey(%s)) }\n\n", c.name, signature(c.params), pkg, c.name, g.call(c.name), arguments(c.params))
}

func (g *generator) counter(c *keyCode, k *keyspace.Key) {
	pkg := g.use(module + "/counter")
	g.about(c.name, k)
	g.printf("func (k *Keyspace) %s(%s) %s.Counter {\nname, err := %sKey(%s)\nreturn %s.New(k.client, &entry_%s, name, err)\n}\n\n", c.name, signature(c.params), pkg, g.call(c.name), arguments(c.params), pkg, c.name)
}

// ranking writes, beside the sorted set of one period, the whole ranking and its
// windows, if there is exactly one date in the key.
func (g *generator) ranking(c *keyCode, k *keyspace.Key) {
	member, score := g.zset(c, k)
	if k.Entry.Ties == keyspace.FirstToReach { // as it is meant, not as it is stored
		score = stored{typ: "int64", codec: g.use(module+"/value") + ".IntScore(0, 1<<52)"}
		score.codec = g.codecOf("whole", c, score)
	}
	i := slices.IndexFunc(c.params, func(p param) bool { return p.place.Type.Kind == scalar.Date })
	if i < 0 || score.typ != "int64" && score.typ != "float64" {
		return
	}
	pkg, scope := g.use(module+"/ranking"), bodyNames()
	b := built{in: g.call("")}
	call := fmt.Sprintf("%sKey(%s)", g.call(c.name), strings.Join(b.pass(c.params, map[string]string{c.params[i].place.Name: "t"}, &scope), ", "))
	board := g.methods.Take(c.name+"Board", "Client")
	typ := fmt.Sprintf("*%s.Board[%s, %s]", pkg, member.typ, score.typ)
	g.about(board, k)
	g.printf("//\n// It is the whole ranking: every period of it, ranks, neighbours, windows.\nfunc (k *Keyspace) %s(%s) (%s, error) {\n", board, signature(b.params), typ)
	g.printf("return %s.New(%s.Config[%s, %s]{Client: k.client, Entry: &entry_%s, Step: %s.%s, Ties: %s.%s, Member: &%s, Score: &%s,\nKey: func(t %s.Time) (string, error) { return %s },\n})\n}\n\n",
		pkg, pkg, member.typ, score.typ, c.name, pkg, step(c.params[i].place.Type.Layout), pkg, map[keyspace.Ties]string{keyspace.ByMember: "ByMember", keyspace.FirstToReach: "FirstToReach"}[k.Entry.Ties], member.codec, score.codec, g.use("time"), call)
	if window := k.Entry.Key("window"); window != nil && k.Entry.Ties == keyspace.ByMember {
		g.window(c, k, board, b, g.keys[window], member.typ, score.typ, step(c.params[i].place.Type.Layout))
	}
}

// window writes the method that gives the sums over several periods.
func (g *generator) window(c *keyCode, k *keyspace.Key, board string, b built, code *keyCode, member, score, step string) {
	pkg, value, scope := g.use(module+"/ranking"), g.use(module+"/value"), bodyNames()
	given := len(b.params)
	name := g.methods.Take(c.name+"Windows", "Client")
	last := code.params[len(code.params)-1].place.Name
	passed := b.pass(code.params, map[string]string{last: fmt.Sprintf("%s.%s.Window(end, weights)", pkg, step)}, &scope)
	sums := "sums_" + c.name
	g.printf("var %s = %s.FloatScore()\n\n", sums, value)
	list := signature(b.params)
	if list != "" {
		list = ", " + list
	}
	g.printf("// %s is the sum of the last periods of %s, weighted, the newest first; kept for %s.\nfunc (k *Keyspace) %s(weights []float64%s) (*%s.Windows[%s, %s, float64], error) {\n", name, c.name, keyspace.FormatDuration(k.Entry.Cached), name, list, pkg, member, score)
	g.printf("board, err := k.%s(%s)\nif err != nil {\nreturn nil, err\n}\n", board, arguments(b.params[:given]))
	g.printf("return %s.NewWindows(board, %s.WindowConfig[float64]{Entry: &entry_%s, Score: &%s, Weights: weights,\nKey: func(end %s.Time) (string, error) { return %sKey(%s) },\n})\n}\n\n", pkg, pkg, code.name, sums, g.use("time"), g.call(code.name), strings.Join(passed, ", "))
}

// step is the period of a date by the smallest thing that its layout names.
func step(layout string) string {
	for _, s := range []struct{ part, step string }{{"HH", "Hour"}, {"DD", "Day"}, {"MM", "Month"}} {
		if strings.Contains(layout, s.part) {
			return s.step
		}
	}
	return "Day"
}
