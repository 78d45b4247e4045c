package pressure_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/entity/pressure"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/harm"
	"github.com/keywright/keywright/value"
)

// note represents an item of an entity that may go while its priority is 1.
type note struct {
	Priority int64
	Text     string
	Created  time.Time
}

var (
	noteFields = value.Fields[note]{Columns: []value.Column[note]{
		value.Required("priority", value.Int(1, 9), func(n *note) *int64 { return &n.Priority }),
		value.Required("text", value.Text(0), func(n *note) *string { return &n.Text }),
		value.Required("created", value.UnixMS(), func(n *note) *time.Time { return &n.Created }),
	}}
	setPriority = entity.Field[note, int64]{Name: "priority", At: func(n *note) *int64 { return &n.Priority }}
	payload     = strings.Repeat("x", 1000)
)

// notes are in one slot.
func notes(c *keywright.Client) *entity.Store[string, note] {
	const prefix, index = "{s}:item:", "{s}:priority:"
	hour := keywright.TTL{Policy: keywright.Expires, Default: time.Hour, Min: time.Millisecond, Max: time.Hour,
		Text: "1h in 1ms..1h"}
	return entity.New(keywright.Binding{Client: c,
		Entry: &keywright.Entry{Name: "note", Pattern: prefix + "{id}", Type: "hash", TTL: hour}},
		&entity.Spec[string, note]{
			Prefix: prefix,
			Key:    func(id string) (string, error) { return prefix + id, nil },
			Parse:  func(key string) (string, bool) { return strings.CutPrefix(key, prefix) },
			Fields: &noteFields, Created: "created", Expires: "{s}:expiry", Records: "{s}:ledger", Lease: "{s}:sweep",
			IndexTTL: 2 * time.Hour,
			Indexes: []entity.Index[note]{{Name: "priority", Field: "priority", Score: "created", Prefix: index,
				Key: func(n *note) (string, error) { return index + strconv.FormatInt(n.Priority, 10), nil }}},
		})
}

// create makes an item, or finds that it has made it.
func create(ctx context.Context, w *harm.Worker, s *entity.Store[string, note], id string, priority int64) bool {
	return w.Until(ctx, func() error {
		_, err := s.Create(ctx, id, note{Priority: priority, Text: payload})
		if errors.Is(err, entity.ErrExists) {
			return nil
		}
		return err
	})
}

// TestHarmedProcess is no test: it is a process that relieves the server, and raises
// items while others are released.
func TestHarmedProcess(t *testing.T) {
	harm.Work(t, func(ctx context.Context, w *harm.Worker) {
		var c *keywright.Client
		if !w.Until(ctx, func() (err error) { c, err = keywright.Open(ctx, w.URL, keywright.Options{}); return err }) {
			return
		}
		defer c.Close()
		s := notes(c)
		var all sync.WaitGroup
		for g := range 3 {
			all.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					writeAndRaise(ctx, w, s, fmt.Sprint(w.Name, "-", g, "-", n))
				}
			})
		}
		all.Go(func() {
			target := &raising{s.Going("priority"), w, s}
			_ = pressure.New(keywright.Binding{Client: c, Entry: &entry, Key: "{s}:lease"}, []pressure.Step{
				{At: .8, Entry: "note", Target: target, Values: []string{"1"}, Shorten: 5 * time.Minute},
				{At: .9, To: .85, Entry: "note", Target: target, Values: []string{"1"}},
			}, pressure.Options{Interval: 2 * time.Millisecond, Batch: 10, Pause: time.Nanosecond, Rest: time.Nanosecond,
				Lease: 300 * time.Millisecond}).Run(ctx)
		})
		all.Wait()
	})
}

// raising represents a target of which one item of each page is raised after the page was read.
type raising struct {
	pressure.Target
	w *harm.Worker
	s *entity.Store[string, note]
}

func (r *raising) Page(ctx context.Context, value, after string, n int) (ids []string, next string, err error) {
	ids, next, err = r.Target.Page(ctx, value, after, n)
	if len(ids) > 0 {
		if _, err := r.s.Update(ctx, ids[0], setPriority.Set(9)); err == nil {
			r.w.Say("done", ids[0])
		}
	}
	return ids, next, err
}

// writeAndRaise makes an item that may go, and then raises it, unless it went.
func writeAndRaise(ctx context.Context, w *harm.Worker, s *entity.Store[string, note], id string) {
	if !create(ctx, w, s, id, 1) {
		return
	}
	var gone bool
	if w.Until(ctx, func() error {
		_, err := s.Update(ctx, id, setPriority.Set(9))
		if gone = errors.Is(err, keywright.ErrNotFound); gone {
			return nil
		}
		return err
	}) {
		w.Say(map[bool]string{true: "gone", false: "done"}[gone], id)
	}
}

// kept returns how many items of each priority there are before the first process.
func kept(backlog int) int { return max(backlog/20, 200) }

// released returns what should not have gone, or is not as the indexes say.
func released(t *testing.T, s *harm.Side) (wrong []string) {
	store := notes(open(t, s.URL))
	raised := s.Lines("done")
	raised = append(raised, s.Lines("first")...)
	for _, id := range raised {
		if item, err := store.Get(t.Context(), id); err != nil || item.Value.Priority != 9 {
			wrong = append(wrong, fmt.Sprintf("%s was raised to 9 and is %d, %v", id, item.Value.Priority, err))
		}
	}
	_, err := store.Check(t.Context(),
		entity.CheckOptions{Found: func(p entity.Problem) { wrong = append(wrong, fmt.Sprintf("%+v", p)) }})
	must(t, err)
	gone := 0
	for n := range s.Lines("first") {
		if _, err := store.Get(t.Context(), fmt.Sprint("old-1-", n)); errors.Is(err, keywright.ErrNotFound) {
			gone++
		}
	}
	if s.Full && gone == 0 {
		wrong = append(wrong, "no item of priority 1 was released: this shows nothing")
	}
	t.Logf("%d of %d items of priority 9 are lost; %d of priority 1 were released", len(wrong), len(raised), gone)
	return wrong
}

// TestKills: whatever happens while the processes that relieve a server are killed, 0
// items that may not go are lost, and indexes and items agree.
func TestKills(t *testing.T) {
	gate.Skip(t, "24 processes are killed")
	t.Parallel()
	harm.Run(t, harm.Suite{Process: "TestHarmedProcess", Key: "{s}:ledger", Wrong: released, Full: .97,
		Begin: func(t *testing.T, s *harm.Side, backlog int) {
			store := notes(open(t, s.URL))
			var all sync.WaitGroup
			for g := range 10 {
				all.Go(func() {
					for n := g; n < kept(backlog); n += 10 {
						for _, priority := range []int64{1, 9} {
							id := fmt.Sprint("old-", priority, "-", n)
							if _, err := store.Create(t.Context(), id, note{Priority: priority, Text: payload}); err != nil {
								t.Error(err)
							}
							if priority == 9 {
								s.Say("first " + id)
							}
						}
					}
				})
			}
			all.Wait()
		}})
}
