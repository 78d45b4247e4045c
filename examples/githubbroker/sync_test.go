package githubbroker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	broker "github.com/keywright/keywright/examples/githubbroker"
	"github.com/keywright/keywright/examples/githubbroker/brokerkeys"
	"github.com/keywright/keywright/examples/githubbroker/hub"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/lock"
)

// TestNoEmptyMoment: readers look while the cache is replaced again and again; what stays
// open is always there.
func TestNoEmptyMoment(t *testing.T) {
	h, github := repository(t)
	for range 40 {
		h.Open("an issue")
	}
	c := open(t, redis(t))
	p, keys := broker.NewPoller(c, reader(t, github), broker.PollerOptions{}), brokerkeys.New(c)
	must(t, p.Sync(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for n := int64(1); ctx.Err() == nil; n = n%20 + 1 {
				_, err := keys.Issue(n).Get().Do(t.Context())
				has, err2 := keys.OpenIssues().Has(n).Do(t.Context())
				if err := errors.Join(err, err2); err != nil || !has {
					t.Errorf("issue %d is open, and here: %t, %v", n, has, err)
					return
				}
			}
		})
	}
	for round := range int64(20) {
		for n := int64(21); n <= 40; n++ { // the second half comes and goes
			if (n+round)%3 == 0 {
				h.Close(n)
			} else {
				h.Reopen(n)
			}
		}
		must(t, p.Sync(t.Context()))
		want := h.Numbers()
		if got, err := keys.OpenIssues().Members().Do(t.Context()); err != nil ||
			!slices.Equal(slices.Sorted(slices.Values(got)), want) {
			t.Errorf("%v %v, want %v", got, err, want)
		}
	}
	cancel()
	readers.Wait()
}

// TestNothingNew: a sync that finds nothing new writes no issue again; one that cannot be read
// in the cache, or has no time of its label, is written.
func TestNothingNew(t *testing.T) {
	ctx, s := t.Context(), server(t)
	h, github := repository(t)
	h.Open("an issue")
	h.Open("another one", "needs-review")
	p := broker.NewPoller(open(t, s.URL()), reader(t, github), broker.PollerOptions{})
	must(t, p.Sync(ctx))
	heard := s.Monitor()
	must(t, p.Sync(ctx))
	for _, line := range heard() {
		if strings.Contains(line, `:seen"`) { // what each write of an issue passes
			t.Errorf("nothing was new, and this was sent: %s", line)
		}
	}
	first := s.Do("GET", "issue:1")
	s.Do("SET", "issue:1", "no JSON")
	s.Do("DEL", "review_issue_detected_timestamp:2")
	must(t, p.Sync(ctx))
	if s.Do("GET", "issue:1") != first || s.Do("EXISTS", "review_issue_detected_timestamp:2") != int64(1) {
		t.Error("a sync leaves what cannot be read, or no time of a label")
	}
}

// TestTwoPollers: a poller does not read GitHub when another one has a moment ago; it does when
// that is long ago, or at a time to come.
func TestTwoPollers(t *testing.T) {
	s := server(t)
	h, github := repository(t)
	h.Open("an issue")
	must(t, broker.NewPoller(open(t, s.URL()), reader(t, github), broker.PollerOptions{}).Sync(t.Context()))
	for _, c := range []struct {
		after time.Duration
		reads bool
	}{{time.Minute, false}, {29 * time.Minute, false}, {31 * time.Minute, true}, {-24 * time.Hour, true}} {
		must(t, brokerkeys.New(open(t, s.URL())).Synced().Set(time.Now()).Do(t.Context()))
		before, looked := len(h.Requests()), make(chan struct{}, 100)
		hook := keywright.Hook{Done: func(_ context.Context, call keywright.Call,
			_ keywright.Outcome) {
			looked <- struct{}{}
		}}
		o := broker.PollerOptions{Poll: time.Hour, Now: func() time.Time { return time.Now().Add(c.after) }}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			broker.NewPoller(open(t, s.URL(), hook), reader(t, github), o).Run(ctx, func(err error) { t.Error(err) })
		}()
		<-looked // at the time of the last sync
		if c.reads {
			await(t, "GitHub is read", func() bool { return len(h.Requests()) > before })
		}
		stop()
		<-ended
		if reads := len(h.Requests()) > before; reads != c.reads {
			t.Errorf("%v after a sync GitHub is read: %t", c.after, reads)
		}
	}
}

