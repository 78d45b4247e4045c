package conformance

import (
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace/pattern"
)

// Limits of one subject: enough to find a difference, few enough to read.
const (
	maxPerPlace = 90
	maxFound    = 60
	maxRefused  = 300
	combined    = 12
)

// author writes the vectors of one subject.
type author struct {
	p        *pattern.Pattern
	s        *Subject
	rng      *rand.Rand
	accepted [][]string // per placeholder
	refused  [][]string
	odd      [][]string      // refused, or nothing that a program can have in hand: only ever found in a key
	seen     map[string]bool // keys
}

func newAuthor(name string, p *pattern.Pattern, s *Subject) *author {
	h := fnv.New64a()
	h.Write([]byte(name + "\x00" + p.String())) // never fails, says hash.Hash
	a := &author{p: p, s: s, rng: rand.New(rand.NewPCG(h.Sum64(), 1)), seen: map[string]bool{}}
	for _, e := range p.Elements() {
		if e.Placeholder >= 0 {
			a.sort(e, candidates(p.Placeholders()[e.Placeholder].Type, e.Table(), a.rng))
		}
	}
	return a
}

// sort divides candidates into what the placeholder takes and what not.
func (a *author) sort(e pattern.Element, texts []string) {
	table, kind := e.Table(), a.p.Placeholders()[e.Placeholder].Type.Kind
	var accepted, refused, odd []string
	for _, text := range texts {
		fits, held := table.Accepts(text), held(kind, text)
		if fits && held {
			accepted = append(accepted, text)
			continue
		}
		odd = append(odd, text)
		if held {
			refused = append(refused, text)
		}
	}
	a.accepted = append(a.accepted, accepted[:min(len(accepted), maxPerPlace)])
	a.refused = append(a.refused, refused[:min(len(refused), maxPerPlace)])
	a.odd = append(a.odd, odd[:min(len(odd), maxPerPlace)])
}

// write fills the subject.
func (a *author) write(foreign []string) {
	base := a.base()
	if base == nil {
		return
	}
	a.build(base)
	for range combined {
		values := slices.Clone(base)
		for i := range values {
			values[i] = a.accepted[i][a.rng.IntN(len(a.accepted[i]))]
		}
		a.build(values)
	}
	for i := range base {
		for _, v := range a.accepted[i] {
			a.build(replaced(base, i, v))
		}
		for _, v := range a.refused[i] {
			a.refuse(replaced(base, i, v))
		}
	}
	a.parse(base, foreign)
}

// base returns a value for each placeholder; nil if one of them takes none.
func (a *author) base() []string {
	values := make([]string, len(a.accepted))
	for i, list := range a.accepted {
		if len(list) == 0 {
			return nil
		}
		values[i] = list[0]
	}
	return values
}

func replaced(values []string, i int, v string) []string {
	out := slices.Clone(values)
	out[i] = v
	return out
}

func (a *author) build(values []string) {
	key, err := a.p.Build(values...)
	if err != nil || a.seen[string(key)] {
		return
	}
	a.seen[string(key)] = true
	a.s.Build = append(a.s.Build, Vector{a.values(values), Bytes(key)})
}

func (a *author) refuse(values []string) {
	_, err := a.p.Build(values...)
	var fault *pattern.ValueError
	if errors.As(err, &fault) {
		a.s.RejectBuild = append(a.s.RejectBuild, Refusal{a.values(values), fault.Placeholder, fault.Reason})
	}
}

func (a *author) values(texts []string) []Value {
	out := make([]Value, len(texts))
	for i, text := range texts {
		out[i] = Value{text, a.p.Placeholders()[i].Type.Kind}
	}
	return out
}

// parse judges keys that are nearly of the pattern, and keys of others.
func (a *author) parse(base []string, foreign []string) {
	first, _ := a.p.Build(base...)
	keys := []string{""}
	for i := range base {
		for _, bad := range notUTF8 {
			keys = append(keys, a.spliced(replaced(base, i, bad)), a.spliced(replaced(base, i, base[i]+bad)),
				a.spliced(replaced(base, i, "")))
		}
		for _, v := range a.odd[i] {
			keys = append(keys, a.spliced(replaced(base, i, v)))
		}
	}
	keys = append(append(keys, nearMisses(string(first), a.rng)...), foreign...)
	for range 3 {
		v := a.s.Build[a.rng.IntN(len(a.s.Build))]
		keys = append(keys, nearMisses(string(v.Key), a.rng)...)
	}
	for _, key := range keys {
		a.judge(key)
	}
}

// spliced returns the key that Build would make if it refused nothing.
func (a *author) spliced(values []string) string {
	var b strings.Builder
	for _, e := range a.p.Elements() {
		if e.Placeholder >= 0 {
			b.WriteString(values[e.Placeholder])
			continue
		}
		b.WriteString(e.Literal)
	}
	return b.String()
}

func (a *author) judge(key string) {
	if a.seen[key] {
		return
	}
	a.seen[key] = true
	values, ok := a.p.Match([]byte(key))
	text := ok
	for i, v := range values {
		text = text && held(a.p.Placeholders()[i].Type.Kind, v)
	}
	switch {
	case text && len(a.s.Parse) < maxFound:
		a.s.Parse = append(a.s.Parse, Vector{a.values(values), Bytes(key)})
	case ok && !text && len(a.s.NotText) < maxFound:
		a.s.NotText = append(a.s.NotText, Bytes(key))
	case !ok && len(a.s.RejectParse) < maxRefused:
		a.s.RejectParse = append(a.s.RejectParse, Bytes(key))
	}
}
