package answer

import (
	"context"
	"slices"

	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/kernel"
)

// Bounds of commands that name many keys.
const (
	mostNamed = 512 // keys of one command
	crowded   = 4   // where one of so many sets has a key, each set is asked for alone
)

// present reports which of several sets of keys have a key that is there: by commands that name many keys each, so
// that what holds nothing costs next to nothing. Sets that cannot be asked are reported to be there, for their
// readings to say why.
func (r *Reader) present(ctx context.Context, sets [][]string) ([]bool, error) {
	there := make([]bool, len(sets))
	for asked := r.groups(sets, there); len(asked) > 0; {
		if err := r.pace(ctx, len(asked)); err != nil {
			return nil, err
		}
		raw := r.Client.Raw()
		commands := make(kernel.Commands, len(asked))
		for i, g := range asked {
			commands[i] = raw.B().Exists().Key(g.keys(sets)...).Build()
		}
		var next []span
		for i, reply := range raw.DoMulti(ctx, commands...) {
			n, err := reply.AsInt64()
			next = append(next, asked[i].divide(sets, n, err, there)...)
		}
		asked = next
	}
	return there, ctx.Err()
}

// pace waits until so many commands may be sent.
func (r *Reader) pace(ctx context.Context, commands int) error {
	if r.Pace == nil || commands == 0 {
		return nil
	}
	return r.Pace(ctx, commands)
}

// span is sets from one on to another, which is not among them.
type span struct{ from, to int }

func (g span) keys(sets [][]string) []string { return slices.Concat(sets[g.from:g.to]...) }

// groups returns the spans to ask for first. In a cluster a command names keys of one slot.
func (r *Reader) groups(sets [][]string, there []bool) (out []span) {
	keys := mostNamed
	for i, set := range sets {
		if there[i] = r.Client.CrossSlot(set...); there[i] {
			keys = mostNamed
			continue
		}
		if keys += len(set); keys > mostNamed || r.Client.Clustered() && !alike(sets[i-1], set) {
			out, keys = append(out, span{i, i}), len(set)
		}
		out[len(out)-1].to = i + 1
	}
	return out
}

// alike reports whether the keys of two sets are in one slot.
func alike(a, b []string) bool {
	return len(a) > 0 && len(b) > 0 && slot.Of([]byte(a[0])) == slot.Of([]byte(b[0]))
}

// divide notes what a group has that holds so many keys, and returns the smaller ones to ask for.
func (g span) divide(sets [][]string, n int64, err error, there []bool) (next []span) {
	size := g.to - g.from
	switch {
	case err == nil && n == 0:
	case err != nil || size == 1 || n == int64(len(g.keys(sets))):
		for i := g.from; i < g.to; i++ {
			there[i] = true
		}
	case n*crowded > int64(size):
		for i := g.from; i < g.to; i++ {
			next = append(next, span{i, i + 1})
		}
	default:
		middle := g.from + size/2
		next = []span{{g.from, middle}, {middle, g.to}}
	}
	return next
}
