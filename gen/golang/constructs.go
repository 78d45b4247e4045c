package golang

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/parts"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// construct describes how the main key of a construct becomes Go.
type construct func(*generator, *keyCode, *keyspace.Key)

// constructs says how each is written, nil: as its keys. They come after the channels, whose builders they use.
var constructs = map[keyspace.Construct]construct{
	keyspace.Lock: (*generator).lock, keyspace.Queue: (*generator).queue, keyspace.Cache: (*generator).cache,
	keyspace.RateLimit: (*generator).rateLimit, keyspace.Counter: (*generator).counter,
	keyspace.Ranking: (*generator).ranking, keyspace.Entity: (*generator).entity,
	keyspace.Topic: (*generator).stream, keyspace.Plain: nil, keyspace.Script: nil,
}

func (g *generator) constructs() {
	for _, e := range g.ks.Entries {
		if write := constructs[e.Construct]; write != nil && len(e.Keys) > 0 {
			write(g, g.keys[e.Keys[0]], e.Keys[0])
			g.layOut(piece)
		}
	}
}

// tune adds the options of a construct to what NewTuned takes; defaults are
// those of the declaration.
func (g *generator) tune(name, typ string, options []parts.Option) {
	g.tuning = append(g.tuning, fmt.Sprintf("%s %s", name, typ))
	for _, o := range options {
		field, value := "k.tuning."+name+"."+o.Name, g.literal("", o.Value)
		if o.Why != "" {
			g.making = append(g.making, fmt.Sprintf("%s = %s // %s", field, value, o.Why))
			continue
		}
		g.making = append(g.making, fmt.Sprintf("%s = %s.Or(%s, %s)", field, g.use("cmp"), field, value))
	}
}

// literal returns the value of an option; pkg is that of its words.
func (g *generator) literal(pkg string, v any) string {
	switch v := v.(type) {
	case time.Duration:
		return g.duration(v)
	case parts.Constant:
		return pkg + "." + string(v)
	case string:
		return quote(v)
	case []string:
		words := make([]string, len(v))
		for i, w := range v {
			words[i] = quote(w)
		}
		return "[]string{" + strings.Join(words, ", ") + "}"
	}
	return fmt.Sprint(v)
}

// fields returns options as fields of a struct.
func (g *generator) fields(pkg string, options []parts.Option) string {
	out := make([]string, len(options))
	for i, o := range options {
		out[i] = o.Name + ": " + g.literal(pkg, o.Value)
	}
	return strings.Join(out, ", ")
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
	b.lines = append(b.lines, fmt.Sprintf("%s, %s := %s%s(%s)\n", variable, b.failure(), b.in+code.name, kind,
		strings.Join(b.pass(code.params, fixed, scope), ", ")))
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
	for _, n := range []string{"main", "fence", "waiters", "shared", "channel", "leases", "delayed", "dead", "state",
		"workers", "runs", "job", "result", "unique", "t", "end", "weights", "name", "stale"} {
		scope.Take(n)
	}
	return scope
}

// parts builds the keys of a handle, and gives them as fields of its keys. Families come
// last: the builders of the other keys have checked their placeholders then.
func (g *generator) parts(b *built, k *keyspace.Key, list []parts.Part, scope *gen.Names) string {
	fields := make([]string, len(list))
	for _, families := range []bool{false, true} {
		for i, p := range list {
			if (p.Form == parts.Family) == families {
				fields[i] = p.Name + ": " + g.part(b, k.Entry, p, scope)
			}
		}
	}
	return strings.Join(fields, ", ")
}

// part builds one part of a handle, and gives it as an expression.
func (g *generator) part(b *built, e *keyspace.Entry, p parts.Part, scope *gen.Names) string {
	variable := strings.ToLower(p.Name)
	switch {
	case p.Channel():
		b.use(variable, g.channelCodes[e.Notify], "Channel", nil, scope)
	case p.Name == "Lanes":
		return g.lanes(b, p, scope)
	case p.Form == parts.Family:
		b.lines = append(b.lines, g.family(b, variable, p, scope))
	default:
		b.use(variable, g.keys[p.Key], "Key", nil, scope)
	}
	return variable
}

