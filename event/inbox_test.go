package event

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/keywright/keywright/internal/gate"
)

// Whatever comes and is taken in whatever order: nothing is received twice or out of
// order, and every message that is not received is reported, in its place.
func TestInbox(t *testing.T) {
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		in := newInbox(rapid.IntRange(1, 4).Draw(t, "limit"))
		// the message that is due, those sent, gaps that are not reported yet, the last notice
		next, sent, gaps, last := 0, 0, 0, ""
		take := func() bool {
			i, ok := in.take()
			if !ok {
				return false
			}
			switch notice := i.notice.(type) {
			case *Dropped:
				next += notice.Messages
			case *Gap:
				gaps, last = 0, "gap"
			case *Refused:
				last = "refused"
			default:
				if n, _ := strconv.Atoi(i.text); n != next {
					t.Fatalf("message %d is heard when %d is due", n, next)
				}
				next++
			}
			return true
		}
		said := ""
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				if said = rapid.SampledFrom([]string{"gap", "refused"}).Draw(t, "notice"); said == "gap" {
					in.notice(item{channel: "c", notice: &Gap{"c"}})
					gaps++
				} else {
					in.notice(item{channel: "c", notice: &Refused{"c", nil}})
				}
			case 1, 2:
				take()
			default:
				in.put(item{channel: "c", text: strconv.Itoa(sent)})
				sent++
			}
			// Between two messages are at most a gap and a refusal, each after a drop, and another drop.
			if len(in.items) > 6*in.limit+6 {
				t.Fatalf("%d wait, and the limit is %d", len(in.items), in.limit)
			}
		}
		for take() {
		}
		if next != sent || gaps > 0 || last != said {
			t.Fatalf("%d of %d messages are accounted for, %d gaps are not told; the last notice is %q, not %q", next, sent,
				gaps, last, said)
		}
	})
}

// TestDropsAreAddedUp: while no message is taken, channels are lost and received again and messages are dropped, and
// what waits does not grow.
func TestDropsAreAddedUp(t *testing.T) {
	in := newInbox(1)
	in.put(item{channel: "c", text: "heard"})
	const rounds = 1000
	for i := range rounds {
		in.put(item{channel: "c"})
		if i%3 == 0 {
			in.notice(item{channel: "c", notice: &Refused{"c", nil}})
		} else {
			in.notice(item{channel: "c", notice: &Gap{"c"}})
		}
		if n := len(in.items); n > 6 {
			t.Fatalf("after %d rounds %d wait", i+1, n)
		}
	}
	dropped := 0
	for i, ok := in.take(); ok; i, ok = in.take() {
		if d, is := i.notice.(*Dropped); is {
			dropped += d.Messages
		}
	}
	if dropped != rounds {
		t.Errorf("%d of %d dropped messages are told", dropped, rounds)
	}
}
