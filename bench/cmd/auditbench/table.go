package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/bench/report"
)

func tabulate(out *report.Report, binary string, a *arena, all []*contestant) {
	t := report.Table{
		Title: fmt.Sprintf("%s, SCAN COUNT %d in the loops", binary, a.count),
		Columns: []string{"contestant", "wall s min", "median", "server CPU s", "client CPU s",
			"peak RSS MiB", "k keys/s", "wall × rueidis", "server CPU × rueidis"},
	}
	peer := find(all, rueidis)
	for _, c := range all {
		walls := column(c, func(s sample) time.Duration { return s.wall })
		server := column(c, func(s sample) time.Duration { return s.server })
		client := column(c, func(s sample) time.Duration { return s.client })
		rss := int64(0)
		for _, s := range c.samples {
			rss = max(rss, s.rss)
		}
		median := report.Median(walls)
		t.Add(c.name, seconds(walls[0]), seconds(median), seconds(report.Median(server)),
			seconds(report.Median(client)), fmt.Sprintf("%.1f", float64(rss)/(1<<20)),
			fmt.Sprintf("%.0f", float64(a.truth.Keys)/walls[0].Seconds()/1e3),
			fmt.Sprintf("%.3f", ratio(c, peer, wall)), fmt.Sprintf("%.3f", ratio(c, peer, serverCPU)))
	}
	out.Tables = append(out.Tables, t, commandTable(a, all))
	addGoals(out, binary, all)
}

// commandTable shows that the contestants ask the server for the same things.
func commandTable(a *arena, all []*contestant) report.Table {
	t := report.Table{Title: "Commands of one run", Columns: []string{"contestant", "calls by command"}}
	for _, c := range all {
		calls := c.samples[0].calls
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(calls)) {
			if name != "info" && calls[name] > 0 {
				parts = append(parts, fmt.Sprintf("%s %d", name, calls[name]))
			}
		}
		t.Add(c.name, strings.Join(parts, ", "))
	}
	return t
}

func addGoals(out *report.Report, binary string, all []*contestant) {
	audit, peer, cli := find(all, auditCLI), find(all, rueidis), find(all, memkeys)
	goal := func(what string, value, bound float64, atLeast bool) {
		out.Goals = append(out.Goals, report.Goal{What: binary + ": " + what, Value: value, Bound: bound, AtLeast: atLeast})
	}
	goal("wall, audit ÷ rueidis loop", ratio(audit, peer, wall), 1.15, false)
	goal("server CPU, audit ÷ rueidis loop", ratio(audit, peer, serverCPU), 1, false)
	goal("wall, audit --values ÷ audit", ratio(find(all, valuesCLI), audit, wall), 1.5, false)
	goal("wall, audit --values ÷ audit, by the same of the tuned floors",
		ratio(find(all, valuesCLI), audit, wall)/ratio(find(all, valueFloor), find(all, floor), wall), 1.1, false)
	goal("wall, redis-cli --memkeys ÷ audit", ratio(cli, audit, wall), 1.4, true)
}

func wall(s sample) time.Duration      { return s.wall }
func serverCPU(s sample) time.Duration { return s.server }

// ratio returns the median over the rounds of a's figure by b's of the same round.
func ratio(a, b *contestant, figure func(sample) time.Duration) float64 {
	ratios := make([]float64, len(a.samples))
	for i := range ratios {
		ratios[i] = float64(figure(a.samples[i])) / float64(figure(b.samples[i]))
	}
	return report.Median(ratios)
}

// column returns a figure of all rounds, sorted.
func column(c *contestant, figure func(sample) time.Duration) []time.Duration {
	values := make([]time.Duration, len(c.samples))
	for i, s := range c.samples {
		values[i] = figure(s)
	}
	slices.Sort(values)
	return values
}

func find(all []*contestant, name string) *contestant {
	i := slices.IndexFunc(all, func(c *contestant) bool { return c.name == name })
	return all[i]
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()) }
