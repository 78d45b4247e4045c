package breaker_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/breaker"
)

func TestBreaker(t *testing.T) {
	t.Parallel()
	var b breaker.Breaker
	for range 4 {
		b.Note(false)
	}
	if b.Note(true); b.Open() || !b.Allow() {
		t.Error("open, though not five failed in a row")
	}
	for range 5 {
		if !b.Allow() {
			t.Error("open too early")
		}
		b.Note(false)
	}
	opened := time.Now()
	if allowed := b.Allow(); !b.Open() || allowed && time.Since(opened) < 400*time.Millisecond {
		t.Error("closed after five")
	}
	deadline := time.After(20 * time.Second)
	for !b.Allow() { // half a second to one and a half
		select {
		case <-deadline:
			t.Fatal("nobody may ever try")
		case <-time.After(5 * time.Millisecond):
		}
	}
	if b.Note(false); !b.Open() {
		t.Error("closed by a trial that failed")
	}
	if b.Note(true); b.Open() || !b.Allow() {
		t.Error("open after a success")
	}
}

// TestOneTries: of many that come together when the pause is over, one goes.
func TestOneTries(t *testing.T) {
	t.Parallel()
	var b breaker.Breaker
	for range 5 {
		b.Note(false)
	}
	began := time.Now()
	var all sync.WaitGroup
	var gone atomic.Int64
	stop := make(chan struct{})
	for range 8 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
				if b.Allow() {
					gone.Add(1)
				}
			}
		})
	}
	for end := began.Add(time.Minute); gone.Load() < 2 && time.Now().Before(end); {
		<-time.After(10 * time.Millisecond)
	}
	close(stop)
	all.Wait()
	if n, most := gone.Load(), 1+int64(time.Since(began)/(500*time.Millisecond)); n < 2 || n > most {
		t.Errorf("%d tried within %v", n, time.Since(began))
	}
}
