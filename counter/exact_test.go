package counter

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
)

// wide holds sums and bounds of 64 bits against a model that does not overflow.
func wide(t *testing.T, s *keywrighttest.Server, n Counter) error {
	edges := []int64{0, 1, -1, 9_999_999_999, 10_000_000_000, -10_000_000_001, 1<<53 - 1, 1 << 53, 1<<53 + 1, -1 << 53,
		-1<<53 - 1,
		math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1}
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func() int64 { return edges[rnd.IntN(len(edges))] + int64(rnd.IntN(3)-1)*int64(rnd.IntN(2)) }
	for range 1000 {
		have, by, low, high := pick(), pick(), pick(), pick()
		low, high = min(low, high), max(low, high)
		s.Do("SET", "c", strconv.FormatInt(have, 10))
		sum := new(big.Int).Add(big.NewInt(have), big.NewInt(by))
		fits := sum.Cmp(big.NewInt(low)) >= 0 && sum.Cmp(big.NewInt(high)) <= 0
		want := Added{Sum: have}
		if fits {
			want = Added{Sum: sum.Int64(), Applied: true}
		}
		got, err := n.AddWithin(t.Context(), by, Bounds{low, high})
		if err != nil || got != want || s.Do("GET", "c") != strconv.FormatInt(want.Sum, 10) {
			return fmt.Errorf("%d and %d within %d to %d: %+v, %v; want %+v", have, by, low, high, got, err, want)
		}
	}
	return nil
}

// wrongKeys returns what an exact counter says to keys of another type or form: the
// key's name, and it changes nothing.
func wrongKeys(t *testing.T, s *keywrighttest.Server, x Exact) error {
	for what, do := range map[string][]string{
		"ids of another type":      {"ids", "SET", "ids", "x"},
		"a counter of another one": {"c", "RPUSH", "c", "x"},
		"a counter with a text":    {"c", "SET", "c", "x"},
		"a counter with a point":   {"c", "SET", "c", "1.5"},
	} {
		for _, b := range []*Bounds{nil, {0, math.MaxInt64}} {
			s.Do("DEL", "c", "ids")
			s.Do(do[1:]...)
			_, err := x.add(1, b, &x.ids, "a", nil).Do(t.Context())
			if class, ok := keywright.ClassOf(err); !ok || class != keywright.Refused ||
				!strings.Contains(err.Error(), "(key "+do[0]+")") {
				return fmt.Errorf("%s: %v", what, err)
			}
			if n := s.Do("DBSIZE").(int64); n != 1 {
				return fmt.Errorf("%s: %d keys after it", what, n)
			}
		}
	}
	s.Do("DEL", "c", "ids")
	s.Do("SET", "c", strconv.Itoa(math.MaxInt64))
	if _, err := x.AddOnce(t.Context(), "a", 1); err == nil || s.Do("EXISTS", "ids").(int64) != 0 {
		return fmt.Errorf("a sum of more than 64 bits: %v", err)
	}
	return nil
}
