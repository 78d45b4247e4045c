package construct

import (
	"cmp"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/load/internal/node"
	"github.com/keywright/keywright/keyspace/load/internal/scope"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	yaml "go.yaml.in/yaml/v4"
)

// ReadChannels reads the channels of one file.
func ReadChannels(s *scope.Scope, d *scope.Document) {
	p, ok := d.Props["channels"]
	if !ok {
		return
	}
	for _, v := range d.Mapping(p.Value, "channels") {
		if s.Over {
			return
		}
		if d.Name(v, "a channel", false) {
			s.Take(d, "channel", v)
		}
		readChannel(s, d, v)
	}
}

// readChannel reads one channel: a pattern, or a mapping.
func readChannel(s *scope.Scope, d *scope.Document, v node.Property) {
	c := &keyspace.Channel{Name: v.Name, Owner: d.Owner, Namespace: d.Space, Pos: d.At(v.Key),
		At: map[string]keyspace.Pos{}}
	text, props, what := v.Value, map[string]node.Property(nil), "the channel "+v.Name
	if v.Value.Kind == yaml.MappingNode {
		props = d.Known(v.Value, what, scope.Properties["channels"])
		if _, ok := props["channel"]; !ok {
			d.Report("KW006", d.At(v.Key), "add channel: …", "%s has no channel", what)
			return
		}
		text = props["channel"].Value
		c.Message = s.Fields(d, props, "message", what)
		c.Doc, c.Owner, c.Readers = d.About(props, d.Owner)
		c.Retired = d.Retired(props, "retired")
	}
	if c.Pattern = s.Pattern(d, text, what, nil); c.Pattern == nil {
		return
	}
	for name, p := range props {
		c.At[name] = d.At(p.Value)
	}
	s.KS.Channels = append(s.KS.Channels, c)
	channelForm(s, d, c, props, what)
}

// channelForm reads what a channel is beside its pattern and message.
func channelForm(s *scope.Scope, d *scope.Document, c *keyspace.Channel, props map[string]node.Property, what string) {
	c.Sharded = d.Truth(props, "sharded")
	if p, ok := props["envelope"]; ok {
		c.Plain = d.Choice(p.Value, "envelope", []string{"plain"}) == "plain"
	}
	if p, ok := props["durable"]; ok && !node.Is(p.Value, false) {
		readDurable(s, d, c, p, what)
	}
	_, asked := props["reply"]
	if _, named := props["reply_channel"]; named && !asked {
		d.Report("KW006", c.At["reply_channel"], "add reply: {…}, the fields of the answer",
			"%s says where answers go, but not what is in them", what)
	}
	if asked {
		readReply(s, d, c, props, what)
	}
	for _, not := range []struct {
		wrong    bool
		at       string
		fix, why string
	}{
		{c.Durable != nil && c.Sharded, "sharded", "remove sharded: the key of a stream is in one slot anyway",
			"is a stream, which is not sharded"},
		{c.Durable != nil && c.Request, "reply", "remove durable: no caller waits for an answer that long",
			"is a stream, and a request is not kept"},
		{c.Plain && c.Request, "envelope", "remove envelope: the id of a request travels in it",
			"has requests, which need the envelope"},
	} {
		if not.wrong {
			d.Report("KW302", c.At[not.at], not.fix, "%s %s", what, not.why)
		}
	}
}

// readDurable reads `durable: true` or what is kept.
func readDurable(s *scope.Scope, d *scope.Document, c *keyspace.Channel, p node.Property, what string) {
	props := map[string]node.Property{}
	if p.Value.Kind == yaml.MappingNode {
		props = d.Known(p.Value, "durable of "+what, scope.Properties["durable"])
	} else if !node.Is(p.Value, true) {
		d.Report("KW005", d.At(p.Value), "write true, or as in {maxlen: 100000, age: 7d}",
			"durable must be true or a mapping, not %s", node.KindName(p.Value))
	}
	for name, p := range props {
		c.At["durable."+name] = d.At(p.Value)
	}
	s.Take(d, "entry", node.Property{Name: c.Name, Key: p.Value, Value: p.Key}) // it is a key, too
	c.Durable = &keyspace.Durable{MaxLen: d.Number(props, "maxlen", 1), Age: d.Duration(props, "age"),
		Retry: int(d.Number(props, "retry", 1)), Timeout: d.Duration(props, "timeout")}
	if g, ok := props["groups"]; ok {
		c.Durable.Groups = d.Texts(g.Value, "groups")
	}
	c.Durable.Entry = topicOf(s, d, c, props)
}

