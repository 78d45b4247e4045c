package pubsub_test

import (
	"errors"
	"fmt"

	"github.com/keywright/keywright/kernel/pubsub"
)

// A channel that the server refuses is an error of its own: the other channels of the connection are received.
func Example() {
	reason := errors.New("NOPERM no permissions to access a channel")
	err := fmt.Errorf("news: %w", &pubsub.Denied{Err: reason})
	var denied *pubsub.Denied
	fmt.Println(errors.As(err, &denied), errors.Is(err, reason))
	// Output: true true
}
