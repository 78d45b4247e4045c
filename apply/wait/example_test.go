package wait_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/keywright/keywright/apply/wait"
)

// All goroutines of a run share one time to wait: an answer to any of them starts it again.
func Example() {
	ctx, stop := wait.Bound(context.Background(), wait.Waiting{Server: "10.0.0.5:6379", Patience: time.Minute})
	defer stop(nil)

	done := wait.Ask(ctx)
	wait.Failed(ctx, io.ErrUnexpectedEOF)
	wait.Answered(ctx)
	done()
	fmt.Println(wait.IsOver(ctx))

	var away *wait.AwayError
	err := error(&wait.AwayError{Server: "10.0.0.5:6379", Silent: time.Minute, Last: io.ErrUnexpectedEOF})
	fmt.Println(errors.As(err, &away), err)
	// Output:
	// false
	// true 10.0.0.5:6379 has not answered for 1m0s: unexpected EOF
}
