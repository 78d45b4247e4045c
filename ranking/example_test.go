package ranking_test

import (
	"context"
	"fmt"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/ranking"
	"github.com/keywright/keywright/value"
)

// Units sold on a day, the best first.
func Example() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	member, score := value.Text(0), value.IntScore(0, 1<<40)
	entry := keywright.Entry{Name: "sales", Pattern: "sales:{day}", Type: "zset", TTL: keywright.TTL{
		Policy: keywright.Expires, Default: time.Hour, Min: time.Hour, Max: time.Hour}}
	sales, err := ranking.New(keywright.Binding{Client: client, Entry: &entry}, ranking.Config[string, int64]{
		Key:    func(t time.Time) (string, error) { return "sales:" + t.Format(time.DateOnly), nil },
		Step:   ranking.Day,
		Member: &member, Score: &score,
	})
	if err != nil {
		panic(err)
	}
	day := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for product, units := range map[string]int64{"kettle": 3, "teapot": 5} {
		if _, err := sales.Increase(ctx, day, product, units); err != nil {
			panic(err)
		}
	}
	rows, err := sales.Of(day).Top(ctx, 10)
	for _, row := range rows {
		fmt.Println(row.Rank, row.Member, row.Score)
	}
	fmt.Println(err)
	// Output:
	// 1 teapot 5
	// 2 kettle 3
	// <nil>
}
