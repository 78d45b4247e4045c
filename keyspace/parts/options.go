package parts

import (
	"strings"
	"time"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// Option represents an option of a handle that the declaration sets. What is not in the list is
// the default of the handle.
type Option struct {
	Name  string // a field of the options, or of the specification of an entity
	Value any    // time.Duration, int, int64, bool, string, []string or Word
	Why   string // of an option that a program cannot change: a comment
}

// Constant represents a constant of the handle's package: "GCRA", "Day".
type Constant string

// options lists those of each construct, nil for one without.
var options = map[keyspace.Construct]func(*list, *keyspace.Entry){
	keyspace.Lock: func(l *list, e *keyspace.Entry) {
		if e.Notify != nil && !e.Notify.Derived {
			l.options = append(l.options, Option{"Announce", true, "others listen on the declared channel"})
		}
	},
	keyspace.Queue: func(l *list, e *keyspace.Entry) {
		l.add("Lease", e.Lease)
		l.add("Retry", e.Retry)
		l.add("Timeout", e.Timeout)
	},
	keyspace.Cache: func(l *list, e *keyspace.Entry) {
		l.add("Fresh", e.Fresh)
		l.add("Absent", e.Absent)
		if e.TTL.Policy == keyspace.TTLAny { // it cannot be kept without one
			l.add("TTL", time.Hour)
		}
	},
	keyspace.Topic:     topic,
	keyspace.RateLimit: rateLimit,
	keyspace.Ranking:   ranking,
	keyspace.Entity:    entity,
	keyspace.Plain:     nil, keyspace.Counter: nil, keyspace.Script: nil,
}

func optionsOf(e *keyspace.Entry) []Option {
	var l list
	if add := options[e.Construct]; add != nil {
		add(&l, e)
	}
	return l.options
}

// list gathers options.
type list struct{ options []Option }

// add adds an option that is not zero.
func (l *list) add(name string, v any) {
	switch v {
	case time.Duration(0), 0, int64(0), false, "", Constant(""):
		return
	}
	l.options = append(l.options, Option{Name: name, Value: v})
}

func topic(l *list, e *keyspace.Entry) {
	if d := e.Topic.Durable; d != nil {
		l.add("MaxLen", d.MaxLen)
		l.add("Age", d.Age)
		l.add("Retry", d.Retry)
		l.add("Timeout", d.Timeout)
	}
	l.add("Plain", e.Topic.Plain)
}

// Topic returns the options of a channel that is no stream.
func Topic(c *keyspace.Channel) []Option {
	var l list
	l.add("Plain", c.Plain)
	l.add("Sharded", c.Sharded)
	return l.options
}

var rules = map[keyspace.Method]Constant{keyspace.GCRA: "GCRA", keyspace.Sliding: "Sliding", keyspace.Fixed: "Fixed"}

func rateLimit(l *list, e *keyspace.Entry) {
	l.add("Rule", rules[e.Method])
	l.add("Count", max(e.Rate.Count, 1))
	l.add("Per", max(e.Rate.Per, time.Millisecond))
	if e.Method == keyspace.GCRA {
		l.options = append(l.options, Option{Name: "Burst", Value: e.Rate.Burst})
	}
}

var ties = map[keyspace.Ties]Constant{keyspace.ByMember: "ByMember", keyspace.FirstToReach: "FirstToReach"}

func ranking(l *list, e *keyspace.Entry) {
	if name := date(e.Keys[0].Pattern); name != "" {
		l.add("Step", step(layout(e.Keys[0].Pattern, name)))
	}
	l.add("Ties", ties[e.Ties])
}

func layout(p *pattern.Pattern, name string) string {
	for _, place := range p.Placeholders() {
		if place.Name == name {
			return place.Type.Layout
		}
	}
	return ""
}

// step returns the period of a date by the smallest thing that its layout names.
func step(layout string) Constant {
	for _, s := range []struct {
		part string
		step Constant
	}{{"HH", "Hour"}, {"DD", "Day"}, {"MM", "Month"}} {
		if strings.Contains(layout, s.part) {
			return s.step
		}
	}
	return "Year"
}

func entity(l *list, e *keyspace.Entry) {
	if k := e.Key("ledger"); k != nil && k.TTL.Policy == keyspace.TTLExpires {
		l.add("IndexTTL", k.TTL.Max)
	}
	l.add("Created", e.Stamps.Created)
	l.add("Version", e.Stamps.Version)
	l.add("Updated", e.Stamps.Updated)
	for _, f := range e.Keys[0].Fields {
		if (f.Name == e.Stamps.Created || f.Name == e.Stamps.Updated) && f.Type.Kind == scalar.UnixS {
			l.add("Seconds", true)
			break
		}
	}
	if r := e.TTLBy; r != nil && len(r.Cases) > 0 {
		l.options = append(l.options, Option{Name: "TTLFields", Value: []string{r.Field}})
	}
}

// Option finds the value of an option, nil if the declaration does not set it.
func (h Handle) Option(name string) any {
	for _, o := range h.Options {
		if o.Name == name {
			return o.Value
		}
	}
	return nil
}
