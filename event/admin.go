package event

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/redis/rueidis"
)

//go:embed trim.lua
var trimText string

//go:embed look.lua
var lookText string

//go:embed redrive.lua
var redriveText string

var (
	trimScript    = keywright.NewScript("event trim", trimText)
	lookScript    = keywright.NewReadOnlyScript("event look", lookText)
	redriveScript = keywright.NewScript("event redrive", redriveText)
)

// Stats are how a stream stands.
type Stats struct {
	Length int64
	Dead   int64 // dead letters
	Groups []GroupStats
}

// GroupStats are how a consumer group stands.
type GroupStats struct {
	Name      string
	Consumers int64
	Pending   int64 // delivered and not acknowledged
	Lag       int64 // not delivered yet; -1: the server cannot tell
	// Missed is how many were trimmed before they were delivered, as long as the
	// group has not read on; -1: the server cannot tell.
	Missed int64
	Oldest time.Time // when the oldest that is pending was published; zero: none is
}

// Stats asks how the stream and its groups stand: one round trip, O(groups).
func (s Stream[M]) Stats(ctx context.Context) (Stats, error) {
	reply, err := script("stats", s.client, s.entry, keywright.Reads, lookScript, s.err, []string{s.keys.Main, s.keys.Dead}, nil, list).Do(ctx)
	var out Stats
	if err != nil || len(reply) < 3 {
		return out, err
	}
	out.Length, _ = reply[0].AsInt64()
	out.Dead, _ = reply[1].AsInt64()
	groups, _ := reply[2].ToArray()
	for ; len(groups) >= 6; groups = groups[6:] {
		var g GroupStats
		g.Name, _ = groups[0].ToString()
		g.Consumers, _ = groups[1].AsInt64()
		g.Pending, _ = groups[2].AsInt64()
		g.Lag, _ = groups[3].AsInt64()
		g.Missed, _ = groups[4].AsInt64()
		if oldest, _ := groups[5].ToString(); oldest != "" {
			before, _, _ := strings.Cut(oldest, "-")
			at, _ := strconv.ParseInt(before, 10, 64)
			g.Oldest = time.UnixMilli(at)
		}
		out.Groups = append(out.Groups, g)
	}
	return out, nil
}

// Policy is what Trim keeps. Both bounds hold, if both are given.
type Policy struct {
	MaxLen int64     // 0: any number
	Before time.Time // what was published earlier goes; zero: nothing does
	// Keep stops before the first message that some group has not acknowledged.
	Keep bool
	// Apply removes; else it is only told what would be.
	Apply bool
}

// Report is what was trimmed, or would be.
type Report struct {
	Messages int64
	// Unacknowledged is, by group, how many of them it has not acknowledged.
	Unacknowledged map[string]int64
}

// trimStep bounds how long the server is held up.
const trimStep = 500

// Trim removes what a policy does not keep, exactly, and says what of it groups
// had not acknowledged. One round trip per 500 messages, between which others
// have their turn; it can be broken off at any time and goes on where it was.
func (s Stream[M]) Trim(ctx context.Context, p Policy) (Report, error) {
	report := Report{Unacknowledged: map[string]int64{}}
	if p.MaxLen < 0 || p.MaxLen == 0 && p.Before.IsZero() {
		return report, &keywright.Error{Class: keywright.Invalid, Op: "trim", Entry: s.entry.Name, Err: errors.New("the policy keeps everything, or a negative number")}
	}
	for from := "-"; from != ""; {
		next, err := s.trim(ctx, p, from, &report)
		if err != nil {
			return report, err
		}
		from = next
	}
	return report, nil
}

func (s Stream[M]) trim(ctx context.Context, p Policy, from string, report *Report) (next string, err error) {
	flag := map[bool]string{true: "1", false: "0"}
	before, counted := "0", report.Messages
	if !p.Before.IsZero() {
		before = strconv.FormatInt(p.Before.UnixMilli(), 10)
	}
	if p.Apply {
		counted = 0 // they are gone
	}
	args := []string{from, strconv.Itoa(trimStep), strconv.FormatInt(p.MaxLen, 10), before, flag[p.Apply], flag[p.Keep], strconv.FormatInt(counted, 10)}
	reply, err := script("trim", s.client, s.entry, keywright.Writes, trimScript, s.err, []string{s.keys.Main}, args, list).Do(ctx)
	if err != nil || len(reply) < 3 {
		return "", err
	}
	n, _ := reply[0].AsInt64()
	next, _ = reply[1].ToString()
	groups, _ := reply[2].ToArray()
	for ; len(groups) >= 2; groups = groups[2:] {
		name, _ := groups[0].ToString()
		open, _ := groups[1].AsInt64()
		report.Unacknowledged[name] += open
	}
	report.Messages += n
	return next, nil
}

// Redrive publishes dead letters again, as new messages to all groups, and
// removes them from the dead: one round trip. It gives how many were there.
func (s Stream[M]) Redrive(ctx context.Context, ids ...string) (int64, error) {
	err := s.err
	if len(ids) == 0 || len(ids) > trimStep {
		err = cmp.Or(err, errors.New("there are no ids, or more than 500"))
	}
	return script("redrive", s.client, s.entry, keywright.Writes, redriveScript, err, []string{s.keys.Main, s.keys.Dead}, append([]string{ms(s.config.Age)}, ids...), func(r rueidis.RedisResult) (int64, error) { return r.AsInt64() }).Do(ctx)
}

// Ack acknowledges a message by hand, for a group that something else reads: one
// round trip. It gives whether it was pending.
func (s Stream[M]) Ack(ctx context.Context, group, id string) (bool, error) {
	n, err := keywright.NewOp(keywright.Spec[int64]{
		Action: keywright.Action{Client: s.client, Name: "ack", Entry: s.entry, Effect: keywright.Idempotent, Key: s.keys.Main},
		Build: func(b rueidis.Builder) rueidis.Completed {
			return b.Xack().Key(s.keys.Main).Group(group).Id(id).Build()
		},
		Decode: number,
	}).Failing(s.err).Do(ctx)
	return n > 0, err
}