// topicOf returns the entry of a durable channel: its stream, and its dead letters.
func topicOf(s *scope.Scope, d *scope.Document, c *keyspace.Channel, props map[string]node.Property) *keyspace.Entry {
	t := keyspace.TTL{Policy: keyspace.TTLNone, Text: "none"}
	if c.Durable.Age > 0 {
		t = scope.AtMost(c.Durable.Age)
		t.Sliding = true
		t.Text += " sliding"
	}
	t.Pos = cmp.Or(c.At["durable.age"], c.At["durable"])
	e := &keyspace.Entry{Name: c.Name, Namespace: d.Space, Doc: c.Doc, Type: string(keyspace.Topic),
		Construct: keyspace.Topic, TTL: t,
		Owner: c.Owner, Readers: c.Readers, Retry: c.Durable.Retry, Timeout: c.Durable.Timeout,
		StreamSpec: keyspace.StreamSpec{MaxLen: c.Durable.MaxLen, Groups: c.Durable.Groups},
		EntitySpec: keyspace.EntitySpec{Emits: map[string]string{}}, Topic: c, Pos: c.Pos,
		At: map[string]keyspace.Pos{"key": cmp.Or(c.At["channel"], c.Pos), "ttl": t.Pos}}
	for name, at := range c.At {
		e.At[name] = at
	}
	b := &builder{Scope: s, d: d, e: e, kind: constructs[keyspace.Topic], props: props,
		main: c.Pattern}
	fields := []keyspace.Field{{Name: "timestamp", Type: scalar.Type{Kind: scalar.UnixMS}, Pos: c.Pos},
		{Name: "data", Type: scalar.Type{Kind: scalar.JSON}, Pos: c.Pos}}
	if c.Plain {
		fields = fields[1:]
	}
	b.addMain(&keyspace.Key{Fields: fields})
	text := func(name string) keyspace.Field {
		return keyspace.Field{Name: name, Type: scalar.Type{Optional: true}, Pos: c.Pos}
	}
	dead := slices.Clone(fields) // what is missing may be why it is there
	for i := range dead {
		dead[i].Type.Optional = true
	}
	for _, name := range []string{"form", "id", "group", "reason", "deliveries", "packed"} {
		dead = append(dead, text(name))
	}
	c.Durable.Dead = b.addRole(&keyspace.Key{Role: "dead", Kind: keyspace.Stream, TTL: t, Fields: dead,
		Doc: "Messages of " + c.Name + " given up, with the reason."}, c.Pattern, "dead")
	return e
}

// AddStreams adds the entries of durable channels after those of `keys`.
func AddStreams(s *scope.Scope) {
	for _, c := range s.KS.Channels {
		if c.Durable != nil {
			s.KS.Entries = append(s.KS.Entries, c.Durable.Entry)
			s.KS.Keys = append(s.KS.Keys, c.Durable.Entry.Keys...)
		}
	}
}

// readReply reads the answer of a request, and where it goes: the channel of the
// request with the caller after it, if no other is named.
func readReply(s *scope.Scope, d *scope.Document, c *keyspace.Channel, props map[string]node.Property, what string) {
	c.Request, c.Reply = true, s.Fields(d, props, "reply", what)
	to := &keyspace.Channel{Name: c.Name + "_reply", Namespace: d.Space, Doc: "Answers to " + c.Name + ".",
		Message: c.Reply,
		Sharded: c.Sharded, Answers: c, Pos: c.At["reply"], At: map[string]keyspace.Pos{}}
	if c.Owner != "" {
		to.Readers = []string{c.Owner}
	}
	if p, ok := props["reply_channel"]; ok {
		to.Pattern, to.Pos = s.Pattern(d, p.Value, "the reply channel of "+c.Name, nil), d.At(p.Value)
	} else if s.AffordsPatterns(to.Pos, 1) {
		to.Derived = true
		var err error
		if to.Pattern, err = c.Pattern.DeriveIn(d.Space.InEffect(), "reply:{"+free(c.Pattern, "caller")+"}"); err != nil {
			d.Report("KW105", to.Pos, "name it: reply_channel: …", "the reply channel of %s cannot be derived: %v", c.Name, err)
		}
	}
	if to.Pattern == nil {
		return
	}
	if to.Derived {
		s.SpellsIn(to.Pos, 1, to.Pattern)
	}
	s.Take(d, "channel", node.Property{Name: to.Name, Key: props["reply"].Value, Value: props["reply"].Key})
	to.Caller = callerOf(s, d, c, to)
	c.ReplyTo = to
	s.KS.Channels = append(s.KS.Channels, to)
}

// callerOf returns the one placeholder that a reply channel may have beyond those of
// its request.
func callerOf(s *scope.Scope, d *scope.Document, c, to *keyspace.Channel) string {
	var own []string
	for _, p := range to.Pattern.Placeholders() {
		if !c.Pattern.Has(p.Name) {
			own = append(own, p.Name)
		}
	}
	if len(own) > 1 {
		d.Report("KW101", to.Pos, "keep one of them",
			"the reply channel of %s has placeholders beyond those of the request, {%s}; one may stand for the caller", c.Name,
			strings.Join(own, "}, {"))
	}
	if len(own) == 0 {
		return ""
	}
	for _, p := range to.Pattern.Placeholders() {
		if p.Name == own[0] && p.Type.Kind != scalar.Text {
			d.Report("KW101", to.Pos, "give it a name that is no var",
				"{%s} is the caller of %s, whose name is text, and not %s", own[0], c.Name, p.Type.Definition())
		}
	}
	return own[0]
}

// free returns a placeholder's name that a pattern does not have.
func free(p *pattern.Pattern, name string) string {
	for p.Has(name) {
		name += "_id"
	}
	return name
}
