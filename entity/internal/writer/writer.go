// Package writer writes items with all their index entries in one step, by the script `write`, or by `put`, whose
// text is made for one entity. Where the keys are in several slots it leaves that to package crossslot.
package writer

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/keywright/keywright/entity/internal/crossslot"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/kernel"
)

// Writer writes the items of an entity.
type Writer struct {
	core   *itemkeys.Keys
	Putter *putter // nil where `write` does all
}

// New returns the writer of an entity.
func New(s *itemkeys.Keys) *Writer {
	w := &Writer{core: s}
	w.Putter = newPutter(s.Client, w)
	return w
}

// Write sends a call, and again with the record that was found if another one was
// expected. arrange fits the call to a record.
func (s *Writer) Write(ctx context.Context, a *kernel.Action, c *itemkeys.Call,
	arrange func(expected string)) (itemkeys.Outcome,
	error) {
	if s.core.CrossSlot {
		return crossslot.Write(ctx, s.core, a, c)
	}
	for {
		if a.Err == nil {
			arrange(c.Expected)
		}
		out, err := s.transmit(ctx, a, c)
		if err != nil {
			return itemkeys.Outcome{}, err
		}
		out.Created = out.Code == "new"
		switch out.Code {
		case "record":
			c.Expected, c.Found = out.Text, true
			continue
		case "indexes":
			if err = s.core.Agree(ctx, out.Text); err != nil {
				return itemkeys.Outcome{}, err
			}
			continue
		}
		return s.core.Verdict(a, out)
	}
}

// transmit runs the script that does what a call asks for.
func (s *Writer) transmit(ctx context.Context, a *kernel.Action, c *itemkeys.Call) (itemkeys.Outcome, error) {
	if a.Err != nil || !s.puts(c) {
		keys, args := s.Encode(c)
		out, err := kernel.DoShared(ctx, a, s.core.Scripts.Write, keys, args, decodeOutcome)
		return out, s.core.FormError(c.ID, err)
	}
	keys, args, indexes := s.PutKeys(c)
	began := time.Now()
	out, err := kernel.DoShared(ctx, a, s.Putter.script, keys, args, s.decodePut)
	if err == nil && indexes != nil && (out.Code == "new" || out.Code == "ok") {
		s.core.Renewed.Done(indexes, began)
	}
	return out, s.core.FormError(c.ID, err)
}

func decodeOutcome(r kernel.Reply) (out itemkeys.Outcome, err error) {
	texts, err := r.AsStrSlice()
	if err != nil {
		return out, err
	}
	if len(texts) > 3 {
		out.Record = texts[3]
	}
	if len(texts) < 3 {
		return out, fmt.Errorf("the script answered with %d texts", len(texts))
	}
	out.Code, out.Text = texts[0], texts[1]
	out.Version, _ = strconv.ParseInt(texts[1], 10, 64)
	out.Now, err = strconv.ParseInt(texts[2], 10, 64)
	return out, err
}

// Encode gives KEYS and ARGV.
func (s *Writer) Encode(c *itemkeys.Call) (keys, args []string) {
	expires := s.core.Spec.Expires
	if expires == "" {
		expires = s.core.Spec.Records
	}
	keys = append(make([]string, 0, 3+len(c.Adds)+len(c.Drops)+2), s.core.Key(c.ID), expires, s.core.Spec.Records)
	args = make([]string, 17, 17+len(c.Fields)+len(c.Removed)+2*(len(c.Adds)+len(c.Drops))+len(c.Now)+len(c.Dead))
	copy(args[2:], []string{c.ID, c.Expected, c.Record, c.Condition, c.TTL, s.core.Keeps, itemkeys.Flag(c.Stamps.Created),
		c.Stamps.Version, itemkeys.Flag(c.Stamps.Updated), c.Stamps.Unit,
		strconv.Itoa(len(c.Fields)), strconv.Itoa(len(c.Removed)), strconv.Itoa(len(c.Adds)), strconv.Itoa(len(c.Drops)),
		s.core.AgreedText()})
	args = append(append(args, c.Fields...), c.Removed...)
	for _, e := range c.Adds {
		keys = append(keys, e.Key)
		args = append(args, strconv.Itoa(len(keys)), e.Score)
	}
	for _, e := range c.Drops {
		keys = append(keys, e.Key)
		args = append(args, strconv.Itoa(len(keys)))
	}
	for _, events := range [][]string{c.Now, c.Dead} {
		keys, args = itemkeys.AppendEvents(keys, args, events)
	}
	args[0], args[1] = strconv.Itoa(len(args)), strconv.Itoa(len(keys))
	return keys, args
}
