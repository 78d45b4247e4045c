package itemkeys

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/failure"
	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/kernel"
)

// NewerForm returns the error of the index record of an item, or of the marks ("").
func (s *Keys) NewerForm(id string) error {
	where := "in " + s.Spec.Records
	if id != "" {
		where = strconv.Quote(id) + " " + where
	}
	return &keywright.Error{Class: keywright.Refused, Op: "read the index record", Entry: s.Entry.Name,
		Err: fmt.Errorf("%s: %w", where, indexrecord.ErrForm), Hint: "run the newer version of this program"}
}

// FormError returns err, or ErrForm if a script said so.
func (s *Keys) FormError(id string, err error) error {
	var reply *kernel.ServerError
	if errors.As(err, &reply) && strings.HasPrefix(reply.Error(), "FORM ") {
		return s.NewerForm(id)
	}
	return err
}

// PassedOver counts what a sweep has passed over as it is of another form.
type PassedOver struct {
	Items int
	first string
}

// Add notes an item.
func (p *PassedOver) Add(id string) {
	if p.Items++; p.Items == 1 {
		p.first = id
	}
}

// MostPassed bounds how many items of another form a sweep goes past.
const MostPassed = 10_000

// PassedError returns what a sweep says of them.
func (s *Keys) PassedError(p *PassedOver) error {
	switch {
	case p.Items == 0:
		return nil
	case p.Items >= MostPassed:
		return fmt.Errorf("the sweep ended at %d items that it may not sweep: %w", p.Items, s.NewerForm(p.first))
	}
	return fmt.Errorf("%d items were not swept: %w", p.Items, s.NewerForm(p.first))
}

// Run runs a script that answers with a list of texts.
func (s *Keys) Run(ctx context.Context, name string, script *keywright.Script, effect keywright.Effect,
	keys []string, args ...string) ([]string, error) {
	texts, err := kernel.NewOp(kernel.Spec[[]string]{
		Action: s.Action(name, effect, keys[0], nil), Script: script, Keys: keys, Args: args,
		Decode: func(r kernel.Reply) ([]string, error) { return r.AsStrSlice() },
	}).Do(ctx)
	return texts, s.FormError("", err)
}

// Pause waits for d, at least a millisecond, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(max(d, time.Millisecond))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Millis reads a number of milliseconds.
func Millis(text string) time.Duration {
	ms, _ := strconv.ParseInt(text, 10, 64)
	return time.Duration(ms) * time.Millisecond
}

// Now returns the time in ms by the clock of the server with the index records.
func (s *Keys) Now(ctx context.Context) (int64, error) {
	return kernel.NewOp(kernel.Spec[int64]{
		Action: s.Action("look at", keywright.Reads, s.Spec.Records, nil),
		Script: s.Scripts.Clock, Keys: []string{s.Spec.Records}, Decode: Integer,
	}).Do(ctx)
}

// Integer reads a number.
func Integer(r kernel.Reply) (int64, error) { return r.AsInt64() }

// OptionalText reads a text, "" where there is none.
func OptionalText(r kernel.Reply) (string, error) {
	text, err := r.ToString()
	if kernel.IsNil(err) {
		return "", nil
	}
	return text, err
}

// Ask sends a command that reads a key; TIME goes to the server of the key.
func Ask[V any](ctx context.Context, s *Keys, key string, words []string,
	decode func(kernel.Reply) (V, error)) (V, error) {
	a := s.Action("look at", keywright.Reads, key, nil)
	raw := s.Client.Raw()
	return kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
		return raw.Do(ctx, raw.B().Arbitrary(words[0]).Keys(key).Args(words[1:]...).ReadOnly())
	}, decode)
}

// Flag returns the argument of scripts for a condition.
func Flag(on bool) string {
	if on {
		return "1"
	}
	return ""
}

// RecordsPage says how many index records are read at once.
const RecordsPage = 100

// Registration represents an id and its record.
type Registration struct{ ID, Record string }

// ScanRecords reads the index records, page by page (HSCAN: each at least once).
func (s *Keys) ScanRecords(ctx context.Context) iter.Seq2[[]Registration, error] {
	raw := s.Client.Raw()
	return func(yield func([]Registration, error) bool) {
		for cursor := uint64(0); ; {
			a := s.Action("scan index records", keywright.Reads, s.Spec.Records, nil)
			page, err := kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
				return raw.Do(ctx, raw.B().Hscan().Key(s.Spec.Records).Cursor(cursor).Count(RecordsPage).Build())
			}, func(r kernel.Reply) (kernel.ScanEntry, error) { return r.AsScanEntry() })
			var out []Registration
			for i := 0; i+1 < len(page.Elements); i += 2 {
				if page.Elements[i] == "" { // what is said of the indexes
					continue
				}
				out = append(out, Registration{page.Elements[i], page.Elements[i+1]})
			}
			if !yield(out, err) || err != nil || page.Cursor == 0 {
				return
			}
			cursor = page.Cursor
		}
	}
}

// ReadRecords reads the index records of items. An item without one is passed over.
func (s *Keys) ReadRecords(ctx context.Context, ids []string) (page []Registration, err error) {
	for some := range slices.Chunk(ids, RecordsPage) {
		all, err := Ask(ctx, s, s.Spec.Records, append([]string{"HMGET"}, some...), kernel.Reply.ToArray)
		if err != nil {
			return nil, err
		}
		for i := range all {
			if record, missing := all[i].ToString(); missing == nil {
				page = append(page, Registration{some[i], record})
			}
		}
	}
	return page, nil
}

// MostAtOnce says how many commands go in one pipeline.
const MostAtOnce = 500

// mostUnderWay says how many calls are made at a time: two scripts full, while one
// more gathers.
const mostUnderWay = 192

// AtOnce makes many calls, many at a time, and waits for all of them.
func AtOnce(n int, do func(i int) error) error {
	var mu sync.Mutex
	var running sync.WaitGroup
	failed := failure.Errors{}
	room := make(chan struct{}, mostUnderWay)
	for i := range n {
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			if err := do(i); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed[i] = err
			}
		})
	}
	running.Wait()
	if len(failed) == 0 {
		return nil
	}
	return failed
}
