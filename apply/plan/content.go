package plan

import (
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source"
)

// Content describes how a value that holds names of keys is written under a new name.
type Content struct {
	// Places are what the index record of an entity says of its indexes, before and after.
	Places map[IndexPlace]IndexPlace

	// Member is the new name of a member of a sorted set, if it names a key that has one;
	// nil: members are no names.
	Member func(name []byte) ([]byte, bool)
}

// IndexPlace represents an index of an entity, and the text around the values in its keys.
type IndexPlace struct {
	Index, Prefix, Suffix string
	All                   bool // it has one key, the Prefix
}

// content returns how the value of a key is written under its new name; nil: as it is. The old
// name was matched last.
func (r *Rename) content(k *source.Key, p *pair) *Content {
	switch {
	case p.key == nil || p.family == nil:
		return nil
	case p.key.Entry.Construct == keyspace.Entity && p.key.Role == recordsRole:
		return r.recordContent(k, p)
	case tagging(p.key) && r.tags != nil && !r.retags():
		return &Content{Member: r.tags.member}
	}
	return nil
}

// recordsRole is the role of the key with the index records of an entity.
const recordsRole = "ledger"

// recordContent returns the new content of the index records whose key was matched last. Its name has all
// placeholders that the indexes have beside their own values.
func (r *Rename) recordContent(k *source.Key, p *pair) *Content {
	c, differ := &Content{Places: map[IndexPlace]IndexPlace{}}, false
	for _, ix := range p.key.Entry.Index {
		from, to := p.family.from[ix.Key.Role], p.family.to[ix.Key.Role]
		if from == nil || to == nil {
			continue
		}
		old, ok1 := r.placeIn(k, p, &ix, from)
		now, ok2 := r.placeIn(k, p, &ix, to)
		if ok1 && ok2 {
			c.Places[old] = now
			differ = differ || old != now
		}
	}
	if !differ {
		return nil
	}
	return c
}

// placeIn returns an index with one pattern of its keys; false if a placeholder is not known.
func (r *Rename) placeIn(k *source.Key, p *pair, ix *keyspace.Index, at *pattern.Pattern) (out IndexPlace, ok bool) {
	first, last := len(at.Elements()), len(at.Elements())
	out = IndexPlace{Index: ix.Name, All: ix.Field == ""}
	if !out.All {
		if first, last = at.Span(ix.Field); first < 0 {
			return out, false
		}
	}
	ok = true
	text := func(elems []pattern.Element) string {
		var b strings.Builder
		for _, e := range elems {
			if e.Placeholder < 0 {
				b.WriteString(e.Literal)
				continue
			}
			i := placeholder(p.from, at.Placeholders()[e.Placeholder].Name)
			if i < 0 {
				ok = false
				return ""
			}
			b.Write(r.caught.Of(k.Name, i))
		}
		return b.String()
	}
	out.Prefix = text(at.Elements()[:first])
	if last < len(at.Elements()) {
		out.Suffix = text(at.Elements()[last+1:])
	}
	return out, ok
}

// sealedEntry reports whether a part of an entry is encrypted. What is encrypted is bound to
// its name, and the keys of a construct only make sense together.
func sealedEntry(e *keyspace.Entry) bool {
	for _, k := range e.Keys {
		if len(k.Sealed()) > 0 {
			return true
		}
	}
	return false
}

// Elsewhere tells which names the keys of a namespace get in another one. It is for one
// goroutine.
type Elsewhere struct {
	there, back *Rename
	old         *keyMatcher
}

// NewElsewhere makes it of one declaration, loaded in each of the two namespaces.
func NewElsewhere(from, to *keyspace.Keyspace) (*Elsewhere, error) {
	pairs, err := Moved(from, to)
	if err != nil {
		return nil, err
	}
	e := &Elsewhere{}
	if e.there, err = NewRename(to, pairs, RenameOptions{Copied: true}); err != nil {
		return nil, err
	}
	if e.back, err = NewRename(to, pairs.Back(), RenameOptions{Copied: true, Back: true}); err != nil {
		return nil, err
	}
	e.old, err = newKeyMatcher(from, selection.Request{})
	return e, err
}

// Name returns the new name of a key, and how its value is written under it, or why it has none.
func (e *Elsewhere) Name(old []byte) (name []byte, content *Content, left Code) {
	d := e.there.Decide(&source.Key{Name: old})
	switch {
	case !d.Meant:
		return nil, nil, e.unnamed(old)
	case d.Leave != "":
		return nil, nil, d.Leave
	}
	return []byte(d.Step.To), d.Step.Content, ""
}

// unnamed returns why a key that no entry declares has no new name.
func (e *Elsewhere) unnamed(old []byte) Code {
	if id := e.old.matcher.Match(old, &e.old.seen); id != match.None {
		switch t := e.old.targets[id]; {
		case t.Legacy != nil:
			return OldName
		case t.Foreign != nil:
			return Foreign
		}
	}
	return NoNewName
}

// Glob matches each new name; "" where one glob cannot tell.
func (e *Elsewhere) Glob() string { return e.back.Glob() }

// Old returns the reverse of Name; false: the key has no name in the namespace that it came from.
func (e *Elsewhere) Old(name []byte) ([]byte, bool) {
	d := e.back.Decide(&source.Key{Name: name})
	return []byte(d.Step.To), d.Meant && d.Leave == "" && d.Step.To != ""
}
