package hub

import (
	"net/http"
	"strconv"
	"time"
)

// Secondary describes how GitHub refuses what is asked too fast: the documentation has all three.
type Secondary struct {
	Status     int           // 403 or 429
	RetryAfter time.Duration // 0: the header is not there
	Times      int           // so many requests are refused
}

// limits holds those of the token.
type limits struct {
	limit, used int
	reset       time.Time
	secondary   Secondary
}

// Limit says how many requests are allowed until a time.
func (s *Server) Limit(n int, reset time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits.limit, s.limits.used, s.limits.reset = n, 0, reset
}

// Used returns how many requests were counted since Limit.
func (s *Server) Used() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limits.used
}

// Refuse refuses the next requests by the secondary limit.
func (s *Server) Refuse(how Secondary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits.secondary = how
}

// refuse gives the refusal of a request, nil if it is allowed.
func (l *limits) refuse(now time.Time) *answer {
	if l.reset.IsZero() {
		l.reset = now.Add(time.Hour)
	}
	if now.After(l.reset) {
		l.used, l.reset = 0, now.Add(time.Hour)
	}
	if l.secondary.Times > 0 {
		l.secondary.Times--
		a := say(l.secondary.Status,
			"You have exceeded a secondary rate limit. Please wait a few minutes before you try again.")
		if l.secondary.RetryAfter > 0 {
			a.header.Set("Retry-After", strconv.Itoa(int(l.secondary.RetryAfter/time.Second)))
		}
		return &a
	}
	if l.used >= l.limit {
		return ref(say(http.StatusForbidden, "API rate limit exceeded for user ID 1."))
	}
	return nil
}

// tell writes the headers that each answer has.
func (l *limits) tell(h http.Header) {
	h.Set("X-RateLimit-Limit", strconv.Itoa(l.limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(l.limit-l.used, 0)))
	h.Set("X-RateLimit-Used", strconv.Itoa(min(l.used, l.limit)))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(l.reset.Unix(), 10))
	h.Set("X-RateLimit-Resource", "core")
}
