package document

import (
	"maps"
	"slices"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/internal/history"
)

// Series is figures over time.
type Series struct {
	Step   string  `json:"step" enum:"raw,hour,day"`
	From   Stamp   `json:"from"`
	To     Stamp   `json:"to"`
	Series []Track `json:"series"`
}

// Track represents one figure over time.
type Track struct {
	Name   string      `json:"name"`   // keys, bytes, violations, or a rule
	Points [][]float64 `json:"points"` // [Unix time in seconds, value]
}

// Tracks returns the lines of one metric.
func Tracks(metric, code string, points []history.Point) []Track {
	line := func(name string, value func(*history.Point) int64) Track {
		t := Track{Name: name, Points: [][]float64{}}
		for i := range points {
			t.Points = append(t.Points, []float64{float64(points[i].At.UnixMilli()) / 1000, float64(value(&points[i]))})
		}
		return t
	}
	switch {
	case metric == "keys":
		return []Track{line(metric, func(p *history.Point) int64 { return p.Keys })}
	case metric == "bytes":
		return []Track{line(metric, func(p *history.Point) int64 { return p.Bytes })}
	case metric == "violations" && code == "":
		return []Track{line(metric, (*history.Point).Total)}
	case code != "":
		return []Track{line(code, func(p *history.Point) int64 { return p.Violations[code] })}
	}
	codes := map[string]bool{}
	for _, p := range points {
		for c := range p.Violations {
			codes[c] = true
		}
	}
	var out []Track
	for _, c := range slices.Sorted(maps.Keys(codes)) {
		out = append(out, line(c, func(p *history.Point) int64 { return p.Violations[c] }))
	}
	return out
}

// Points returns the figures of an audit for the history.
func (w *Writer) Points(t *observe.Target, a *observe.Audit) map[string]history.Point {
	out := map[string]history.Point{}
	total := history.Point{At: a.At, Violations: map[string]int64{}}
	for _, r := range w.Rows(t, a) {
		if len(out) < history.MaxEntries-2 && len(r.Name) <= history.MaxName { // what is beyond would refuse all of it
			out[r.Name] = history.Point{At: a.At, Keys: r.Keys, Bytes: r.Bytes, Violations: r.Codes}
		}
		total.Keys, total.Bytes = total.Keys+r.Keys, total.Bytes+r.Bytes
		for code, n := range r.Codes {
			total.Violations[code] += n
		}
	}
	out[TotalRow] = total
	measureNow(t, a.At, out)
	return out
}

// measureNow adds what is known of the servers' memory and of the jobs of queues by now, where that is not old, as far
// as there is room.
func measureNow(t *observe.Target, at time.Time, out map[string]history.Point) {
	st, now := t.State(), t.Now()
	away := func(s observe.Shard) bool { return s.Away != "" } // all of the memory is not known
	if v := st.Shards.Value; v != nil && !st.Shards.Stale(st.Began, now) && !slices.ContainsFunc(*v, away) {
		p := history.Point{At: at}
		for _, shard := range *v {
			if shard.Memory != nil {
				p.Bytes += *shard.Memory
			}
		}
		out[memoryRow] = p
	}
	v := st.Queues.Value
	if v == nil || st.Queues.Stale(st.Began, now) {
		return
	}
	for i := range v.Queues {
		q := RowOfQueue(v.Queues[i])
		name := queuePrefix + q.Entry + " " + q.Instance
		if len(out) < history.MaxEntries && len(name) <= history.MaxName {
			out[name] = history.Point{At: at, Keys: q.Jobs, Violations: map[string]int64{"waiting": q.Waiting,
				"running": q.Running + q.Zombies, "delayed": q.Delayed, "dead": q.Dead}}
		}
	}
}
