package lock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// roles lists the keys of lock:a.
var roles = map[string]string{"main": "lock:a", "fence": "{lock:a}:fence", "waiters": "{lock:a}:waiters",
	"shared": "{lock:a}:shared"}

// strange puts something strange into one key of a lock. What is asked of the
// lock then gives an error that names the key, and changes nothing in any of
// them.
func strange(t *testing.T, s *keywrighttest.Server, l lock.Lock, key string, put ...string) (wrong []string) {
	s.Do("FLUSHALL")
	s.Do(put...)
	before := snapshot(s)
	for name, ask := range map[string]func(context.Context) error{
		"try":     func(ctx context.Context) error { _, err := l.Try(ctx); return err },
		"acquire": func(ctx context.Context) error { _, err := l.Acquire(ctx); return err },
		"share":   func(ctx context.Context) error { _, err := l.AcquireShared(ctx); return err },
	} {
		if len(wrong) > 0 {
			break
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err := ask(ctx)
		cancel()
		class, _ := keywright.ClassOf(err)
		switch {
		case err == nil:
			wrong = append(wrong, fmt.Sprintf("%v: %s: no error", put, name))
		case !strings.Contains(err.Error(), key) || class != keywright.Refused:
			wrong = append(wrong, fmt.Sprintf("%v: %s does not name %s: %v", put, name, key, err))
		}
	}
	if now := snapshot(s); now != before {
		wrong = append(wrong, fmt.Sprintf("%v: changed from %s to %s", put, before, now))
	}
	return wrong
}

func snapshot(s *keywrighttest.Server) string {
	var out []string
	for _, role := range []string{"main", "fence", "waiters", "shared"} {
		out = append(out, fmt.Sprintf("%q %v", s.Do("DUMP", roles[role]), s.Do("PTTL", roles[role])))
	}
	return strings.Join(out, ", ")
}

// dumps returns snapshot without the TTLs, for keys that live on meanwhile.
func dumps(s *keywrighttest.Server) string {
	var out []string
	for _, role := range []string{"main", "fence", "waiters", "shared"} {
		out = append(out, fmt.Sprintf("%q", s.Do("DUMP", roles[role])))
	}
	return strings.Join(out, ", ")
}

// strangeKeys: every key of another type, and a fence that is none.
func strangeKeys(t *testing.T) (wrong []string) {
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	c := open(t, s.URL(), keywright.Options{NoCache: true})
	l := lock.Open(c, "lock:a", lock.Options{})
	for _, role := range []string{"main", "fence", "waiters", "shared"} {
		if len(wrong) == 0 {
			wrong = strange(t, s, l, roles[role], "HSET", roles[role], "a", "b")
		}
	}
	for _, text := range []string{"garbage", "", "-5", "1e3", "99999999999999999999", "9007199254740992", "v2:17"} {
		if len(wrong) == 0 {
			wrong = strange(t, s, l, roles["fence"], "SET", roles["fence"], text)
		}
	}
	return wrong
}

// TestStrangeKeys: a key that holds something else gives an error that names it,
// and is left as it is.
func TestStrangeKeys(t *testing.T) {
	for _, w := range strangeKeys(t) {
		t.Error(w)
	}
}

// TestStrangeKeyHarmsNoOther: calls that travel together with one on such a key
// are as they would be alone, and so is the release of a lock that was held.
func TestStrangeKeyHarmsNoOther(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{NoCache: true})
	s.Do("SET", roles["fence"], "garbage")
	failed := make(chan error, 400)
	for i := range 400 {
		go func() {
			name, bad := fmt.Sprint("lock:", i), i%4 == 0
			if bad {
				name = "lock:a"
			}
			lease, err := lock.Open(c, name, lock.Options{}).Try(t.Context())
			if err == nil {
				err = lease.Release(t.Context())
			}
			if bad == (err == nil) {
				failed <- fmt.Errorf("%s: %v", name, err)
				return
			}
			failed <- nil
		}()
	}
	for range 400 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	for _, role := range []string{"fence", "waiters"} { // while it is held
		s.Do("FLUSHALL")
		lease := take(t, t.Context(), lock.Open(c, "lock:a", lock.Options{Announce: true}))
		s.Do("DEL", roles[role])
		s.Do("HSET", roles[role], "a", "b")
		before := snapshot(s)
		if err := lease.Release(t.Context()); err == nil || !strings.Contains(err.Error(), roles[role]) {
			t.Errorf("release with a strange %s: %v", role, err)
		}
		if s.Do("DEL", "lock:a"); role == "fence" && !strings.Contains(before, lease.Token()) {
			t.Errorf("%s", before)
		}
	}
}

