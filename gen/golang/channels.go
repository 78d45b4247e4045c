package golang

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/gen"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/parts"
)

// topicCode describes how a channel that messages are published on became Go.
type topicCode struct {
	method string // of Keyspace
	params []param
	typ    string // of its messages
	fields []field
}

// channels writes builders and parsers of channel names. A durable channel is a
// key and has those of keys.
func (g *generator) channels() {
	for _, c := range g.ks.PubSub() {
		name := exported(c.Name)
		for base, i := name, 2; !g.channelFree(name); i++ {
			name = fmt.Sprint(base, i)
		}
		g.names.Take(name + "Channel")
		g.names.Take("Parse" + name + "Channel")
		code := g.key(name, c.Name, c.Pattern)
		g.channelCodes[c] = code
		g.buildAndParse(code, "channel")
		g.layOut(piece)
	}
}

func (g *generator) channelFree(name string) bool {
	return g.names.Free(name+"Channel") && g.names.Free("Parse"+name+"Channel")
}

// allTopics writes what publishes and subscribes. The channels of locks and
// queues are the business of those, and answers that of their requests.
func (g *generator) allTopics() {
	own := map[*keyspace.Channel]bool{}
	for _, e := range g.ks.Entries {
		own[e.Notify] = true
	}
	for _, c := range g.ks.PubSub() {
		if own[c] || c.Answers != nil {
			continue
		}
		g.topic(c, g.channelCodes[c])
	}
}

// message writes the struct of a channel's messages and gives its type and the
// name of its codec.
func (g *generator) message(c *keyspace.Channel, code *keyCode, suffix, doc string, list []keyspace.Field) (typ string,
	fields []field, codec string) {
	codec = g.names.Take(strings.ToLower(suffix) + "_" + code.name)
	make := ""
	if len(list) > 0 {
		typ = g.names.Take(code.name + suffix)
		fields = g.structure(typ, doc+" "+printable(c.Name)+".", list, true)
		make = g.objectCodec(typ, fields)
	} else {
		typ = g.use("encoding/json") + ".RawMessage"
		make = g.use(module+"/value") + ".JSON[" + typ + "]()"
	}
	g.printf("var %s = %s\n\n", codec, make)
	return typ, fields, codec
}

func (g *generator) aboutChannel(name string, c *keyspace.Channel) {
	g.out.WriteString(comment("", cmp.Or(c.Doc, name+" is the channel "+printable(c.Name)+"."), name+": "))
	g.printf("//\n// Channel %s.\n", printable(c.Pattern.String()))
}

// topic writes the methods of a channel of pub/sub.
func (g *generator) topic(c *keyspace.Channel, code *keyCode) {
	pkg := g.use(module + "/event")
	typ, fields, codec := g.message(c, code, "Message", "the message of", c.Message)
	schema := ""
	if c.Seals() {
		schema = ", Schema: " + quote(g.ks.Package)
	}
	g.printf("var channel_%s = keywright.Entry{Name: %s, Pattern: %s, Type: \"channel\"%s}\n\n", code.name, quote(c.Name),
		quote(c.Pattern.String()), schema)
	config := fmt.Sprintf("%s.Config{%s}", pkg, g.fields(pkg, parts.Topic(c)))
	make := func(more string) string {
		return fmt.Sprintf("%s.New(%s, &%s, %s)", pkg, binding("channel_"+code.name, more), codec, config)
	}
	method := g.methods.Take(code.name+"Topic", "Client")
	g.topics[c] = &topicCode{method, code.params, typ, fields}
	g.aboutChannel(method, c)
	g.printf("func (k *Keyspace) %s(%s) %s.Topic[%s] {\nname, err := %sChannel(%s)\nreturn %s\n}\n\n", method,
		signature(code.params), pkg, typ, g.call(code.name), arguments(code.params), make("Key: name, Err: err"))
	if len(code.params) > 0 && !c.Sharded {
		all := g.methods.Take(code.name+"Topics", "Client")
		g.printf("// %s are all channels %s:\n// Parse%sChannel reads the name of a message's channel.\nfunc (k *Keyspace) "+
			"%s() %s.Topics[%s] {\n", all, printable(c.Pattern.String()), code.name, all, pkg, typ)
		g.printf("return %s.Pattern(%s, %s, func(name string) bool {\n%sok := %sChannel(name)\nreturn "+
			"ok\n})\n}\n\n", pkg, make(""), g.glob(c.Pattern), strings.Repeat("_, ", len(code.params)),
			g.call("Parse"+code.name))
	}
	if c.Request && c.ReplyTo != nil {
		g.exchange(c, code, method, typ)
	}
}

