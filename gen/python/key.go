package python

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/keywright/keywright/gen/portable"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

// key writes the types, the class and the variable of one key.
func (m *module) key(k *keyspace.Key) {
	i := m.item(k.Name, "", portable.StepsIn(k.Pattern, m.space))
	codecs := m.values(i, k)
	ttlType, ttl := ttlOf(k.TTL)
	fmt.Fprintf(&m.body, "class %s(Key):\n", i.class)
	docstring(&m.body, "    ", docOf(k))
	fmt.Fprintf(&m.body, "\n    ttl: %s = %s\n    scan_pattern: %s = %s\n%s%s\n", ttlType, ttl, i.keyType(),
		i.glob(k.Pattern.ScanGlob()), codecs, streamOf(k))
	i.methods("key")
	fmt.Fprintf(&m.body, "%s = %s(\n", i.variable, i.class)
	for _, text := range []string{k.Name, k.Entry.Name, k.Role, k.Pattern.String(), string(k.Kind),
		string(k.Entry.Construct), k.Entry.Owner} {
		fmt.Fprintf(&m.body, "    %s,\n", quote(text))
	}
	i.writeSteps()
	m.keys = append(m.keys, [2]string{k.Name, i.variable})
}

// streamOf returns what only a stream has.
func streamOf(k *keyspace.Key) string {
	text := ""
	if k.Kind != keyspace.Stream || k.Role != "" {
		return text
	}
	if k.Entry.MaxLen > 0 {
		text = fmt.Sprintf("    max_len = %d\n", k.Entry.MaxLen)
	}
	if len(k.Entry.Groups) > 0 {
		text += "    groups = " + tuple(k.Entry.Groups) + "\n"
	}
	return text
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

// channel writes the types, the class and the variable of one channel.
func (m *module) channel(c *keyspace.Channel) {
	i := m.item(c.Name, "Channel", portable.StepsIn(c.Pattern, m.space))
	codec := ""
	if !m.notifies[c] {
		codec = m.part(i, portable.Message(c))
	}
	fmt.Fprintf(&m.body, "class %s(Channel):\n", i.class)
	docstring(&m.body, "    ", append(portable.Lines(c.Doc), "Channel "+c.Pattern.String()+"."))
	fmt.Fprintf(&m.body, "\n    subscribe_pattern: %s = %s\n%s\n", i.keyType(), i.glob(c.Pattern.ScanGlob()), codec)
	i.methods("channel")
	fmt.Fprintf(&m.body, "%s = %s(\n    %s,\n    %s,\n    %s,\n", i.variable, i.class, quote(c.Name),
		quote(c.Pattern.String()), quote(c.Owner))
	i.writeSteps()
	m.channels = append(m.channels, [2]string{c.Name, i.variable})
}

func (i *item) keyType() string {
	if portable.Binary(i.steps) {
		return "bytes"
	}
	return "str"
}

func (i *item) glob(text string) string {
	if portable.Binary(i.steps) {
		return quoteBytes(text)
	}
	return quote(text)
}

// methods are the builder, which is named verb, and the parser.
func (i *item) methods(verb string) {
	b := &i.module.body
	var takes, gives []string
	for n, arg := range i.arguments {
		take := arg + ": " + placeType(i.places[n])
		if d := i.places[n].Type.Default; d != "" {
			take += " = " + quote(d)
		}
		takes = append(takes, take)
		gives = append(gives, quote(arg)+": "+arg)
	}
	signature, decode := "self", ""
	if len(takes) > 0 {
		signature += ", *, " + strings.Join(takes, ", ")
	}
	if !portable.Binary(i.steps) {
		decode = `.decode("utf-8")`
	}
	fmt.Fprintf(b, "    def %s(%s) -> %s:\n", verb, signature, i.keyType())
	fmt.Fprintf(b, "        return self._build({%s})%s\n\n", strings.Join(gives, ", "), decode)
	fmt.Fprintf(b, "    def parse(self, %s: _t.Union[str, bytes]) -> _t.Optional[%s]:\n", verb, i.params)
	if len(takes) == 0 {
		fmt.Fprintf(b, "        return self._parse(%s)\n\n\n", verb)
		return
	}
	fmt.Fprintf(b, "        return _t.cast(_t.Optional[%s], self._parse(%s))\n\n\n", i.params, verb)
}

// writeSteps writes the pieces of the pattern and ends the call.
func (i *item) writeSteps() {
	b, names := &i.module.body, i.arguments
	for _, s := range i.steps {
		if s.Namespace {
			fmt.Fprintf(b, "    _Namespace(%s),\n", quoteBytes(s.Literal))
			continue
		}
		if s.Place == nil {
			fmt.Fprintf(b, "    %s,\n", quoteBytes(s.Literal))
			continue
		}
		t := s.Place.Type
		left := ""
		if t.Default != "" {
			left = ", " + quote(t.Default)
		}
		fmt.Fprintf(b, "    _Place(%s, %s, %s, %s, %s, %s, %s%s),\n", quote(s.Place.Name), quote(names[0]),
			quote(t.Definition()),
			i.module.matcher(s.Place), quote(t.Describe()), truth(s.Place.Crosses), truth(s.Place.NoBraces), left)
		names = names[1:]
	}
	b.WriteString(")\n\n\n")
}

// matcher returns the call that makes what recognises a placeholder.
func (m *module) matcher(p *portable.Place) string {
	switch p.Form {
	case portable.AnyText:
		name := "_Text"
		if p.Type.Kind == scalar.Bytes {
			name = "_Bytes"
		}
		return fmt.Sprintf("%s(%d, %s, %s)", name, p.Max, truth(p.Crosses), truth(!p.NoBraces))
	case portable.Integer:
		return fmt.Sprintf("_Int(%s, %s)", quoteBytes(p.Low), quoteBytes(p.High))
	case portable.HexText:
		return fmt.Sprintf("_Hex(%d)", p.N)
	case portable.Words:
		name := "_Words"
		if p.Type.Kind == scalar.Bool {
			name = "_Bool"
		}
		return name + "(" + list(p.Words) + ")"
	}
	return m.table(p)
}

// table returns the variable of an automaton; placeholders of one type share it.
func (m *module) table(p *portable.Place) string { return m.automaton(p.Table, p.Type) }

func (m *module) automaton(table string, t scalar.Type) string {
	if name, known := m.tables[table]; known {
		return name
	}
	name := m.names.Take("_" + t.Kind.String())
	m.tables[table] = name
	fmt.Fprintf(&m.automata, "%s = _Automaton(%s)%s\n\n\n", name, quote(table), remark(t))
	return name
}

func ttlOf(t keyspace.TTL) (typ, value string) {
	switch t.Policy {
	case keyspace.TTLNone:
		return "Ttl", fmt.Sprintf(`Ttl("none", %s)`, quote(t.Text))
	case keyspace.TTLAny:
		return "Ttl", fmt.Sprintf(`Ttl("any", %s)`, quote(t.Text))
	}
	return "TtlExpires",
		fmt.Sprintf("TtlExpires(%s, %d, %d, %d, %s, %s)", quote(t.Text), t.Default.Milliseconds(), t.Min.Milliseconds(),
			t.Max.Milliseconds(),
			strconv.FormatFloat(t.Jitter, 'f', -1, 64), truth(t.Sliding))
}

func truth(b bool) string {
	if b {
		return "True"
	}
	return "False"
}
