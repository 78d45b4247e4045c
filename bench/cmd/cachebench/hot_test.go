package main

import (
	"testing"

	"github.com/keywright/keywright/bench/harness"
)

func BenchmarkHits(b *testing.B) {
	f := &field{Program: &harness.Program{}}
	if err := f.open(b.Context(), harness.Redis); err != nil {
		b.Fatal(err)
	}
	defer f.CleanUp()
	for _, r := range f.races()[1:] {
		for _, c := range r.all {
			b.Run(r.name+"/"+c.Name, func(b *testing.B) {
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					if err := c.Do(b.Context(), 0, n); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
