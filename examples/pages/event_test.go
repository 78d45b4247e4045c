package pages

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/examples/pages/appkeys"
)

// Pub/sub that says what may have been missed.
func Example_topic() {
	ctx, _, app, done := open(keywright.Options{})
	defer done()
	got := make(chan int64, 2)
	//doc:begin topic
	topic := app.StockChangedTopic("kettle")
	stop, err := topic.Subscribe(ctx, event.Options{}, func(m event.Message[appkeys.StockChangedMessage], err error) {
		var gap *event.Gap
		switch {
		case errors.As(err, &gap): // the connection broke: look at what is there
		case err != nil: // *event.Dropped, or a message that is not as declared
		default:
			got <- m.Data.Left // and m.Time, m.Channel
		}
	})
	check(err)
	err = topic.Publish(ctx, appkeys.StockChangedMessage{Left: 3})
	//doc:end
	check(err)
	fmt.Println(<-got)
	stop()

	ctx, cancel := context.WithCancel(ctx)
	cancel()
	handle := func(int64, error) {}
	//doc:begin loop
	for m, err := range topic.All(ctx, event.Options{}) { // the same as a loop, until ctx ends
		handle(m.Data.Left, err)
	}
	//doc:end
	// Output: 3
}

// A stream: at least once.
func Example_stream() {
	ctx, _, app, done := open(keywright.Options{})
	defer done()
	ctx, cancel := context.WithCancel(ctx)
	send := func(_ context.Context, m appkeys.OrderPaidMessage) error {
		fmt.Println("order", m.Order)
		cancel()
		return nil
	}
	//doc:begin stream
	id, err := app.OrderPaid().Publish(ctx, appkeys.OrderPaidMessage{Order: 7})
	check(err)

	type message = event.Stored[appkeys.OrderPaidMessage]
	err = app.OrderPaid().Run(ctx, appkeys.OrderPaidMailGroup, func(ctx context.Context, m message) error {
		return send(ctx, m.Data) // nil acknowledges; an error brings it again
	}, event.RunOptions[appkeys.OrderPaidMessage]{
		Concurrency: 8,
		Key: func(m appkeys.OrderPaidMessage) string { // messages of one order are handled in their order
			return strconv.FormatInt(m.Order, 10)
		},
	})
	//doc:end
	fmt.Println(id != "", err)
	// Output:
	// order 7
	// true <nil>
}

// Requests and answers.
func Example_exchange() {
	ctx, _, app, done := open(keywright.Options{})
	defer done()
	serving, end := context.WithCancel(ctx)
	over := make(chan error, 1)
	//doc:begin exchange
	type question = event.Message[appkeys.PriceMessage]
	serve := func(ctx context.Context, m question) (appkeys.PriceReply, error) {
		return appkeys.PriceReply{Cents: 3900}, nil
	}
	go func() { over <- app.PriceExchange().Serve(serving, event.ServeOptions{}, serve) }()

	answers, err := app.PriceExchange().Collect(ctx, appkeys.PriceMessage{Sku: "a"}, 1) // so many answers
	check(err)
	answer, err := app.PriceExchange().Call(ctx, appkeys.PriceMessage{Sku: "a"}) // the first answer
	//doc:end
	check(err)
	end()
	fmt.Println(answer.Cents, len(answers), <-over)
	// Output: 3900 1 <nil>
}