// lock writes the method that gives a lock.
func (g *generator) lock(c *keyCode, k *keyspace.Key) {
	pkg, scope, h := g.use(module+"/lock"), bodyNames(), parts.Of(k.Entry)
	b := built{in: g.call("")}
	keys := g.parts(&b, k, h.Parts, &scope)
	g.tune(c.name, pkg+".Options", h.Options)
	g.about(c.name, k)
	g.printf("func (k *Keyspace) %s(%s) %s.Lock {\n%s", c.name, signature(b.params), pkg, b.text())
	g.printf("return %s.New(%s, %s.Keys{%s}, &k.tuning.%s)\n}\n\n", pkg,
		binding("entry_"+c.name, "Err: "+b.failed(g)), pkg, keys, c.name)
}

// queue writes the method that gives a queue.
func (g *generator) queue(c *keyCode, k *keyspace.Key) {
	pkg, scope, e, h := g.use(module+"/queue"), bodyNames(), k.Entry, parts.Of(k.Entry)
	b := built{in: g.call("")}
	keys := g.parts(&b, k, h.Parts, &scope)
	payload := g.payload(c, e)
	codec := g.codecOf("payload", c, payload)
	g.tune(c.name, pkg+".Options", h.Options)
	family, _ := h.Part("Job")
	job := g.keys[family.Key]
	legal := fmt.Sprintf(
		"ID: func(id string) error {\nif %s_, ok := %sKey(job.Of(id)); !ok {\nreturn %s.Bad(%s)\n}\nreturn nil\n}",
		strings.Repeat("_, ", len(job.params)-1), g.call("Parse"+job.name), g.use(module+"/value"),
		quote("is no "+job.params[len(job.params)-1].place.Type.Definition()))
	if lane := parts.DefaultLane(e); lane != "" {
		legal = "Default: " + quote(lane) + ", " + legal
	}
	g.about(c.name, k)
	g.printf("func (k *Keyspace) %s(%s) %s.Queue[%s] {\n%s", c.name, signature(b.params), pkg, payload.typ, b.text())
	g.printf("return %s.New(%s, %s.Keys{%s, %s}, &%s, &k.tuning.%s)\n}\n\n", pkg,
		binding("entry_"+c.name, "Err: "+b.failed(g)), pkg, keys, legal, codec, c.name)
}

// payload returns the Go type of a job's payload: a struct where its fields are
// declared.
func (g *generator) payload(c *keyCode, e *keyspace.Entry) stored {
	if len(e.Shape) == 0 {
		return g.sealed(c.name+"_payload", e.Key("job").Value)
	}
	typ := c.name + "Value"
	return stored{typ: typ,
		codec: g.objectCodec(typ, g.structure(typ, "the payload of a job of "+printable(e.Name)+".", e.Shape, true))}
}

// lanes builds the key of every lane, in their order.
func (g *generator) lanes(b *built, p parts.Part, scope *gen.Names) string {
	c, list := g.keys[p.Key], "[]"+g.use(module+"/queue")+".Lane{"
	if p.Form == parts.Whole {
		b.use("main", c, "Key", nil, scope)
		return list + "{Key: main}}"
	}
	order := c.params[slices.IndexFunc(c.params, func(q param) bool { return q.place.Name == p.Own[0] })]
	lanes := make([]string, len(p.Words))
	for n, constant := range g.enums.constants(order.typ) {
		lane := fmt.Sprintf("lane%d", n+1)
		b.use(lane, c, "Key", map[string]string{p.Own[0]: constant}, scope)
		lanes[n] = fmt.Sprintf("{Name: %s, Key: %s}", quote(p.Words[n]), lane)
	}
	return list + strings.Join(lanes, ", ") + "}"
}

// family returns what is before and after the placeholders that the handle fills in.
func (g *generator) family(b *built, variable string, p parts.Part, scope *gen.Names) string {
	before, after := g.around(b, p, scope)
	return fmt.Sprintf("%s := %s.Name{Before: %s, After: %s}\n", variable, g.use(module+"/queue"), before, after)
}

// around returns what is before and after the placeholders that the handle fills in, as
// expressions. All is before them if there are none.
func (g *generator) around(b *built, p parts.Part, scope *gen.Names) (before, after string) {
	c := g.keys[p.Key]
	within := func(e pattern.Element) bool {
		return e.Placeholder >= 0 && slices.Contains(p.Own, c.params[e.Placeholder].place.Name)
	}
	first := slices.IndexFunc(c.elems, within)
	if first < 0 {
		return g.concat(b, c, c.elems, scope), `""`
	}
	last := first
	for i, e := range c.elems {
		if within(e) {
			last = i
		}
	}
	return g.concat(b, c, c.elems[:first], scope), g.concat(b, c, c.elems[last+1:], scope)
}

