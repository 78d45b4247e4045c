package markdown

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// page describes what both documents are made from: texts only.
type page struct {
	Title    string
	Doc      string
	Facts    []row // of the file: owner, namespaces …
	Shapes   []string
	Vars     []row
	TTLs     []row
	Sections []section
	Scripts  []script
	Channels []channel
	Events   []event
	Cleanup  []row
	Pressure []row
	Jobs     []row // of the janitor

	Migrations []migration
}

// row represents a name, a text that is code, and a remark.
type row struct{ Name, Code, Note string }

// section is entries whose patterns begin alike.
type section struct {
	Title   string
	Anchor  string
	Entries []entry
}

type entry struct {
	Name, Anchor, Doc string
	Pattern           string
	Type              string // "cache, a Redis string"
	TTL, Lifetime     string // as declared; in words
	Owner             string
	Readers           string
	Was               []string
	Places            []row
	Values            []row // what is stored: fields, members …
	Example           string
	Keys              []row // derived keys of a construct
	DeletedBy         []link
	Emits             []row
	More              []row // lease, rate …
	Look              []string
}

type link struct{ Name, Anchor string }

type script struct {
	Name, Anchor, Doc, File string
	Keys                    []link
	Args                    []row
	Returns, Effect         string
}

type channel struct {
	Name, Anchor, Doc, Pattern string
	Owner, Readers             string
	Travels                    string
	Message, Reply             []row
	ReplyTo                    string
}

type event struct {
	Name, Anchor, Doc string
	With              string
	Deletes, Emits    []link
}

func newPage(ks *keyspace.Keyspace) *page {
	p := &page{Title: ks.Package, Doc: ks.Doc}
	if p.Title == "" {
		p.Title = "keyspace"
	}
	p.facts(ks)
	for _, s := range ks.Shapes {
		p.Shapes = append(p.Shapes, s.Text)
	}
	for _, v := range ks.Vars {
		p.Vars = append(p.Vars, row{v.Name, v.Type.Definition(), asIn(v.Type)})
	}
	for _, t := range ks.TTLs {
		p.TTLs = append(p.TTLs, row{t.Name, t.TTL.Text, lifetime(t.TTL)})
	}
	p.entries(ks)
	p.channels(ks)
	for _, e := range ks.Events {
		out := event{Name: e.Name, Anchor: "event-" + e.Name, Doc: e.Doc, With: strings.Join(e.With, ", ")}
		for _, name := range e.Deletes {
			out.Deletes = append(out.Deletes, linkTo(name))
		}
		for _, name := range e.Emits {
			out.Emits = append(out.Emits, link{name, "channel-" + name})
		}
		p.Events = append(p.Events, out)
	}
	for _, c := range ks.Cleanup {
		note := "not touched for " + keyspace.FormatDuration(c.Idle)
		switch {
		case c.Older > 0:
			note = "older than " + keyspace.FormatDuration(c.Older) + " by the date in the key"
		case c.Keep > 0:
			note = fmt.Sprintf("all but the newest %d", c.Keep)
		}
		p.Cleanup = append(p.Cleanup, row{Code: c.Match.Text, Note: note})
	}
	for _, r := range ks.Pressure {
		p.Pressure = append(p.Pressure,
			row{fmt.Sprintf("%d %%", r.At),
				fmt.Sprintf("%s where %s is %s", r.Entry.Name, r.Index.Field, strings.Join(r.Values, ", then ")), r.Action()})
	}
	for _, j := range ks.Janitor {
		p.Jobs = append(p.Jobs, row{j.Name, j.String(), j.Doc})
	}
	p.Migrations = migrations(ks)
	return p
}

// linkTo points to an entry; tasks.job is described with tasks.
func linkTo(name string) link {
	main, _, _ := strings.Cut(name, ".")
	return link{name, main}
}

func (p *page) facts(ks *keyspace.Keyspace) {
	globs := func(list []keyspace.Glob) string {
		var out []string
		for _, g := range list {
			out = append(out, g.Text)
		}
		return strings.Join(out, "  ")
	}
	for _, r := range []row{{"Owner", ks.Owner, "owns every entry that does not say otherwise: it alone writes"},
		{"Ours", globs(ks.Owns), "an undeclared key under these is an error"},
		{"Others'", globs(ks.Foreign), "other software's keys: counted, never judged"}} {
		if r.Code != "" {
			p.Facts = append(p.Facts, r)
		}
	}
	if ks.Cluster {
		p.Facts = append(p.Facts, row{"Cluster", "true", "keys that change together share a slot"})
	}
}

