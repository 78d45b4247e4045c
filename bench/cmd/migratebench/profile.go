package main

import (
	"context"
	"errors"
	"os"
	"runtime/pprof"

	"github.com/keywright/keywright/bench/costs"
)

// profiled runs imports and verifications of one kind alone, and writes where this process
// spends its time.
func (o options) profiled(ctx context.Context, kind string) error {
	out, err := os.Create(o.profile)
	if err != nil {
		return err
	}
	if err = pprof.StartCPUProfile(out); err == nil {
		for range o.rounds {
			if _, _, failed := o.imported(ctx, kind, new([4]costs.Costs)); failed != nil {
				err = errors.Join(err, failed)
			}
		}
		pprof.StopCPUProfile()
	}
	return errors.Join(err, out.Close())
}
