package fallback_test

import (
	"context"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/fallback"
	"github.com/keywright/keywright/keywrighttest"
)

// stub represents a target that answers at once.
type stub struct {
	hashes
	item fallback.Item[fallback.Fields]
}

func (s stub) Get(context.Context, string) (fallback.Item[fallback.Fields], error) {
	return s.item, nil
}

// BenchmarkEntity is a read of a hot item, with and without a guard, by 128
// goroutines.
func BenchmarkEntity(b *testing.B) {
	s := keywrighttest.Start(b, keywrighttest.Redis)
	c, err := keywright.Open(b.Context(), s.URL(), keywright.Options{Sealer: plain{}})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	store := entity.New(itemSpec(c), memoSpec(""))
	e, err := fallback.NewEntities(store, fallback.NewMemory(fallback.Limits{}), fallback.Options{})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := store.Create(b.Context(), "hot", entityItem{Context: "a", Secret: "b"}); err != nil {
		b.Fatal(err)
	}
	for name, get := range map[string]func() error{
		"store":   func() error { _, err := store.Get(context.Background(), "hot"); return err },
		"guarded": func() error { _, err := e.Get(context.Background(), "hot"); return err },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetParallelism(64)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := get(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
}

// plain seals nothing.
type plain struct{}

func (plain) Seal(_ keywright.Place, text string) (string, error) { return text, nil }
func (plain) Open(_ keywright.Place, text string) (string, error) { return text, nil }

// BenchmarkGet is what a guard adds to a read of a hot item: 128 goroutines.
func BenchmarkGet(b *testing.B) {
	g, err := fallback.New(stub{item: fallback.Item[fallback.Fields]{Value: text("hot"), Version: 1}},
		fallback.NewMemory(fallback.Limits{}), fallback.Options{})
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