// exchange writes the method that gives requests and their answers.
func (g *generator) exchange(c *keyspace.Channel, code *keyCode, topic, typ string) {
	pkg, to := g.use(module+"/event"), g.channelCodes[c.ReplyTo]
	answer, _, codec := g.message(c, code, "Reply", "the answer to", c.Reply)
	scope := bodyNames()
	scope.Take("caller")
	b := built{in: g.call("")}
	own := arguments(code.params)
	if len(code.params) > 0 {
		own = strings.Join(b.pass(code.params, nil, &scope), ", ")
	}
	passed := b.pass(to.params, map[string]string{c.ReplyTo.Caller: "caller"}, &scope)
	method := g.methods.Take(code.name+"Exchange", "Client")
	g.aboutChannel(method, c)
	g.printf("// Answers come on %s.\nfunc (k *Keyspace) %s(%s) %s.Exchange[%s, %s] {\n",
		printable(c.ReplyTo.Pattern.String()), method, signature(b.params), pkg, typ, answer)
	g.printf("return %s.NewExchange(k.%s(%s), &%s, func(caller string) (string, error) { return %sChannel(%s) })\n}\n\n",
		pkg, topic, own, codec, g.call(to.name), strings.Join(passed, ", "))
}

// stream writes the method of a durable channel.
func (g *generator) stream(code *keyCode, k *keyspace.Key) {
	c, pkg, scope := k.Entry.Topic, g.use(module+"/event"), bodyNames()
	typ, fields, codec := g.message(c, code, "Message", "the message of", c.Message)
	b, h := built{in: g.call("")}, parts.Of(k.Entry)
	keys := g.parts(&b, k, h.Parts, &scope)
	g.topics[c] = &topicCode{code.name, b.params, typ, fields}
	g.about(code.name, k)
	g.printf("func (k *Keyspace) %s(%s) %s.Stream[%s] {\n%s", code.name, signature(b.params), pkg, typ, b.text())
	g.printf("return %s.NewStream(%s, %s.StreamKeys{%s}, &%s, %s.StreamConfig{%s})\n}\n\n", pkg,
		binding("entry_"+code.name, "Err: "+b.failed(g)), pkg, keys, codec, pkg, g.fields(pkg, h.Options))
	for _, group := range c.Durable.Groups {
		name := g.names.Take(code.name + exported(group) + "Group")
		g.printf("// %s is the consumer group %s of %s.\nconst %s = %s\n\n", name, printable(group), code.name, name,
			quote(group))
	}
}

// events writes a function per event that deletes what the event makes stale,
// and announces it.
func (g *generator) events() {
	for _, ev := range g.ks.Events {
		g.event(ev)
	}
}

