package keyspace

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// Channel is what is announced: a pattern and the message on it. It is a
// channel of pub/sub, or with Durable a stream, whose key is the channel's name.
type Channel struct {
	Name    string
	Doc     string
	Pattern *pattern.Pattern
	Message []Field // inside the envelope; nil: nothing is said about it
	Owner   string
	Readers []string
	Derived bool

	Namespace *Namespace // nil: its name is fixed

	Plain   bool     // envelope: plain: the fields are the whole JSON message
	Sharded bool     // SPUBLISH and SSUBSCRIBE, Redis 7.0
	Durable *Durable // nil: pub/sub, at most once
	Request bool     // a message is a request, and answered on ReplyTo
	Reply   []Field  // of a request: the fields of the answer
	ReplyTo *Channel // of a request: also in Keyspace.Channels
	Answers *Channel // the request that is answered here; nil for other channels
	Caller  string   // of a reply channel: the placeholder for who asks; "": all callers listen to one channel

	Pos Pos
	At  map[string]Pos // position of each property's value by name
}

// Durable is what a durable channel keeps. Its keys are those of Entry, which is
// in Keyspace.Entries like any other: Keys[0] is the stream, named like the
// channel, and Dead its dead letters, in the same cluster slot.
type Durable struct {
	Entry  *Entry
	MaxLen int64         // entries kept at least, trimmed approximately; 0: as many as there are
	Age    time.Duration // entries older than that are trimmed, and the key lives so long after the last one; 0: for ever
	Groups []string      // consumer groups
	Retry  int           // deliveries before a message is a dead letter; 0: not written
	Dead   *Key
}

// Key is the stream of a durable channel, nil for the others.
func (c *Channel) Key() *Key {
	if c.Durable == nil || c.Durable.Entry == nil || len(c.Durable.Entry.Keys) == 0 {
		return nil
	}
	return c.Durable.Entry.Keys[0]
}

// Seals reports whether a field of its messages or answers is encrypted.
func (c *Channel) Seals() bool {
	return slices.ContainsFunc(slices.Concat(c.Message, c.Reply), func(f Field) bool { return f.Type.Encrypted })
}

// Form says how messages travel: publisher and subscriber must agree on it.
func (c *Channel) Form() string {
	form := "pub/sub"
	switch {
	case c.Durable != nil:
		form = "a stream"
	case c.Sharded:
		form = "sharded pub/sub"
	}
	if c.Plain {
		form += ", without an envelope"
	}
	if c.Request {
		form += ", as requests"
	}
	return form
}

// PubSub are the channels that are no streams.
func (ks *Keyspace) PubSub() []*Channel {
	return slices.DeleteFunc(slices.Clone(ks.Channels), func(c *Channel) bool { return c.Durable != nil })
}

