package golang

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

// lacking notes what an announcement cannot be made of: no code is written that would
// send less.
func (g *generator) lacking(lacks []keyspace.Lack, at keyspace.Pos) {
	for _, l := range lacks {
		g.faults = append(g.faults, fmt.Errorf("%s:%d: %s (%s)", at.File, at.Line, l.Text, l.Fix))
	}
}

// emission is what is sent on a channel when an item changes.
func (g *generator) emission(e *entityCode, c *keyspace.Channel) string {
	pkg := g.use(module + "/entity")
	mode := "Publish"
	var more []string
	switch {
	case c.Durable != nil:
		mode = "Append"
		if c.Durable.MaxLen > 0 {
			more = append(more, "MaxLen: "+strconv.FormatInt(c.Durable.MaxLen, 10))
		}
		if c.Durable.Age > 0 {
			more = append(more, "Age: "+g.duration(c.Durable.Age))
		}
	case c.Sharded:
		mode = "PublishSharded"
	}
	if c.Plain {
		more = append(more, "Plain: true")
	}
	var name, parts []string
	for _, elem := range g.elements(c.Pattern) {
		if elem.Placeholder < 0 {
			name = append(name, "{Name: "+g.piece(elem, "k.ns")+", Literal: true}")
		} else if part, ok := g.part(e, c.Pattern.Placeholders()[elem.Placeholder].Name, c.Pattern.Placeholders()[elem.Placeholder].Type); ok {
			name = append(name, part)
		}
	}
	if len(c.Pattern.Placeholders()) == 0 {
		more = append(more, "Channel: "+g.concat(nil, nil, g.elements(c.Pattern), nil))
	} else {
		more = append(more, fmt.Sprintf("Name: []%s.Part{%s}", pkg, strings.Join(name, ", ")))
	}
	for _, f := range c.Message {
		if part, ok := g.part(e, f.Name, f.Type); ok {
			parts = append(parts, part)
		}
	}
	return fmt.Sprintf("[]%s.Event{{Mode: %s.%s, %s, Data: []%s.Part{%s}}}", pkg, pkg, mode, strings.Join(more, ", "), pkg, strings.Join(parts, ", "))
}

// piece is the number of a placeholder among those that events carry.
func (e *entityCode) piece(p param) int {
	i := slices.IndexFunc(e.pieces, func(q param) bool { return q.place.Name == p.place.Name })
	if i < 0 {
		i, e.pieces = len(e.pieces), append(e.pieces, p)
	}
	return i + 1
}

// part is a field of a message: the id of the item or a placeholder of its key, or
// one of its fields.
func (g *generator) part(e *entityCode, name string, t scalar.Type) (string, bool) {
	rest := fmt.Sprintf("Form: %s.%s}", g.use(module+"/value"), formOf(t.Kind))
	if t.Kind == scalar.Bytes {
		rest = "Base64: true}"
	}
	if len(e.own) == 1 && e.own[0].place.Name == name {
		return fmt.Sprintf("{Name: %s, %s", quote(name), rest), true
	}
	if i := slices.IndexFunc(e.params, func(p param) bool { return p.place.Name == name }); i >= 0 {
		return fmt.Sprintf("{Name: %s, Key: %d, %s", quote(name), e.piece(e.params[i]), rest), true
	}
	if slices.ContainsFunc(e.fields, func(f field) bool { return f.Field.Name == name }) {
		return fmt.Sprintf("{Name: %s, Field: %s, %s", quote(name), quote(name), rest), true
	}
	return "", false
}

// sweeper writes the method that cleans up after all entities.
func (g *generator) sweeper() {
	if len(g.sweepers) == 0 {
		return
	}
	name := g.methods.Take("Sweeper", "Client")
	pkg := g.use(module + "/entity")
	g.printf("// %s cleans up after all entities until ctx ends: what has expired leaves its\n// indexes and is announced. Any process may run one; they take turns.\n", name)
	g.printf("func (k *Keyspace) %s(ctx %s.Context, o %s.SweepOptions, failed func(error)) {\nvar all %s.WaitGroup\n", name, g.use("context"), pkg, g.use("sync"))
	for _, method := range g.sweepers {
		g.printf("all.Go(func() { k.%s().Sweeper(ctx, o, failed) })\n", method)
	}
	g.printf("all.Wait()\n}\n\n")
}
