package entity

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// putter represents the script that writes whole items of one entity, with all that is
// the same for all of them in its text.
type putter struct {
	script  *kernel.Shared
	columns []int    // those that are in ARGV
	args    int      // that every call has
	always  []string // keys that every call writes to
	events  []*Event

	database string // a member of envelopes
}

// putHead says how many arguments are before the events and fields.
const putHead = 5

// putting says whether there is this faster way at all: a test does without.
var putting = true

// newPutter makes the script of an entity; nil where only `write` can do it, and
// where only keys and indexes are known, as on the command line.
func newPutter(c *keywright.Client, s *writer) *putter {
	if !putting || len(s.core.names) == 0 {
		return nil
	}
	for _, name := range s.core.indexColumns() {
		if _, known := s.core.columns[name]; !known {
			return nil
		}
	}
	p := &putter{database: s.core.database}
	for i := range s.core.spec.OnCreate {
		e := &s.core.spec.OnCreate[i]
		for _, part := range e.Data {
			if s.core.stamped[part.Field] && part.Field != "" {
				return nil // its text is known to the script alone
			}
		}
		if e.Mode == Append || len(e.Name) > 0 {
			return nil
		}
		p.events = append(p.events, e)
	}
	for i, col := range s.core.spec.Columns {
		if !s.core.stamped[col.Name] {
			p.columns = append(p.columns, i)
		}
	}
	p.always = []string{cmp.Or(s.core.spec.Expires, s.core.spec.Ledger), s.core.spec.Ledger}
	p.args = putHead + len(p.events) + len(p.columns)
	p.script = kernel.NewShared(c, "entity put", parts.Fill("put", s.putText(p))).Ahead(p.always...)
	return p
}

// argument returns the place of a column's text in ARGV.
func (p *putter) argument(column int) string {
	for i, c := range p.columns {
		if c == column {
			return fmt.Sprintf("ARGV[a + %d]", putHead+len(p.events)+1+i)
		}
	}
	return "''"
}

// putText makes the script's text for one entity of its template.
func (s *writer) putText(p *putter) func(template string) string {
	unit, version, keeps, answer := "", "false", "false", "now"
	look := s.putLook()
	if s.core.spec.Seconds {
		unit = "stamp = string.sub(micros, 1, -7)"
	}
	if s.core.spec.Version != "" {
		version, answer = "call('HGET', hash, "+quoted(s.core.spec.Version)+")", "version"
	}
	if s.core.spec.IndexTTL > 0 {
		keeps = "true"
	}
	return strings.NewReplacer(
		"--$unit", unit, "--$version", version, "--$look", look, "--$keeps", keeps, "$keep", s.core.keeps, "--$keys",
		strconv.Itoa(1+len(s.core.spec.Indexes)), "--$args", strconv.Itoa(p.args),
		"--$fields", s.putFields(p), "--$indexes", s.putIndexes(p), "--$needs", s.putNeeds(p), "--$events", p.putEvents(),
		"--$answer", answer, "--$bulk", strconv.FormatBool(len(p.events) < 2),
	).Replace
}

// putLook reads what has to be known of an item that may be there.
func (s *writer) putLook() string {
	scored := false // by when it was created
	for i := range s.core.spec.Indexes {
		scored = scored || s.core.spec.Created != "" && s.core.spec.Indexes[i].Score == s.core.spec.Created
	}
	switch {
	case scored && s.core.spec.Version != "":
		return "version, created = unpack(call('HMGET', hash, " + quoted(s.core.spec.Version) + ", " +
			quoted(s.core.spec.Created) + "))"
	case scored:
		return "created = call('HGET', hash, " + quoted(s.core.spec.Created) + ")"
	case s.core.spec.Version != "":
		return "version = call('HGET', hash, " + quoted(s.core.spec.Version) + ")"
	}
	return "-- only whether it is there"
}

// putFields writes the fields: what the server stamps and what is always there
// with one command, optional ones with one each.
func (s *writer) putFields(p *putter) string {
	var always, optional strings.Builder
	for i, col := range s.core.spec.Columns {
		name := quoted(col.Name)
		switch {
		case col.Name == s.core.spec.Version:
			always.WriteString(", " + name + ", version")
		case col.Name == s.core.spec.Updated:
			always.WriteString(", " + name + ", stamp")
		case s.core.stamped[col.Name]: // when it was created
		case col.Optional:
			fmt.Fprintf(&optional,
				"\n  if %[1]s ~= '' then call('HSET', hash, %[2]s, string.sub(%[1]s, 2)) elseif there then call('HDEL', "+
					"hash, %[2]s) end", p.argument(i), name)
		default:
			always.WriteString(", " + name + ", " + p.argument(i))
		}
	}
	set, text := always.String(), ""
	switch {
	case s.core.spec.Created != "" && set != "":
		text = "if there then call('HSET', hash" + set + ") else call('HSET', hash, " + quoted(s.core.spec.Created) + ", stamp" +
			set + ") end"
	case s.core.spec.Created != "":
		text = "if not there then call('HSET', hash, " + quoted(s.core.spec.Created) + ", stamp) end"
	case set != "":
		text = "call('HSET', hash" + set + ")"
	}
	return text + optional.String()
}