// concat returns a piece of a key as an expression. Its placeholders have been
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

// textOf returns an expression: a parameter as it is in a key.
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
	h := parts.Of(k.Entry)
	g.tune(c.name, pkg+".Options", h.Options)
	part, _ := h.Part("Fill")
	if fill := part.Key; fill.Derived && g.space != nil {
		g.making = append(g.making, fmt.Sprintf("k.tuning.%s.Fill = %s.FillKeyIn(k.ns.String())", c.name, pkg))
	} else if !fill.Derived {
		in := map[bool]string{true: "k."}[g.space != nil]
		g.making = append(g.making, fmt.Sprintf("k.tuning.%s.Fill = %sfill_%s", c.name, in, c.name))
		g.fillOf(c, g.keys[fill])
	}
	g.hold("cache_"+c.name, fmt.Sprintf("*%s.Cache[%s]", pkg, typ),
		fmt.Sprintf("%s.New(%s, &%s, k.tuning.%s)", pkg, binding("entry_"+c.name, ""), codec, c.name))
	g.about(c.name, k)
	g.printf("func (k *Keyspace) %s(%s) %s.Item[%s] { return k.cache_%s.Key(%sKey(%s)) }\n\n", c.name, signature(c.params),
		pkg, typ, c.name, g.call(c.name), arguments(c.params))
	shared := g.methods.Take(c.name+"Cache", "Client")
	g.printf("// %s is what all %s have in common: several at once, tags, a tier of its own.\nfunc (k *Keyspace) %s() "+
		"*%s.Cache[%s] { return k.cache_%s }\n\n", shared, c.name, shared, pkg, typ, c.name)
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

func (g *generator) rateLimit(c *keyCode, k *keyspace.Key) {
	pkg := g.use(module + "/limit")
	var rule string // a word; the others are its arguments
	var arguments_ []string
	for _, o := range parts.Of(k.Entry).Options {
		if text := g.literal(pkg, o.Value); o.Name == "Rule" {
			rule = text
		} else {
			arguments_ = append(arguments_, text)
		}
	}
	g.hold("limit_"+c.name, "*"+pkg+".Limits",
		fmt.Sprintf("%s.New(%s, %s(%s))", pkg, binding("entry_"+c.name, ""), rule, strings.Join(arguments_, ", ")))
	g.about(c.name, k)
	g.printf("func (k *Keyspace) %s(%s) %s.Limiter { return k.limit_%s.Of(%sKey(%s)) }\n\n", c.name, signature(c.params),
		pkg, c.name, g.call(c.name), arguments(c.params))
}

func (g *generator) counter(c *keyCode, k *keyspace.Key) {
	pkg := g.use(module + "/counter")
	g.about(c.name, k)
	g.printf("func (k *Keyspace) %s(%s) %s.Counter {\nname, err := %sKey(%s)\nreturn %s.New(%s)\n}\n\n", c.name,
		signature(c.params), pkg, g.call(c.name), arguments(c.params), pkg,
		binding("entry_"+c.name, "Key: name, Err: err"))
}

