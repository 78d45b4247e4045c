package typescript

import (
	"fmt"
	"strconv"
	"time"

	"github.com/keywright/keywright/gen/portable"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

// key writes the types and the constant of one key.
func (m *module) key(k *keyspace.Key) {
	i := m.item(k.Name, "", portable.StepsIn(k.Pattern, m.space))
	doc := docOf(k)
	i.params([]string{"The placeholders of " + k.Pattern.String()})
	c := m.values(i, k)
	ttlType, ttl := ttlOf(k.TTL)
	if m.space == nil {
		comment(&m.body, "", doc)
	}
	typ := fmt.Sprintf("Key<%s, %s>%s", i.args, ttlType, c.intersection())
	i.begin(typ, "$key")
	m.body.WriteString("  {\n")
	rows := [][2]string{
		{"name", quote(k.Name)}, {"entry", quote(k.Entry.Name)}, {"role", quote(k.Role)},
		{"pattern", quote(k.Pattern.String())}, {"type", quote(string(k.Kind))},
		{"construct", quote(string(k.Entry.Construct))}, {"owner", quote(k.Entry.Owner)}, {"ttl", ttl},
		{"scanPattern", i.glob(k.Pattern)},
	}
	for _, row := range append(rows, streamOf(k)...) {
		fmt.Fprintf(&m.body, "    %s: %s,\n", row[0], row[1])
	}
	m.body.WriteString("  },\n" + c.object("  "))
	i.writeSteps()
	i.end(typ, doc)
	m.keys = append(m.keys, [2]string{k.Name, i.constant})
}

// streamOf returns what only a stream has.
func streamOf(k *keyspace.Key) [][2]string {
	var rows [][2]string
	if k.Kind != keyspace.Stream || k.Role != "" {
		return nil
	}
	if k.Entry.MaxLen > 0 {
		rows = append(rows, [2]string{"maxLen", strconv.FormatInt(k.Entry.MaxLen, 10)})
	}
	if len(k.Entry.Groups) > 0 {
		rows = append(rows, [2]string{"groups", "[" + list(k.Entry.Groups) + "]"})
	}
	return rows
}

func docOf(k *keyspace.Key) []string {
	lines := portable.Lines(k.Doc)
	if len(lines) == 0 {
		lines = portable.Lines(k.Entry.Doc)
	}
	kind := string(k.Kind)
	if k.Entry.Construct != keyspace.Plain {
		kind = string(k.Entry.Construct) + ", a " + kind
	}
	return append(lines, fmt.Sprintf("Key %s: %s; ttl %s.", k.Pattern, kind, k.TTL.Text))
}

// channel writes the types and the constant of one channel.
func (m *module) channel(c *keyspace.Channel) {
	i := m.item(c.Name, "Channel", portable.StepsIn(c.Pattern, m.space))
	i.params([]string{"The placeholders of " + c.Pattern.String()})
	var held codecs
	if !m.notifies[c] {
		held.add(m.part(i, portable.Message(c)))
	}
	doc, typ := append(portable.Lines(c.Doc), "Channel "+c.Pattern.String()+"."),
		fmt.Sprintf("Channel<%s>%s", i.args, held.intersection())
	if m.space == nil {
		comment(&m.body, "", doc)
	}
	i.begin(typ, "$channel")
	fmt.Fprintf(&m.body, "  { name: %s, pattern: %s, owner: %s, subscribePattern: %s },\n", quote(c.Name),
		quote(c.Pattern.String()), quote(c.Owner), i.glob(c.Pattern))
	m.body.WriteString(held.object("  "))
	i.writeSteps()
	i.end(typ, doc)
	m.channels = append(m.channels, [2]string{c.Name, i.constant})
}

// writeSteps writes the pieces of the pattern and ends the constant.
func (i *item) writeSteps() {
	b := &i.module.body
	fmt.Fprintf(b, "  %t,\n", portable.Binary(i.steps))
	names := properties(portable.Places(i.steps))
	for _, s := range i.steps {
		if s.Namespace {
			b.WriteString("  $ns,\n")
			continue
		}
		if s.Place == nil {
			fmt.Fprintf(b, "  %s,\n", bytesOrText(s.Literal))
			continue
		}
		t := s.Place.Type
		left := ""
		if t.Default != "" {
			left = ", " + quote(t.Default)
		}
		fmt.Fprintf(b, "  $place(%s, %s, %s, %s, %s, %t, %t%s),\n", quote(s.Place.Name), quote(names[0]),
			quote(t.Definition()),
			i.module.matcher(s.Place), quote(t.Describe()), s.Place.Crosses, s.Place.NoBraces, left)
		names = names[1:]
	}
	b.WriteString(");\n\n")
}

// matcher returns the call that makes what recognises a placeholder.
func (m *module) matcher(p *portable.Place) string {
	if timed(p.Type) {
		return "$dates(" + m.matcherOfText(p) + ", " + m.scalar(p.Type) + ")"
	}
	return m.matcherOfText(p)
}

// matcherOfText returns matcher of the placeholder as it is in the key.
func (m *module) matcherOfText(p *portable.Place) string {
	switch p.Form {
	case portable.AnyText:
		name := "$text"
		if p.Type.Kind == scalar.Bytes {
			name = "$bytes"
		}
		return fmt.Sprintf("%s(%d, %t, %t)", name, p.Max, p.Crosses, !p.NoBraces)
	case portable.Integer:
		return fmt.Sprintf("$int(%s, %s)", quote(p.Low), quote(p.High))
	case portable.HexText:
		return fmt.Sprintf("$hex(%d)", p.N)
	case portable.Words:
		if p.Type.Kind == scalar.Bool {
			return "$bool()"
		}
		return "$words(" + list(p.Words) + ")"
	}
	return m.table(p)
}

// table returns the constant of an automaton; placeholders of one type share it.
func (m *module) table(p *portable.Place) string { return m.automaton(p.Table, p.Type) }

func (m *module) automaton(table string, t scalar.Type) string {
	if name, known := m.tables[table]; known {
		return name
	}
	name := m.names.Take("$" + t.Kind.String())
	m.tables[table] = name
	comment(&m.automata, "", portable.Lines(t.Definition()))
	fmt.Fprintf(&m.automata, "const %s = $automaton(%s);\n\n", name, quote(table))
	return name
}

func ttlOf(t keyspace.TTL) (typ, value string) {
	switch t.Policy {
	case keyspace.TTLNone:
		return "TtlNone", fmt.Sprintf(`{ policy: "none", text: %s }`, quote(t.Text))
	case keyspace.TTLAny:
		return "TtlAny", fmt.Sprintf(`{ policy: "any", text: %s }`, quote(t.Text))
	}
	return "TtlExpires",
		fmt.Sprintf("$expires(%s, %d, %d, %d, %s, %t)", quote(t.Text), milliseconds(t.Default), milliseconds(t.Min),
			milliseconds(t.Max),
			strconv.FormatFloat(t.Jitter, 'f', -1, 64), t.Sliding)
}

func milliseconds(d time.Duration) int64 { return d.Milliseconds() }
