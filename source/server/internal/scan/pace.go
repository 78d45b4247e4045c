package scan

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/source/server/internal/link"
)

// pacer spreads a rate in keys per second over all shards.
type pacer struct {
	mu   sync.Mutex
	rate float64
	next time.Time
}

// NewPacer returns a pacer; at the rate 0 nothing waits.
func NewPacer(rate int) *pacer { return &pacer{rate: float64(rate), next: time.Now()} }

// Wait returns how long to wait before n more keys.
func (p *pacer) Wait(n int) time.Duration {
	if p.rate == 0 {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	at := p.next
	p.next = p.next.Add(time.Duration(float64(n) / p.rate * float64(time.Second)))
	return at.Sub(now)
}

// calibrateEvery says how many pages are read between two measurements of the server.
const calibrateEvery = 100

// keepPace waits until the rate allows what was read since.
func (w *Walk) keepPace(ctx context.Context) error {
	wait := w.Pace.Wait(w.owed)
	w.owed = 0
	return link.Sleep(ctx, wait)
}

// measures says whether the server is to be measured before the next page.
func (w *Walk) measures() bool { return w.calibrates() || w.Options.MaxLatency > 0 }

func (w *Walk) calibrates() bool { return w.named == 4 || w.named%calibrateEvery == 0 }

// measure is called when nothing is on the wire: it waits for a slow server, and
// now and then measures how long one SCAN holds it.
func (w *Walk) measure(ctx context.Context) error {
	rtt, err := w.patient(ctx)
	if err != nil || !w.calibrates() {
		return err
	}
	return w.calibrate(ctx, rtt)
}

// patient waits while the server answers more slowly than the options allow, and
// tells how long it needs.
func (w *Walk) patient(ctx context.Context) (rtt time.Duration, err error) {
	for {
		if rtt, err = w.Ping(); err != nil {
			return 0, err
		}
		if w.Options.MaxLatency == 0 || rtt <= w.Options.MaxLatency {
			return rtt, nil
		}
		w.PausedNow(true)
		if err := link.Sleep(ctx, 200*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// calibrate times one SCAN by itself and sets COUNT so that the next take about
// two thirds of the budget at most. The page it reads is the next one, so
// nothing is read twice.
func (w *Walk) calibrate(ctx context.Context, rtt time.Duration) error {
	if !w.more || w.dice != nil {
		return nil
	}
	if err := w.keepPace(ctx); err != nil {
		return err
	}
	started := time.Now()
	w.AskPage(w.next)
	if err := w.Shard.Conn.Flush(); err != nil {
		return err
	}
	p := w.page()
	if err := w.ReadNames(p); err != nil {
		return err
	}
	w.count = min(nextCount(w.count, max(time.Since(started)-rtt, 0)), w.most())
	if w.Options.Rate > 0 {
		w.count = min(w.count, max(10, w.Options.Rate/10))
	}
	return w.follow(ctx, p)
}

// Keys of a page at most. Values are asked for when the facts of a page are known: of
// a few keys, what the server looked up for the facts is still in the caches of its
// processor; of many it is not, and values cost more.
const (
	mostOfPage  = 1000
	mostOfValue = 200
)

// most returns how many keys a page should have at most.
func (w *Walk) most() int {
	if w.Request.Values != nil {
		return mostOfValue
	}
	return mostOfPage
}

// nextCount returns the COUNT for a server that was held for so long by the last.
func nextCount(count int, held time.Duration) int {
	if held <= 0 {
		held = time.Microsecond
	}
	fit := float64(count) * float64(stepBudget) * 2 / 3 / float64(held)
	return int(min(max(fit, 10), float64(min(2*count, mostOfPage))))
}

// Ping returns how long the server takes to answer.
func (w *Walk) Ping() (time.Duration, error) {
	started := time.Now()
	w.Shard.Conn.Command("PING")
	if err := w.Shard.Conn.Flush(); err != nil {
		return 0, err
	}
	if _, err := w.Shard.Conn.Any(); err != nil {
		return 0, connect.Explain(w.Shard.Address, fmt.Errorf("ping: %w", err))
	}
	return time.Since(started), nil
}

// stepBudget says how long one SCAN may hold the server.
const stepBudget = 2 * time.Millisecond