// ranking writes, beside the sorted set of one period, the whole ranking and its
// windows, if there is exactly one date in the key.
func (g *generator) ranking(c *keyCode, k *keyspace.Key) {
	member, score := g.zset(c, k)
	if k.Entry.Ties == keyspace.FirstToReach { // as it is meant, not as it is stored
		score = stored{typ: "int64", codec: g.use(module+"/value") + ".IntScore(0, 1<<52)"}
		score.codec = g.codecOf("whole", c, score)
	}
	h := parts.Of(k.Entry)
	main, _ := h.Part("Main")
	if len(main.Own) == 0 || score.typ != "int64" && score.typ != "float64" {
		return
	}
	pkg, scope := g.use(module+"/ranking"), bodyNames()
	b := built{in: g.call("")}
	call := fmt.Sprintf("%sKey(%s)", g.call(c.name),
		strings.Join(b.pass(c.params, map[string]string{main.Own[0]: "t"}, &scope), ", "))
	board := g.methods.Take(c.name+"Board", "Client")
	typ := fmt.Sprintf("*%s.Board[%s, %s]", pkg, member.typ, score.typ)
	g.about(board, k)
	g.printf("//\n// It is the whole ranking: every period of it, ranks, neighbours, windows.\nfunc (k *Keyspace) "+
		"%s(%s) (%s, error) {\n", board, signature(b.params), typ)
	g.printf("return %s.New(%s, %s.Config[%s, %s]{%s, Member: &%s, Score: &%s,\nKey: "+
		"func(t %s.Time) (string, error) { return %s },\n})\n}\n\n", pkg, binding("entry_"+c.name, ""), pkg,
		member.typ, score.typ, g.fields(pkg, h.Options), member.codec, score.codec, g.use("time"), call)
	if window, ok := h.Part("Window"); ok && k.Entry.Ties == keyspace.ByMember {
		g.window(c, k, board, b, window, member.typ, score.typ, g.literal(pkg, h.Option("Step")))
	}
}

// window writes the method that gives the sums over several periods.
func (g *generator) window(c *keyCode, k *keyspace.Key, board string, b built, part parts.Part,
	member, score, step string) {
	pkg, value, scope := g.use(module+"/ranking"), g.use(module+"/value"), bodyNames()
	code := g.keys[part.Key]
	given := len(b.params)
	name := g.methods.Take(c.name+"Windows", "Client")
	passed := b.pass(code.params, map[string]string{part.Own[0]: step + ".Window(end, weights)"}, &scope)
	sums := "sums_" + c.name
	g.printf("var %s = %s.FloatScore()\n\n", sums, value)
	list := signature(b.params)
	if list != "" {
		list = ", " + list
	}
	g.printf("// %s is the sum of the last periods of %s, weighted, the newest first; kept for %s.\nfunc (k *Keyspace) "+
		"%s(weights []float64%s) (*%s.Windows[%s, %s, float64], error) {\n", name, c.name,
		keyspace.FormatDuration(k.Entry.Cached), name, list, pkg, member, score)
	g.printf("board, err := k.%s(%s)\nif err != nil {\nreturn nil, err\n}\n", board, arguments(b.params[:given]))
	g.printf("return %s.NewWindows(%s, board, %s.WindowConfig[float64]{Score: &%s, Weights: weights,\nKey: "+
		"func(end %s.Time) (string, error) { return %sKey(%s) },\n})\n}\n\n", pkg, binding("entry_"+code.name, ""), pkg,
		sums, g.use("time"), g.call(code.name), strings.Join(passed, ", "))
}

// pressure writes the method that does what is declared for when memory is short.
func (g *generator) pressure() {
	if len(g.ks.Pressure) == 0 {
		return
	}
	pkg, lease := g.use(module+"/entity/pressure"), g.keys[g.ks.PressureLease]
	var steps strings.Builder
	for i := range g.ks.Pressure {
		r := &g.ks.Pressure[i]
		action := fmt.Sprintf("To: %s", ratio(r.Release))
		if r.Shorten > 0 {
			action = "Shorten: " + g.duration(r.Shorten)
		}
		values := make([]string, len(r.Values))
		for i, v := range r.Values {
			values[i] = quote(v)
		}
		fmt.Fprintf(&steps, "{At: %s, %s, Entry: %s, Target: k.store_%s.Going(%s), Values: []string{%s}},\n", ratio(r.At),
			action, quote(r.Entry.Name), g.keys[r.Entry.Keys[0]].name, quote(r.Index.Name), strings.Join(values, ", "))
	}
	name := g.methods.Take("Pressure", "Client")
	g.printf("// %s does what is declared for when memory is short:\n//\n", name)
	for i := range g.ks.Pressure {
		g.printf("//   - %s\n", printable(g.ks.Pressure[i].String()))
	}
	g.printf("//\n// Run it in any process; they take turns.\nfunc (k *Keyspace) %s(o %s.Options) *%s.Watcher {\nlease, "+
		"err := %sKey()\n", name, pkg, pkg, g.call(lease.name))
	g.printf("return %s.New(%s, []%s.Step{\n%s}, o)\n}\n\n", pkg,
		binding("entry_"+lease.name, "Key: lease, Err: err"), pkg, steps.String())
}
