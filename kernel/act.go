package kernel

import (
	"context"
	"time"
)

// Act represents an operation that gives nothing but an error, as a write of a value. It
// is used as an Op is.
type Act struct{ Op[struct{}] }

// NewAct makes one.
func NewAct(s Spec[struct{}]) Act { return Act{NewOp(s)} }

// Do runs the operation: one round trip. The error is ErrNotFound, an *Error or
// a *DecodeError.
func (a Act) Do(ctx context.Context) error {
	_, err := a.Op.Do(ctx)
	return err
}

// DoAndWait runs the operation and waits for replicas; see Op.DoAndWait.
func (a Act) DoAndWait(ctx context.Context, replicas int, timeout time.Duration) (confirmed int, err error) {
	_, confirmed, err = a.Op.DoAndWait(ctx, replicas, timeout)
	return confirmed, err
}

// Failing works as that of Op does.
func (a Act) Failing(err error) Act { return Act{a.Op.Failing(err)} }

// Operation is what can be queued: an Op or an Act.
type Operation[T any] interface{ operation() Op[T] }

func (o Op[T]) operation() Op[T] { return o }
