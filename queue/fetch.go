package queue

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// settlement describes what has become of a job that was worked on.
type settlement struct {
	verb  string // "done", "retry", "later", "dead", "back"
	id    string
	token string
	text  string // the result, or the reason
	ms    int64  // TTL of the result, or the wait before the next attempt
	name  string // its unique name's key, "" for none
	fatal error  // why the job is dead, if that is what becomes of it
}

// claimed represents one job as the server gives it.
type claimed struct {
	id, payload             string
	unique                  string // the key of its unique name, "" for none
	alien                   bool   // it is nothing that an enqueue has written
	attempt, fence, crashes int64
	doubtful                bool // leases have ended of which it is not known whether the handler had begun
	enqueued                int64
	timeout                 time.Duration // its own, 0 for none
	token                   string
	sent                    time.Time // when it was asked for: its lease began no earlier
}

// deadline returns when its lease ends by the local clock.
func (c *claimed) deadline(lease time.Duration) time.Time {
	return c.sent.Add(lease - margin(lease))
}

// fetched describes what one call brings.
type fetched struct {
	jobs   []claimed
	lost   []string      // of the settlements
	faults []string      // what is wrong with keys that only some jobs need
	due    time.Duration // until something may be there, negative: unknown
	dead   []buried      // settled or not
	paused bool
}

// sending describes a call that claims, as the server knows it.
type sending struct {
	token string
	seat  string // under which its answer is kept until the next one of the same seat
	again bool   // it was sent before, and may have arrived
}

// answerOf begins the names of the fields in which the state keeps answers.
const answerOf = "answer "

// claim settles jobs and claims others, in one step.
func (q Queue[T]) claim(ctx context.Context, name sending, wanted int, look string, settled []settlement) (fetched,
	error) {
	gap, burst, late := q.rate()
	groups, rest := settlementArgs(settled)
	args := parts.Args("fetch", len(rest),
		"token", name.token, "wanted", strconv.Itoa(wanted), "lease", milliseconds(q.lease()), "mode", look,
		"crashes_most", strconv.Itoa(cmp.Or(q.o.Crashes, 5)), "ttl", q.ttl(),
		"before", q.keys.Job.Before, "after", q.keys.Job.After,
		"result_before", q.keys.Result.Before, "result_after", q.keys.Result.After,
		"dead_most", strconv.Itoa(cmp.Or(q.o.MaxDead, 10_000)), "attempts_most", strconv.Itoa(cmp.Or(q.o.Retry, 25)),
		"gap", gap, "burst", burst, "late", late, "lane_order", q.order(), "lane_names", q.laneNames(),
		"channel", q.keys.Channel, "database", q.database(), "clustered", q.clustered(),
		"seat", name.seat, "groups", groups)
	sent := time.Now()
	out, err := q.run(ctx, "fetch", standard.fetch, keywright.Writes, q.fetchKeys(), append(args, rest...))
	if err != nil {
		return fetched{}, err
	}
	return read(out, name.token, sent)
}

// slack is the part of a rate that is not used, so that workers that are late by
// as much of a second do not exceed it together with what they are late by.
const slack = 0.01

// rate returns the time between two jobs in µs, how many may begin at once, and by how
// many µs a worker may be late without a loss.
func (q Queue[T]) rate() (gap, burst, late string) {
	if q.o.Rate == 0 {
		return "0", "0", "0"
	}
	micros := float64(q.o.Per) / float64(time.Microsecond)
	gap = strconv.FormatFloat(max(micros/float64(q.o.Rate)*(1+slack), 1), 'f', 3, 64)
	late = strconv.FormatFloat(min(micros, 1e6)*slack, 'f', 0, 64)
	return gap, strconv.Itoa(cmp.Or(q.o.Burst, 1)), late
}

func (q Queue[T]) fetchKeys() []string {
	keys := make([]string, 0, 5+len(q.keys.Lanes))
	keys = append(keys, q.keys.Leases, q.keys.Delayed, q.keys.Dead, q.keys.State, q.keys.Runs)
	return append(keys, q.laneKeys()...)
}

func (q Queue[T]) laneKeys() []string {
	keys := make([]string, len(q.keys.Lanes))
	for i, l := range q.keys.Lanes {
		keys[i] = l.Key
	}
	return keys
}

// settlementArgs returns settlements as the script takes them: what is done and left
// nothing goes in groups, by token, of which it says how many there are.
func settlementArgs(all []settlement) (number string, args []string) {
	if len(all) == 0 {
		return "0", nil
	}
	var tokens []string
	groups := map[string][]string{}
	args = make([]string, 0, 6*len(all))
	for _, s := range all {
		if !s.bare() {
			continue
		}
		if groups[s.token] == nil {
			tokens = append(tokens, s.token)
		}
		groups[s.token] = append(groups[s.token], s.id)
	}
	for _, token := range tokens {
		args = append(append(args, token+" ", strconv.Itoa(len(groups[token]))), groups[token]...)
	}
	for _, s := range all {
		if !s.bare() {
			args = append(args, s.verb, s.id, s.token+" ", s.text, strconv.FormatInt(s.ms, 10), s.name)
		}
	}
	return strconv.Itoa(len(tokens)), args
}

// bare is a job that is done, without a result or a unique name.
func (s settlement) bare() bool { return s.verb == "done" && s.text == "" && s.name == "" }

