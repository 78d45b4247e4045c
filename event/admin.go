package event

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// Policy describes what Trim keeps. Both bounds hold, if both are given.
type Policy struct {
	MaxLen int64     // 0: any number
	Before time.Time // what was published earlier goes; zero: nothing does
	// Keep stops before the first message that some group has not acknowledged.
	Keep bool
	// Apply removes; else it only reports what would be removed.
	Apply bool
}

// Report describes what was trimmed, or would be.
type Report struct {
	Messages int64
	// Unacknowledged is, by group, how many of them it has not acknowledged.
	Unacknowledged map[string]int64
}

// trimWork bounds how long the server is held up by one step, in fields and
// groups that are looked at.
const (
	trimWork  = 1000
	trimMost  = 200
	trimFirst = 10
)

// Trim removes what a policy does not keep, exactly, and says what of it groups
// had not acknowledged. One round trip per 200 messages, fewer if they are large
// or the groups are many, between which others have their turn; it can be broken
// off at any time and goes on where it was.
func (s Stream[M]) Trim(ctx context.Context, p Policy) (Report, error) {
	report := Report{Unacknowledged: map[string]int64{}}
	err := s.usable()
	if err == nil && (p.MaxLen < 0 || p.MaxLen == 0 && p.Before.IsZero()) {
		err = errors.New("the policy keeps everything, or a negative number")
	}
	if err != nil {
		return report, s.invalid("trim", err)
	}
	for t := (trimming{from: "-", step: trimFirst}); t.from != ""; {
		if err := s.trim(ctx, p, &t, &report); err != nil {
			return report, err
		}
	}
	return report, nil
}

// trimming describes how far a Trim is.
type trimming struct {
	from string // where it goes on; "" at its end
	step int    // messages of the next round trip
}

func (s Stream[M]) trim(ctx context.Context, p Policy, t *trimming, report *Report) error {
	flag := map[bool]string{true: "1", false: "0"}
	before, counted := "0", report.Messages
	if !p.Before.IsZero() {
		before = strconv.FormatInt(unixMS(p.Before), 10)
	}
	if p.Apply {
		counted = 0 // they are gone
	}
	args := parts.Args("trim", 0, "from", t.from, "most", strconv.Itoa(t.step),
		"stays", strconv.FormatInt(p.MaxLen, 10), "oldest", before, "removes", flag[p.Apply], "careful", flag[p.Keep],
		"counted", strconv.FormatInt(counted, 10))
	reply, err := script("trim", s, keywright.Writes, standard.trim, s.keys.main(), args, list).Do(ctx)
	if err != nil {
		return err
	}
	n, _ := reply[0].AsInt64()
	t.from, _ = reply[1].ToString()
	groups, _ := reply[2].ToArray()
	for ; len(groups) >= 2; groups = groups[2:] {
		name, _ := groups[0].ToString()
		open, _ := groups[1].AsInt64()
		report.Unacknowledged[name] += open
	}
	report.Messages += n
	work, _ := reply[3].AsInt64()
	t.step = min(max(t.step*trimWork/int(max(work, 1)), 1), 4*t.step, trimMost)
	return nil
}

// Ack acknowledges a message by hand, for a group that something else reads: one
// round trip. It returns whether it was pending.
func (s Stream[M]) Ack(ctx context.Context, group, id string) (bool, error) {
	n, err := s.ack(group, id).Do(ctx)
	return n > 0, err
}

func (s Stream[M]) ack(group string, ids ...string) keywright.Op[int64] {
	return command(s, "ack", keywright.Idempotent, readInteger, "XACK", append([]string{group}, ids...)...)
}

// Stats describes how many messages a stream and its groups have.
type Stats struct {
	Length int64
	Dead   int64 // dead letters
	Groups []GroupStats
}

// GroupStats describes how many messages a consumer group has before it.
type GroupStats struct {
	Name      string
	Consumers int64
	Pending   int64 // delivered and not acknowledged
	Lag       int64 // not delivered yet; -1: the server cannot tell
	// Missed is how many were trimmed before they were delivered, as long as the
	// group has not read on; -1: the server cannot tell.
	Missed int64
	Oldest time.Time // when the oldest that is pending was published; zero: none is
	// Running is how many handlers run in the consumers of this client: the server does not know of them. Overdue is how
	// many of these have been running for longer than the channel's timeout, or than an hour if it has none; OldestRun
	// for how long the oldest one has.
	Running, Overdue int64
	OldestRun        time.Duration
}

// Stats asks for the lengths, and for lag and pending of each group: two round
// trips, O(groups), whatever is waiting or pending.
func (s Stream[M]) Stats(ctx context.Context) (Stats, error) {
	if err := s.usable(); err != nil {
		return Stats{}, s.invalid("stats", err)
	}
	var batch keywright.Batch
	length := keywright.Queue(&batch, command(s, "stats", keywright.Reads, readInteger, "XLEN"))
	dead := keywright.Queue(&batch, on(s, s.keys.Dead, "stats", keywright.Reads, readInteger, "XLEN"))
	stream := keywright.Queue(&batch, command(s, "stats", keywright.Reads, fields, "XINFO STREAM"))
	groups := keywright.Queue(&batch, command(s, "stats", keywright.Reads, fieldsOfAll, "XINFO GROUPS"))
	if err := batch.Run(ctx); err != nil {
		return Stats{}, err
	}
	var out Stats
	out.Length, _ = length.Result()
	out.Dead, _ = dead.Result()
	about, _ := stream.Result()
	all, _ := groups.Result()
	running := kernel.Part(s.client, newRunning)
	for _, g := range all {
		row := groupStats(about, g)
		running.count(place{s.keys.Main, row.Name}, cmp.Or(s.config.Timeout, time.Hour), &row)
		out.Groups = append(out.Groups, row)
	}
	return out, s.oldest(ctx, out.Groups)
}

