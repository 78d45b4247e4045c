package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
	"github.com/redis/rueidis"
)

// imports races an import and a bare loader of the same file.
func (o options) imports(ctx context.Context, out *report.Report) error {
	t := report.Table{Title: "Import, records a second", Columns: []string{"kind", "import", "bare loader", "ratio", "verify"}}
	for _, kind := range []string{"strings", "hashes"} {
		var rates, bare, ratios, verified []float64
		for range o.rounds {
			i, v, err := o.imported(ctx, kind)
			if err != nil {
				return err
			}
			b, err := o.bare(ctx, kind)
			if err != nil {
				return err
			}
			rates, verified, bare, ratios = append(rates, i), append(verified, v), append(bare, b), append(ratios, i/b)
		}
		t.Add(kind, fmt.Sprintf("%.0f", report.Median(rates)), fmt.Sprintf("%.0f", report.Median(bare)),
			fmt.Sprintf("%.2f", report.Median(ratios)), fmt.Sprintf("%.0f", report.Median(verified)))
		out.Goals = append(out.Goals,
			report.Goal{What: "import of " + kind + " ÷ bare loader", Value: report.Median(ratios), Bound: 0.9, AtLeast: true},
			report.Goal{What: "verify of " + kind + ", records a second", Value: report.Median(verified), Bound: 200_000, AtLeast: true})
	}
	out.Tables = append(out.Tables, t)
	return nil
}

// imported is the rate of an import into an empty server, and that of a verification.
func (o options) imported(ctx context.Context, kind string) (imported, verified float64, err error) {
	server, err := live.Start(ctx, o.server)
	if err != nil {
		return 0, 0, err
	}
	defer server.Stop()
	f, err := o.open(ctx, server, kind, 0, phase.DualWrite)
	defer f.close()
	if err == nil {
		err = write(filepath.Join(f.root, "state.json"), o.records, 0)
	}
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	r, err := f.m.Import(ctx, "all", migrate.ImportOptions{})
	if err == nil && r.Written != int64(o.records) {
		err = fmt.Errorf("%+v", r)
	}
	if err != nil {
		return 0, 0, err
	}
	imported = float64(o.records) / time.Since(began).Seconds()
	began = time.Now()
	v, err := f.m.Verify(ctx, "all", migrate.VerifyOptions{})
	if err == nil && v.Equal != int64(o.records) {
		err = fmt.Errorf("%+v", v)
	}
	return imported, float64(o.records) / time.Since(began).Seconds(), err
}

// bare is the rate of a loader that does nothing but read, convert and send: a reader and two
// connections with pipelines of 500.
func (o options) bare(ctx context.Context, kind string) (rate float64, err error) {
	server, err := live.Start(ctx, o.server)
	if err != nil {
		return 0, err
	}
	defer server.Stop()
	root, err := os.MkdirTemp("", "keywright-migratebench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(root)
	path := filepath.Join(root, "state.json")
	m, err := declared(kind)
	if err = errors.Join(err, write(path, o.records, 0)); err != nil {
		return 0, err
	}
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr}, DisableCache: true})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	batches := make(chan rueidis.Commands, 4)
	errs := make(chan error, 2)
	var senders sync.WaitGroup
	for range 2 {
		senders.Go(func() {
			for batch := range batches {
				for _, r := range c.DoMulti(ctx, batch...) {
					if err := r.Error(); err != nil {
						select {
						case errs <- err:
						default:
						}
					}
				}
			}
		})
	}
	began := time.Now()
	err = load(m, path, c, batches)
	close(batches)
	senders.Wait()
	select {
	case failed := <-errs:
		err = errors.Join(err, failed)
	default:
	}
	return float64(o.records) / time.Since(began).Seconds(), err
}

func load(m *record.Map, path string, c rueidis.Client, batches chan<- rueidis.Commands) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var batch rueidis.Commands
	opt := record.Options{MaxNames: 1 << 30}
	_, err = m.Sources[0].Read(f, "state.json", opt, func(match *record.Match) error {
		r, err := match.Moves[0].Record(match)
		if err != nil {
			return err
		}
		if r.Fields == nil {
			batch = append(batch, c.B().Set().Key(r.Key).Value(string(r.Value)).Build())
		} else {
			set := c.B().Hset().Key(r.Key).FieldValue()
			for _, field := range r.Fields {
				set = set.FieldValue(field.Name, field.Value)
			}
			batch = append(batch, set.Build())
		}
		if len(batch) == 500 {
			batches <- batch
			batch = nil
		}
		return nil
	})
	batches <- batch
	return err
}
