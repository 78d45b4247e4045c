package bind

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/parts"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/value"
)

// Items represents an entity of which the keys and indexes are known, and the field that says how
// long an item lives.
type Items = entity.Store[string, Aged]

// Aged represents the text of that field.
type Aged string

// Entity returns the store of an entity, with values for the placeholders that all its keys
// share. It sweeps, checks and deletes; it writes no items.
func Entity(c *keywright.Client, ks *keyspace.Keyspace, e *keyspace.Entry, v Values) (*Items, error) {
	spec, err := Spec(ks, e, v)
	if spec == nil {
		return nil, err
	}
	return entity.New(keywright.Binding{Client: c, Entry: Entry(ks, e.Keys[0]), Err: err}, spec), nil
}

// Spec returns an entity as far as its keys, its indexes, its options and the end of its items.
func Spec(ks *keyspace.Keyspace, e *keyspace.Entry, v Values) (*entity.Spec[string, Aged], error) {
	h, main := parts.Of(e), e.Keys[0].Pattern
	spec := &entity.Spec[string, Aged]{Fields: &value.Fields[Aged]{}}
	item, err := bindPart(*h.Item, v)
	if err = errors.Join(err, fill(h, v, spec, spec)); err != nil {
		return nil, err
	}
	spec.Prefix, spec.Suffix = item.Prefix, item.Suffix
	narrower := ks.Narrower(e.Keys[0])
	spec.Key = func(id string) (string, error) {
		key := spec.Prefix + id + spec.Suffix
		if !item.Has(key) {
			return "", fmt.Errorf("the id does not fit %s", e.Name)
		}
		if i := among(narrower, key); i >= 0 {
			return "", fmt.Errorf("%s: the key is one of %s, %s", e.Name, narrower[i].Name, narrower[i].Pattern)
		}
		return key, nil
	}
	spec.Parse = func(key string) (string, bool) {
		if !item.Has(key) || among(narrower, key) >= 0 {
			return "", false
		}
		return key[len(spec.Prefix) : len(key)-len(spec.Suffix)], true
	}
	for _, ix := range h.Indexes {
		to, err := indexed(ix, v, ks.Narrower(ix.Key))
		if err != nil {
			return nil, err
		}
		spec.Indexes = append(spec.Indexes, to)
	}
	if r := e.TTLBy; r != nil {
		spec.Fields.Columns = []value.Column[Aged]{{Name: r.Field,
			Parse: func(v *Aged, text string) error { *v = Aged(text); return nil }}}
		spec.TTL = func(v *Aged) time.Duration { return r.Of(string(*v)) }
	}
	spec.OnExpire, err = Events(ks, e, "expire")
	spec.Pieces = func(id string) (texts []string) {
		found, _ := Read(main, spec.Prefix+id+spec.Suffix)
		for _, p := range main.Placeholders() {
			texts = append(texts, found[p.Name])
		}
		return texts
	}
	return spec, err
}

// indexed returns an index with values.
func indexed(ix parts.Index, v Values, narrower []*keyspace.Key) (entity.Index[Aged], error) {
	b, err := bindPart(ix.Part, v)
	out := entity.Index[Aged]{Name: ix.Name, Field: ix.Field, Score: ix.Score, Prefix: b.Prefix, Suffix: b.Suffix}
	if ix.Field == "" && err == nil {
		out.Prefix = b.Names[0]
	} else {
		out.Legal = func(key string) bool {
			_, ok := ix.Pattern.Match([]byte(key))
			return ok && among(narrower, key) < 0
		}
	}
	return out, err
}

// among returns which of these a key belongs to, -1 for none.
func among(keys []*keyspace.Key, key string) int {
	return slices.IndexFunc(keys, func(k *keyspace.Key) bool { _, ok := k.Pattern.Match([]byte(key)); return ok })
}

// Events returns what is sent when something is done with an item: nothing, or one event. It
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

// modes and forms are the words of package parts.
var (
	modes = map[parts.Constant]entity.Mode{"Publish": entity.Publish, "PublishSharded": entity.PublishSharded,
		"Append": entity.Append}
	forms = map[parts.Constant]value.Form{"Quoted": value.Quoted, "Bare": value.Bare, "Inline": value.Inline}
)

func event(e *keyspace.Entry, ch *keyspace.Channel) entity.Event {
	from := parts.EventOf(e, ch, ch.Pattern.Elements())
	ev := entity.Event{Mode: modes[from.Mode], MaxLen: from.MaxLen, Age: from.Age, Plain: from.Plain,
		Data: pieces(e, from.Data)}
	if from.Fixed {
		ev.Channel, _ = Build(ch.Pattern, nil)
	} else {
		ev.Name = pieces(e, from.Name)
	}
	return ev
}

// pieces returns those of a message, or of a name. A piece of the item's key is the number of
// its placeholder.
func pieces(e *keyspace.Entry, list []parts.Piece) (out []entity.Part) {
	for _, p := range list {
		to := entity.Part{Name: p.Name, Form: forms[p.Form], Base64: p.Base64}
		switch p.From {
		case parts.Literal:
			to = entity.Part{Name: p.Element.Literal, Literal: true}
		case parts.OfField:
			to.Field = p.Name
		case parts.OfKey:
			to.Key = 1 + slices.IndexFunc(e.Keys[0].Pattern.Placeholders(),
				func(q pattern.Placeholder) bool { return q.Name == p.Name })
		}
		out = append(out, to)
	}
	return out
}
