package fallback_test

import (
	"context"
	"testing"

	"github.com/keywright/keywright/fallback"
)

// stub is a target that answers at once.
type stub struct {
	hashes
	item fallback.Item[fallback.Fields]
}

func (s stub) Get(context.Context, string) (fallback.Item[fallback.Fields], error) {
	return s.item, nil
}

// BenchmarkGet is what a guard adds to a read of a hot item: 128 goroutines.
func BenchmarkGet(b *testing.B) {
	g, err := fallback.New(stub{item: fallback.Item[fallback.Fields]{Value: text("hot"), Version: 1}}, fallback.NewMemory(fallback.Limits{}), fallback.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetParallelism(64)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := g.Get(context.Background(), "hot"); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
	if err := g.Close(); err != nil {
		b.Fatal(err)
	}
}
