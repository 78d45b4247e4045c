package main

import (
	"testing"

	"github.com/keywright/keywright/bench/live"
)

func BenchmarkHits(b *testing.B) {
	server, err := live.Start(b.Context(), "redis-server")
	if err != nil {
		b.Fatal(err)
	}
	defer server.Stop()
	f, err := enter(b.Context(), server.Addr)
	if err != nil {
		b.Fatal(err)
	}
	defer f.close()
	if err := f.fill(b.Context()); err != nil {
		b.Fatal(err)
	}
	for _, r := range races[1:] {
		for _, c := range r.contestant {
			b.Run(r.name+"/"+c.name, func(b *testing.B) {
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					if err := c.do(b.Context(), f, n%population); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
