package shop

import (
	"context"
	"errors"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/shop/shopkeys"
)

// Orders processes orders.
type Orders struct {
	keys  *shopkeys.Keyspace
	book  OrderStore
	stock Stock
}

// Stock describes where an order takes its units: the products program.
type Stock interface {
	Take(ctx context.Context, o Order) (Sale, error)
}

// NewOrders makes the orders program on a client.
func NewOrders(c *keywright.Client, b OrderStore, s Stock) *Orders {
	return &Orders{shopkeys.New(c), b, s}
}

// Order gives an order that was processed; ErrUnknown if it was not.
func (s *Orders) Order(ctx context.Context, id int64) (Order, error) { return s.book.Order(ctx, id) }

// Process processes an order, once however often and by however many it is asked at the same
// time, and gives it with its state. A process that is killed on its way leaves an order that
// is processed when it is asked for again: it takes nothing twice.
func (s *Orders) Process(ctx context.Context, o Order) (out Order, err error) {
	l := s.keys.OrderProcess(o.ID)
	err = locked(ctx, l, func(ctx context.Context, fence int64) error {
		if out, err = s.book.Order(ctx, o.ID); !errors.Is(err, ErrUnknown) {
			return err
		}
		out = o
		switch _, err := s.stock.Take(ctx, o); {
		case err == nil:
			out.State = Done
		case errors.Is(err, ErrSoldOut):
			out.State = SoldOut
		default:
			return err
		}
		return s.book.SaveOrder(ctx, out, fence)
	}, func(ctx context.Context) error {
		return s.keys.OrderReleasedTopic(o.ID).Publish(ctx, shopkeys.OrderReleasedMessage{Lock: l.Name()})
	})
	return out, err
}
