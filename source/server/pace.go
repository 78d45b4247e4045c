package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/keywright/keywright/connect"
)

// pacer spreads a rate in keys per second over all shards.
type pacer struct {
	mu   sync.Mutex
	rate float64
	next time.Time
}

func newPacer(rate int) *pacer { return &pacer{rate: float64(rate), next: time.Now()} }

// wait is how long to wait before n more keys.
func (p *pacer) wait(n int) time.Duration {
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

// calibrateEvery is how many pages lie between two measurements of the server.
const calibrateEvery = 100

// breathe is called between two pages: it keeps the rate, waits for a slow
// server, and now and then measures how long one SCAN holds the server.
func (w *walk) breathe(ctx context.Context, p **page) error {
	if err := sleep(ctx, w.pace.wait(len((*p).ends))); err != nil {
		return err
	}
	measure := w.pages == 4 || w.pages%calibrateEvery == 0
	if !measure && w.options.MaxLatency == 0 {
		return nil
	}
	if w.facts != nil { // the pipeline must be empty to measure one command
		if err := w.readFacts(w.facts); err != nil {
			return err
		}
	}
	rtt, err := w.ping()
	if err != nil {
		return err
	}
	for w.options.MaxLatency > 0 && rtt > w.options.MaxLatency {
		w.pausedNow(true)
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
		if rtt, err = w.ping(); err != nil {
			return err
		}
	}
	if measure {
		return w.calibrate(ctx, rtt, p)
	}
	return nil
}

// calibrate times one SCAN by itself and sets COUNT so that the next take about
// two thirds of the budget at most. The page it reads is the next one, so
// nothing is read twice.
func (w *walk) calibrate(ctx context.Context, rtt time.Duration, p **page) error {
	if (*p).next == "0" || w.dice != nil || len((*p).ends) == 0 {
		return nil
	}
	started := time.Now()
	w.askPage((*p).next)
	if err := w.sh.conn.Flush(); err != nil {
		return err
	}
	following, err := w.readPage() // the ring has room: no facts are on the wire
	if err != nil {
		return err
	}
	held := max(time.Since(started)-rtt, 0)
	w.count = nextCount(w.count, held)
	if w.options.Rate > 0 {
		w.count = min(w.count, max(10, w.options.Rate/10))
	}
	more := len(following.ends)
	merge(*p, following)
	return sleep(ctx, w.pace.wait(more))
}

// nextCount is the COUNT for a server that was held for so long by the last.
func nextCount(count int, held time.Duration) int {
	if held <= 0 {
		held = time.Microsecond
	}
	fit := float64(count) * float64(stepBudget) * 2 / 3 / float64(held)
	return int(min(max(fit, 10), float64(min(2*count, 1000))))
}

// merge appends the names of b to a: one page with the cursor behind both.
func merge(a, b *page) {
	offset := len(a.slab)
	a.slab = append(a.slab, b.slab...)
	for _, end := range b.ends {
		a.ends = append(a.ends, offset+end)
	}
	a.next = b.next
}

func (w *walk) ping() (time.Duration, error) {
	started := time.Now()
	w.sh.conn.Command("PING")
	if err := w.sh.conn.Flush(); err != nil {
		return 0, err
	}
	if _, err := w.sh.conn.Any(); err != nil {
		return 0, connect.Explain(w.sh.address, fmt.Errorf("ping: %w", err))
	}
	return time.Since(started), nil
}

// sleep waits, or ends with the context.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
