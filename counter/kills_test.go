package counter

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/harm"
)

// counted returns what is counted while processes are killed: exactly, and plainly.
func counted(c *keywright.Client) (Exact, Counter) {
	return New(keywright.Binding{Client: c, Entry: hour, Key: "{s}:exact"}).Exactly(keywright.Binding{Entry: hour,
		Key: "{s}:ids"}), New(keywright.Binding{Client: c, Entry: hour, Key: "{s}:plain"})
}

// TestHarmedProcess is no test: it is a process that counts.
func TestHarmedProcess(t *testing.T) {
	harm.Work(t, func(ctx context.Context, w *harm.Worker) {
		var c *keywright.Client
		if !w.Until(ctx, func() (err error) { c, err = keywright.Open(ctx, w.URL, keywright.Options{}); return err }) {
			return
		}
		defer c.Close()
		exact, plain := counted(c)
		var all sync.WaitGroup
		for g := range 3 {
			all.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					id := fmt.Sprint(w.Name, "-", g, "-", n)
					w.Say("try", id)
					var a Added
					if w.Until(ctx, func() (err error) { a, err = exact.AddOnce(ctx, id, 1); return err }) {
						w.Say("done", id, a.Sum, a.Repeated)
					}
				}
			})
		}
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				w.Say("plain", w.Name, n)
				_, err := plain.Add(1).Do(ctx)
				switch class, _ := keywright.ClassOf(err); {
				case err == nil:
					w.Say("added", w.Name, n)
				case class != keywright.UnknownOutcome:
					w.Say("refused", w.Name, n)
				}
			}
		})
		all.Wait()
	})
}

// miscounted returns what a count has too much or too little of.
func miscounted(t *testing.T, s *harm.Side) (wrong []string) {
	exact, plain := counted(open(t, s.URL, keywright.Options{}))
	tried, sums, least := s.Lines("try"), map[string]string{}, 0
	for _, line := range s.Lines("done") {
		f := strings.Fields(line)
		sum, _ := strconv.Atoi(f[1])
		if least = max(least, sum); f[2] == "true" {
			continue
		}
		if sums[f[1]] != "" {
			wrong = append(wrong, fmt.Sprintf("%s and %s both made it %s", sums[f[1]], f[0], f[1]))
		}
		sums[f[1]] = f[0]
	}
	if n, err := exact.Get().Do(t.Context()); err != nil || int(n) < least || int(n) > len(tried) {
		wrong = append(wrong, fmt.Sprintf("%d are counted, %v; it was %d, and %d were tried", n, err, least, len(tried)))
	}
	for _, id := range tried { // what a dead process did not know of is tried again
		if _, err := exact.AddOnce(t.Context(), id, 1); err != nil {
			wrong = append(wrong, fmt.Sprint(id, ": ", err))
		}
	}
	if n, err := exact.Get().Do(t.Context()); err != nil || int(n) != len(tried) {
		wrong = append(wrong, fmt.Sprintf("%d are counted, %v, of %d", n, err, len(tried)))
	}
	added, most := len(s.Lines("added")), len(s.Lines("plain"))-len(s.Lines("refused"))
	if n, err := plain.Get().Do(t.Context()); err != nil && added > 0 || int(n) < added || int(n) > most {
		wrong = append(wrong,
			fmt.Sprintf("%d are counted plainly, %v: %d were acknowledged, and at most %d were applied", n, err, added, most))
	}
	if len(s.Lines("done")) == len(tried) {
		wrong = append(wrong, "each count was acknowledged: no process was killed in the middle of one")
	}
	t.Logf("%d of %d counts are lost or counted twice", len(wrong), len(tried))
	return wrong
}

// TestKills: whatever happens while the processes that count are killed, 0 counts are
// lost and 0 are counted twice.
func TestKills(t *testing.T) {
	gate.Skip(t, "24 processes are killed")
	t.Parallel()
	harm.Run(t, harm.Suite{Process: "TestHarmedProcess", Key: "{s}:ids", Wrong: miscounted,
		Begin: func(t *testing.T, s *harm.Side, backlog int) {
			raw := open(t, s.URL, keywright.Options{}).Raw()
			ends := time.Now().Add(time.Hour).UnixMilli()
			for from := 0; from < backlog; from += 500 { // half of them are to be forgotten
				add := raw.B().Zadd().Key("{s}:ids").ScoreMember()
				for i := from; i < from+500; i += 2 {
					add = add.ScoreMember(float64(ends), fmt.Sprint("old", i)).ScoreMember(1, fmt.Sprint("old", i+1))
				}
				if err := raw.Do(t.Context(), add.Build()).Error(); err != nil {
					t.Fatal(err)
				}
			}
		}})
}
