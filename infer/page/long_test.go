package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// A page of many rows with a TTL each takes time in proportion to its length: labels of
// TTLs are looked up, not held against each key.
func TestManyRows(t *testing.T) {
	best := func(rows int) time.Duration {
		var b strings.Builder
		b.WriteString("# Redis keys\n\n| Key | TTL | Notes |\n|--|--|--|\n")
		for i := range rows {
			b.WriteString("| `")
			for j := range 12 {
				fmt.Fprintf(&b, "s%d:", i%(j+2))
			}
			fmt.Fprintf(&b, "{id}:%d` | 1h | x |\n", i)
		}
		text := []byte(b.String())
		took := time.Duration(1<<63 - 1)
		for range 3 {
			began := time.Now()
			if len(Read(text).Keys) == 0 {
				t.Error("no keys")
			}
			took = min(took, time.Since(began))
		}
		return took
	}
	best(100) // what is compiled when it is first used
	few, many := best(1000), best(4000)
	if many > 12*few { // if each row were held against each: 16
		t.Errorf("four times as many rows take %v instead of %v", many, few)
	}
}

// A table of very many columns is read up to a bound, which is said.
func TestManyColumns(t *testing.T) {
	const columns = 20_000
	text := "# Redis keys\n\n| Key | TTL |" + strings.Repeat(" n |", columns) + "\n" + strings.Repeat("|--", columns+2) + "|\n"
	for i := range 3 {
		text += fmt.Sprintf("| `user:{id}:%c` | 1h |", 'a'+i) + strings.Repeat(" user:{id}:x |", columns) + "\n"
	}
	p := Read([]byte(text))
	told := slices.ContainsFunc(p.Passed, func(one Passed) bool { return strings.Contains(one.Why, "only 100 columns") })
	if len(p.Keys) < 3 || !told {
		t.Errorf("%d keys, passed over: %.200v", len(p.Keys), p.Passed)
	}
}
