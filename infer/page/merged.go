package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/infer/page/internal/mention"
	"github.com/keywright/keywright/infer/page/internal/shape"
	"github.com/keywright/keywright/infer/page/internal/wording"
)

// merged represents one key in all its mentions.
type merged struct {
	shape.Shape
	mention.Mention // the best mention's facts
	seen            bool
	values          map[int][]string // of placeholders, by place
	example         string
	given           []said
	maybe           string // a TTL that another sentence tells
	shown           bool   // a mention is an example
	commands        bool   // it is named in commands only
}

func (g *merged) add(m mention.Mention) {
	if !g.seen {
		g.seen, g.Shape, g.Mention = true, m.Shape, m
		g.values = map[int][]string{}
		g.commands = true
	}
	g.Shows, g.Quoted = g.Shows && m.Shows, g.Quoted && m.Quoted
	g.commands = g.commands && m.Place == mention.InCommand
	g.shown = g.shown || m.Shows
	g.MaxLen = cmp.Or(g.MaxLen, m.MaxLen)
	g.Shape.NameHoles(&m.Shape)
	if m.Place > g.Place {
		g.Place = m.Place
		if m.Place == mention.InColumn {
			g.Doc = cmp.Or(m.Doc, g.Doc)
		}
	}
	g.Type, g.Hint = betterType(g.Type, m.Type), cmp.Or(g.Hint, m.Hint)
	if m.Weak {
		g.maybe = cmp.Or(g.maybe, m.TTL)
	} else {
		g.say(m.TTL, m.Line)
	}
	g.Doc = cmp.Or(g.Doc, m.Doc)
	g.Line = min(g.Line, m.Line)
	if g.example == "" && m.Shape.Concrete() {
		g.example = m.Shape.Raw
	}
}

// said represents a TTL that a line gives.
type said struct {
	ttl  string
	line int
}

// say takes a TTL that a line gives. Two that contradict each other are none.
func (g *merged) say(ttl string, line int) {
	if ttl == "" || slices.ContainsFunc(g.given, func(s said) bool { return s.ttl == ttl }) {
		return
	}
	g.given = append(g.given, said{ttl, line})
	g.TTL = g.given[0].ttl
}

// adoptFrom takes what is said of another key that this one has. An example's own TTL
// says nothing against the key's.
func (g *merged) adoptFrom(o *merged) {
	if len(g.given) > 0 {
		return
	}
	for _, s := range o.given {
		g.say(s.ttl, s.line)
	}
}

// doubt says which TTLs contradict each other.
func (g *merged) doubt() string {
	if len(g.given) < 2 {
		return ""
	}
	var parts []string
	for _, s := range g.given {
		parts = append(parts, fmt.Sprintf("%s (line %d)", s.ttl, s.line))
	}
	return "the page gives several TTLs: " + strings.Join(parts, ", ")
}

// betterType: a lock is a string that is known better.
func betterType(a, b string) string {
	if a == "" || a == "string" && b != "" {
		return b
	}
	return a
}

// absorb takes a mention with an example value into the key that has a
// placeholder there: task:info:task-1 into task:info:{id}.
func absorb(list []*merged) []*merged {
	var out []*merged
	for _, g := range list {
		into := -1
		for i, h := range list {
			if h != g && (h.Shape.Covers(&g.Shape) || g.illustrates(h)) {
				into = i
				break
			}
		}
		if into < 0 {
			out = append(out, g)
			continue
		}
		h := list[into]
		h.Shape.Doubt(&g.Shape)
		g.Mention.Shape = h.Shape
		h.Type, h.Doc = betterType(h.Type, g.Type), cmp.Or(h.Doc, g.Doc)
		h.adoptFrom(g)
		h.Line = min(h.Line, g.Line)
		h.example = cmp.Or(h.example, g.example, concreteOf(&g.Shape))
	}
	return out
}

func concreteOf(s *shape.Shape) string {
	if s.Holes() == 0 || s.Concrete() {
		return s.Raw
	}
	return ""
}

// withoutSchemes drops what describes keys that the page names one by one:
// app:issue:{type}:{number} beside app:issue:status:{n} and app:issue:meta:{n}.
func withoutSchemes(list []*merged) []*merged {
	return slices.DeleteFunc(slices.Clone(list), func(h *merged) bool {
		generic := h.Shape.GenericHoles()
		if generic == 0 {
			return false
		}
		instances := 0
		for _, g := range list {
			if g != h && g.Shape.InstanceOf(&h.Shape) {
				instances++
			}
		}
		return instances >= 2 || instances > 0 && generic >= 2
	})
}

// enumerate makes one key of several that differ in the last word where another
// key has a placeholder: queue:high, queue:low and queue:{priority}.
func enumerate(list []*merged) []*merged {
	gone := map[*merged]bool{}
	for _, h := range list {
		for at, p := range h.Shape.Parts {
			if !p.IsHole() || at < len(h.Shape.Parts)-1 {
				continue
			}
			var values []*merged
			for _, g := range list {
				if g != h && !gone[g] && g.Shape.DiffersAt(&h.Shape, at) {
					values = append(values, g)
				}
			}
			if len(values) < 2 || p.IsGeneric() && h.Type == "" && typed(values) > 1 {
				continue
			}
			free := slices.ContainsFunc(values, func(g *merged) bool {
				return strings.ContainsAny(g.Shape.Parts[at].Text(), ".@0123456789")
			})
			for _, g := range values {
				gone[g] = true
				if !free {
					h.values[at] = append(h.values[at], g.Shape.Parts[at].Text())
				}
				h.Type, h.Doc = betterType(h.Type, g.Type), cmp.Or(h.Doc, g.Doc)
				h.adoptFrom(g)
				h.Line = min(h.Line, g.Line)
				h.example = cmp.Or(h.example, g.Shape.Raw)
			}
		}
	}
	return slices.DeleteFunc(list, func(g *merged) bool { return gone[g] })
}

// typed returns how many of the keys tell a type.
func typed(list []*merged) int {
	n := 0
	for _, g := range list {
		if g.Type != "" {
			n++
		}
	}
	return n
}

func (g *merged) key() (Key, bool) {
	g.Shape.Widen()
	pattern, types := g.Shape.Print(g.values)
	if !shape.Loads(pattern, types) {
		g.Shape.Narrow()
		if pattern, types = g.Shape.Print(g.values); !shape.Loads(pattern, types) {
			return Key{}, false
		}
	}
	typ := cmp.Or(g.Type, g.Hint)
	if typ == "" || typ == "string" {
		if g.Shape.Says(shape.ChannelWords) {
			typ = "channel"
		} else if g.Shape.Says(shape.LockWords) {
			typ = "lock"
		} else if wording.SaysAny(g.Section, wording.ChannelTitles) {
			typ = "channel"
		}
	}
	ttl := cmp.Or(g.TTL, g.maybe)
	if typ == "channel" || g.doubt() != "" {
		ttl = ""
	}
	if typ == "stream" {
		g.Doc = wording.WithLength(g.Doc, g.MaxLen)
	}
	return Key{Pattern: pattern, Types: types, Type: typ, TTL: ttl, Doubt: g.doubt(), Doc: g.Doc, Section: g.Section,
		Example: g.example, Line: g.Line}, true
}