// read takes the reply of the script apart.
func read(out []kernel.Value, token string, sent time.Time) (f fetched, err error) {
	if len(out) != 9 {
		return f, fmt.Errorf("the script answered %d values", len(out))
	}
	due, err := out[0].AsInt64()
	if err != nil {
		return f, err
	}
	paused, _ := out[5].ToString()
	f.due, f.lost, f.paused, f.dead = time.Duration(due)*time.Microsecond, texts(out[1]), paused != "",
		readBuried(texts(out[6]))
	f.faults = texts(out[7])
	ids, jobs := texts(out[2]), texts(out[3])
	tried, err := out[4].AsIntSlice()
	if err != nil {
		return f, err
	}
	fence, err := out[8].AsInt64()
	if err != nil {
		return f, err
	}
	if len(jobs) != len(ids) || len(tried)%5 != 0 {
		return f, fmt.Errorf("the script answered %d ids, %d jobs and %d numbers", len(ids), len(jobs), len(tried))
	}
	if len(ids) > 0 {
		f.jobs = make([]claimed, len(ids))
	}
	for i, id := range ids {
		f.jobs[i] = claimed{id: id, attempt: 1, fence: fence, token: token, sent: sent}
		f.jobs[i].parse(jobs[i])
	}
	for ; len(tried) > 0; tried = tried[5:] {
		if n := tried[0]; n >= 1 && n <= int64(len(ids)) {
			j := &f.jobs[n-1]
			j.attempt, j.fence, j.crashes, j.doubtful = tried[1], tried[2], tried[3], tried[4] >= doubts
		}
	}
	return f, nil
}

// readBuried reads four texts per job that has died.
func readBuried(all []string) (out []buried) {
	for ; len(all) >= 4; all = all[4:] {
		d := Dead{ID: all[0], Reason: all[1]}
		d.Attempts, _ = strconv.ParseInt(all[2], 10, 64)
		d.Crashes, _ = strconv.ParseInt(all[3], 10, 64)
		out = append(out, buried{Dead: d})
	}
	return out
}

// doubts says how many leases of a job may end before its workers say that its
// handler begins. From then on it is known which crashes are its own.
const doubts = 2

// begins says in one call that the handlers of jobs begin, each an id and a token. It
// gives for each whether it is another worker's by now.
func (q Queue[T]) begins(ctx context.Context, jobs []string) (lost []bool, err error) {
	out, err := q.run(ctx, "begin", standard.begin, keywright.Idempotent, []string{q.keys.Runs}, jobs)
	lost = make([]bool, len(jobs)/2)
	for _, m := range out {
		if n, _ := m.AsInt64(); n >= 1 && n <= int64(len(lost)) {
			lost[n-1] = true
		}
	}
	return lost, err
}

// parse takes a stored job apart: a line with the form it is written in, when it
// was enqueued, its lane, its attempts, its request and its unique name, and after it
// the payload.
func (c *claimed) parse(text string) {
	line, payload, ok := strings.Cut(text, "\n")
	line, ours := strings.CutPrefix(line, "q1 ")
	stamp, rest, _ := strings.Cut(line, " ")
	enqueued, err := strconv.ParseInt(stamp, 10, 64)
	unique, bad := url.PathUnescape(rest[strings.LastIndexByte(rest, ' ')+1:])
	if c.alien = !ok || !ours || err != nil || bad != nil; c.alien {
		return
	}
	c.payload, c.enqueued = payload, enqueued
	if strings.Contains(rest, limitOf) {
		c.timeout = limitIn(strings.Fields(rest))
	}
	if unique != noName {
		c.unique = unique
	}
}

// limitIn returns the time limit in the words of a job's line after the moment of its enqueue.
func limitIn(words []string) time.Duration {
	if len(words) != 4 {
		return 0
	}
	_, limit, _ := strings.Cut(words[2], limitOf)
	ms, _ := strconv.ParseInt(limit, 10, 64)
	return time.Duration(ms) * time.Millisecond
}

// order returns the numbers of the lanes in the order to look: as declared, or with
// one in front that is drawn by weight.
func (q Queue[T]) order() string {
	first := q.drawn()
	order := []byte(strconv.Itoa(first + 1))
	for i := range q.keys.Lanes {
		if i != first {
			order = strconv.AppendInt(append(order, ' '), int64(i+1), 10)
		}
	}
	return string(order)
}

// drawn returns a lane that is drawn by weight, the first one if they have none.
func (q Queue[T]) drawn() int {
	total := 0
	for _, w := range q.o.Weights {
		total += w
	}
	if total <= 0 {
		return 0
	}
	draw := rand.IntN(total)
	return slices.IndexFunc(q.o.Weights, func(w int) bool { draw -= w; return draw < 0 })
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }

// backoff returns the wait after attempt n: doubling, half of it at random, so that
// jobs that failed together do not come back together.
func (q Queue[T]) backoff(attempt int64) time.Duration {
	d := cmp.Or(q.o.Backoff, time.Second) << min(max(attempt-1, 0), 30)
	if limit := cmp.Or(q.o.MaxBackoff, time.Hour); d <= 0 || d > limit {
		d = limit
	}
	return d/2 + rand.N(d/2+1)
}
