package record

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/route"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Names gives the texts that a capture of a record may be, where its conversion cannot be
// had back: the fields of the hash that keeps them, the captures of the files that there
// are. The one whose conversion gives what is stored is taken.
type Names func(r *Record, capture string) ([]string, error)

// part represents a stored part of a record, with the slot that says where it is from.
type part struct {
	*slot
	stored string
	there  bool
}

// parts returns the stored parts of a record. ok is false for a key that is not of
// the entry.
func (mv *Move) parts(r *Record) (out []part, ok bool) {
	keys, ok := mv.To.Keys[0].Pattern.Match([]byte(r.Key))
	if !ok {
		return nil, false
	}
	add := func(s *slot, stored string) {
		if s != nil {
			out = append(out, part{s, stored, true})
		}
	}
	add(mv.value, string(r.Value)) // first: it may be the whole record
	if mv.Kind == keyspace.ElementRecord {
		add(mv.member, string(r.Value))
	} else {
		add(mv.member, r.Sub)
	}
	for i := range mv.with {
		add(&mv.with[i], keys[i])
	}
	add(mv.field, r.Sub)
	add(mv.score, r.Score)
	for i := range mv.fields {
		p := part{slot: &mv.fields[i]}
		for _, f := range r.Fields {
			if f.Name == p.name {
				p.stored, p.there = f.Value, true
			}
		}
		out = append(out, p)
	}
	add(mv.tries, strconv.FormatInt(r.Tries, 10))
	return out, true
}

// gives returns the references of a part and their values.
func (p *part) gives() ([]given, string) {
	d := datum{}
	if p.there {
		var reason string
		if d, reason = p.loaded(); reason != "" {
			return nil, reason
		}
	}
	return undo(&p.term, d)
}

// loaded returns what is stored of the part as a datum.
func (p *part) loaded() (datum, string) {
	if p.typ.Kind == scalar.JSON {
		if _, err := checked([]byte(p.stored)); err != nil {
			return datum{}, "is no JSON"
		}
	}
	return p.load(p.stored)
}

// apply returns a value of the document with a record written into it. What is as the
// record says keeps its bytes.
func (mv *Move) apply(m *Match, st *style, cur []byte, r *Record) ([]byte, error) {
	parts, ok := mv.parts(r)
	if !ok {
		return nil, mv.fault(r, "the key is not one of %s", mv.To.Name)
	}
	now := *m
	for i := range parts {
		p := &parts[i]
		if !ofRecord(&p.term) {
			continue // a capture: it is in the place, not in the value
		}
		now.Raw, now.members, now.split = cur, nil, false
		if cur != nil {
			if d, reason := now.eval(&p.term); reason == "" {
				stored, there, reason := p.store(d)
				if reason == "" && there == p.there && (stored == p.stored || sameStored(p.typ.Kind, stored, p.stored) ||
					p.typ.Kind == scalar.JSON && sameJSON(stored, p.stored)) {
					continue
				}
			}
		}
		refs, reason := p.gives()
		if reason != "" {
			return nil, mv.fault(r, "%s (%s) cannot be written back: it %s", p.name, p.term, reason)
		}
		for _, g := range refs {
			if !g.ref.Whole {
				continue
			}
			raw := g.json()
			if len(g.ref.Members) == 0 && raw == nil {
				return nil, mv.fault(r, "%s (%s) cannot be written back: there is no value", p.name, p.term)
			}
			cur = st.set(cur, g.ref.Members, raw)
		}
	}
	if cur == nil {
		cur = []byte("{}") // a record of captures alone
	}
	return cur, nil
}

// want represents a capture that a record needs: its text, or, where that cannot be had
// back, what its conversion must give.
type want struct {
	text   string
	known  bool
	term   *route.Term
	stored string
	slot   *slot
	ask    func() ([]string, error) // for the texts that it may be; nil: nothing says them
}

