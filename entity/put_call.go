package entity

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/keywright/keywright/kernel"
)

// writer writes the items of an entity.
type writer struct {
	core   *core
	putter *putter // nil where `write` does all
}

func newWriter(s *core) *writer {
	w := &writer{core: s}
	w.putter = newPutter(s.client, w)
	return w
}

// write sends a call, and again with the record that was found if another one was
// expected. arrange fits the call to a record.
func (s *writer) write(ctx context.Context, a *kernel.Action, c *call, arrange func(expected string)) (outcome,
	error) {
	if s.core.apart {
		return s.core.writeApart(ctx, a, c)
	}
	for {
		if a.Err == nil {
			arrange(c.expected)
		}
		out, err := s.transmit(ctx, a, c)
		if err != nil {
			return outcome{}, err
		}
		out.created = out.code == "new"
		switch out.code {
		case "record":
			c.expected, c.found = out.text, true
			continue
		case "indexes":
			if err = s.core.agree(ctx, out.text); err != nil {
				return outcome{}, err
			}
			continue
		}
		return s.core.verdict(a, out)
	}
}

// transmit runs the script that does what a call asks for.
func (s *writer) transmit(ctx context.Context, a *kernel.Action, c *call) (outcome, error) {
	if a.Err != nil || !s.puts(c) {
		keys, args := s.encode(c)
		out, err := kernel.DoShared(ctx, a, s.core.scripts.write, keys, args, decodeOutcome)
		return out, s.core.refused(c.id, err)
	}
	keys, args, indexes := s.putKeys(c)
	began := time.Now()
	out, err := kernel.DoShared(ctx, a, s.putter.script, keys, args, s.decodePut)
	if err == nil && indexes != nil && (out.code == "new" || out.code == "ok") {
		s.core.renewed.done(indexes, began)
	}
	return out, s.core.refused(c.id, err)
}

func decodeOutcome(r kernel.Reply) (out outcome, err error) {
	texts, err := r.AsStrSlice()
	if err != nil {
		return out, err
	}
	if len(texts) > 3 {
		out.record = texts[3]
	}
	if len(texts) < 3 {
		return out, fmt.Errorf("the script answered with %d texts", len(texts))
	}
	out.code, out.text = texts[0], texts[1]
	out.version, _ = strconv.ParseInt(texts[1], 10, 64)
	out.now, err = strconv.ParseInt(texts[2], 10, 64)
	return out, err
}

// encode gives KEYS and ARGV.
func (s *writer) encode(c *call) (keys, args []string) {
	expires := s.core.spec.Expires
	if expires == "" {
		expires = s.core.spec.Ledger
	}
	keys = append(make([]string, 0, 3+len(c.adds)+len(c.drops)+2), s.core.key(c.id), expires, s.core.spec.Ledger)
	args = make([]string, 17, 17+len(c.fields)+len(c.removed)+2*(len(c.adds)+len(c.drops))+len(c.now)+len(c.dead))
	copy(args[2:], []string{c.id, c.expected, c.record, c.condition, c.ttl, s.core.keeps, flag(c.stamps.created),
		c.stamps.version, flag(c.stamps.updated), c.stamps.unit,
		strconv.Itoa(len(c.fields)), strconv.Itoa(len(c.removed)), strconv.Itoa(len(c.adds)), strconv.Itoa(len(c.drops)),
		s.core.agreed()})
	args = append(append(args, c.fields...), c.removed...)
	for _, e := range c.adds {
		keys = append(keys, e.key)
		args = append(args, strconv.Itoa(len(keys)), e.score)
	}
	for _, e := range c.drops {
		keys = append(keys, e.key)
		args = append(args, strconv.Itoa(len(keys)))
	}
	for _, events := range [][]string{c.now, c.dead} {
		keys, args = appendEvents(keys, args, events)
	}
	args[0], args[1] = strconv.Itoa(len(args)), strconv.Itoa(len(keys))
	return keys, args
}
