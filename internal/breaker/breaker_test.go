package breaker_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keywright/keywright/internal/breaker"
)

// The bounds of the pause of an open breaker.
const (
	least = 500 * time.Millisecond
	most  = 1500 * time.Millisecond
)

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
		if <-time.After(least - time.Nanosecond); b.Allow() || !b.Open() {
			t.Error("closed after five")
		}
		if <-time.After(most - least + time.Nanosecond); !b.Allow() {
			t.Error("nobody may ever try")
		}
		if b.Note(false); !b.Open() || b.Allow() {
			t.Error("closed by a trial that failed")
		}
		if b.Note(true); b.Open() || !b.Allow() {
			t.Error("open after a success")
		}
	})
}

// TestOneTries: of many that come together when the pause is over, one goes.
func TestOneTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b breaker.Breaker
		for range 5 {
			b.Note(false)
		}
		last, trials := time.Now(), 0
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 20_000 { // 20 seconds
					if <-time.After(time.Millisecond); !b.Allow() {
						continue
					}
					mu.Lock()
					trials++
					if pause := time.Since(last); pause < least || pause > most+time.Millisecond {
						t.Errorf("one tries %v after the one before", pause)
					}
					last = time.Now()
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if trials < 13 { // 20 seconds of at most 1.5 each
			t.Errorf("%d tried in 20 seconds", trials)
		}
	})
}
