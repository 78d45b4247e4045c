package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/keywright/keywright/bench/costs"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
	"github.com/redis/rueidis"
)

// step represents one thing that is done with all records.
type step struct {
	rate float64 // records a second
	costs.Costs
}

// imported represents the steps of a round, in the order of stepNames.
type imported [4]step

var stepNames = []string{"import", "verify", "bare loader", "loader by script"}

func rate(i int) func(imported) float64 { return func(r imported) float64 { return r[i].rate } }

// imports races an import and bare loaders of the same file.
func (o *options) imports(ctx context.Context, out *report.Report) error {
	kinds := []kind{"strings", "hashes"}
	runs, err := turns.Rounds(o.Rounds, kinds, func(k kind) (r imported, err error) {
		if err = o.imported(ctx, k, &r); err == nil {
			err = o.bare(ctx, k, false, &r[2])
		}
		if err == nil {
			err = o.bare(ctx, k, true, &r[3])
		}
		return r, err
	})
	if err != nil {
		return err
	}
	ratio := turns.Median("ratio", "%.2f", func(r imported) float64 { return r[0].rate / r[2].rate })
	verified := turns.Median("verify", "%.0f", rate(1))
	runs.Show(out, "Import, records a second", "kind", turns.Median("import", "%.0f", rate(0)),
		turns.Median("bare loader", "%.0f", rate(2)), ratio, turns.Median("loader by script", "%.0f", rate(3)),
		turns.Median("import ÷ it", "%.2f", func(r imported) float64 { return r[0].rate / r[3].rate }), verified)
	t := out.Table("What one record costs", append([]string{"kind", ""}, costs.Titles()...)...)
	for i, k := range kinds {
		for s, name := range stepNames {
			var sum costs.Costs
			for _, r := range runs.All[i] {
				sum.Add(r[s].Costs)
			}
			t.Add(append([]any{k, name}, sum.Cells(float64(o.Rounds*o.records))...)...)
		}
		out.AtLeast(0.9, ratio.Value(runs.All[i]), "import of %s ÷ bare loader", k)
		out.AtLeast(200_000, verified.Value(runs.All[i]), "verify of %s, records a second", k)
	}
	return nil
}

// measure says how many records a second something works on, and what it costs.
func (o *options) measure(server *live.Server, s *step, do func() error) error {
	return s.Count(server, func() error {
		began := time.Now()
		err := do()
		s.rate = float64(o.records) / time.Since(began).Seconds()
		return err
	})
}

// imported measures an import into an empty server, and a verification.
func (o *options) imported(ctx context.Context, k kind, steps *imported) error {
	server, err := live.Start(ctx, o.Server)
	if err != nil {
		return err
	}
	defer server.Stop()
	f, err := o.open(ctx, server, k, 0, phase.DualWrite)
	defer f.close()
	if err == nil {
		err = write(filepath.Join(f.root, "state.json"), o.records, 0)
	}
	if err != nil {
		return err
	}
	if err := o.measure(server, &steps[0], func() error {
		r, err := f.m.Import(ctx, "all", migrate.ImportOptions{})
		if err == nil && r.Written != int64(o.records) {
			err = fmt.Errorf("%+v", r)
		}
		return err
	}); err != nil {
		return err
	}
	return o.measure(server, &steps[1], func() error {
		v, err := f.m.Verify(ctx, "all", migrate.VerifyOptions{})
		if err == nil && v.Equal != int64(o.records) {
			err = fmt.Errorf("%+v", v)
		}
		return err
	})
}

// writer is the least that a script does which writes records: no epoch, no ticket and no key is
// asked for.
var writer = rueidis.NewLuaScript(`local n = #ARGV / #KEYS
for i = 1, #KEYS do
  if n == 1 then redis.call('SET', KEYS[i], ARGV[i])
  else redis.call('HSET', KEYS[i], unpack(ARGV, (i - 1) * n + 1, i * n)) end
end
return 1`)

// bare measures a loader that does nothing but read, convert and send: a reader and two
// connections with pipelines of 500, or with scripts that write 250 records each.
func (o *options) bare(ctx context.Context, k kind, byScript bool, s *step) error {
	server, err := live.Start(ctx, o.Server)
	if err != nil {
		return err
	}
	defer server.Stop()
	root, err := os.MkdirTemp("", "keywright-migratebench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	path := filepath.Join(root, "state.json")
	m, err := declared(k)
	if err = errors.Join(err, write(path, o.records, 0)); err != nil {
		return err
	}
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr}, DisableCache: true})
	if err != nil {
		return err
	}
	defer c.Close()
	send := func(batch rueidis.Commands) []rueidis.RedisResult { return c.DoMulti(ctx, batch...) }
	if byScript {
		send = func(batch rueidis.Commands) []rueidis.RedisResult { return scripts(ctx, c, batch) }
	}
	batches, sent := make(chan rueidis.Commands, 4), make(chan error, 1)
	go func() {
		sent <- turns.Each(2, 2, func(int, int) (err error) {
			for batch := range batches { // to the end: the reader must not wait
				for _, r := range send(batch) {
					err = cmp.Or(err, r.Error())
				}
			}
			return err
		})
	}()
	return o.measure(server, s, func() error {
		err := loaded(m, path, c, batches)
		close(batches)
		return errors.Join(err, <-sent)
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
