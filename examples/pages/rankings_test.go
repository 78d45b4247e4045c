package pages

import (
	"fmt"
	"math"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/counter"
)

// Rankings of a day and of several days, by generated code.
func Example_ranking() {
	ctx, _, app, done := open(keywright.Options{})
	defer done()
	//doc:begin ranking
	sales, err := app.DailySalesBoard()
	check(err)
	sum, err := sales.Increase(ctx, today, 42, 3)
	check(err)
	rows, err := sales.Of(today).Top(ctx, 100) // Member, Score, Rank from 1
	check(err)
	rows, err = sales.Of(today).Around(ctx, 42, 5) // five above, 42, five below
	check(err)
	rows, err = sales.Of(today).After(ctx, rows[0].Cursor(), 20) // the next page
	check(err)

	popular, err := app.DailySalesWindows([]float64{1, 0.5, 0.25})
	check(err)
	top, err := popular.Ending(today).Top(ctx, 100) // adds up at most once per minute, the declared cached
	//doc:end
	check(err)
	fmt.Println(sum, len(rows), top[0].Member, top[0].Score)
	// Output: 3 0 42 3
}

// A number with bounds, and a limit.
func Example_counter() {
	ctx, _, app, done := open(keywright.Options{})
	defer done()
	//doc:begin counter
	_, err := app.Stock(42).Add(1).Do(ctx)
	check(err)
	left, err := app.Stock(42).AddWithin(ctx, -1, counter.Bounds{Low: 0, High: math.MaxInt64})
	check(err)
	none, err := app.Stock(42).AddWithin(ctx, -1, counter.Bounds{Low: 0, High: math.MaxInt64})
	check(err)

	answer, err := app.Login(7).Allow(ctx) // Allowed, Remaining, RetryAfter, ResetAfter
	//doc:end
	check(err)
	fmt.Println(left.Sum, left.Applied, none.Applied, answer.Allowed, answer.Remaining)
	// Output: 0 true false true 19
}
