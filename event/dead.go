package event

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/kernel/notice"
	"github.com/keywright/keywright/value"
)

// DeadLetter represents a message that was given up.
type DeadLetter[M any] struct {
	Stored[M]        // ID is that of the dead letter, Deliveries how often a handler began with it
	Original  string // the ID it had
	Group     string
	Reason    string // the handler's error
}

// NewerForm represents a message or a dead letter in a form that a newer version of the
// program has written. It is left as it is.
type NewerForm struct {
	Entry string
	Form  string
}

func (n *NewerForm) Error() string {
	return fmt.Sprintf("%s: a message of form %.20q, which this version of the program does not know", n.Entry, n.Form)
}

// The forms that this version writes and reads. A message of a stream without the
// field, and an envelope without the member, is of form 1.
const form = "1"

const (
	deadLetters = 10_000 // are kept at least
	mostFields  = 500    // of a message are fields of its dead letter; more are packed into one
)

// Why a message is a dead letter, for hooks and logs: without a text of the user.
var (
	errFailed    = errors.New("its handler failed")
	errDiscarded = errors.New("its handler discarded it")
	errForm      = errors.New("it is not as declared, or has no key for its order")
)

// bury makes a message a dead letter. Where the server refuses that, the message is tried
// again after a while, and holds up those of its key. The server marks the message until
// it is acknowledged: a burial that is sent again makes no second letter, and is reported once.
func (c *consumer[M]) bury(ctx context.Context, d *delivery[M]) {
	reason, why := c.why(d)
	s := c.stream
	text := strings.ToValidUTF8(fmt.Sprintf("%.1000s", reason.Error()), "�")
	tried := strconv.FormatInt(d.count-1, 10)
	raw := contents(d.raw)
	args := append(parts.Args("bury", len(raw), "group", c.group, "consumer", c.o.Name, "id", d.ID,
		"kept", strconv.Itoa(deadLetters), "age", ms(s.config.Age), "deliveries", tried, "reason", text), raw...)
	call, cancel := lingering(ctx, c.calls())
	defer cancel()
	buried, err := script("bury", s, keywright.Idempotent, standard.bury, s.keys.both(), args, readInteger).Do(call)
	switch {
	case err != nil && !isNoGroup(err):
		c.tell(err)
		c.again(d, min(time.Second, 10*time.Millisecond<<min(d.failures, 10)))
		d.failures++
	case buried == 0:
		c.drop(d)
	case c.ack(ctx, d):
		c.notice(notice.DeadLetter, 0, why)
		c.tell(&Buried{ID: d.ID, Reason: reason})
	}
}

// why returns the reason that a message is a dead letter, and what of it hooks may know.
func (c *consumer[M]) why(d *delivery[M]) (reason, why error) {
	given := (*discard)(nil)
	switch {
	case errors.As(d.doom, &given):
		return d.doom, errDiscarded
	case d.doom != nil:
		return d.doom, errForm
	case d.reason != nil:
		return d.reason, errFailed
	}
	return ErrAbandoned, ErrAbandoned
}

// contents returns the fields and values of a message as a dead letter has them.
func contents(raw []kernel.XRangeFieldValue) []string {
	if len(raw) > mostFields {
		return []string{"packed", pack(raw)}
	}
	out := make([]string, 0, 2*len(raw))
	for _, f := range raw {
		out = append(out, f.Field, f.Value)
	}
	return out
}

// pack writes fields and values one after the other, each with its length before
// it: "4:data2:{}".
func pack(raw []kernel.XRangeFieldValue) string {
	var b strings.Builder
	for _, f := range raw {
		for _, text := range []string{f.Field, f.Value} {
			b.WriteString(strconv.Itoa(len(text)))
			b.WriteByte(':')
			b.WriteString(text)
		}
	}
	return b.String()
}

// unpack returns the inverse of pack; nil for a text that pack has not written.
func unpack(text string) (raw []kernel.XRangeFieldValue) {
	var parts []string
	for text != "" {
		length, rest, _ := strings.Cut(text, ":")
		n, err := strconv.Atoi(length)
		if err != nil || n < 0 || n > len(rest) {
			return nil
		}
		parts, text = append(parts, rest[:n]), rest[n:]
	}
	for pair := range slices.Chunk(parts, 2) {
		if len(pair) == 2 {
			raw = append(raw, kernel.XRangeFieldValue{Field: pair[0], Value: pair[1]})
		}
	}
	return raw
}

// Dead returns dead letters, oldest first, as Read does.
func (s Stream[M]) Dead(ctx context.Context, from Position, limit int) ([]DeadLetter[M], error) {
	entries, err := s.entries(ctx, s.keys.Dead, from, End, limit)
	if err != nil {
		return nil, err
	}
	out := make([]DeadLetter[M], 0, len(entries))
	for _, e := range entries {
		d, err := s.letter(e)
		if err != nil {
			return out, err
		}
		out = append(out, d)
	}
	return out, nil
}

// letter reads a dead letter: five fields of its own, then those of the message.
func (s Stream[M]) letter(e kernel.XRangeSlice) (DeadLetter[M], error) {
	const own = 5
	head, rest := e.FieldValues, []kernel.XRangeFieldValue(nil)
	if len(head) > own {
		head, rest = head[:own], head[own:]
	}
	if len(head) == 0 || head[0].Field != "form" {
		return DeadLetter[M]{},
			&keywright.DecodeError{Entry: s.entry.Name, Key: s.keys.Dead, Err: value.Bad("is no dead letter")}
	}
	if head[0].Value != form {
		return DeadLetter[M]{}, &NewerForm{s.entry.Name, head[0].Value}
	}
	if len(rest) == 1 && rest[0].Field == "packed" {
		rest = unpack(rest[0].Value)
	}
	var m Stored[M]
	// That it does not decode, or that decoding panics, may be why it is here.
	_ = guarded("decoding", func() (err error) { m, err = s.stored(e.ID, rest); return err })
	d := DeadLetter[M]{Stored: m, Original: text(head, "id")}
	d.Group, d.Reason = text(head, "group"), text(head, "reason")
	d.ID, d.Channel = e.ID, s.keys.Main
	d.Deliveries, _ = strconv.ParseInt(text(head, "deliveries"), 10, 64)
	return d, nil
}

// redriveStep bounds how long the server is held up.
const redriveStep = 25

// Redrive publishes dead letters again, as new messages to all groups, and
// removes them from the dead: one round trip per 25. It returns how many were
// published. One without contents of its own (it had more than 500 fields, or
// something else has written it) stays, and is not counted. One of a newer form
// (*NewerForm) ends it.
func (s Stream[M]) Redrive(ctx context.Context, ids ...string) (n int64, err error) {
	if err = s.usable(); err == nil && (len(ids) == 0 || len(ids) > 500) {
		err = errors.New("there are no ids, or more than 500")
	}
	if err != nil {
		return 0, s.invalid("redrive", err)
	}
	for part := range slices.Chunk(ids, redriveStep) {
		newer := ""
		args := append([]string{ms(s.config.Age)}, part...)
		decode := func(r kernel.Reply) (int64, error) {
			if forms, err := r.AsStrSlice(); err == nil && len(forms) == 1 {
				newer = forms[0]
				return 0, nil
			}
			return r.AsInt64()
		}
		some, err := script("redrive", s, keywright.Writes, standard.redrive, s.keys.both(), args, decode).Do(ctx)
		if n += some; err != nil {
			return n, err
		}
		if newer != "" {
			return n, &NewerForm{s.entry.Name, newer}
		}
	}
	return n, nil
}
