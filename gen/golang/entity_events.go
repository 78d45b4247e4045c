package golang

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/parts"
)

// lacking notes what an announcement cannot be made of: no code is written that would
// send less.
func (g *generator) lacking(lacks []keyspace.Lack, at keyspace.Pos) {
	for _, l := range lacks {
		g.faults = append(g.faults, fmt.Errorf("%s:%d: %s (%s)", at.File, at.Line, l.Text, l.Fix))
	}
}

// emission returns what is sent on a channel when an item changes.
func (g *generator) emission(e *entityCode, c *keyspace.Channel) string {
	pkg := g.use(module + "/entity")
	ev := parts.EventOf(e.e, c, g.elements(c.Pattern))
	more := []string{"Mode: " + pkg + "." + string(ev.Mode)}
	if ev.MaxLen > 0 {
		more = append(more, "MaxLen: "+strconv.FormatInt(ev.MaxLen, 10))
	}
	if ev.Age > 0 {
		more = append(more, "Age: "+g.duration(ev.Age))
	}
	if ev.Plain {
		more = append(more, "Plain: true")
	}
	if ev.Fixed {
		more = append(more, "Channel: "+g.concat(nil, nil, g.elements(c.Pattern), nil))
	} else {
		more = append(more, fmt.Sprintf("Name: []%s.Part{%s}", pkg, g.pieces(e, ev.Name)))
	}
	return fmt.Sprintf("[]%s.Event{{%s, Data: []%s.Part{%s}}}", pkg, strings.Join(more, ", "), pkg, g.pieces(e, ev.Data))
}

func (g *generator) pieces(e *entityCode, list []parts.Piece) string {
	out := make([]string, len(list))
	for i, p := range list {
		out[i] = g.piecePart(e, p)
	}
	return strings.Join(out, ", ")
}

// piece returns the number of a placeholder among those that events carry.
func (e *entityCode) piece(p param) int {
	i := slices.IndexFunc(e.pieces, func(q param) bool { return q.place.Name == p.place.Name })
	if i < 0 {
		i, e.pieces = len(e.pieces), append(e.pieces, p)
	}
	return i + 1
}

// piecePart returns a piece of a message or of a channel's name as an expression.
func (g *generator) piecePart(e *entityCode, p parts.Piece) string {
	if p.From == parts.Literal {
		return "{Name: " + g.piece(p.Element, "k.ns") + ", Literal: true}"
	}
	rest := "Base64: true}"
	if !p.Base64 {
		rest = fmt.Sprintf("Form: %s.%s}", g.use(module+"/value"), p.Form)
	}
	from := ""
	switch p.From {
	case parts.OfKey:
		i := slices.IndexFunc(e.params, func(q param) bool { return q.place.Name == p.Name })
		from = fmt.Sprintf("Key: %d, ", e.piece(e.params[i]))
	case parts.OfField:
		from = "Field: " + quote(p.Name) + ", "
	}
	return "{Name: " + quote(p.Name) + ", " + from + rest
}

// sweeper writes the method that cleans up after all entities.
func (g *generator) sweeper() {
	if len(g.sweepers) == 0 {
		return
	}
	name := g.methods.Take("Sweeper", "Client")
	pkg := g.use(module + "/entity")
	g.printf("// %s cleans up after all entities until ctx ends: what has expired leaves its\n// indexes and "+
		"is announced. Any process may run one; they take turns.\n", name)
	g.printf("func (k *Keyspace) %s(ctx %s.Context, o %s.SweepOptions, failed func(error)) {\nvar all %s.WaitGroup\n",
		name, g.use("context"), pkg, g.use("sync"))
	for _, method := range g.sweepers {
		g.printf("all.Go(func() { k.%s().Sweeper(ctx, o, failed) })\n", method)
	}
	g.printf("all.Wait()\n}\n\n")
}
