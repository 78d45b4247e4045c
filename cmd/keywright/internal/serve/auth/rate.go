package auth

import (
	"net/http"
	"sync"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/serve/internal/reply"
)

// Bounds of requests: each user, and each address without one, has so many at once, and so
// many more a second. One without a user costs more, one with a wrong token most.
const (
	rateBurst    = 2000
	ratePer      = 500
	strangerCost = 5
	wrongCost    = 200
	maxBuckets   = 10_000
)

// rates count requests.
type rates struct {
	mu  sync.Mutex
	all map[string]bucket
}

// bucket describes what one has left.
type bucket struct {
	left float64
	at   time.Time
}

// pass takes the cost of a request, or refuses it.
func (l *rates) pass(of string, now time.Time, cost float64) *reply.Failure {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, known := l.all[of]
	if !known {
		if len(l.all) >= maxBuckets {
			l.forget(now)
		}
		if l.all == nil {
			l.all = map[string]bucket{}
		}
		b = bucket{rateBurst, now}
	}
	b.left = min(rateBurst, b.left+max(now.Sub(b.at).Seconds(), 0)*ratePer)
	b.at = now
	refused := b.left < cost
	if !refused {
		b.left -= cost
	}
	l.all[of] = b
	if refused {
		return reply.Fail(http.StatusTooManyRequests, "too-many", "that is more requests than one may send",
			"wait a second")
	}
	return nil
}

// forget removes those that have all left by now; where none has, all.
func (l *rates) forget(now time.Time) {
	for of, b := range l.all {
		if b.left+now.Sub(b.at).Seconds()*ratePer >= rateBurst {
			delete(l.all, of)
		}
	}
	if len(l.all) >= maxBuckets {
		clear(l.all)
	}
}