func (g *generator) event(ev *keyspace.Event) {
	scope := bodyNames()
	var deletable []string
	for _, name := range ev.Deletes {
		if _, k := g.ks.Lookup(name); k != nil && plainKey(k) {
			deletable = append(deletable, name)
		}
	}
	if len(deletable) < len(ev.Deletes) || len(ev.Deletes)+len(ev.Emits) == 0 {
		return // locks, queues and entities are not deleted key by key
	}
	params, calls := g.unite(deletable, &scope)
	b := built{in: g.call(""), params: params}
	announce := g.announcements(ev, &b, &scope)
	if len(deletable)+len(announce) == 0 {
		return
	}
	name := g.methods.Take(exported(ev.Name), "Client")
	g.out.WriteString(comment("", ev.Doc, name+": "))
	g.eventDoc(deletable, ev.Emits)
	list := signature(b.params)
	if list != "" {
		list = ", " + list
	}
	g.printf("func (k *Keyspace) %s(ctx %s.Context%s) error {\n", name, g.use("context"), list)
	if len(calls) > 0 {
		g.deletes(deletable, calls, len(announce) == 0)
	}
	if len(announce) > 0 {
		g.printf("return %s\n", g.joined(announce))
	}
	g.printf("}\n\n")
}

func (g *generator) eventDoc(deletable, emits []string) {
	if len(deletable) > 0 {
		g.printf("// It deletes %s; one round trip per server. What fails for a passing\n// reason is tried again: "+
			"deleting twice does no harm.\n", strings.Join(deletable, ", "))
	}
	if len(emits) > 0 {
		g.printf("// It announces that on %s, once all is deleted, so that a listener finds\n// nothing stale; one round "+
			"trip each.\n", strings.Join(emits, ", "))
	}
}

// deletes writes the first half of an event's function.
func (g *generator) deletes(deletable, calls []string, last bool) {
	g.printf("var stale keywright.Batch\n")
	for i, call := range calls {
		_, k := g.ks.Lookup(deletable[i])
		handle, remove := g.keys[k].name, "Delete"
		if k.Entry.Construct == keyspace.Cache { // and a load under way is not to bring it back
			remove = "LaterInvalidate"
		}
		g.printf("keywright.Queue(&stale, k.%s(%s.%s())\n", handle, call[strings.IndexByte(call, '(')+1:], remove)
	}
	if last {
		g.printf("return stale.Run(ctx)\n")
		return
	}
	g.printf("if err := stale.Run(ctx); err != nil {\nreturn err\n}\n")
}

func (g *generator) joined(calls []string) string {
	if len(calls) == 1 {
		return calls[0]
	}
	return g.use("errors") + ".Join(" + strings.Join(calls, ", ") + ")"
}

// announcements returns the expressions that publish on what an event emits. Its
// parameters fill the name of the channel and the message.
func (g *generator) announcements(ev *keyspace.Event, b *built, scope *gen.Names) (out []string) {
	for _, name := range ev.Emits {
		c := g.ks.Channel(name)
		t := g.topics[c]
		if t == nil {
			continue
		}
		g.lacking(ev.Lacks(c), ev.At["emits."+name])
		channel := strings.Join(b.pass(t.params, nil, scope), ", ")
		message := t.typ + "(nil)" // nothing is declared of it: null
		if t.fields != nil {
			message = t.typ + "{" + strings.Join(g.filled(ev, t, b, scope), ", ") + "}"
		}
		call := fmt.Sprintf("k.%s(%s).Publish(ctx, %s)", t.method, channel, message)
		if g.ks.Channel(name).Durable != nil {
			call = fmt.Sprintf("func() error { _, err := %s; return err }()", call)
		}
		out = append(out, call)
	}
	return out
}

// filled returns the fields of a message, of parameters of the same name.
func (g *generator) filled(ev *keyspace.Event, t *topicCode, b *built, scope *gen.Names) (out []string) {
	for _, f := range t.fields {
		if f.Type.Optional && !slices.Contains(ev.With, f.Field.Name) {
			continue
		}
		i := slices.IndexFunc(b.params, func(p param) bool { return p.place.Name == f.Field.Name && p.typ == f.typ })
		if i < 0 {
			i = len(b.params)
			p := param{name: scope.Take(unexported(f.Field.Name), append([]string{"failed"}, taken...)...), typ: f.typ}
			p.place.Name = f.Field.Name
			b.params = append(b.params, p)
		}
		address := ""
		if f.Type.Optional {
			address = "&"
		}
		out = append(out, f.name+": "+address+b.params[i].name)
	}
	return out
}