// putIndexes adds the entries.
func (s *writer) putIndexes(p *putter) string {
	var b strings.Builder
	for i := range s.core.spec.Indexes {
		ix := &s.core.spec.Indexes[i]
		score, conditions := s.putScore(p, ix.Score)
		add := "call('ZADD', key, " + score + ", id)"
		if col := s.core.columns[ix.Field]; ix.Field != "" && s.core.spec.Columns[col].Optional {
			conditions = append(conditions, p.argument(col)+" ~= ''")
		}
		fmt.Fprintf(&b, "\n  key = KEYS[k + %d]", 2+i)
		add += "\n  if due then renew(key) end"
		if len(conditions) > 0 {
			add = "if " + strings.Join(conditions, " and ") + " then\n  " + add + "\n  end"
		}
		b.WriteString("\n  " + add)
	}
	return "local key" + b.String()
}

// putNeeds refuses keys of another type, and channels that may not be used, before
// anything is written. It notes whether a key is new.
func (s *writer) putNeeds(p *putter) string {
	var b strings.Builder
	for i := range s.core.spec.Indexes {
		fmt.Fprintf(&b, "if KEYS[k + %[1]d] ~= ledger and vacant(KEYS[k + %[1]d]) then due = true end\n  ", 2+i)
	}
	for _, e := range p.events {
		command := "PUBLISH"
		if e.Mode == PublishSharded {
			command = "SPUBLISH"
		}
		fmt.Fprintf(&b, "may('%s', %s)\n  ", command, quoted(e.Channel))
	}
	return b.String()
}

// putScore returns where the script finds a score, and when there is one.
func (s *writer) putScore(p *putter, field string) (score string, conditions []string) {
	col := s.core.columns[field]
	switch {
	case field == "":
		return unscored, nil
	case field == s.core.spec.Version:
		return "version", nil
	case field == s.core.spec.Updated:
		return "stamp", nil
	case field == s.core.spec.Created:
		return "created or stamp", nil
	case s.core.spec.Columns[col].Optional:
		return "string.sub(" + p.argument(col) + ", 2)", []string{p.argument(col) + " ~= ''"}
	}
	return p.argument(col), nil
}

// putEvents sends the events of a creation.
func (p *putter) putEvents() string {
	var b strings.Builder
	for i, e := range p.events {
		command, body := "PUBLISH", fmt.Sprintf("ARGV[a + %d]", putHead+1+i)
		if e.Mode == PublishSharded {
			command = "SPUBLISH"
		}
		if !e.Plain {
			body = `'{"timestamp":' .. now .. ',"data":' .. ` + body + ` .. ` + quoted(p.database+"}")
		}
		fmt.Fprintf(&b, "call('%s', %s, %s)\n  ", command, quoted(e.Channel), body)
	}
	return b.String()
}

// quoted returns a text as Lua has it in a program.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '\'' || c == '\\' || c == '$' || c == '-' {
			fmt.Fprintf(&b, `\%03d`, c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// puts reports whether the script does all that a call asks for.
func (s *writer) puts(c *call) bool {
	return s.putter != nil && c.at != nil && len(c.dead) == 0 && (c.condition == absent || len(s.core.spec.OnUpdate) == 0)
}

// putKeys gives KEYS and ARGV of `put`, and the keys whose TTL it renews: those
// of them that are to be renewed by now, or nil.
func (s *writer) putKeys(c *call) (keys, args, renews []string) {
	p, drops := s.putter, c.drops
	if c.simple() {
		drops = nil
	}
	keys = make([]string, 1+len(s.core.spec.Indexes), 1+len(s.core.spec.Indexes)+len(drops))
	keys[0] = s.core.key(c.id)
	for i := range s.core.spec.Indexes {
		keys[1+i] = cmp.Or(c.at[i], s.core.spec.Ledger)
	}
	if s.core.renewed.anyDue(p.always, keys[1:]) {
		renews = slices.Concat(p.always, keys[1:])
	}
	args = append(make([]string, 0, p.args), c.id, c.record, c.ttl, c.mode(renews != nil), s.core.agreed())
	args = s.putTexts(append(args, s.bodies(c)...), c)
	for _, d := range drops {
		keys = append(keys, d.key)
	}
	return keys, args, renews
}

// putTexts adds the texts of the fields.
func (s *writer) putTexts(args []string, c *call) []string {
	fields := c.fields[2*c.stamps.count():]
	for _, i := range s.putter.columns {
		col := &s.core.spec.Columns[i]
		text, there := "", len(fields) > 0 && fields[0] == col.Name
		if there {
			text, fields = fields[1], fields[2:]
		}
		if there && col.Optional {
			text = "=" + text
		}
		args = append(args, text)
	}
	return args
}

// bodies returns the data of the events of a creation.
func (s *writer) bodies(c *call) (out []string) {
	pieces := s.core.pieces(c.id)
	for _, e := range s.putter.events {
		var b strings.Builder
		b.WriteByte('{')
		for _, part := range e.Data {
			text, there := part.known(c.id, pieces)
			if !there {
				text, there = c.field(part.Field)
			}
			if !there {
				continue
			}
			if b.Len() > 1 {
				b.WriteByte(',')
			}
			b.WriteString(member(part.Name))
			b.WriteString(part.written(text))
		}
		b.WriteByte('}')
		out = append(out, b.String())
	}
	return out
}

// decodePut reads what `put` answers.
func (s *writer) decodePut(r kernel.Reply) (out outcome, err error) {
	text, err := r.ToString()
	if err != nil {
		return decodeOutcome(r)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if out = (outcome{code: "new", now: n}); s.core.spec.Version != "" {
		out.text, out.version, out.now = text, n, n/1000
	}
	return out, err
}
