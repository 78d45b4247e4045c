package event_test

import (
	"context"
	"fmt"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value"
)

// A subscriber receives what is published after it has subscribed.
func Example() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	codec := value.Text(0)
	entry := keywright.Entry{Name: "news", Pattern: "news"}
	topic := event.New(keywright.Binding{Client: client, Entry: &entry, Key: "news"}, &codec, event.Config{Plain: true})
	heard := make(chan string)
	unsubscribe, err := topic.Subscribe(ctx, event.Options{}, func(m event.Message[string], err error) {
		if err == nil {
			heard <- m.Data
		}
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(topic.Publish(ctx, "the kettle is back"))
	fmt.Println(<-heard)
	unsubscribe()
	// Output:
	// <nil>
	// the kettle is back
}
