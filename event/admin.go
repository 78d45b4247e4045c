package event

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/keywright/keywright"
)

// Policy describes what Trim keeps. Both bounds hold, if both are given.
type Policy struct {
	MaxLen int64     // 0: any number
	Before time.Time // what was published earlier goes; zero: nothing does
	// Keep stops before the first message that some group has not acknowledged.
	Keep bool
	// Apply removes; else it is only told what would be.
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
		before = strconv.FormatInt(p.Before.UnixMilli(), 10)
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
	return command(s, "ack", keywright.Idempotent, number, "XACK", append([]string{group}, ids...)...)
}
