package audit

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/group"
	"github.com/keywright/keywright/source"
)

// state represents all that a fold has made of the keys so far, in a form that can be kept. It
// holds names of keys and fields, never values.
type state struct {
	Items   []statState            `json:"items"`
	Stray   statState              `json:"stray"`
	Total   figuresState           `json:"total"`
	Skipped int64                  `json:"skipped,omitempty"`
	Groups  []groupState           `json:"groups"` // of undeclared keys
	Top     []topState             `json:"top,omitempty"`
	Open    map[string]openReading `json:"open,omitempty"`
}

type figuresState struct {
	Keys  int64         `json:"keys"`
	Bytes int64         `json:"bytes"`
	Blind int64         `json:"blind,omitempty"`
	NoTTL int64         `json:"no_ttl,omitempty"`
	Steps []int64       `json:"ttl_steps,omitempty"`
	Min   time.Duration `json:"ttl_min,omitempty"`
	Max   time.Duration `json:"ttl_max,omitempty"`
	TTLs  int64         `json:"ttls,omitempty"`
}

type statState struct {
	Figures figuresState        `json:"figures"`
	Wrong   [source.Kinds]int64 `json:"wrong"`
	Marks   []markState         `json:"marks"`
	Faults  []faultState        `json:"faults,omitempty"`
	Values  Coverage            `json:"values"`
}

type markState struct {
	Count    int64       `json:"count"`
	Examples []nameState `json:"examples,omitempty"`
}

type nameState struct {
	DB  int    `json:"db"`
	Key []byte `json:"key"`
}

type faultState struct {
	Code    string           `json:"code"`
	Message string           `json:"message"`
	Pos     finding.Position `json:"pos,omitzero"`
	Mark    markState        `json:"mark"`
}

// groupState represents a row of the tree of undeclared keys.
type groupState struct {
	Space   int                 `json:"space"` // the glob of owns, -1 for none
	Sep     byte                `json:"separator"`
	Path    [][]byte            `json:"path"`
	Folded  []int64             `json:"folded,omitempty"`
	Figures figuresState        `json:"figures"`
	Kinds   [source.Kinds]int64 `json:"kinds"`
	Example []byte              `json:"example"`
	DB      int                 `json:"db,omitempty"` // of the example
}

type topState struct {
	Key   nameState     `json:"key"`
	Kind  source.Kind   `json:"kind"`
	TTL   time.Duration `json:"ttl"`
	Bytes int64         `json:"bytes"`
	Size  int64         `json:"size,omitempty"`
	Facts source.Facts  `json:"facts"`
	Rank  int64         `json:"rank"`
	Item  int           `json:"item"`
}

type openReading struct {
	Looked int64       `json:"looked"`
	Seen   []string    `json:"seen,omitempty"`
	Faults []openFault `json:"faults,omitempty"`
}

type openFault struct {
	Code    string           `json:"code"`
	Message string           `json:"message"`
	Pos     finding.Position `json:"pos,omitzero"`
}

// State returns what the audit has made of the keys so far: Restore goes on with it.
func (a *Audit) State() ([]byte, error) {
	s := state{Stray: a.stray.state(), Total: a.total.state(), Skipped: a.skipped, Groups: []groupState{},
		Open: map[string]openReading{}}
	for row := range a.sketch.tree.Rows() {
		s.Groups = append(s.Groups, groupStateOf(row))
	}
	for _, item := range a.stats {
		s.Items = append(s.Items, item.state())
	}
	for _, k := range a.top.list {
		s.Top = append(s.Top, topState{nameState{k.DB, k.Name}, k.Kind, k.TTL, k.Bytes, k.Size, k.facts, k.rank, k.item})
	}
	for name, v := range a.open {
		o := openReading{Looked: v.looked}
		for field := range v.seen {
			o.Seen = append(o.Seen, field)
		}
		for _, f := range v.faults {
			o.Faults = append(o.Faults, openFault{f.code, f.message, f.pos})
		}
		s.Open[json64(name)] = o
	}
	return json.Marshal(s)
}