// place names a consumer group: the key of its stream, and its name.
type place struct{ stream, group string }

// running holds the consumers that run in this client.
type running struct {
	mu  sync.Mutex
	all map[place][]ages
}

// ages is a consumer, of any message: it says for how long each of its handlers has been running.
type ages interface{ ages() []time.Duration }

func newRunning(*keywright.Client) *running { return &running{all: map[place][]ages{}} }

// Close does nothing: consumers end by themselves.
func (r *running) Close() {}

// add puts a consumer in, and returns what takes it out.
func (r *running) add(at place, c ages) (remove func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[at] = append(r.all[at], c)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all[at] = slices.DeleteFunc(r.all[at], func(other ages) bool { return other == c })
		if len(r.all[at]) == 0 {
			delete(r.all, at)
		}
	}
}

// count fills in what runs in a group, and what of it has been running for longer than limit.
func (r *running) count(at place, limit time.Duration, out *GroupStats) {
	r.mu.Lock()
	consumers := slices.Clone(r.all[at])
	r.mu.Unlock()
	for _, c := range consumers {
		for _, age := range c.ages() {
			out.Running++
			out.OldestRun = max(out.OldestRun, age)
			if age > limit {
				out.Overdue++
			}
		}
	}
}

func (c *consumer[M]) ages() (out []time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.hand {
		if !d.since.IsZero() {
			out = append(out, time.Since(d.since))
		}
	}
	return out
}

// oldest fills in when the oldest pending message of each group was published.
func (s Stream[M]) oldest(ctx context.Context, groups []GroupStats) error {
	if len(groups) == 0 {
		return nil
	}
	var batch keywright.Batch
	first := make([]*keywright.Pending[[]kernel.Value], len(groups))
	for i, g := range groups {
		first[i] = keywright.Queue(&batch, command(s, "stats", keywright.Reads, list, "XPENDING", g.Name, "-", "+", "1"))
	}
	if err := batch.Run(ctx); err != nil {
		return err
	}
	for i := range groups {
		rows, _ := first[i].Result()
		if len(rows) == 0 {
			continue
		}
		if row, err := rows[0].ToArray(); err == nil && len(row) > 0 {
			id, _ := row[0].ToString()
			at, _ := split(id)
			groups[i].Oldest = time.UnixMilli(int64(at))
		}
	}
	return nil
}

// groupStats returns how many messages a group has before it, from what the server
// says of the stream and of the group. Redis 6.2 does not know the lag of a
// group that has read a part.
func groupStats(stream, group map[string]kernel.Value) GroupStats {
	integer := func(m map[string]kernel.Value, name string) int64 {
		if message, there := m[name]; there {
			if n, err := message.AsInt64(); err == nil {
				return n
			}
		}
		return -1
	}
	id := func(m map[string]kernel.Value, name string) string {
		if message, there := m[name]; there {
			text, _ := message.ToString()
			return text
		}
		return ""
	}
	g := GroupStats{Name: id(group, "name"), Consumers: integer(group, "consumers")}
	g.Pending, g.Lag = integer(group, "pending"), integer(group, "lag")
	at, last := id(group, "last-delivered-id"), id(stream, "last-generated-id")
	length := integer(stream, "length")
	first := ""
	if entry, err := entry(stream, "first-entry"); err == nil && len(entry) > 0 {
		first, _ = entry[0].ToString()
	}
	if at == last {
		g.Lag = 0
	} else if first == "" || before(at, first) { // nothing of what is there; and maybe not all of what was
		g.Lag, g.Missed = length, -1
		if added, read := integer(stream, "entries-added"), integer(group, "entries-read"); added >= 0 && read >= 0 {
			g.Missed = max(added-length-read, 0)
		}
	}
	return g
}

func entry(m map[string]kernel.Value, name string) ([]kernel.Value, error) {
	if message, there := m[name]; there {
		return message.ToArray()
	}
	return nil, nil
}

// before reports whether the id a comes before b.
func before(a, b string) bool {
	x, m := split(a)
	y, n := split(b)
	return x < y || x == y && m < n
}

func split(id string) (ms, n uint64) {
	first, second, _ := strings.Cut(id, "-")
	ms, _ = strconv.ParseUint(first, 10, 64)
	n, _ = strconv.ParseUint(second, 10, 64)
	return ms, n
}

// fields returns the properties of a stream; none if there is no stream.
func fields(r kernel.Reply) (map[string]kernel.Value, error) {
	is, err := r.AsMap()
	return is, present(err)
}

func fieldsOfAll(r kernel.Reply) (all []map[string]kernel.Value, err error) {
	found, err := r.ToArray()
	for _, one := range found {
		if is, err := one.AsMap(); err == nil {
			all = append(all, is)
		}
	}
	return all, present(err)
}

// present is nil for the error that says that there is no such key.
func present(err error) error {
	if reply, ok := errors.AsType[*kernel.ServerError](err); ok && strings.Contains(reply.Error(), "no such key") {
		return nil
	}
	return err
}
