package writer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/entity/internal/scripts"
	"github.com/keywright/keywright/entity/message"
	"github.com/keywright/keywright/kernel"
)

// putter represents the script that writes whole items of one entity, with all that is
// the same for all of them in its text.
type putter struct {
	script  *kernel.Shared
	columns []int    // those that are in ARGV
	args    int      // that every call has
	Always  []string // keys that every call writes to
	events  []*message.Event

	database string // a member of envelopes
}

// putHead says how many arguments are before the events and fields.
const putHead = 5

// Putting says whether there is this faster way at all: a test does without.
var Putting = true

// newPutter makes the script of an entity; nil where only `write` can do it, and
// where only keys and indexes are known, as on the command line.
func newPutter(c *keywright.Client, s *Writer) *putter {
	if !Putting || len(s.core.Names) == 0 {
		return nil
	}
	for _, name := range s.core.IndexColumns() {
		if _, known := s.core.Columns[name]; !known {
			return nil
		}
	}
	p := &putter{database: s.core.Database}
	for i := range s.core.Spec.OnCreate {
		e := &s.core.Spec.OnCreate[i]
		for _, part := range e.Data {
			if s.core.Stamped[part.Field] && part.Field != "" {
				return nil // its text is known to the script alone
			}
		}
		if e.Mode == message.Append || len(e.Name) > 0 {
			return nil
		}
		p.events = append(p.events, e)
	}
	for i, col := range s.core.Spec.Columns {
		if !s.core.Stamped[col.Name] {
			p.columns = append(p.columns, i)
		}
	}
	p.Always = []string{cmp.Or(s.core.Spec.Expires, s.core.Spec.Records), s.core.Spec.Records}
	p.args = putHead + len(p.events) + len(p.columns)
	p.script = kernel.NewShared(c, "entity put", scripts.Parts.Fill("put", s.PutText(p))).FirstKeys(p.Always...)
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

// PutText makes the script's text for one entity of its template.
func (s *Writer) PutText(p *putter) func(template string) string {
	unit, version, keeps, answer := "", "false", "false", "now"
	look := s.putLook()
	if s.core.Spec.Seconds {
		unit = "stamp = string.sub(micros, 1, -7)"
	}
	if s.core.Spec.Version != "" {
		version, answer = "call('HGET', hash, "+luaString(s.core.Spec.Version)+")", "version"
	}
	if s.core.Spec.IndexTTL > 0 {
		keeps = "true"
	}
	return strings.NewReplacer(
		"--$unit", unit, "--$version", version, "--$look", look, "--$keeps", keeps, "$keep", s.core.Keeps, "--$keys",
		strconv.Itoa(1+len(s.core.Spec.Indexes)), "--$args", strconv.Itoa(p.args),
		"--$fields", s.putFields(p), "--$indexes", s.putIndexes(p), "--$needs", s.putNeeds(p), "--$events", p.putEvents(),
		"--$answer", answer, "--$bulk", strconv.FormatBool(len(p.events) < 2),
	).Replace
}

// putLook reads what has to be known of an item that may be there.
func (s *Writer) putLook() string {
	scored := false // by when it was created
	for i := range s.core.Spec.Indexes {
		scored = scored || s.core.Spec.Created != "" && s.core.Spec.Indexes[i].Score == s.core.Spec.Created
	}
	switch {
	case scored && s.core.Spec.Version != "":
		return "version, created = unpack(call('HMGET', hash, " + luaString(s.core.Spec.Version) + ", " +
			luaString(s.core.Spec.Created) + "))"
	case scored:
		return "created = call('HGET', hash, " + luaString(s.core.Spec.Created) + ")"
	case s.core.Spec.Version != "":
		return "version = call('HGET', hash, " + luaString(s.core.Spec.Version) + ")"
	}
	return "-- only whether it is there"
}

// putFields writes the fields: what the server stamps and what is always there
// with one command, optional ones with one each.
func (s *Writer) putFields(p *putter) string {
	var always, optional strings.Builder
	for i, col := range s.core.Spec.Columns {
		name := luaString(col.Name)
		switch {
		case col.Name == s.core.Spec.Version:
			always.WriteString(", " + name + ", version")
		case col.Name == s.core.Spec.Updated:
			always.WriteString(", " + name + ", stamp")
		case s.core.Stamped[col.Name]: // when it was created
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
	case s.core.Spec.Created != "" && set != "":
		text = "if there then call('HSET', hash" + set + ") else call('HSET', hash, " +
			luaString(s.core.Spec.Created) + ", stamp" +
			set + ") end"
	case s.core.Spec.Created != "":
		text = "if not there then call('HSET', hash, " + luaString(s.core.Spec.Created) + ", stamp) end"
	case set != "":
		text = "call('HSET', hash" + set + ")"
	}
	return text + optional.String()
}

// putIndexes adds the entries.
func (s *Writer) putIndexes(p *putter) string {
	var b strings.Builder
	for i := range s.core.Spec.Indexes {
		ix := &s.core.Spec.Indexes[i]
		score, conditions := s.putScore(p, ix.Score)
		add := "call('ZADD', key, " + score + ", id)"
		if col := s.core.Columns[ix.Field]; ix.Field != "" && s.core.Spec.Columns[col].Optional {
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
func (s *Writer) putNeeds(p *putter) string {
	var b strings.Builder
	for i := range s.core.Spec.Indexes {
		fmt.Fprintf(&b, "if KEYS[k + %[1]d] ~= index_records and vacant(KEYS[k + %[1]d]) then due = true end\n  ", 2+i)
	}
	for _, e := range p.events {
		command := "PUBLISH"
		if e.Mode == message.PublishSharded {
			command = "SPUBLISH"
		}
		fmt.Fprintf(&b, "may('%s', %s)\n  ", command, luaString(e.Channel))
	}
	return b.String()
}

// putScore returns where the script finds a score, and when there is one.
func (s *Writer) putScore(p *putter, field string) (score string, conditions []string) {
	col := s.core.Columns[field]
	switch {
	case field == "":
		return itemkeys.Unscored, nil
	case field == s.core.Spec.Version:
		return "version", nil
	case field == s.core.Spec.Updated:
		return "stamp", nil
	case field == s.core.Spec.Created:
		return "created or stamp", nil
	case s.core.Spec.Columns[col].Optional:
		return "string.sub(" + p.argument(col) + ", 2)", []string{p.argument(col) + " ~= ''"}
	}
	return p.argument(col), nil
}

// putEvents sends the events of a creation.
func (p *putter) putEvents() string {
	var b strings.Builder
	for i, e := range p.events {
		command, body := "PUBLISH", fmt.Sprintf("ARGV[a + %d]", putHead+1+i)
		if e.Mode == message.PublishSharded {
			command = "SPUBLISH"
		}
		if !e.Plain {
			body = `'{"timestamp":' .. now .. ',"data":' .. ` + body + ` .. ` + luaString(p.database+"}")
		}
		fmt.Fprintf(&b, "call('%s', %s, %s)\n  ", command, luaString(e.Channel), body)
	}
	return b.String()
}

// luaString returns a text as Lua has it in a program.
func luaString(text string) string {
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
func (s *Writer) puts(c *itemkeys.Call) bool {
	return s.Putter != nil && c.At != nil && len(c.Dead) == 0 && (c.Condition == itemkeys.Absent || len(s.core.Spec.OnUpdate) == 0)
}

// PutKeys gives KEYS and ARGV of `put`, and the keys whose TTL it renews: those
// of them that are to be renewed by now, or nil.
func (s *Writer) PutKeys(c *itemkeys.Call) (keys, args, renews []string) {
	p, drops := s.Putter, c.Drops
	if c.Simple() {
		drops = nil
	}
	keys = make([]string, 1+len(s.core.Spec.Indexes), 1+len(s.core.Spec.Indexes)+len(drops))
	keys[0] = s.core.Key(c.ID)
	for i := range s.core.Spec.Indexes {
		keys[1+i] = cmp.Or(c.At[i], s.core.Spec.Records)
	}
	if s.core.Renewed.AnyDue(p.Always, keys[1:]) {
		renews = slices.Concat(p.Always, keys[1:])
	}
	args = append(make([]string, 0, p.args), c.ID, c.Record, c.TTL, c.Mode(renews != nil), s.core.AgreedText())
	args = s.putTexts(append(args, s.bodies(c)...), c)
	for _, d := range drops {
		keys = append(keys, d.Key)
	}
	return keys, args, renews
}

// putTexts adds the texts of the fields.
func (s *Writer) putTexts(args []string, c *itemkeys.Call) []string {
	fields := c.Fields[2*c.Stamps.Count():]
	for _, i := range s.Putter.columns {
		col := &s.core.Spec.Columns[i]
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
func (s *Writer) bodies(c *itemkeys.Call) (out []string) {
	pieces := s.core.Pieces(c.ID)
	for _, e := range s.Putter.events {
		var b strings.Builder
		b.WriteByte('{')
		for _, part := range e.Data {
			text, there := part.Known(c.ID, pieces)
			if !there {
				text, there = c.Field(part.Field)
			}
			if !there {
				continue
			}
			if b.Len() > 1 {
				b.WriteByte(',')
			}
			b.WriteString(itemkeys.Member(part.Name))
			b.WriteString(part.Written(text))
		}
		b.WriteByte('}')
		out = append(out, b.String())
	}
	return out
}

// decodePut reads what `put` answers.
func (s *Writer) decodePut(r kernel.Reply) (out itemkeys.Outcome, err error) {
	text, err := r.ToString()
	if err != nil {
		return decodeOutcome(r)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if out = (itemkeys.Outcome{Code: "new", Now: n}); s.core.Spec.Version != "" {
		out.Text, out.Version, out.Now = text, n, n/1000
	}
	return out, err
}
