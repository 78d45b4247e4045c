package lint

import (
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// lanes reports lanes that are one of their queue's other keys.
func (c *context) lanes() {
	for _, e := range c.of(keyspace.Queue) {
		main := e.Keys[0].Pattern
		i := slices.IndexFunc(main.Placeholders(), func(p pattern.Placeholder) bool { return p.Name == e.Order })
		if i < 0 {
			continue // reported, or it has no lanes
		}
		for _, word := range main.Placeholders()[i].Type.Values {
			lane, err := pattern.Parse(strings.Replace(main.String(), "{"+e.Order+"}", word, 1), main.Types())
			if err != nil {
				continue
			}
			for _, k := range e.Keys[1:] {
				if pattern.Disjoint(k.Pattern, lane) {
					continue
				}
				if _, inside := pattern.Contains(k.Pattern, lane); inside {
					c.report(e.Pos, e.Name, "", "the lane %s of %s is the key of %s: %s", word, e.Name, k.Name, k.Pattern)
				}
			}
		}
	}
}

// laneNames are placeholders by which people mean lanes, and laneWords values of them.
var (
	laneNames = strings.Fields("lane lanes prio priority priorities urgency")
	laneWords = strings.Fields("high normal low urgent critical medium bulk immediate background")
)

// looksLikeLanes reports whether a placeholder is called like lanes, or most of its words are.
func looksLikeLanes(p pattern.Placeholder) bool {
	alike := 0
	for _, word := range p.Type.Values {
		if slices.Contains(laneWords, strings.ToLower(word)) {
			alike++
		}
	}
	return slices.Contains(laneNames, fold(p.Name)) || p.Type.Kind == scalar.Enum && 2*alike > len(p.Type.Values)
}

// lanesUnordered: what looks like the lanes of one queue makes a queue of each.
func (c *context) lanesUnordered() {
	for _, e := range c.of(keyspace.Queue) {
		for _, p := range e.Keys[0].Pattern.Placeholders() {
			if p.Name == e.Order || !looksLikeLanes(p) {
				continue
			}
			fix := "add order: " + p.Name
			switch {
			case e.Order != "":
				fix = "make one placeholder of both, or rename this one"
			case p.Type.Kind != scalar.Enum:
				fix = "declare " + p.Name + ": high|normal|low under vars, and add order: " + p.Name
			}
			c.report(e.Keys[0].Pos, e.Name, fix,
				"each {%s} of %s is a queue of its own: it has no order in which lanes are drained", p.Name, e.Name)
		}
	}
}

// cacheSlides: the generated code refuses such a cache.
func (c *context) cacheSlides() {
	for _, e := range c.of(keyspace.Cache) {
		if e.TTL.Sliding {
			c.report(e.At["ttl"], e.Name, "",
				"reading renews the TTL of the cache %s, so that its values would never be loaded again", e.Name)
		}
	}
}
