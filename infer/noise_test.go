package infer_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/infer"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/lint"
	"github.com/keywright/keywright/source"
)

// families are patterns of a keyspace in order, each with the draft it should
// have: PATTERN TYPE TTL.
var families = []struct {
	want string
	make func(r *rand.Rand, i int) source.Key
}{
	{"user:{user_id} hash none", func(_ *rand.Rand, i int) source.Key { return key(fmt.Sprintf("user:%d hash", i+1)) }},
	{"session:{session_id} string 30m", func(r *rand.Rand, _ int) source.Key {
		return key(fmt.Sprintf("session:%016x%016x string %ds", r.Uint64(), r.Uint64(), 1+r.IntN(1800)))
	}},
	{"cart:{cart_id}:items hash 7d", func(r *rand.Rand, i int) source.Key {
		return key(fmt.Sprintf("cart:%d:items hash %ds", i*17, 86400+r.IntN(6*86400)))
	}},
	{"cache:page:{page} cache 1h", func(r *rand.Rand, _ int) source.Key {
		return key(fmt.Sprintf("cache:page:%s string %ds", randomWord(r, 9), 1+r.IntN(3600)))
	}},
	{"stats_views_{day} string none", func(_ *rand.Rand, i int) source.Key {
		day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, i)
		return key("stats_views_" + day.Format("2006-01-02"))
	}},
	{"job/{job_id}/log list none", func(r *rand.Rand, _ int) source.Key {
		return key(fmt.Sprintf("job/%08x-%04x-4%03x-a%03x-%012x/log list", r.Uint32(), r.IntN(1<<16), r.IntN(1<<12),
			r.IntN(1<<12), r.Uint64N(1<<48)))
	}},
}

func randomWord(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return string(b)
}

// noises are names in which nothing is regular.
var noises = map[string]func(r *rand.Rand) string{
	"letters":         func(r *rand.Rand) string { return randomWord(r, 6+r.IntN(10)) },
	"letters, digits": func(r *rand.Rand) string { return strconv.FormatUint(r.Uint64(), 36) },
	"hex":             func(r *rand.Rand) string { return fmt.Sprintf("%016x", r.Uint64()) },
	"segments": func(r *rand.Rand) string {
		return randomWord(r, 4+r.IntN(4)) + ":" + randomWord(r, 5) + ":" + randomWord(r, 3)
	},
	"ids": func(r *rand.Rand) string { return randomWord(r, 5) + ":" + strconv.Itoa(r.IntN(1e6)) },
	"words": func(r *rand.Rand) string {
		return randomWord(r, 4) + "_" + randomWord(r, 4) + "-" + strconv.Itoa(r.IntN(1000))
	},
	"any": func(r *rand.Rand) string {
		b := make([]byte, 4+r.IntN(20))
		for i := range b {
			b[i] = byte('!' + r.IntN('~'-'!'))
		}
		return string(b)
	},
	"bytes": func(r *rand.Rand) string {
		b := make([]byte, 4+r.IntN(20))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		return string(b)
	},
}

// noisy returns n names without order, and a thousand keys of each family, shuffled.
func noisy(noise func(*rand.Rand) string, n int) []source.Key {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	keys := make([]source.Key, 0, n+1000*len(families))
	for range n {
		keys = append(keys, source.Key{Name: []byte(noise(r)), Kind: source.String, TTL: source.NoTTL, Bytes: 80})
	}
	for _, f := range families {
		for i := range 1000 {
			keys = append(keys, f.make(r, i))
		}
	}
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

// Families of keys are drafted whatever else is there.
func TestNoise(t *testing.T) {
	sizes := []int{12_000}
	if gate.All() {
		sizes = append(sizes, 100_000)
	}
	if os.Getenv("KEYWRIGHT_SOAK") != "" {
		sizes = append(sizes, 1_000_000)
	}
	for _, name := range sortedNames(noises) {
		for _, n := range sizes {
			if n > 12_000 && os.Getenv("KEYWRIGHT_SOAK") == "" && name != "any" && name != "segments" {
				continue // the two that are hardest; make soak has all
			}
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				in, err := infer.New(infer.Options{})
				if err != nil {
					t.Fatal(err)
				}
				in.Add(noisy(noises[name], n))
				d := in.Draft()
				for _, f := range families {
					i := slices.IndexFunc(d.Entries, func(e *infer.Entry) bool { return e.Pattern+" "+e.Type+" "+e.TTL == f.want })
					if i < 0 {
						t.Errorf("%s is not drafted", f.want)
					} else if d.Entries[i].Keys != 1000 {
						t.Errorf("%s: %d keys", f.want, d.Entries[i].Keys)
					}
				}
				if t.Failed() || len(d.Entries) > len(families)+4 {
					t.Errorf("%d entries\n%.6000s", len(d.Entries), d.YAML())
				}
				if findings := lint.Run(loaded(t, d.YAML())); len(findings) > 0 {
					t.Errorf("%v", findings)
				}
			})
		}
	}
}

func sortedNames[V any](m map[string]V) []string {
	var out []string
	for name := range m {
		out = append(out, name)
	}
	slices.SortFunc(out, strings.Compare)
	return out
}
