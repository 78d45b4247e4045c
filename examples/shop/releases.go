package shop

import (
	"context"
	"errors"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/examples/shop/shopkeys"
)

// Releases receives from pubsub:lock:release:… which locks are released, until stop is called or
// ctx ends. With an error there is no lock: messages may have been missed, or one could not
// be read.
func Releases(ctx context.Context, c *keywright.Client, hear func(lock string, err error)) (stop func(), err error) {
	keys := shopkeys.New(c)
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	add := func(s func(), err error) error {
		if err == nil {
			stops = append(stops, s)
		}
		return err
	}
	coupon := func(m event.Message[shopkeys.CouponReleasedMessage], err error) { hear(m.Data.Lock, err) }
	order := func(m event.Message[shopkeys.OrderReleasedMessage], err error) { hear(m.Data.Lock, err) }
	stock := func(m event.Message[shopkeys.StockReleasedMessage], err error) { hear(m.Data.Lock, err) }
	err = errors.Join(
		add(keys.CouponReleasedTopics().Subscribe(ctx, event.Options{}, coupon)),
		add(keys.OrderReleasedTopics().Subscribe(ctx, event.Options{}, order)),
		add(keys.StockReleasedTopics().Subscribe(ctx, event.Options{}, stock)),
	)
	if err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}