// find looks for the text among those that it may be. Two texts that have one conversion
// say nothing.
func (w *want) find(name string) error {
	if w.known || w.ask == nil {
		return nil
	}
	texts, err := w.ask()
	if err != nil {
		return err
	}
	texts = slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return !w.is(name, text) })
	slices.Sort(texts)
	if texts = slices.Compact(texts); len(texts) == 1 {
		w.text, w.known = texts[0], true
	}
	return nil
}

// is reports whether a text is what is wanted.
func (w *want) is(name, text string) bool {
	if w.known {
		return w.text == text
	}
	m := &Match{path: &node{}, file: Captures{name: text}}
	d, reason := m.eval(w.term)
	if reason != "" {
		return false
	}
	stored, there, reason := w.slot.store(d)
	return reason == "" && there && stored == w.stored
}

// wants returns the captures of a record, by name.
func (mv *Move) wants(r *Record, names Names) (map[string]*want, error) {
	parts, ok := mv.parts(r)
	if !ok {
		return nil, mv.fault(r, "the key is not one of %s", mv.To.Name)
	}
	out := map[string]*want{}
	for i := range parts {
		p := &parts[i]
		captured := ""
		for _, ref := range p.term.References() {
			if !ref.Whole && ref.Capture != "" {
				captured = ref.Capture
			}
		}
		if captured == "" || out[captured] != nil && out[captured].known {
			continue
		}
		w := &want{term: &p.term, stored: p.stored, slot: p.slot}
		if refs, reason := p.gives(); reason == "" {
			w.text, w.known = captureText(refs, captured)
		} else if p.term.Back() {
			return nil, mv.fault(r, "%s (%s) cannot be written back: it %s", p.name, p.term, reason)
		} else if names != nil {
			w.ask = func() ([]string, error) { return names(r, captured) }
		}
		out[captured] = w
	}
	for name, t := range mv.Told {
		if w := out[name]; w != nil && w.known || len(r.Value) == 0 {
			continue
		}
		m := &Match{path: &node{}, Raw: trim(r.Value)}
		if d, reason := m.eval(&t); reason == "" && (d.kind == text || d.kind == spelled || d.kind == number) {
			out[name] = &want{text: d.text, known: true}
		}
	}
	return out, nil
}

// FileOf returns the file that has, or would get, a record. names may be nil where the
// captures of the file's name can be had back.
func (mv *Move) FileOf(r *Record, names Names) (string, error) {
	captures := map[string]string{}
	if len(mv.Source.File.Captures()) > 0 {
		wants, err := mv.wants(r, names)
		if err != nil {
			return "", err
		}
		for _, name := range mv.Source.File.Captures() {
			w := wants[name]
			if w != nil {
				if err := w.find(name); err != nil {
					return "", err
				}
			}
			if w == nil || !w.known {
				return "", mv.fault(r, "nothing says what {%s} of the file is", name)
			}
			captures[name] = w.text
		}
	}
	file, ok := mv.Source.File.Build(captures)
	if !ok {
		return "", mv.fault(r, "its captures make no name of a file of %s", mv.Source.Name)
	}
	return file, nil
}

// Returns is nil if a record belongs in a file, in the place of a match, and makes the bytes
// that are there.
func (mv *Move) Returns(m *Match, r *Record, file string, names Names) error {
	r.At = m.At
	if len(mv.Source.File.Captures()) > 0 {
		if in, err := mv.FileOf(r, names); err != nil {
			return err
		} else if in != file {
			return mv.fault(r, "it would be written back into another file")
		}
	}
	wants, err := mv.wants(r, names)
	if err != nil {
		return err
	}
	for _, name := range mv.From.Captures() {
		switch w := wants[name]; {
		case w == nil:
		case !w.is(name, m.capture(name)):
			return mv.fault(r, "it would be written back as another {%s}", name)
		}
	}
	if m.Raw == nil {
		return nil
	}
	st := &style{": ", " ", "  "}
	if next, err := mv.apply(m, st, m.Raw, r); err != nil {
		return err
	} else if !bytes.Equal(next, m.Raw) {
		return mv.fault(r, "its bytes do not come back")
	}
	return nil
}