// Channel finds a channel by its name, nil if there is none.
func (ks *Keyspace) Channel(name string) *Channel {
	for _, c := range ks.Channels {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func (l *loader) sectionChannels(d *document) {
	p, ok := d.props["channels"]
	if !ok {
		return
	}
	for _, v := range d.mapping(p.value, "channels") {
		if d.name(v, "a channel", false) {
			l.take(d, "channel", v)
		}
		l.channel(d, v)
	}
}

// channel reads one channel: a pattern, or a mapping.
func (l *loader) channel(d *document, v property) {
	c := &Channel{Name: v.name, Owner: d.owner, Namespace: d.space, Pos: d.at(v.key), At: map[string]Pos{}}
	text, props, what := v.value, map[string]property(nil), "the channel "+v.name
	if v.value.Kind == yaml.MappingNode {
		props = d.known(v.value, what, childProperties["channels"])
		if _, ok := props["channel"]; !ok {
			d.report("KW006", d.at(v.key), "add channel: …", "%s has no channel", what)
			return
		}
		text = props["channel"].value
		c.Message = l.fields(d, props, "message", what)
		c.Doc, c.Owner, c.Readers = d.about(props, d.owner)
	}
	if c.Pattern = l.pattern(d, text, what, nil); c.Pattern == nil {
		return
	}
	for name, p := range props {
		c.At[name] = d.at(p.value)
	}
	l.ks.Channels = append(l.ks.Channels, c)
	l.kindOf(d, c, props, what)
}

// kindOf reads what a channel is beside its pattern and message.
func (l *loader) kindOf(d *document, c *Channel, props map[string]property, what string) {
	c.Sharded = d.truth(props, "sharded")
	if p, ok := props["envelope"]; ok {
		c.Plain = d.choice(p.value, "envelope", []string{"plain"}) == "plain"
	}
	if p, ok := props["durable"]; ok && !is(p.value, false) {
		l.durable(d, c, p, what)
	}
	_, asked := props["reply"]
	if _, named := props["reply_channel"]; named && !asked {
		d.report("KW006", c.At["reply_channel"], "add reply: {…}, the fields of the answer", "%s says where answers go, but not what is in them", what)
	}
	if asked {
		l.reply(d, c, props, what)
	}
	for _, not := range []struct {
		wrong    bool
		at       string
		fix, why string
	}{
		{c.Durable != nil && c.Sharded, "sharded", "remove sharded: the key of a stream is in one slot anyway", "is a stream, which is not sharded"},
		{c.Durable != nil && c.Request, "reply", "remove durable: nobody waits for an answer that long", "is a stream, and a request is not kept"},
		{c.Plain && c.Request, "envelope", "remove envelope: the id of a request travels in it", "has requests, which need the envelope"},
	} {
		if not.wrong {
			d.report("KW302", c.At[not.at], not.fix, "%s %s", what, not.why)
		}
	}
}

// truth reads a property that is true or false.
func (d *document) truth(props map[string]property, name string) bool {
	p, ok := props[name]
	if ok && !is(p.value, true) && !is(p.value, false) {
		d.report("KW005", d.at(p.value), "write true or false", "%s must be true or false, not %s", name, kindName(p.value))
	}
	return ok && is(p.value, true)
}

// is says whether YAML reads a node as this boolean.
func is(n *yaml.Node, truth bool) bool {
	return n.Tag == "!!bool" && strings.EqualFold(n.Value, strconv.FormatBool(truth))
}

// durable reads `durable: true` or what is kept.
func (l *loader) durable(d *document, c *Channel, p property, what string) {
	props := map[string]property{}
	if p.value.Kind == yaml.MappingNode {
		props = d.known(p.value, "durable of "+what, childProperties["durable"])
	} else if !is(p.value, true) {
		d.report("KW005", d.at(p.value), "write true, or as in {maxlen: 100000, age: 7d}", "durable must be true or a mapping, not %s", kindName(p.value))
	}
	for name, p := range props {
		c.At["durable."+name] = d.at(p.value)
	}
	l.take(d, "entry", property{c.Name, p.value, p.key}) // it is a key, too
	c.Durable = &Durable{MaxLen: d.number(props, "maxlen", 1), Age: d.duration(props, "age"), Retry: int(d.number(props, "retry", 1))}
	if g, ok := props["groups"]; ok {
		c.Durable.Groups = d.texts(g.value, "groups")
	}
	c.Durable.Entry = l.topic(d, c, props)
}

// topic is the entry of a durable channel: its stream, and its dead letters.
func (l *loader) topic(d *document, c *Channel, props map[string]property) *Entry {
	t := TTL{Policy: TTLNone, Text: "none"}
	if c.Durable.Age > 0 {
		t = atMost(c.Durable.Age)
		t.Sliding = true
		t.Text = t.canonical()
	}
	t.Pos = cmp.Or(c.At["durable.age"], c.At["durable"])
	e := &Entry{Name: c.Name, Namespace: d.space, Doc: c.Doc, Type: string(Topic), Construct: Topic, TTL: t, Owner: c.Owner, Readers: c.Readers, MaxLen: c.Durable.MaxLen, Retry: c.Durable.Retry, Groups: c.Durable.Groups, Topic: c, Pos: c.Pos, Emits: map[string]string{},
		At: map[string]Pos{"key": cmp.Or(c.At["channel"], c.Pos), "ttl": t.Pos}}
	for name, at := range c.At {
		e.At[name] = at
	}
	b := &builder{loader: l, d: d, e: e, kind: kind{Topic, Stream, nil, nil}, props: props, main: c.Pattern}
	fields := []Field{{Name: "timestamp", Type: scalar.Type{Kind: scalar.UnixMS}, Pos: c.Pos}, {Name: "data", Type: scalar.Type{Kind: scalar.JSON}, Pos: c.Pos}}
	if c.Plain {
		fields = fields[1:]
	}
	b.addMain(&Key{Fields: fields})
	text := func(name string) Field { return Field{Name: name, Type: scalar.Type{Optional: true}, Pos: c.Pos} }
	dead := slices.Clone(fields) // what is missing may be why it is there
	for i := range dead {
		dead[i].Type.Optional = true
	}
	for _, name := range []string{"form", "id", "group", "reason", "deliveries", "packed"} {
		dead = append(dead, text(name))
	}
	c.Durable.Dead = b.addRole(&Key{Role: "dead", Kind: Stream, TTL: t, Fields: dead, Doc: "Messages of " + c.Name + " given up, with the reason."}, c.Pattern, "dead")
	return e
}

// streams adds the entries of durable channels behind those of `keys`.
func (l *loader) streams() {
	for _, c := range l.ks.Channels {
		if c.Durable != nil {
			l.ks.Entries = append(l.ks.Entries, c.Durable.Entry)
			l.ks.Keys = append(l.ks.Keys, c.Durable.Entry.Keys...)
		}
	}
}

// reply reads the answer of a request, and where it goes: the channel of the
// request with the caller behind it, if no other is named.
func (l *loader) reply(d *document, c *Channel, props map[string]property, what string) {
	c.Request, c.Reply = true, l.fields(d, props, "reply", what)
	to := &Channel{Name: c.Name + "_reply", Namespace: d.space, Doc: "Answers to " + c.Name + ".", Message: c.Reply, Sharded: c.Sharded, Answers: c, Pos: c.At["reply"], At: map[string]Pos{}}
	if c.Owner != "" {
		to.Readers = []string{c.Owner}
	}
	if p, ok := props["reply_channel"]; ok {
		to.Pattern, to.Pos = l.pattern(d, p.value, "the reply channel of "+c.Name, nil), d.at(p.value)
	} else {
		to.Derived = true
		var err error
		if to.Pattern, err = c.Pattern.DeriveIn(d.space.name(), "reply:{"+free(c.Pattern, "caller")+"}"); err != nil {
			d.report("KW105", to.Pos, "name it: reply_channel: …", "the reply channel of %s cannot be derived: %v", c.Name, err)
		}
	}
	if to.Pattern == nil {
		return
	}
	l.take(d, "channel", property{to.Name, props["reply"].value, props["reply"].key})
	to.Caller = l.caller(d, c, to)
	c.ReplyTo = to
	l.ks.Channels = append(l.ks.Channels, to)
}

// caller is the one placeholder that a reply channel may have beyond those of
// its request.
func (l *loader) caller(d *document, c, to *Channel) string {
	var own []string
	for _, p := range to.Pattern.Placeholders() {
		if !has(c.Pattern, p.Name) {
			own = append(own, p.Name)
		}
	}
	if len(own) > 1 {
		d.report("KW101", to.Pos, "keep one of them", "the reply channel of %s has placeholders beyond those of the request, {%s}; one may stand for the caller", c.Name, strings.Join(own, "}, {"))
	}
	if len(own) == 0 {
		return ""
	}
	for _, p := range to.Pattern.Placeholders() {
		if p.Name == own[0] && p.Type.Kind != scalar.Text {
			d.report("KW101", to.Pos, "give it a name that is no var", "{%s} stands for the caller of %s, whose name is text, and not %s", own[0], c.Name, p.Type.Definition())
		}
	}
	return own[0]
}

func has(p *pattern.Pattern, name string) bool {
	return slices.ContainsFunc(p.Placeholders(), func(place pattern.Placeholder) bool { return place.Name == name })
}

// free is a placeholder's name that a pattern does not have.
func free(p *pattern.Pattern, name string) string {
	for has(p, name) {
		name += "_id"
	}
	return name
}
