package event_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keywrighttest"
)

// Channels are shared by all databases of a server; messages in an envelope are
// not. A client that does not know its database receives all.
func TestTwoDatabases(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			zero, one := open(t, s.URL()), open(t, s.URL()+"/1")
			for name, config := range map[string]event.Config{"open": {}, "shard": {Sharded: true}} {
				var atZero, atOne, anywhere received
				unknown := kernel.New(open(t, s.URL()+"/1").Raw(), keywright.Options{})
				t.Cleanup(unknown.Close)
				for c, h := range map[*keywright.Client]*received{zero: &atZero, one: &atOne, unknown: &anywhere} {
					_, err := topic(c, config, name).Subscribe(t.Context(), event.Options{}, h.receive)
					must(t, err)
				}
				must(t, topic(zero, config, name).Publish(t.Context(), note{N: 0}))
				must(t, topic(one, config, name).Publish(t.Context(), note{N: 1}))
				must(t, topic(zero, config, name).Publish(t.Context(), note{N: 2}))
				eventually(t, "all are heard", func() bool {
					return len(atZero.messages()) >= 2 && len(atOne.messages()) >= 1 && len(anywhere.messages()) == 3
				})
				if a, b := atZero.messages(),
					atOne.messages(); len(a) != 2 || a[0].Data.N != 0 || a[1].Data.N != 2 || len(b) != 1 || b[0].Data.N != 1 ||
					len(atOne.reportedNotices()) > 0 {
					t.Errorf("%s: database 0 heard %v, 1 heard %v, %v", name, a, b, atOne.reportedNotices())
				}
			}
			serving(t, exchange(zero, event.Config{}), event.ServeOptions{},
				func(context.Context, event.Message[note]) (note, error) { return note{N: 100}, nil })
			serving(t, exchange(one, event.Config{}), event.ServeOptions{},
				func(context.Context, event.Message[note]) (note, error) { return note{N: 101}, nil })
			for want, c := range map[int]*keywright.Client{100: zero, 101: one} {
				eventually(t, "its own responder answers", func() bool {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					answers, err := exchange(c, event.Config{}).Collect(ctx, note{}, 1)
					if err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Fatal(err)
					}
					if len(answers) > 0 && answers[0].N != want {
						t.Fatalf("%d answers %v", want, answers)
					}
					return len(answers) > 0
				})
			}
			// Streams are keys, and each database has its own.
			publish(t, journal(zero, event.StreamConfig{}), 0, 3)
			var got log
			started(t, journal(one, event.StreamConfig{}), "g", event.RunOptions[note]{},
				func(_ context.Context, m event.Stored[note]) error { got.add(m); return nil })
			publish(t, journal(one, event.StreamConfig{}), 7, 8)
			eventually(t, "its own message is handled", func() bool { return len(got.numbers()) > 0 })
			if numbers := got.numbers(); len(numbers) != 1 || numbers[0] != 7 {
				t.Errorf("%v", numbers)
			}
		})
	}
}
