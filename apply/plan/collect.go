package plan

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source"
)

// Bounds of examples: how many of each kind, and the bytes of one name.
const (
	maxExamples    = 5
	maxExampleName = 4096
)

// Collector folds the decisions of a rule into the counts of a plan.
type Collector struct {
	rule  Rule
	parts map[int]*Part
	left  map[Code]*Left
}

// NewCollector makes a collector for a rule.
func NewCollector(rule Rule) *Collector {
	return &Collector{rule, map[int]*Part{}, map[Code]*Left{}}
}

// Add decides about keys and counts them.
func (c *Collector) Add(batch []source.Key) { c.Count(batch, c.Decide(batch)) }

// Decide decides about keys.
func (c *Collector) Decide(batch []source.Key) []Decision {
	out := make([]Decision, len(batch))
	for i := range batch {
		out[i] = c.rule.Decide(&batch[i])
	}
	return out
}

// Count counts keys that were decided about.
func (c *Collector) Count(batch []source.Key, decisions []Decision) {
	for i := range batch {
		if decisions[i].Meant {
			c.count(&batch[i], decisions[i])
		}
	}
}

func (c *Collector) count(k *source.Key, d Decision) {
	p := c.parts[d.Entry]
	if p == nil {
		p = &Part{}
		if d.Entry != selection.Undeclared {
			p.Entry = c.rule.Names()[d.Entry]
		}
		c.parts[d.Entry] = p
	}
	p.Keys++
	if d.Leave == "" {
		p.Change++
		p.Bytes += max(k.Bytes, 0)
		p.Examples = example(p.Examples, k.Name, k.DB, d.Step.To)
		return
	}
	p.Leave++
	leaveIn(c.left, d.Leave, k.Name, k.DB, d.Step.To)
}

// LeaveIn counts a key that is left alone.
func LeaveIn(all map[Code]*Left, code Code, name []byte, db int) { leaveIn(all, code, name, db, "") }

func leaveIn(all map[Code]*Left, code Code, name []byte, db int, to string) {
	l := all[code]
	if l == nil {
		l = &Left{Code: code, What: code.What(), Fix: code.Fix()}
		all[code] = l
	}
	l.Keys++
	l.Examples = example(l.Examples, name, db, to)
}

// LeaveAllIn counts keys that are left alone for one reason.
func LeaveAllIn(all map[Code]*Left, l Left) {
	is := all[l.Code]
	if is == nil {
		is = &Left{Code: l.Code, What: l.Code.What(), Fix: l.Code.Fix()}
		all[l.Code] = is
	}
	is.Keys += l.Keys
	for _, e := range l.Examples {
		is.Examples = example(is.Examples, e.Key, e.DB, string(e.To))
	}
}

// example keeps a few names: the first by their bytes, so that a plan made again shows
// the same ones.
func example(list []Example, name []byte, db int, to string) []Example {
	if len(name) > maxExampleName || len(to) > maxExampleName ||
		len(list) == maxExamples && bytes.Compare(name, list[maxExamples-1].Key) > 0 {
		return list
	}
	at, there := slices.BinarySearchFunc(list, name, func(e Example, name []byte) int {
		return cmp.Or(bytes.Compare(e.Key, name), cmp.Compare(e.DB, db))
	})
	if there {
		return list
	}
	e := Example{Key: slices.Clone(name), DB: db}
	if to != "" {
		e.To = finding.JSONKey(to)
	}
	list = slices.Insert(list, at, e)
	return list[:min(len(list), maxExamples)]
}

// Into writes the counts into a plan.
func (c *Collector) Into(p *Plan) {
	p.Total, p.Entries = Counts{}, []Part{}
	order := slices.Sorted(maps.Keys(c.parts))
	if len(order) > 0 && order[0] == selection.Undeclared {
		order = append(order[1:], selection.Undeclared)
	}
	for _, e := range order {
		part := *c.parts[e]
		p.Entries = append(p.Entries, part)
		p.Total.Keys += part.Keys
		p.Total.Change += part.Change
		p.Total.Leave += part.Leave
		p.Total.Bytes += part.Bytes
	}
	p.Left = Ranked(c.left)
}

// Ranked returns reasons in order: the one of most keys first.
func Ranked(all map[Code]*Left) (out []Left) {
	for _, code := range slices.Sorted(maps.Keys(all)) {
		out = append(out, *all[code])
	}
	slices.SortStableFunc(out, func(a, b Left) int { return cmp.Compare(b.Keys, a.Keys) })
	return out
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// OtherLibraries is the code of libraries of functions that are not what a plan says any more.
const OtherLibraries Code = "other-libraries"

// Library describes what becomes of a library of functions.
type Library struct {
	Name   string `json:"name"`
	Change string `json:"change"`        // load, replace, same, existing or refused
	Why    string `json:"why,omitempty"` // it is refused
}

// libraries says which libraries would be changed now otherwise than the plan says. One that is there by now is as an
// interrupted run has left it.
func (p *Plan) libraries(now *Plan) (out []Reason) {
	was := map[string]string{}
	for _, l := range p.Libraries {
		was[l.Name] = l.Change
	}
	for _, l := range now.Libraries {
		if l.Change != "same" && was[l.Name] != l.Change {
			what := fmt.Sprintf("of the library of functions %q the plan says %q, and now it is %q", l.Name, was[l.Name],
				l.Change)
			out = append(out, Reason{OtherLibraries, what, "make a new plan"})
		}
	}
	return out
}