// entries groups by the literal beginning of the patterns, in the order of the
// file.
func (p *page) entries(ks *keyspace.Keyspace) {
	for _, e := range ks.Entries {
		if e.Script != nil {
			p.Scripts = append(p.Scripts, scriptOf(e))
			continue
		}
		title := beginning(e.Keys[0].Pattern)
		i := slices.IndexFunc(p.Sections, func(s section) bool { return s.Title == title })
		if i < 0 {
			i = len(p.Sections)
			p.Sections = append(p.Sections, section{Title: title, Anchor: fmt.Sprintf("section-%d", i+1)})
		}
		p.Sections[i].Entries = append(p.Sections[i].Entries, entryOf(ks, e))
	}
}

// beginning returns the first segment of a pattern, if it is a word.
func beginning(p *pattern.Pattern) string {
	first := p.Elements()[0].Literal
	word, _, more := strings.Cut(first, ":")
	if word == "" || !more && len(p.Placeholders()) > 0 {
		return "other"
	}
	return word
}

func entryOf(ks *keyspace.Keyspace, e *keyspace.Entry) entry {
	k := e.Keys[0]
	out := entry{Name: e.Name, Anchor: e.Name, Doc: e.Doc, Pattern: k.Pattern.String(), Type: typeOf(e),
		TTL: k.TTL.String(), Lifetime: lifetime(k.TTL),
		Owner: e.Owner, Readers: strings.Join(e.Readers, ", "), Example: printable(k.Pattern.Example()), Values: values(k),
		Look: look(k)}
	for _, w := range e.Was {
		out.Was = append(out.Was, w.String())
	}
	for _, place := range k.Pattern.Placeholders() {
		out.Places = append(out.Places, row{place.Name, place.Type.Definition(), asIn(place.Type)})
	}
	for _, derived := range e.Keys[1:] {
		out.Keys = append(out.Keys,
			row{derived.Name, derived.Pattern.String(),
				fmt.Sprintf("%s, %s. %s", derived.Kind, ttlShort(derived.TTL), derived.Doc)})
	}
	for _, ev := range ks.Events {
		if slices.Contains(ev.Deletes, e.Name) {
			out.DeletedBy = append(out.DeletedBy, link{ev.Name, "event-" + ev.Name})
		}
	}
	for _, action := range []string{"create", "update", "delete", "expire"} {
		if name := e.Emits[action]; name != "" {
			out.Emits = append(out.Emits, row{action, name, ""})
		}
	}
	out.More = more(e)
	return out
}

func typeOf(e *keyspace.Entry) string {
	if e.Construct == keyspace.Plain {
		return string(e.Keys[0].Kind)
	}
	return fmt.Sprintf("%s (a Redis %s)", e.Type, e.Keys[0].Kind)
}

func more(e *keyspace.Entry) []row {
	var out []row
	add := func(name, code, note string) {
		if code != "" && code != "0" {
			out = append(out, row{name, code, note})
		}
	}
	if e.TTLBy != nil {
		for _, c := range e.TTLBy.Cases {
			add("lives by "+e.TTLBy.Field, c.Word, keyspace.FormatDuration(c.TTL))
		}
	}
	add("stamped when made", e.Stamps.Created, "by the server")
	add("stamped with each write", e.Stamps.Updated, "by the server")
	add("version", e.Stamps.Version, "grows with each write")
	for _, f := range e.Shape {
		add("payload."+f.Name, f.Type.Definition(), "")
	}
	add("order", e.Order, "the lanes are drained in the order of its words")
	if e.Lease > 0 {
		add("lease", keyspace.FormatDuration(e.Lease), "a job that is not finished by then is given to another worker")
	}
	add("retry", fmt.Sprint(e.Retry), "attempts before a job is given up")
	if e.Timeout > 0 {
		add("timeout", keyspace.FormatDuration(e.Timeout), "a run that takes longer has failed")
	}
	add("maxlen", fmt.Sprint(e.MaxLen), "about so many entries are kept")
	add("groups", strings.Join(e.Groups, ", "), "consumer groups")
	if e.Topic != nil {
		add("durable channel", e.Topic.Name, "kept, acknowledged and replayed; at least once")
	}
	for _, d := range []struct {
		name string
		of   time.Duration
		note string
	}{
		{"fresh", e.Fresh, "then one process loads it again, and the others get the old value meanwhile"},
		{"absent", e.Absent, "it is remembered for so long that there is none"},
		{"gate", e.Gate, "writes under a lock carry its fencing token, and the newest one is kept for so long"},
		{"cached", e.Cached, "the sum over several periods is kept for so long"},
	} {
		if d.of > 0 {
			add(d.name, keyspace.FormatDuration(d.of), d.note)
		}
	}
	if e.Ties == keyspace.FirstToReach {
		add("ties", string(e.Ties),
			"who has had a score for longer comes first; the time is the fraction of the stored score")
	}
	if e.Rate.Count > 0 {
		add("rate", fmt.Sprintf("%d per %s", e.Rate.Count, keyspace.FormatDuration(e.Rate.Per)), "")
		add("algorithm", string(e.Method), "")
	}
	if e.Notify != nil {
		add("announced on", e.Notify.Pattern.String(), "the channel that tells who waits")
	}
	return out
}

