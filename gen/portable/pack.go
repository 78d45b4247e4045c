package portable

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/keywright/keywright/keyspace/pattern"
)

// patience bounds the steps of making an automaton smaller: beyond it (a long
// chain of states, of which nothing can be joined) the time is worth more than
// the bytes.
const patience = 500_000

// Pack returns an automaton as text: the classes of the 256 bytes, the next states
// row by row, and the final states, divided by `|`. Numbers are in base 36, a
// value that is repeated has its count after a dot, and `-` is a refusal. The
// width of a row is the highest class and one.
func Pack(t *pattern.Table) string {
	t = minimal(t)
	classes, next := make([]string, len(t.Classes)), make([]string, len(t.Next))
	for b, c := range t.Classes {
		classes[b] = base36(int(c))
	}
	for i, s := range t.Next {
		if next[i] = "-"; s >= 0 {
			next[i] = base36(int(s))
		}
	}
	var final []string
	for s, is := range t.Final {
		if is {
			final = append(final, base36(s))
		}
	}
	return runs(classes) + "|" + runs(next) + "|" + strings.Join(final, " ")
}

func base36(n int) string { return strconv.FormatInt(int64(n), 36) }

// runs writes a value that is there more than once in a row with its count.
func runs(values []string) string {
	var out []string
	for i, n := 0, 0; i < len(values); i += n {
		for n = 1; i+n < len(values) && values[i+n] == values[i]; {
			n++
		}
		if n == 1 {
			out = append(out, values[i])
			continue
		}
		out = append(out, values[i]+"."+base36(n))
	}
	return strings.Join(out, " ")
}

// minimal joins the states that no text tells apart, after Moore: begin with
// final and not, and split as long as one byte leads to different groups.
func minimal(t *pattern.Table) *pattern.Table {
	group := make([]int, len(t.Final))
	for s, final := range t.Final {
		if final {
			group[s] = 1
		}
	}
	for count, steps := 0, len(t.Next); steps < patience; steps += len(t.Next) {
		next, n := split(t, group)
		if n == count {
			return joined(t, next, n)
		}
		group, count = next, n
	}
	return t
}

// split numbers the states by their group and the groups they lead to, in the
// order of their first appearance, so that state 0 stays in group 0.
func split(t *pattern.Table, group []int) (next []int, n int) {
	next, seen := make([]int, len(group)), map[string]int{}
	for s := range group {
		row := fmt.Sprint(group[s])
		for _, to := range t.Next[s*t.Width : (s+1)*t.Width] {
			if to < 0 {
				row += " -"
				continue
			}
			row += " " + strconv.Itoa(group[to])
		}
		if _, known := seen[row]; !known {
			seen[row] = len(seen)
		}
		next[s] = seen[row]
	}
	return next, len(seen)
}

func joined(t *pattern.Table, group []int, n int) *pattern.Table {
	out := &pattern.Table{Classes: t.Classes, Width: t.Width, Next: make([]int32, n*t.Width), Final: make([]bool, n)}
	for s, g := range group {
		out.Final[g] = t.Final[s]
		for c := range t.Width {
			to := t.Next[s*t.Width+c]
			if to >= 0 {
				to = int32(group[to])
			}
			out.Next[g*t.Width+c] = to
		}
	}
	return out
}
