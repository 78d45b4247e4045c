package entity

import (
	"maps"
	"sync"

	"context"
	_ "embed"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// newer returns the error of an item, or of the whole ledger ("").
func (s *core) newer(id string) error {
	where := "in " + s.spec.Ledger
	if id != "" {
		where = strconv.Quote(id) + " " + where
	}
	return &keywright.Error{Class: keywright.Refused, Op: "read the ledger", Entry: s.entry.Name,
		Err: fmt.Errorf("%s: %w", where, ErrForm), Hint: "run the newer version of this program"}
}

// refused returns err, or ErrForm if a script said so.
func (s *core) refused(id string, err error) error {
	var reply *kernel.ServerError
	if errors.As(err, &reply) && strings.HasPrefix(reply.Error(), "FORM ") {
		return s.newer(id)
	}
	return err
}

// passed counts what a sweep has passed over as it is of another form.
type passed struct {
	items int
	first string
}

// add notes an item.
func (p *passed) add(id string) {
	if p.items++; p.items == 1 {
		p.first = id
	}
}

// mostPassed bounds how many items of another form a sweep goes past.
const mostPassed = 10_000

// passedOver returns what a sweep says of them.
func (s *core) passedOver(p *passed) error {
	switch {
	case p.items == 0:
		return nil
	case p.items >= mostPassed:
		return fmt.Errorf("the sweep ended at %d items that it may not sweep: %w", p.items, s.newer(p.first))
	}
	return fmt.Errorf("%d items were not swept: %w", p.items, s.newer(p.first))
}

// run runs a script that answers with a list of texts.
func (s *core) run(ctx context.Context, name string, script *keywright.Script, effect keywright.Effect,
	keys []string, args ...string) ([]string, error) {
	texts, err := kernel.NewOp(kernel.Spec[[]string]{
		Action: s.action(name, effect, keys[0], nil), Script: script, Keys: keys, Args: args,
		Decode: func(r kernel.Reply) ([]string, error) { return r.AsStrSlice() },
	}).Do(ctx)
	return texts, s.refused("", err)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(max(d, time.Millisecond))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func millis(text string) time.Duration {
	ms, _ := strconv.ParseInt(text, 10, 64)
	return time.Duration(ms) * time.Millisecond
}

// now returns the time in ms by the clock of the ledger.
func (s *core) now(ctx context.Context) (int64, error) {
	return kernel.NewOp(kernel.Spec[int64]{
		Action: s.action("look at", keywright.Reads, s.spec.Ledger, nil),
		Script: s.scripts.clock, Keys: []string{s.spec.Ledger}, Decode: integer,
	}).Do(ctx)
}

func integer(r kernel.Reply) (int64, error) { return r.AsInt64() }

func optionalText(r kernel.Reply) (string, error) {
	text, err := r.ToString()
	if kernel.IsNil(err) {
		return "", nil
	}
	return text, err
}

// ask sends a command that reads a key; TIME goes to the server of the key.
func ask[V any](ctx context.Context, s *core, key string, words []string,
	decode func(kernel.Reply) (V, error)) (V, error) {
	a := s.action("look at", keywright.Reads, key, nil)
	raw := s.client.Raw()
	return kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
		return raw.Do(ctx, raw.B().Arbitrary(words[0]).Keys(key).Args(words[1:]...).ReadOnly())
	}, decode)
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return ""
}

// ledgerPage says how many entries of the ledger are read at once.
const ledgerPage = 100

// registration represents an id and its record.
type registration struct{ id, record string }

// ledger reads the ledger, page by page (HSCAN: each at least once).
func (s *core) ledger(ctx context.Context) iter.Seq2[[]registration, error] {
	raw := s.client.Raw()
	return func(yield func([]registration, error) bool) {
		for cursor := uint64(0); ; {
			a := s.action("scan ledger", keywright.Reads, s.spec.Ledger, nil)
			page, err := kernel.Run(ctx, &a, func(ctx context.Context) kernel.Reply {
				return raw.Do(ctx, raw.B().Hscan().Key(s.spec.Ledger).Cursor(cursor).Count(ledgerPage).Build())
			}, func(r kernel.Reply) (kernel.ScanEntry, error) { return r.AsScanEntry() })
			var out []registration
			for i := 0; i+1 < len(page.Elements); i += 2 {
				if page.Elements[i] == "" { // what is said of the indexes
					continue
				}
				out = append(out, registration{page.Elements[i], page.Elements[i+1]})
			}
			if !yield(out, err) || err != nil || page.Cursor == 0 {
				return
			}
			cursor = page.Cursor
		}
	}
}

// entries reads what the ledger says of items. One that is gone is passed over.
func (s *core) entries(ctx context.Context, ids []string) (page []registration, err error) {
	for some := range slices.Chunk(ids, ledgerPage) {
		all, err := ask(ctx, s, s.spec.Ledger, append([]string{"HMGET"}, some...), kernel.Reply.ToArray)
		if err != nil {
			return nil, err
		}
		for i := range all {
			if record, missing := all[i].ToString(); missing == nil {
				page = append(page, registration{some[i], record})
			}
		}
	}
	return page, nil
}

// mostAtOnce says how many commands go in one pipeline.
const mostAtOnce = 500

// Errors describes what went wrong with some of many items, by their place in the
// arguments. The others were done: each item is written for itself.
type Errors map[int]error

func (e Errors) Error() string {
	first := slices.Sorted(maps.Keys(e))[0]
	return fmt.Sprintf("%d items failed; the one at %d: %v", len(e), first, e[first])
}

// Unwrap gives all of them, in the order of the arguments.
func (e Errors) Unwrap() (all []error) {
	for _, i := range slices.Sorted(maps.Keys(e)) {
		all = append(all, e[i])
	}
	return all
}

// mostUnderWay says how many calls are made at a time: two scripts full, while one
// more gathers.
const mostUnderWay = 192

// atOnce makes many calls, many at a time, and waits for all of them.
func atOnce(n int, do func(i int) error) error {
	var mu sync.Mutex
	var running sync.WaitGroup
	failed := Errors{}
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
