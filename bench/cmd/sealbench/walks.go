package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/costs"
	"github.com/keywright/keywright/bench/harness"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/source/server"
	"github.com/keywright/keywright/value/seal"
	"github.com/keywright/keywright/value/seal/reseal"
)

const declaration = `keywright: 1
package: shop
owner: o
keys:
  text: {key: "t:{id}", type: string, value: text encrypted, ttl: none}
`

// walk represents one way to seal values again.
type walk struct {
	name   string
	before func(old *seal.Ring, at keywright.Place, plain string) (string, error)
	do     func(context.Context, *reseal.Walk) (*reseal.Report, error)
}

// walkers lists the walks that are measured.
var walkers = []walk{
	{"rotate", (*seal.Ring).Seal,
		func(ctx context.Context, w *reseal.Walk) (*reseal.Report, error) { return w.Rotate(ctx) }},
	{"adopt", plain, func(ctx context.Context, w *reseal.Walk) (*reseal.Report, error) { return w.Adopt(ctx) }},
}

// plain leaves a text as it is.
func plain(_ *seal.Ring, _ keywright.Place, text string) (string, error) { return text, nil }

// walks seals many values again, once each way.
func (o *options) walks(ctx context.Context, out *report.Report) error {
	t := out.Table(fmt.Sprintf("%d values of 100 bytes", o.values), "walk", "values/s", "server CPU per value")
	for _, w := range walkers {
		took, cpu, err := o.walked(ctx, w)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		t.Add(w.name, fmt.Sprintf("%.0f", float64(o.values)/took.Seconds()), cpu/time.Duration(o.values))
	}
	return nil
}

func (o *options) walked(ctx context.Context, w walk) (took, cpu time.Duration, err error) {
	s, err := live.Start(ctx, o.Server)
	if err != nil {
		return 0, 0, err
	}
	defer s.Stop()
	c, err := keywright.Open(ctx, s.URL(), keywright.Options{})
	if err != nil {
		return 0, 0, err
	}
	defer c.Close()
	old, now, err := rings()
	if err == nil {
		err = o.fill(ctx, c, old, w)
	}
	if err != nil {
		return 0, 0, err
	}
	ks, err := harness.Declared([]byte(declaration))
	if err != nil {
		return 0, 0, err
	}
	config, err := connect.New(connect.Options{URL: s.URL(), Getenv: func(string) string { return "" }})
	if err != nil {
		return 0, 0, err
	}
	source := server.New(config, server.Options{Role: server.Primary})
	var used costs.Costs
	err = used.Count(s, func() error {
		began := time.Now()
		r, err := w.do(ctx, &reseal.Walk{Keyspace: ks, Client: c, Ring: now, Source: source})
		took = time.Since(began)
		if err == nil && r.Resealed != int64(o.values) {
			err = fmt.Errorf("%d values were sealed, not %d", r.Resealed, o.values)
		}
		return err
	})
	return took, used.Server, err
}

// rings returns a ring, and the same with a new key that is to be used from now on.
func rings() (old, now *seal.Ring, err error) {
	text, _, err := seal.Generate()
	if err != nil {
		return nil, nil, err
	}
	more, _, err := seal.Add(text, true)
	if err != nil {
		return nil, nil, err
	}
	old, err = seal.Parse(text)
	now, err2 := seal.Parse(more)
	return old, now, errors.Join(err, err2)
}

// fill writes the values as they are before the walk.
func (o *options) fill(ctx context.Context, c *keywright.Client, old *seal.Ring, w walk) error {
	raw := c.Raw()
	for i := range o.values {
		key := fmt.Sprint("t:", i)
		text, err := w.before(old, keywright.Place{Schema: "shop", Key: key}, strings.Repeat("x", 100))
		if err == nil {
			err = raw.Do(ctx, raw.B().Set().Key(key).Value(text).Build()).Error()
		}
		if err != nil {
			return errors.Join(errors.New("writing the values"), err)
		}
	}
	return nil
}
