package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/turns"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// small says how many records the file has that is written and read.
const small = 100

func (f *field) write(ctx context.Context, n int) error {
	id := record.ID{Move: "all.text", Key: fmt.Sprintf("s:r%d", n%small)}
	r := &record.Record{Move: f.moves.Moves[0], Key: id.Key, Value: fmt.Appendf(nil, `{"n": %d}`, n)}
	return f.m.Write(ctx, migrate.Change{ID: id, Records: []*record.Record{r}})
}

func (f *field) read(ctx context.Context, n int) error {
	_, err := f.m.Read(ctx, record.ID{Move: "all.text", Key: fmt.Sprintf("s:r%d", n%small)})
	return err
}

// fields opens one migration for each phase on one server.
func (o options) fields(ctx context.Context, phases ...phase.Phase) (out []*field, done func(), err error) {
	server, err := live.Start(ctx, o.server)
	if err != nil {
		return nil, func() {}, err
	}
	done = func() {
		for _, f := range out {
			f.close()
		}
		server.Stop()
	}
	for _, at := range phases {
		f, err := o.open(ctx, server, "strings", small, at)
		if out = append(out, f); err != nil {
			return out, done, err
		}
	}
	return out, done, nil
}

// writes races writes to files, to Redis and to both.
func (o options) writes(ctx context.Context, out *report.Report) error {
	fields, done, err := o.fields(ctx, phase.Off, phase.Complete, phase.Shadow)
	defer done()
	if err != nil {
		return err
	}
	var all []turns.Contestant
	for i, name := range []string{"files alone", "Redis alone", "both sides"} {
		all = append(all, turns.Contestant{Name: name, Do: func(ctx context.Context, _, n int) error {
			return fields[i].write(ctx, n)
		}})
	}
	callers := []int{1, 8}
	r, err := turns.Race(ctx, all, callers, o.rounds, o.slice)
	if err != nil {
		return err
	}
	out.Tables = append(out.Tables, r.Table("Writes a second, by callers", 0))
	for _, n := range callers {
		slower := r.Ratio(1, 2, n)
		if r.Rate(0, n) < r.Rate(1, n) {
			slower = r.Ratio(0, 2, n)
		}
		out.Goals = append(out.Goals,
			report.Goal{What: fmt.Sprintf("time of a write to both sides ÷ the slower side, %d callers", n),
				Value: slower, Bound: 1.1})
	}
	return nil
}

// reads compares reads that are compared afterwards with reads that are not.
func (o options) reads(ctx context.Context, out *report.Report) error {
	fields, done, err := o.fields(ctx, phase.Backfill, phase.Shadow)
	defer done()
	if err != nil {
		return err
	}
	names := []string{"not compared", "compared"}
	t := report.Table{Title: "Reads of a file", Columns: []string{"", "median", "p99", "comparisons", "dropped"}}
	var p99 [2][]float64
	var medians [2][]time.Duration
	for range o.rounds {
		for i, f := range fields {
			var took []time.Duration
			for began, n := time.Now(), 0; time.Since(began) < o.slice; n++ {
				at := time.Now()
				if err := f.read(ctx, n); err != nil {
					return err
				}
				took = append(took, time.Since(at))
			}
			slices.Sort(took)
			medians[i] = append(medians[i], took[len(took)/2])
			p99[i] = append(p99[i], float64(took[len(took)*99/100]))
		}
	}
	var ratios []float64
	for n := range p99[0] {
		ratios = append(ratios, p99[1][n]/p99[0][n])
	}
	for i, name := range names {
		s := fields[i].m.Stats().Shadow
		t.Add(name, report.Median(medians[i]), time.Duration(report.Median(p99[i])), s.Compared, s.Dropped)
	}
	out.Tables = append(out.Tables, t)
	out.Goals = append(out.Goals,
		report.Goal{What: "p99 of a read that is compared ÷ one that is not", Value: report.Median(ratios), Bound: 1.05})
	if fields[1].m.Stats().Shadow.Unequal > 0 {
		return errors.New("the sides differ")
	}
	return nil
}
