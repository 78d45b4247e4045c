package outside

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/state"
)

// Bounds of a call.
const (
	maxAnswer = 4 << 20          // bytes of an answer
	maxWait   = 30 * time.Second // that a server may ask for within a call; more is an error
	attempts  = 6                // of a call that may be repeated
)

// web calls a JSON interface over HTTP, and comes back when it is asked to.
type web struct {
	name   string // for errors
	base   string
	header http.Header
	client *http.Client

	mu    sync.Mutex
	until map[string]time.Time // when a route may be called again
}

func newWeb(name, base, token string) *web {
	header := http.Header{"Authorization": {token}, "Content-Type": {"application/json"},
		"User-Agent": {"DiscordBot (https://github.com/keywright/keywright, 1)"}}
	return &web{name: name, base: strings.TrimSuffix(base, "/"), header: header,
		client: &http.Client{Timeout: time.Minute}, until: map[string]time.Time{}}
}

// call sends a request that may be repeated, and reads the answer. Limits hold by route.
func (w *web) call(ctx context.Context, method, path, route string, body, into any) (err error) {
	for n := range attempts {
		if err = w.wait(ctx, route); err != nil {
			return err
		}
		var again time.Duration
		if again, err = w.once(ctx, method, path, route, body, into); again == 0 || n == attempts-1 {
			return err
		}
		if again > maxWait || !pause(ctx, again) {
			return err
		}
	}
	return err
}

// wait waits until the route may be called.
func (w *web) wait(ctx context.Context, route string) error {
	w.mu.Lock()
	until := w.until[route]
	if all := w.until[""]; all.After(until) {
		until = all
	}
	w.mu.Unlock()
	left := time.Until(until)
	if left > maxWait {
		return &LimitedError{w.name, left}
	}
	if left > 0 && !pause(ctx, left) {
		return context.Cause(ctx)
	}
	return ctx.Err()
}

// once sends a request; again is how long to wait before it is repeated, 0 if it is not.
func (w *web) once(ctx context.Context, method, path, route string, body, into any) (again time.Duration, err error) {
	var text []byte
	if body != nil {
		if text, err = state.Encode(body); err != nil {
			return 0, fmt.Errorf("%s: %w", w.name, err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, w.base+path, bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	r.Header = w.header.Clone()
	answer, err := w.client.Do(r)
	if err != nil {
		return 200 * time.Millisecond, fmt.Errorf("%s: %w", w.name, bare(err))
	}
	defer answer.Body.Close()
	out, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil || len(out) > maxAnswer {
		return 200 * time.Millisecond, errors.Join(err, fmt.Errorf("%s: the answer cannot be read", w.name))
	}
	w.learn(route, answer.Header)
	switch {
	case answer.StatusCode == http.StatusTooManyRequests:
		after, all := retryAfter(answer.Header, out)
		w.hold(route, all, after)
		return after, &LimitedError{w.name, after}
	case answer.StatusCode >= 500:
		return 200 * time.Millisecond, &StatusError{w.name, answer.StatusCode, Cut(string(out), 200)}
	case answer.StatusCode >= 300:
		return 0, &StatusError{w.name, answer.StatusCode, Cut(string(out), 200)}
	}
	if into == nil || len(out) == 0 {
		return 0, nil
	}
	if err := json.Unmarshal(out, into); err != nil {
		return 0, fmt.Errorf("%s: the answer cannot be read: %w", w.name, err)
	}
	return 0, nil
}

// bare returns an error without the address of the request.
func bare(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err
}

// learn follows the headers that say when a route is used up.
func (w *web) learn(route string, h http.Header) {
	if h.Get("X-RateLimit-Remaining") != "0" {
		return
	}
	if seconds, err := strconv.ParseFloat(h.Get("X-RateLimit-Reset-After"), 64); err == nil && seconds > 0 {
		w.hold(route, false, time.Duration(seconds*float64(time.Second)))
	}
}

// hold keeps a route from being called for a while, or all of them.
func (w *web) hold(route string, all bool, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if all {
		route = ""
	}
	if len(w.until) > 10_000 {
		clear(w.until) // the server says it again
	}
	w.until[route] = time.Now().Add(d)
}

// retryAfter returns how long a server says to wait: in its answer, as Discord does, else in the
// header; a second if it does not say.
func retryAfter(h http.Header, body []byte) (after time.Duration, all bool) {
	var says struct {
		RetryAfter float64 `json:"retry_after"`
		Global     bool    `json:"global"`
	}
	if json.Unmarshal(body, &says) == nil && says.RetryAfter > 0 {
		return time.Duration(says.RetryAfter * float64(time.Second)), says.Global
	}
	if seconds, err := strconv.ParseFloat(h.Get("Retry-After"), 64); err == nil && seconds > 0 {
		return time.Duration(seconds * float64(time.Second)), false
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil && time.Until(at) > 0 {
		return time.Until(at), false
	}
	return time.Second, false
}

// Cut gives at most n characters of a text.
func Cut(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}

// pause waits; false if ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