// newerForm puts a place of a newer program in front of the waiters.
func newerForm(t *testing.T) (wrong []string) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL(), keywright.Options{NoCache: true})
	for _, member := range []string{"2x1000 web-7/ABC", "r1000 web-7/ABC", "x web-7/ABC", "x0 web-7/ABC", "xweb-7/ABC",
		"x123456789012 web-7/ABC"} {
		wrong = append(wrong,
			strange(t, s, lock.Open(c, "lock:a", lock.Options{}), roles["waiters"], "ZADD", roles["waiters"], "1", member)...)
		if len(wrong) > 0 {
			break
		}
		s.Do("FLUSHALL")
		lease := take(t, t.Context(), lock.Open(c, "lock:a", lock.Options{Announce: true}))
		s.Do("ZADD", roles["waiters"], "1", member)
		before := snapshot(s)
		err := lease.Release(t.Context())
		if err == nil || !strings.Contains(err.Error(), "newer") || s.Do("GET", "lock:a") != lease.Token() {
			wrong = append(wrong, fmt.Sprintf("%s: release: %v (%s)", member, err, before))
		}
	}
	return wrong
}

// TestNewerForm: a place of a form that this program does not know is refused
// with a clear error, and nothing is changed.
func TestNewerForm(t *testing.T) {
	for _, w := range newerForm(t) {
		t.Error(w)
	}
}

// newerLast puts a place of a newer program after a waiter of another process, and
// another caller of this process joins when the lock is released: the release is refused
// before it has changed anything.
func newerLast(t *testing.T) (wrong []string) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	l := lock.Open(open(t, s.URL(), keywright.Options{NoCache: true}), "lock:a", lock.Options{Mode: lock.Fast})
	lease := take(t, t.Context(), l)
	ctx, cancel := context.WithCancel(t.Context())
	var others sync.WaitGroup
	handed := make(chan string, 2)
	for range 2 {
		others.Go(func() {
			if next, err := l.Acquire(ctx); err == nil {
				handed <- next.Token() + " was handed the lock"
			}
		})
	}
	lock.AwaitLine(t, l, 2, false)
	s.Do("ZADD", roles["waiters"], "1", "x1000 web-7/ABC", "2", "2x1000 web-8/ABC")
	before := dumps(s)
	err := lease.Release(t.Context())
	if err == nil || !strings.Contains(err.Error(), "newer") {
		wrong = append(wrong, fmt.Sprintf("release: %v", err))
	}
	if now := dumps(s); now != before {
		wrong = append(wrong, fmt.Sprintf("a release that was refused changed %s to %s", before, now))
	}
	cancel()
	others.Wait()
	for close(handed); len(handed) > 0; {
		wrong = append(wrong, <-handed)
	}
	return wrong
}

// TestNewerFormAtTheEnd: so is one at the end, where others join.
func TestNewerFormAtTheEnd(t *testing.T) {
	for _, w := range newerLast(t) {
		t.Error(w)
	}
}

// TestForms: what programs of form 1 have stored is read and served.
func TestForms(t *testing.T) {
	text, err := os.ReadFile("testdata/form1.txt")
	must(t, err)
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		s := keywrighttest.Start(t, brand)
		for line := range strings.Lines(string(text)) {
			if words := strings.Split(strings.TrimSpace(line), "|"); len(words) > 1 {
				s.Do(words...)
			}
		}
		c := open(t, s.URL(), keywright.Options{})
		l := lock.Open(c, "lock:a", lock.Options{})
		h, err := l.Holder(t.Context())
		must(t, err)
		if h.Owner != "web-7" || h.Token != "web-7/JBSWY3DPEHPK3PXPJBSWY3DPEH" || h.Fence != 1795360538275457 ||
			h.Waiting != 3 || h.Sharing != 0 {
			t.Errorf("%+v", h)
		}
		broken, err := l.Break(t.Context(), h.Token)
		must(t, err)
		h, err = l.Holder(t.Context())
		if must(t, err); !broken || h.Token != "web-8/MFRGGZDFMZTWQ2LKMFRGGZDFMZ" || h.Waiting != 2 ||
			h.Left.Seconds() > 1.5 {
			t.Errorf("handed on: %t %+v", broken, h)
		}
		if _, err := l.Break(t.Context(), h.Token); err != nil {
			t.Error(err)
		}
		h, err = l.Holder(t.Context())
		if must(t, err); h.Token != "" || h.Sharing != 2 || h.Waiting != 0 {
			t.Errorf("handed on to readers: %+v", h)
		}
		if h, err = lock.Open(c, "lock:b", lock.Options{}).Holder(t.Context()); err != nil || h.Sharing != 1 {
			t.Errorf("readers: %+v, %v", h, err)
		}
		if _, err := lock.Open(c, "lock:b", lock.Options{}).Try(t.Context()); !errors.Is(err, lock.ErrHeld) {
			t.Errorf("beside a reader: %v", err)
		}
	}
}