// ErrOtherState is returned by Restore for a state of another declaration.
var ErrOtherState = errors.New("the state is of another declaration")

// Restore makes a new audit go on where the one whose State it is has ended. It must
// have the same declaration and options.
func (a *Audit) Restore(text []byte) error {
	var s state
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("the state of the audit cannot be read: %w", err)
	}
	if err := a.fits(&s); err != nil {
		return err
	}
	for i, item := range s.Items {
		item.restore(a.stats[i])
	}
	s.Stray.restore(&a.stray)
	a.total, a.skipped = s.Total.figures(), s.Skipped
	a.sketch.tree = group.New[tally](0)
	for _, g := range s.Groups {
		a.sketch.tree.Put(g.row())
	}
	a.top.list = nil
	for _, t := range s.Top {
		a.top.list = append(a.top.list, *t.top())
	}
	for name, o := range s.Open {
		v := &valueReading{looked: o.Looked, seen: map[string]bool{}}
		for _, field := range o.Seen {
			v.seen[field] = true
		}
		for _, f := range o.Faults {
			v.faults = append(v.faults, keyFault{f.Code, f.Message, f.Pos})
		}
		a.open[name64(name)] = v
	}
	return nil
}

func (f *figures) state() figuresState {
	h := &f.ttls
	return figuresState{f.keys, f.bytes, f.blind, f.noTTL, h.steps, h.min, h.max, h.n}
}

func (s figuresState) figures() figures {
	return figures{s.Keys, s.Bytes, s.Blind, s.NoTTL, histogram{s.Steps, s.Min, s.Max, s.TTLs}}
}

func (m *mark) state() markState {
	out := markState{Count: m.count}
	for _, e := range m.examples {
		out.Examples = append(out.Examples, nameState{e.DB, e.Key})
	}
	return out
}

func (s markState) mark() mark {
	out := mark{count: s.Count}
	for _, e := range s.Examples {
		out.examples = append(out.examples, finding.Example{DB: e.DB, Key: e.Key})
	}
	return out
}

func (s *stat) state() statState {
	out := statState{Figures: s.figures.state(), Wrong: s.wrong, Values: s.values}
	for i := range s.marks {
		out.Marks = append(out.Marks, s.marks[i].state())
	}
	for _, f := range s.value {
		out.Faults = append(out.Faults, faultState{f.code, f.message, f.pos, f.mark.state()})
	}
	return out
}

// restore fills what is counted; what was declared is there already.
func (s statState) restore(into *stat) {
	into.figures, into.wrong, into.values, into.value = s.Figures.figures(), s.Wrong, s.Values, nil
	for i := range min(len(s.Marks), len(into.marks)) {
		into.marks[i] = s.Marks[i].mark()
	}
	for _, f := range s.Faults {
		into.value = append(into.value, valueFault{f.Code, f.Message, f.Pos, f.Mark.mark()})
	}
}

func groupStateOf(r group.Row[tally]) groupState {
	m := r.Tally.counted()
	out := groupState{Space: r.Space, Sep: r.Sep, DB: r.Tally.db, Figures: m.figures.state(), Kinds: m.kinds,
		Example: r.Tally.example}
	for _, name := range r.Path {
		out.Path = append(out.Path, []byte(name))
	}
	if slices.ContainsFunc(r.Folded, func(n int64) bool { return n > 0 }) {
		out.Folded = r.Folded
	}
	return out
}

func (s groupState) row() group.Row[tally] {
	t := &tally{keys: s.Figures.Keys, more: &moreKeys{s.Figures.figures(), s.Kinds}, example: s.Example, db: s.DB}
	r := group.Row[tally]{Space: s.Space, Sep: s.Sep, Folded: s.Folded, Tally: t}
	for _, name := range s.Path {
		r.Path = append(r.Path, string(name))
	}
	return r
}

// json64 writes bytes that need not be UTF-8 as a name in JSON; name64 reads it.
func json64(name string) string { return base64.StdEncoding.EncodeToString([]byte(name)) }

func name64(text string) string {
	name, _ := base64.StdEncoding.DecodeString(text)
	return string(name)
}
