package main

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	return turns.Err(f.m.Read(ctx, record.ID{Move: "all.text", Key: fmt.Sprintf("s:r%d", n%small)}))
}

// fields opens one migration for each phase on one server.
func (o *options) fields(ctx context.Context, phases ...phase.Phase) (out []*field, err error) {
	server, err := o.Start(ctx, o.Server)
	if err != nil {
		return nil, err
	}
	for _, at := range phases {
		f, err := o.open(ctx, server, "strings", small, at)
		o.Cleanup(f.close)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// writes races writes to files, to Redis and to both.
func (o *options) writes(ctx context.Context, out *report.Report) error {
	fields, err := o.fields(ctx, phase.Off, phase.Complete, phase.Shadow)
	if err != nil {
		return err
	}
	race := turns.Race{Title: "Writes a second, by callers", Callers: []int{1, 8}}
	for i, name := range []string{"files alone", "Redis alone", "both sides"} {
		race.All = append(race.All, turns.Contestant{Name: name,
			Do: func(ctx context.Context, _, n int) error { return fields[i].write(ctx, n) }})
	}
	r, err := race.Run(ctx, o.Rounds, o.Slice)
	if err != nil {
		return err
	}
	race.Add(out, r)
	for _, n := range race.Callers {
		slower := r.Ratio(1, 2, n)
		if r.Rate(0, n) < r.Rate(1, n) {
			slower = r.Ratio(0, 2, n)
		}
		out.AtMost(1.1, slower, "time of a write to both sides ÷ the slower side, %d callers", n)
	}
	return nil
}

// latency represents what reads take in a round.
type latency struct{ median, p99 time.Duration }

// reads compares reads that are compared afterwards with reads that are not.
func (o *options) reads(ctx context.Context, out *report.Report) error {
	fields, err := o.fields(ctx, phase.Backfill, phase.Shadow)
	if err != nil {
		return err
	}
	fields[0].name, fields[1].name = "not compared", "compared"
	runs, err := turns.Rounds(o.Rounds, fields, func(f *field) (l latency, err error) {
		var took []time.Duration
		for began, n := time.Now(), 0; time.Since(began) < o.Slice; n++ {
			at := time.Now()
			if err := f.read(ctx, n); err != nil {
				return l, err
			}
			took = append(took, time.Since(at))
		}
		return latency{turns.Percentile(took, 0.5), turns.Percentile(took, 0.99)}, nil
	})
	if err != nil {
		return err
	}
	median := turns.Median("", "", func(l latency) float64 { return float64(l.median) })
	p99 := func(l latency) float64 { return float64(l.p99) }
	t := out.Table("Reads of a file", "", "median", "p99", "comparisons", "dropped")
	for i, f := range fields {
		s := f.m.Stats().Shadow
		t.Add(f.name, time.Duration(median.Value(runs.All[i])), time.Duration(turns.Median("", "", p99).Value(runs.All[i])),
			s.Compared, s.Dropped)
	}
	out.AtMost(1.05, turns.Ratio(runs.All[1], runs.All[0], p99), "p99 of a read that is compared ÷ one that is not")
	if fields[1].m.Stats().Shadow.Unequal > 0 {
		return errors.New("the sides differ")
	}
	return nil
}
