package match

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkMatch is a quick look; the figures against peers come from bench/.
func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{28, 200, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			in, keys := benchmarkSet(b, n)
			m := compileItems(b, in)
			var c Captures
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if m.Match(keys[i], &c) == None {
					b.Fatalf("%s", keys[i])
				}
				if i++; i == len(keys) {
					i = 0
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	in, _ := benchmarkSet(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Compile(in); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkSet(b *testing.B, n int) ([]Item, [][]byte) {
	var texts []string
	kinds := []string{"svc%d:user:profile:{int}", "svc%d:session:{uuid}", "cache%d:product:{int1}:option:{int2}",
		"stats%d:daily:{date}", "lock%d:order_{int}", "q%d:{enum}:jobs", "tag%d:{slug}:members"}
	for i := range n {
		texts = append(texts, fmt.Sprintf(kinds[i%len(kinds)], i/len(kinds)))
	}
	in := items(b, texts...)
	r := rand.New(rand.NewPCG(1, 2))
	var keys [][]byte
	for range 100_000 {
		p := in[r.IntN(n)].Pattern
		var values []string
		for _, place := range p.Placeholders() {
			v := place.Type.Example()
			if place.Name[0] == 'i' {
				v = fmt.Sprint(r.IntN(10_000_000))
			}
			values = append(values, v)
		}
		key, err := p.Build(values...)
		if err != nil {
			b.Fatal(err)
		}
		keys = append(keys, key)
	}
	return in, keys
}
