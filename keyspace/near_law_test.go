package keyspace

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/pattern"
	"github.com/keywright/keywright/keyspace/scalar"
)

// lev returns the distance of two texts with the same rules as Near for a pattern without placeholders and separators,
// written in another way: letters that are wrong, missing, too many, or changed places.
func lev(a, b []rune) int {
	rows := [][]int{}
	for i := range len(a) + 1 {
		rows = append(rows, make([]int, len(b)+1))
		for j := range len(b) + 1 {
			switch {
			case i == 0:
				rows[i][j] = j
			case j == 0:
				rows[i][j] = i
			default:
				d := rows[i-1][j-1]
				if a[i-1] != b[j-1] {
					d = 1 + min(d, rows[i-1][j], rows[i][j-1])
				}
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					d = min(d, rows[i-2][j-2]+1)
				}
				rows[i][j] = d
			}
		}
	}
	return rows[len(a)][len(b)]
}

// TestNearIsTheDistance: what is left out after a look at letters, or given up early, is not near: the same keys are
// found as by the distance to each in full, and that of one word is the one that is known from elsewhere.
func TestNearIsTheDistance(t *testing.T) {
	random := gate.Rand(t)
	texts := []string{"album", "album:{id}", "a:{id}", "ab:{id}", "abc:{id}", "cache:product:detail:{id}", "session_{id}",
		"order:{id}:lines", "{a}:{b}", "issue_lock_{id}", "x:a:b:{id}:y", "{tail}", "@@@:{id}", "abcd:{id}:éé",
		"aaaa:{id}", "shop:product:{id}:{n}:end", "abcdefghijkl"}
	ks := &Keyspace{}
	for _, text := range texts {
		p, err := pattern.Parse(text, func(name string) (scalar.Type, bool) {
			return scalar.Type{Kind: scalar.Text, Rest: name == "tail"}, true
		})
		if err != nil {
			t.Fatal(err)
		}
		ks.Keys = append(ks.Keys, &Key{Name: text, Pattern: p})
	}
	near := NewNear(ks)
	if len(near.list) != len(texts)-2 {
		t.Errorf("%d patterns have text of their own", len(near.list))
	}
	full := NewNear(ks)
	for range 400 {
		key := mistyped(random, texts[random.IntN(len(texts))])
		var want []*Key
		found := near.To([]byte(string(key)), len(texts))
		full.To([]byte(string(key)), 0) // makes the rows
		for i := range full.list {
			k := full.list[i]
			limit := k.limit
			k.limit = 1000
			d, _ := full.distance(&k, key)
			if d <= limit {
				want = append(want, k.key)
			}
			if _, is := near.distance(&near.list[i], key); is != (d <= limit) {
				t.Errorf("%q is %d from %s of %d: %t", string(key), d, k.key.Name, limit, is)
			}
			if name := []rune(k.key.Name); !slices.ContainsFunc(append(name, key...), func(c rune) bool {
				return c == '{' || c == ':'
			}) && lev(name, key) <= 3 && d != lev(name, key) {
				t.Errorf("%q is %d from %s, not %d", string(key), d, k.key.Name, lev(name, key))
			}
		}
		if !slices.Equal(sorted(found), sorted(want)) {
			t.Errorf("%q: %v, not %v", string(key), sorted(found), sorted(want))
		}
	}
}

func sorted(list []*Key) (names []string) {
	for _, k := range list {
		names = append(names, k.Name)
	}
	slices.Sort(names)
	return names
}

// mistyped returns a key of a pattern with up to four mistakes.
func mistyped(random *rand.Rand, text string) []rune {
	var key []rune
	skip := false
	for _, c := range text {
		switch {
		case c == '{':
			skip = true
			key = append(key, []rune([]string{"7", "abc", "x_y", ""}[random.IntN(4)])...)
		case c == '}':
			skip = false
		case !skip:
			key = append(key, c)
		}
	}
	for range random.IntN(5) {
		if len(key) < 2 {
			return key
		}
		switch i := random.IntN(len(key) - 1); random.IntN(5) {
		case 0:
			key[i] = []rune("abs:é@")[random.IntN(6)]
		case 1:
			key = slices.Delete(key, i, i+1)
		case 2:
			key = slices.Insert(key, i, []rune("ax:_")[random.IntN(4)])
		case 3:
			key[i], key[i+1] = key[i+1], key[i]
		case 4:
			key = slices.Insert(key, i, []rune(":extra")...)
		}
	}
	return key
}
