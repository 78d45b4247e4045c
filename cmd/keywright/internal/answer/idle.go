package answer

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keyspace/finding"
)

// mostWorkers bounds the workers of a queue that are looked at, as its own figures do.
const mostWorkers = 1000

// resting represents a queue without jobs, and the keys that it may have still.
type resting struct {
	of             **Queue
	workers, state string
}

// idle returns the queues that have no jobs, by their place in the list, each with its workers and whether it is paused;
// nil for those of which more is to be asked. However many of them there are, they cost a few commands, and one more for
// each that has workers or a state.
func (r *Reader) idle(ctx context.Context, all []instance) ([]*Queue, error) {
	out := make([]*Queue, len(all))
	jobs, rest := make([][]string, len(all)), make([]resting, len(all))
	for i, one := range all {
		bound, err := bind.Parts(one.entry, one.values)
		if err != nil { // its reading says why
			return make([]*Queue, len(all)), nil
		}
		rest[i].of = &out[i]
		out[i], jobs[i] = rest[i].take(bound)
	}
	some, err := r.present(ctx, jobs)
	if err != nil {
		return nil, err
	}
	var left []resting
	var empty [][]string
	for i := range all {
		if some[i] {
			out[i] = nil
			continue
		}
		left, empty = append(left, rest[i]), append(empty, jobs[i])
	}
	for chunk := range slices.Chunk(left, mostNamed/2) {
		if err := r.resting(ctx, chunk); err != nil {
			return nil, err
		}
	}
	// A job that came meanwhile is counted already: its queue is read whole, so that none is taken for one that left.
	if some, err = r.present(ctx, empty); err != nil {
		return nil, err
	}
	for i, q := range left {
		if some[i] {
			*q.of = nil
		}
	}
	return out, nil
}

// take notes the keys of a queue, and returns it as it is without jobs, and the keys that have some.
func (q *resting) take(bound []bind.Bound) (empty *Queue, jobs []string) {
	empty = &Queue{Lanes: []Lane{}, Workers: []finding.JSONKey{}}
	for _, b := range bound {
		switch b.Name {
		case "Lanes":
			for n := range b.Names {
				empty.Lanes = append(empty.Lanes, Lane{Lane: slices.Concat(b.Words, []string{""})[n]})
			}
			fallthrough
		case "Leases", "Delayed", "Dead":
			jobs = append(jobs, b.Names...)
		case "Workers":
			q.workers = b.Names[0]
		case "State":
			q.state = b.Names[0]
		}
	}
	return empty, jobs
}

// resting reads what queues without jobs have. One of which that cannot be read is left to its own reading.
func (r *Reader) resting(ctx context.Context, all []resting) error {
	var workers, states [][]string
	for _, q := range all {
		workers, states = append(workers, []string{q.workers}), append(states, []string{q.state})
	}
	working, err := r.present(ctx, workers)
	if err != nil {
		return err
	}
	stated, err := r.present(ctx, states)
	if err != nil {
		return err
	}
	raw := r.Client.Raw()
	commands := kernel.Commands{raw.B().Time().Build()}
	var asked []question // by each command after the first
	for i, q := range all {
		if working[i] {
			commands = append(commands, raw.B().Zrange().Key(q.workers).Min("0").Max(strconv.Itoa(mostWorkers-1)).
				Withscores().Build())
			asked = append(asked, question{q.of, hasWorkers})
		}
		if stated[i] {
			commands = append(commands, raw.B().Hmget().Key(q.state).Field("paused", "enqueued").Build())
			asked = append(asked, question{q.of, hasState})
		}
	}
	if len(asked) == 0 {
		return nil
	}
	if err := r.pace(ctx, len(commands)); err != nil {
		return err
	}
	replies := raw.DoMulti(ctx, commands...)
	now, failed := replies[0].AsStrSlice()
	for n, one := range asked {
		if *one.of != nil && cmp.Or(failed, one.take(*one.of, replies[n+1], now)) != nil {
			*one.of = nil
		}
	}
	return nil
}

// question represents a command that asks for something of a queue, and what takes its reply.
type question struct {
	of   **Queue
	take func(q *Queue, reply kernel.Reply, now []string) error
}

// hasState notes whether a queue is paused, and how many jobs came.
func hasState(q *Queue, reply kernel.Reply, _ []string) error {
	fields, err := reply.AsStrSlice()
	if err == nil && len(fields) == 2 {
		q.Paused = fields[0] != ""
		q.Enqueued, err = strconv.ParseInt(cmp.Or(fields[1], "0"), 10, 64)
	}
	return err
}

// hasWorkers notes the workers of a queue: the score of each is until when it counts as alive, in ms.
func hasWorkers(q *Queue, reply kernel.Reply, now []string) error {
	workers, err := reply.AsZScores()
	for _, w := range workers {
		if w.Score < float64(microsOf(now)/1000) {
			q.Gone = append(q.Gone, finding.JSONKey(w.Member))
		} else {
			q.Workers = append(q.Workers, finding.JSONKey(w.Member))
		}
	}
	return err
}

// microsOf returns the reply of TIME in µs.
func microsOf(now []string) int64 {
	if len(now) != 2 {
		return 0
	}
	seconds, _ := strconv.ParseInt(now[0], 10, 64)
	micros, _ := strconv.ParseInt(now[1], 10, 64)
	return seconds*1_000_000 + micros
}
