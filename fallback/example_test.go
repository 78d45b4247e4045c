package fallback_test

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright/fallback"
)

// A store in memory keeps copies of items, within its limits.
func Example() {
	ctx := context.Background()
	store := fallback.NewMemory(fallback.Limits{Entries: 100})
	_, known, err := store.Get(ctx, "memo-1")
	fmt.Println(known, err)
	_, err = store.Append(ctx, "memo-1", func(now fallback.Record, known bool) (fallback.Entry, fallback.Record, error) {
		fields := fallback.Fields{"text": "milk"}
		entry := fallback.Entry{ID: "memo-1", At: time.Unix(0, 0)}
		entry.Kind, entry.Fields = fallback.Put, fields
		return entry,
			fallback.Record{Fields: fields, Pending: 1}, nil
	})
	fmt.Println(err)
	waiting, err := store.Next(ctx, 0, 10)
	fmt.Println(len(waiting), err)
	// Output:
	// false <nil>
	// <nil>
	// 1 <nil>
}
