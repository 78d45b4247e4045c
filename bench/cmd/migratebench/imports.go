package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/keywright/keywright/bench/costs"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
	"github.com/redis/rueidis"
)

// imports races an import and a bare loader of the same file.
func (o options) imports(ctx context.Context, out *report.Report) error {
	t := report.Table{Title: "Import, records a second",
		Columns: []string{"kind", "import", "bare loader", "ratio", "loader by script", "import ÷ it", "verify"}}
	cost := report.Table{Title: "What one record costs", Columns: append([]string{"kind", ""}, costs.Columns...)}
	for _, kind := range []string{"strings", "hashes"} {
		var rates, bare, ratios, scripted, floors, verified []float64
		var sums [4]costs.Costs
		for range o.rounds {
			i, v, err := o.imported(ctx, kind, &sums)
			if err != nil {
				return err
			}
			b, err := o.bare(ctx, kind, false, &sums[2])
			if err != nil {
				return err
			}
			s, err := o.bare(ctx, kind, true, &sums[3])
			if err != nil {
				return err
			}
			scripted, floors = append(scripted, s), append(floors, i/s)
			rates, verified, bare, ratios = append(rates, i), append(verified, v), append(bare, b), append(ratios, i/b)
		}
		for i, name := range []string{"import", "verify", "bare loader", "loader by script"} {
			cost.Add(append([]any{kind, name}, sums[i].Cells(float64(o.rounds*o.records))...)...)
		}
		t.Add(kind, fmt.Sprintf("%.0f", report.Median(rates)), fmt.Sprintf("%.0f", report.Median(bare)),
			fmt.Sprintf("%.2f", report.Median(ratios)), fmt.Sprintf("%.0f", report.Median(scripted)),
			fmt.Sprintf("%.2f", report.Median(floors)), fmt.Sprintf("%.0f", report.Median(verified)))
		out.Goals = append(out.Goals,
			report.Goal{What: "import of " + kind + " ÷ bare loader", Value: report.Median(ratios), Bound: 0.9, AtLeast: true},
			report.Goal{What: "verify of " + kind + ", records a second", Value: report.Median(verified), Bound: 200_000,
				AtLeast: true})
	}
	out.Tables = append(out.Tables, t, cost)
	return nil
}

// timed returns how many records a second something works on, and adds what it costs.
func (o options) timed(server *live.Server, sum *costs.Costs, do func() error) (rate float64, err error) {
	before, err := costs.Read(server)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err = do(); err != nil {
		return 0, err
	}
	rate = float64(o.records) / time.Since(began).Seconds()
	after, err := costs.Read(server)
	sum.Add(before, after)
	return rate, err
}

// imported returns the rate of an import into an empty server, and that of a verification.
func (o options) imported(ctx context.Context, kind string, sums *[4]costs.Costs) (imported, verified float64, err error) {
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
	imported, err = o.timed(server, &sums[0], func() error {
		r, err := f.m.Import(ctx, "all", migrate.ImportOptions{})
		if err == nil && r.Written != int64(o.records) {
			err = fmt.Errorf("%+v", r)
		}
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	verified, err = o.timed(server, &sums[1], func() error {
		v, err := f.m.Verify(ctx, "all", migrate.VerifyOptions{})
		if err == nil && v.Equal != int64(o.records) {
			err = fmt.Errorf("%+v", v)
		}
		return err
	})
	return imported, verified, err
}

// writer is the least that a script does which writes records: no epoch, no ticket and no key is
// asked for.
var writer = rueidis.NewLuaScript(`local n = #ARGV / #KEYS
for i = 1, #KEYS do
  if n == 1 then redis.call('SET', KEYS[i], ARGV[i])
  else redis.call('HSET', KEYS[i], unpack(ARGV, (i - 1) * n + 1, i * n)) end
end
return 1`)

// bare returns the rate of a loader that does nothing but read, convert and send: a reader and two
// connections with pipelines of 500, or with scripts that write 250 records each.
func (o options) bare(ctx context.Context, kind string, byScript bool, sum *costs.Costs) (rate float64, err error) {
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
				var results []rueidis.RedisResult
				if byScript {
					results = scripts(ctx, c, batch)
				} else {
					results = c.DoMulti(ctx, batch...)
				}
				for _, r := range results {
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
	return o.timed(server, sum, func() error {
		err := loaded(m, path, c, batches)
		close(batches)
		senders.Wait()
		select {
		case failed := <-errs:
			err = errors.Join(err, failed)
		default:
		}
		return err
	})
}

// scripts writes what commands would, by scripts.
func scripts(ctx context.Context, c rueidis.Client, batch rueidis.Commands) (out []rueidis.RedisResult) {
	for part := range slices.Chunk(batch, 250) {
		var keys, args []string
		for i := range part {
			words := part[i].Commands()
			keys, args = append(keys, words[1]), append(args, words[2:]...)
		}
		out = append(out, writer.Exec(ctx, c, keys, args))
	}
	return out
}

func loaded(m *record.Map, path string, c rueidis.Client, batches chan<- rueidis.Commands) error {
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
