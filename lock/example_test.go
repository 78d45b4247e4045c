package lock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// One holder at a time; a second caller that does not wait gets an error.
func Example() {
	url, stop := keywrighttest.Example()
	defer stop()
	ctx := context.Background()
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		panic(err)
	}
	defer client.Close()

	l := lock.Open(client, "lock:coupon:42", lock.Options{})
	err = l.Do(ctx, func(context.Context) error { // its context ends when the lock is lost
		_, err := l.Try(context.Background())
		fmt.Println(errors.Is(err, lock.ErrHeld))
		return nil
	})
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}
