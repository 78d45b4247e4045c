package record

import (
	"bytes"
	"strconv"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
	"github.com/keywright/keywright/migrate/record/internal/datum"
	"github.com/keywright/keywright/migrate/record/internal/jsontext"
)

// Names gives the texts that a capture of a record may be, where its conversion cannot be
// had back: the fields of the hash that keeps them, the captures of the files that there
// are. The one whose conversion gives what is stored is taken.
type Names func(r *Record, capture string) ([]string, error)

// parts returns the stored parts of a record. ok is false for a key that is not of
// the entry.
func (mv *Move) parts(r *Record) (out []datum.Part, ok bool) {
	keys, ok := mv.To.Keys[0].Pattern.Match([]byte(r.Key))
	if !ok {
		return nil, false
	}
	add := func(s *datum.Slot, stored string) {
		if s != nil {
			out = append(out, datum.Part{Slot: s, Stored: stored, There: true})
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
		p := datum.Part{Slot: &mv.fields[i]}
		for _, f := range r.Fields {
			if f.Name == p.Name {
				p.Stored, p.There = f.Value, true
			}
		}
		out = append(out, p)
	}
	add(mv.tries, strconv.FormatInt(r.Tries, 10))
	return out, true
}

// apply returns a value of the document with a record written into it. What is as the
// record says keeps its bytes.
func (mv *Move) apply(m *Match, st *jsontext.Style, cur []byte, r *Record) ([]byte, error) {
	parts, ok := mv.parts(r)
	if !ok {
		return nil, mv.fault(r, "the key is not one of %s", mv.To.Name)
	}
	now := *m
	for i := range parts {
		p := &parts[i]
		if !datum.OfRecord(&p.Term) {
			continue // a capture: it is in the place, not in the value
		}
		now.Raw, now.members, now.split = cur, nil, false
		if cur != nil {
			if d, reason := now.eval(&p.Term); reason == "" {
				stored, there, reason := p.Store(d)
				if reason == "" && there == p.There && (stored == p.Stored || datum.SameStored(p.Type.Kind, stored, p.Stored) ||
					p.Type.Kind == scalar.JSON && sameJSON(stored, p.Stored)) {
					continue
				}
			}
		}
		refs, reason := p.Gives(checked)
		if reason != "" {
			return nil, mv.fault(r, "%s (%s) cannot be written back: it %s", p.Name, p.Term, reason)
		}
		for _, g := range refs {
			if !g.Ref.Whole {
				continue
			}
			raw := g.JSON()
			if len(g.Ref.Members) == 0 && raw == nil {
				return nil, mv.fault(r, "%s (%s) cannot be written back: there is no value", p.Name, p.Term)
			}
			cur = st.Set(cur, g.Ref.Members, raw)
		}
	}
	if cur == nil {
		cur = []byte("{}") // a record of captures alone
	}
	return cur, nil
}

// wants returns the captures of a record, by name.
func (mv *Move) wants(r *Record, names Names) (map[string]*datum.Want, error) {
	parts, ok := mv.parts(r)
	if !ok {
		return nil, mv.fault(r, "the key is not one of %s", mv.To.Name)
	}
	out := map[string]*datum.Want{}
	for i := range parts {
		p := &parts[i]
		captured := ""
		for _, ref := range p.Term.References() {
			if !ref.Whole && ref.Capture != "" {
				captured = ref.Capture
			}
		}
		if captured == "" || out[captured] != nil && out[captured].Known {
			continue
		}
		w := &datum.Want{Term: &p.Term, Stored: p.Stored, Slot: p.Slot}
		if refs, reason := p.Gives(checked); reason == "" {
			w.Text, w.Known = datum.CaptureText(refs, captured)
		} else if p.Term.Back() {
			return nil, mv.fault(r, "%s (%s) cannot be written back: it %s", p.Name, p.Term, reason)
		} else if names != nil {
			w.Ask = func() ([]string, error) { return names(r, captured) }
		}
		out[captured] = w
	}
	for name, t := range mv.Told {
		if w := out[name]; w != nil && w.Known || len(r.Value) == 0 {
			continue
		}
		m := &Match{path: &node{}, Raw: jsontext.Trim(r.Value)}
		if d, reason := m.eval(&t); reason == "" &&
			(d.Kind == datum.Text || d.Kind == datum.Spelled || d.Kind == datum.Number) {
			out[name] = &datum.Want{Text: d.Text, Known: true}
		}
	}
	return out, nil
}

// FileOf returns the file that has, or would get, a record. names may be nil where the
// captures of the file's name can be had back.
func (mv *Move) FileOf(r *Record, names Names) (string, error) {
	captures := Captures{}
	if len(mv.Source.File.Captures()) > 0 {
		wants, err := mv.wants(r, names)
		if err != nil {
			return "", err
		}
		for _, name := range mv.Source.File.Captures() {
			w := wants[name]
			if w != nil {
				if err := w.Find(name); err != nil {
					return "", err
				}
			}
			if w == nil || !w.Known {
				return "", mv.fault(r, "nothing says what {%s} of the file is", name)
			}
			captures[name] = w.Text
		}
	}
	return mv.fileOf(r, captures)
}

// fileOf returns the file with these captures. The error is a *Reject for which no file can have the record.
func (mv *Move) fileOf(r *Record, captures Captures) (string, error) {
	name, reason := mv.Source.File.Build(captures)
	for _, other := range mv.Source.before {
		if _, ok := other.Match(name); ok && reason == "" {
			reason = "it is a file of the source " + other.Name
		}
	}
	if reason == "" {
		return name, nil
	}
	err := mv.fault(r, "its file of %s would be %.64q: %s", mv.Source.Name, name, reason).(*Reject)
	err.NoFile = true
	return "", err
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
		case !w.Is(name, m.capture(name)):
			return mv.fault(r, "it would be written back as another {%s}", name)
		}
	}
	if m.Raw == nil {
		return nil
	}
	st := &jsontext.Style{Colon: ": ", Comma: " ", Unit: "  "}
	if next, err := mv.apply(m, st, m.Raw, r); err != nil {
		return err
	} else if !bytes.Equal(next, m.Raw) {
		return mv.fault(r, "its bytes do not come back")
	}
	return nil
}
