package bind

import (
	"fmt"
	"slices"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/value"
)

// Items is an entity of which the keys and indexes are known, and the field that says how
// long an item lives.
type Items = entity.Store[string, Aged]

// Aged is the text of that field.
type Aged string

// Entity is the store of an entity, with values for the placeholders that all its keys
// share. It sweeps, checks and deletes; it writes no items.
func Entity(c *keywright.Client, ks *keyspace.Keyspace, e *keyspace.Entry, v Values) (*Items, error) {
	spec, err := Spec(ks, e, v)
	if spec == nil {
		return nil, err
	}
	return entity.New(c, spec, err), nil
}

// Spec is an entity as far as its keys, its indexes and the end of its items.
func Spec(ks *keyspace.Keyspace, e *keyspace.Entry, v Values) (*entity.Spec[string, Aged], error) {
	d, main := e.Divide(), e.Keys[0].Pattern
	spec := &entity.Spec[string, Aged]{Entry: Entry(ks, e.Keys[0]), Fields: &value.Fields[Aged]{}}
	spec.Prefix, spec.Suffix = around(main, d.Own, v)
	spec.Key = func(id string) (string, error) { return spec.Prefix + id + spec.Suffix, nil }
	spec.Parse = func(key string) (string, bool) {
		found, ok := Read(main, key, d.Own...)
		if !ok || !shared(found, v, d.Shared) {
			return "", false
		}
		return key[len(spec.Prefix) : len(key)-len(spec.Suffix)], true
	}
	var err error
	for role, to := range map[string]*string{"expiry": &spec.Expires, "ledger": &spec.Ledger, "pending": &spec.Pending, "sweep": &spec.Lease} {
		if p := e.Key(role); p != nil && err == nil {
			*to, err = Build(p.Pattern, v)
		}
	}
	if ledger := e.Key("ledger"); ledger != nil && ledger.TTL.Policy == keyspace.TTLExpires {
		spec.IndexTTL = ledger.TTL.Max
	}
	for _, ix := range e.Index {
		to := entity.Index[Aged]{Name: ix.Name, Field: ix.Field, Score: ix.Score}
		if ix.Field != "" {
			to.Prefix, to.Suffix = around(ix.Key.Pattern, []string{ix.Field}, v)
			to.Legal = func(key string) bool { _, ok := ix.Key.Pattern.Match([]byte(key)); return ok }
		} else if to.Prefix, err = Build(ix.Key.Pattern, v); err != nil {
			return nil, err
		}
		if ix.Field == "" && ix.Score == "expires" {
			spec.Expires = to.Prefix
			continue
		}
		spec.Indexes = append(spec.Indexes, to)
	}
	if r := e.TTLBy; r != nil {
		spec.Fields.Columns = []value.Column[Aged]{{Name: r.Field, Parse: func(v *Aged, text string) error { *v = Aged(text); return nil }}}
		spec.TTL, spec.TTLFields = func(v *Aged) time.Duration { return r.Of(string(*v)) }, []string{r.Field}
	}
	if err == nil {
		spec.OnExpire, err = Events(ks, e, "expire")
	}
	spec.Pieces = func(id string) (texts []string) {
		found, _ := Read(main, spec.Prefix+id+spec.Suffix)
		for _, p := range main.Placeholders() {
			texts = append(texts, found[p.Name])
		}
		return texts
	}
	return spec, err
}

// shared reports whether a key was built with the values of the placeholders that all
// keys share.
func shared(found, v Values, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return found[name] != v[name] })
}

// Events is what is sent when something is done with an item: nothing, or one event. It
// refuses an event that cannot be filled.
func Events(ks *keyspace.Keyspace, e *keyspace.Entry, action string) ([]entity.Event, error) {
	ch := ks.Channel(e.Emits[action])
	if ch == nil {
		return nil, nil
	}
	if lacks := e.Lacks(action, ch); len(lacks) > 0 {
		return nil, fmt.Errorf("%s (%s)", lacks[0].Text, lacks[0].Fix)
	}
	return []entity.Event{event(e, ch)}, nil
}

func event(e *keyspace.Entry, ch *keyspace.Channel) entity.Event {
	ev := entity.Event{Mode: entity.Publish, Plain: ch.Plain}
	switch {
	case ch.Durable != nil:
		ev.Mode, ev.MaxLen, ev.Age = entity.Append, ch.Durable.MaxLen, ch.Durable.Age
	case ch.Sharded:
		ev.Mode = entity.PublishSharded
	}
	part := func(name string, t scalar.Type) entity.Part {
		p := entity.Part{Name: name, Field: name, Form: forms[t.Kind], Base64: t.Kind == scalar.Bytes}
		if i := slices.IndexFunc(e.Keys[0].Pattern.Placeholders(), func(q pattern.Placeholder) bool { return q.Name == name }); i >= 0 {
			p.Field, p.Key = "", 1+i
		}
		return p
	}
	for _, elem := range ch.Pattern.Elements() {
		if elem.Placeholder < 0 {
			ev.Name = append(ev.Name, entity.Part{Name: elem.Literal, Literal: true})
		} else {
			place := ch.Pattern.Placeholders()[elem.Placeholder]
			ev.Name = append(ev.Name, part(place.Name, place.Type))
		}
	}
	if len(ch.Pattern.Placeholders()) == 0 {
		ev.Channel, _ = Build(ch.Pattern, nil)
		ev.Name = nil
	}
	for _, f := range ch.Message {
		ev.Data = append(ev.Data, part(f.Name, f.Type))
	}
	return ev
}

// forms are the types that are no text in JSON.
var forms = map[scalar.Kind]value.Form{
	scalar.Int: value.Bare, scalar.Float: value.Bare, scalar.Bool: value.Bare, scalar.UnixS: value.Bare, scalar.UnixMS: value.Bare, scalar.JSON: value.Inline,
}