// TestPagesMove: an issue that moves to a page that was read already, while the pages are
// read, is missing from the list, and open: it stays.
func TestPagesMove(t *testing.T) {
	h, github := repository(t)
	for range 150 {
		h.Open("an issue")
	}
	c := open(t, redis(t))
	p, keys := broker.NewPoller(c, reader(t, github), broker.PollerOptions{}), brokerkeys.New(c)
	must(t, p.Sync(t.Context()))
	var once sync.Once
	h.OnRequest(func(r hub.Request) { // after the first page is made: 150 to 51
		once.Do(func() { h.Close(150) })
	})
	must(t, p.Sync(t.Context()))
	if n, err := keys.OpenIssues().Len().Do(t.Context()); err != nil || n < 149 {
		t.Errorf("%d issues are here, %v; 149 are open", n, err)
	}
	if _, err := keys.Issue(50).Get().Do(t.Context()); err != nil { // the one that moved
		t.Errorf("issue 50: %v", err)
	}
	must(t, p.Sync(t.Context()))
	if n, err := keys.OpenIssues().Len().Do(t.Context()); err != nil || n != 149 {
		t.Errorf("%d issues are here, %v", n, err)
	}
}

// TestNothingPartial: a list that is cut off in the middle, by whatever, deletes nothing.
func TestNothingPartial(t *testing.T) {
	h, github := repository(t)
	for range 250 {
		h.Open("an issue")
	}
	c := open(t, redis(t))
	p, keys := broker.NewPoller(c, reader(t, github), broker.PollerOptions{}), brokerkeys.New(c)
	must(t, p.Sync(t.Context()))
	var once sync.Once
	h.Label(250, "bug") // the first page is sent again, and then nothing is
	h.OnRequest(func(r hub.Request) {
		once.Do(func() { h.Refuse(hub.Secondary{Status: 403, Times: 100}) })
	})
	if err := p.Sync(t.Context()); err == nil {
		t.Error("a list that was cut off is whole")
	}
	if n, err := keys.OpenIssues().Len().Do(t.Context()); err != nil || n != 250 {
		t.Errorf("%d issues are here, %v", n, err)
	}
}

// TestHalfWay: a sync that stops where it deletes an issue (here: is not allowed to) leaves
// what the next sync finds.
func TestHalfWay(t *testing.T) {
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		ctx, s := t.Context(), keywrighttest.Start(t, brand)
		h, github := repository(t)
		h.Open("an issue")
		h.Open("another one")
		whole := broker.NewPoller(open(t, s.URL()), reader(t, github), broker.PollerOptions{})
		must(t, whole.Sync(ctx))
		s.Do("ACL", "SETUSER", "half", "on", ">pw", "+@all", "&*", "%R~issue:*", "~issue:2", "~{issue:2}:seen", "~issues:*",
			"~{issues:*", "~*review_*", "~task*")
		half := broker.NewPoller(open(t, strings.Replace(s.URL(), "//", "//half:pw@", 1)), reader(t, github),
			broker.PollerOptions{})
		h.Close(1)
		if class, _ := keywright.ClassOf(half.Sync(ctx)); class != keywright.Refused {
			t.Errorf("the sync was not refused: %v", class)
		}
		if s.Do("SISMEMBER", "issues:open", "1") != int64(1) {
			t.Error("issue 1 has a key and is not in the list")
		}
		must(t, whole.Sync(ctx))
		if got := s.Do("EXISTS", "issue:1"); got != int64(0) {
			t.Error("the closed issue is still there")
		}
		if got := fmt.Sprint(s.Do("SMEMBERS", "issues:open")); got != "[2]" {
			t.Errorf("open are %s", got)
		}
	})
}

// TestLateSync: a sync that lost its lease on the way, while a newer one deleted an issue,
// brings nothing back: neither the issue nor the time of its label.
func TestLateSync(t *testing.T) {
	ctx, s := t.Context(), server(t)
	h, github := repository(t)
	h.Open("an issue")
	h.Open("another one", "needs-review")
	arrived, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	hook := keywright.Hook{Start: func(ctx context.Context, call keywright.Call) context.Context {
		if call.Op == "SET" { // the first write of a key
			once.Do(func() { close(arrived); <-release })
		}
		return ctx
	}}
	late := broker.NewPoller(open(t, s.URL(), hook), reader(t, github), broker.PollerOptions{})
	newer := broker.NewPoller(open(t, s.URL()), reader(t, github), broker.PollerOptions{})
	ended := make(chan error, 1)
	go func() { ended <- late.Sync(ctx) }()
	<-arrived
	lockKey, err := brokerkeys.IssueSyncKey()
	must(t, err)
	s.Do("DEL", lockKey) // its lease is over, and it does not know yet
	h.Close(1)
	h.Close(2)
	must(t, newer.Sync(ctx))
	close(release)
	// Its renewal may have noticed before its write was refused.
	if err := <-ended; !errors.Is(err, lock.ErrStale) && !errors.Is(err, lock.ErrLost) {
		t.Errorf("the late sync ended with %v, want ErrStale or ErrLost", err)
	}
	for _, key := range []string{"issue:1", "issue:2", "review_issue_detected_timestamp:2"} {
		if got := s.Do("EXISTS", key); got != int64(0) {
			t.Errorf("%s was brought back", key)
		}
	}
	must(t, newer.Sync(ctx))
	if got := fmt.Sprint(s.Do("SMEMBERS", "issues:open")); got != "[]" {
		t.Errorf("open are %s", got)
	}
}
