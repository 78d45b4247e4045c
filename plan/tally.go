package plan

import "slices"

// Tally represents the counts of a plan whose verb has no rule: what it would change, by entry,
// and what it leaves alone.
type Tally struct {
	order []string
	parts map[string]*Part
	left  map[Code]*Left
	list  []Change
}

// NewTally makes a tally. Entries are in the order in which they are counted first.
func NewTally() *Tally { return &Tally{parts: map[string]*Part{}, left: map[Code]*Left{}} }

func (t *Tally) part(entry string) *Part {
	p := t.parts[entry]
	if p == nil {
		p = &Part{Entry: entry}
		t.parts[entry] = p
		t.order = append(t.order, entry)
	}
	return p
}

// Change counts keys that would be changed. One of them may be an example.
func (t *Tally) Change(entry string, keys int64, such []byte, db int) {
	p := t.part(entry)
	p.Keys, p.Change = p.Keys+keys, p.Change+keys
	if len(such) > 0 {
		p.Examples = example(p.Examples, such, db, "")
	}
}

// List counts a change, and lists it.
func (t *Tally) List(c Change) {
	t.Change(c.Entry, 1, c.Key, c.DB)
	t.list = append(t.list, c)
}

// Note lists a change of which the keys are counted otherwise.
func (t *Tally) Note(c Change) { t.list = append(t.list, c) }

// Full says that no more changes can be listed.
func (t *Tally) Full() bool { return len(t.list) >= MaxChanges }

// Leave counts keys that are left alone.
func (t *Tally) Leave(entry string, l Left) {
	p := t.part(entry)
	p.Keys, p.Leave = p.Keys+l.Keys, p.Leave+l.Keys
	LeaveAllIn(t.left, l)
}

// Into writes the counts into a plan.
func (t *Tally) Into(p *Plan) {
	p.Total, p.Entries = Counts{}, []Part{}
	for _, name := range t.order {
		part := *t.parts[name]
		p.Entries = append(p.Entries, part)
		p.Total.Keys, p.Total.Change, p.Total.Leave = p.Total.Keys+part.Keys, p.Total.Change+part.Change,
			p.Total.Leave+part.Leave
	}
	p.Left, p.Changes = Ranked(t.left), slices.Clone(t.list)
}
