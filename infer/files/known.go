package files

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
)

// candidate represents a place that may go to an entry.
type candidate struct {
	entry *keyspace.Entry
	move  *move
	score float64
	at    int // of the entry in the declaration
}

// match looks for the places that go to the entries of a declaration: types and placeholders
// must fit what was seen, and the words of both decide between those that do.
func (d *Draft) match() {
	rare := map[string]float64{} // a word of few entries says more
	for _, e := range d.Known.Entries {
		for w := range entryWords(e) {
			rare[w]++
		}
	}
	var all []*candidate
	var places []*place
	said := map[string]bool{}
	for _, s := range d.sources {
		places = append(places, s.places()...)
	}
	for _, p := range places {
		for _, w := range p.words {
			said[w] = true
		}
	}
	for i, e := range d.Known.Entries {
		of := entryWords(e)
		if len(e.Keys) > 0 && e.Keys[0].Kind == keyspace.ZSet { // what sorts records has a word that files need not have
			maps.DeleteFunc(of, func(w string, _ bool) bool { return !said[w] })
		}
		for _, p := range places {
			score := likeness(of, p.words, rare)
			if score == 0 {
				continue
			}
			if mv := fit(p, e); mv != nil {
				all = append(all, &candidate{e, mv, score, i})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *candidate) int {
		return cmp.Or(-cmp.Compare(a.score, b.score), cmp.Compare(a.at, b.at))
	})
	d.choose(all, places)
	d.unmatched(places)
}

// choose takes the best of what clashes. Several sorted sets may be made of one place, each by
// another score.
func (d *Draft) choose(all []*candidate, places []*place) {
	had := map[*keyspace.Entry]bool{}
	for _, c := range all {
		mv := c.move
		clash := had[c.entry]
		for _, o := range d.Moves {
			switch {
			case o.place == mv.place && o.kind == mv.kind && o.kind == keyspace.ScoredRecord:
				mv.scores = slices.DeleteFunc(mv.scores, func(term string) bool { return term == o.scores[0] })
				clash = clash || len(mv.scores) == 0
			case o.place == mv.place && o.kind == mv.kind, mv.whole && o.place.inside(mv.place),
				o.whole && mv.place.inside(o.place):
				clash = true
			}
		}
		if clash {
			continue
		}
		had[c.entry] = true
		mv.part = prefixOf(c.entry)
		mv.call(places)
		d.Moves = append(d.Moves, mv)
	}
	for _, mv := range d.Moves {
		mv.spell()
	}
	slices.SortStableFunc(d.Moves, func(a, b *move) int {
		return cmp.Or(cmp.Compare(a.place.source.name, b.place.source.name), cmp.Compare(a.place.path, b.place.path))
	})
	for _, e := range d.Known.Entries {
		if !had[e] && movable(e) {
			d.leave(e.Name, "nothing in the files has its words, types and placeholders")
		}
	}
}

// unmatched says which places hold values that no entry takes.
func (d *Draft) unmatched(places []*place) {
	var told []*place
	for _, p := range places {
		sh := p.node.shape(p.last != nil || p.element)
		within := slices.ContainsFunc(d.Moves, func(mv *move) bool {
			return mv.place == p || p.inside(mv.place) && (mv.whole || mv.kind == keyspace.HashRecord && p.node.objects == 0)
		})
		within = within || slices.ContainsFunc(told, func(o *place) bool { return p.inside(o) })
		if !within && (sh == leaf || sh == whole) {
			told = append(told, p)
			d.leave(p.said(), "no entry takes it")
		}
	}
}

// movable reports whether files may have what an entry holds.
func movable(e *keyspace.Entry) bool {
	r := e.Record()
	return r != "" && r != keyspace.JobRecord
}

// prefixOf returns the first word of the key of an entry.
func prefixOf(e *keyspace.Entry) string {
	text := e.Keys[0].Pattern.String()
	if i := strings.IndexAny(text, ":{"); i > 0 {
		text = text[:i]
	}
	return plainName(text)
}

func entryWords(e *keyspace.Entry) map[string]bool {
	out := map[string]bool{}
	if len(e.Keys) == 0 {
		return out
	}
	for _, w := range wordsOf(e.Name) {
		out[w] = true
	}
	for _, el := range e.Keys[0].Pattern.Elements() {
		for _, w := range wordsOf(el.Literal) {
			out[w] = true
		}
	}
	return out
}

// likeness returns how much the words of an entry and of a place are the same; 0: too little.
func likeness(of map[string]bool, words []string, rare map[string]float64) float64 {
	all, common := 0.0, 0.0
	for w := range of {
		all += 1 / rare[w]
	}
	seen := map[string]bool{}
	for i, w := range words {
		if of[w] && !seen[w] {
			seen[w] = true
			common += 1 / rare[w]
			if i >= len(words)-2 { // what it is called itself says more than what it is in
				common += 0.1 / rare[w]
			}
		}
	}
	if all == 0 || common/all < 0.25 {
		return 0
	}
	return common / all
}

// tells returns the member of a record that is the text of a capture, in all that were seen.
func (p *place) tells(i int) string {
	level := 1 // the member's own name is the last one
	for _, step := range slices.Backward(p.steps) {
		if step == "{"+p.captures[i].name+"}" {
			break
		}
		if step != "[]" {
			level++
		}
	}
	if level >= maxLevels || i < len(p.source.captures) {
		return ""
	}
	for _, name := range p.node.sorted() {
		if m := p.node.members[name]; m.texts.n == p.node.objects && m.texts.n == m.total() && m.same[level] == m.texts.n {
			return name
		}
	}
	return ""
}