// values returns what is stored under a key, by name.
func values(k *keyspace.Key) []row {
	var out []row
	add := func(name string, t *scalar.Type, note string) {
		if t != nil {
			out = append(out, row{name, t.Definition(), note})
		}
	}
	if len(k.JSON) == 0 {
		name := "value"
		if k.Headed {
			name = "payload"
		}
		add(name, k.Value, "")
	}
	add("member", k.Member, "")
	add("score", k.Score, "")
	add("name of a field", k.Field, "")
	add("value of a field", k.Item, "")
	for _, f := range append(slices.Clone(k.Fields), k.JSON...) {
		add(f.Name, &f.Type, "")
	}
	return out
}

func scriptOf(e *keyspace.Entry) script {
	s := e.Script
	out := script{Name: e.Name, Anchor: e.Name, Doc: e.Doc, File: s.File, Effect: string(s.Effect)}
	for _, name := range s.Keys {
		out.Keys = append(out.Keys, linkTo(name))
	}
	for _, a := range s.Args {
		out.Args = append(out.Args, row{a.Name, a.Type.Definition(), ""})
	}
	if s.Returns != nil {
		out.Returns = s.Returns.Definition()
	}
	return out
}

func (p *page) channels(ks *keyspace.Keyspace) {
	for _, c := range ks.Channels {
		out := channel{Name: c.Name, Anchor: "channel-" + c.Name, Doc: c.Doc, Pattern: c.Pattern.String(), Owner: c.Owner,
			Readers: strings.Join(c.Readers, ", ")}
		for _, f := range c.Message {
			out.Message = append(out.Message, row{f.Name, f.Type.Definition(), ""})
		}
		if form := c.Form(); form != "pub/sub" {
			out.Travels = form
		}
		for _, f := range c.Reply {
			out.Reply = append(out.Reply, row{f.Name, f.Type.Definition(), ""})
		}
		if c.ReplyTo != nil {
			out.ReplyTo = c.ReplyTo.Pattern.String()
		}
		p.Channels = append(p.Channels, out)
	}
}

// lifetime returns a TTL in words.
func lifetime(t keyspace.TTL) string {
	switch t.Policy {
	case keyspace.TTLNone:
		return "never expires"
	case keyspace.TTLAny:
		return "undecided: it may expire or not"
	}
	out := "expires " + durationText(t.Default) + " after it was written"
	if t.Sliding {
		out = "expires " + durationText(t.Default) + " after it was last used"
	}
	if t.Min < t.Max {
		out += fmt.Sprintf("; a writer may ask for %s to %s", durationText(t.Min), durationText(t.Max))
	}
	if t.Jitter > 0 {
		out += fmt.Sprintf("; give or take %g %%", t.Jitter*100)
	}
	return out
}

func ttlShort(t keyspace.TTL) string {
	if t.Policy == keyspace.TTLExpires {
		return "at most " + keyspace.FormatDuration(t.LiveMax())
	}
	return lifetime(t)
}

// asIn returns an example of a type, and what a placeholder of it is that is left out.
func asIn(t scalar.Type) string {
	note := "as in " + t.Example()
	if t.Default != "" {
		note += "; " + t.Default + " if it is left out"
	}
	return note
}
