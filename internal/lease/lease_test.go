package lease_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/lease"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/kernel/notice"
	"github.com/keywright/keywright/keywrighttest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var open = servertest.Open

// suite lists the laws of a lease, each on a server of its own; it returns what is wrong.
var suite = map[string]func(t *testing.T, s *keywrighttest.Server, w *wrong){
	"one of two processes has it": func(t *testing.T, s *keywrighttest.Server, w *wrong) {
		a, b := two(t, s)
		first, err := a.Acquire(t.Context())
		w.check(err == nil && first.Fence > 0 && first.Token == s.Do("GET", "turn"), "the first: %+v, %v", first, err)
		_, err = b.Acquire(t.Context())
		busy, ok := errors.AsType[*lease.BusyError](err)
		w.check(ok && busy.Owner == "one" && busy.Left > 0 && busy.Left <= time.Hour, "the second: %v", err)
		w.check(lease.Holder(first.Token) == "one", "the holder is %q", lease.Holder(first.Token))
		w.check(b.Release(t.Context()) == nil && s.Do("GET", "turn") == first.Token,
			"the second one gave back what it did not have")
	},
	"it lasts as long again for its holder": func(t *testing.T, s *keywrighttest.Server, w *wrong) {
		a, _ := two(t, s)
		first, _ := a.Acquire(t.Context())
		for name, again := range map[string]func() (lease.Term, error){
			"acquire": func() (lease.Term, error) { return a.Acquire(t.Context()) },
			"renew":   func() (lease.Term, error) { return a.Renew(t.Context(), first) },
		} {
			s.Do("PEXPIRE", "turn", "60000")
			second, err := again()
			w.check(err == nil && second.Token == first.Token && s.Do("PTTL", "turn").(int64) > 60000, "%s: %+v, %v", name,
				second, err)
		}
	},
	"one that is lost is not taken again by a renewal": func(t *testing.T, s *keywrighttest.Server, w *wrong) {
		a, b := two(t, s)
		first, _ := a.Acquire(t.Context())
		s.Do("DEL", "turn") // its time has passed
		_, err := a.Renew(t.Context(), first)
		w.check(errors.Is(err, lease.ErrLost) && s.Do("EXISTS", "turn") == int64(0), "a lease that ended: %v", err)
		second, err := b.Acquire(t.Context())
		w.check(err == nil && second.Fence > first.Fence, "%d after %d, %v", second.Fence, first.Fence, err)
		_, err = a.Renew(t.Context(), first)
		w.check(errors.Is(err, lease.ErrLost), "a lease of another: %v", err)
		w.check(a.Release(t.Context()) == nil && s.Do("GET", "turn") == second.Token,
			"the first one gave back the lease of the second")
	},
	"it is given back once": func(t *testing.T, s *keywrighttest.Server, w *wrong) {
		a, b := two(t, s)
		_, _ = a.Acquire(t.Context())
		w.check(a.Release(t.Context()) == nil && s.Do("EXISTS", "turn") == int64(0), "it was not given back")
		calls := s.RecordScripts()
		w.check(a.Release(t.Context()) == nil && b.Release(t.Context()) == nil && len(calls.Calls()) == 0,
			"what is not held was given back")
	},
	"it always ends": func(t *testing.T, s *keywrighttest.Server, w *wrong) {
		a, b := two(t, s)
		_, _ = a.Acquire(t.Context())
		left := s.Do("PTTL", "turn").(int64)
		w.check(left > 0 && left <= time.Hour.Milliseconds(), "it has a TTL of %d ms", left)
		s.Do("SET", "turn", "1 somebody")
		_, err := b.Acquire(t.Context())
		w.check(err != nil && strings.Contains(err.Error(), "FORM a lease never ends") &&
			strings.Contains(err.Error(), "turn"), "one that never ends: %v", err)
	},
	"a full server gives it": func(t *testing.T, s *keywrighttest.Server, w *wrong) {
		a, _ := two(t, s)
		_, _ = a.Acquire(t.Context()) // the server knows the script
		_ = a.Release(t.Context())
		s.Do("CONFIG", "SET", "maxmemory", "1")
		_, err := a.Acquire(t.Context())
		w.check(err == nil, "%v", err)
	},
	"another program's text is waited for": func(t *testing.T, s *keywrighttest.Server, w *wrong) {
		a, _ := two(t, s)
		s.Do("SET", "turn", "v2:what is this", "PX", "60000")
		_, err := a.Acquire(t.Context())
		busy, ok := errors.AsType[*lease.BusyError](err)
		w.check(ok && busy.Owner == "" && busy.Left > 0, "%v", err)
		w.check(lease.Holder("v2:what is this") == "v2:what is this", "its holder has another name")
	},
	"a script checks it in its own step": func(t *testing.T, s *keywrighttest.Server, w *wrong) {
		a, _ := two(t, s)
		first, _ := a.Acquire(t.Context())
		text := lease.Held()
		is := func(token string) any { return s.Do("EVAL", text, "1", "turn", token) }
		w.check(is(first.Token) == "held", "its own is %v", is(first.Token))
		w.check(is(first.Token+"x") == "lost" && is("") == "lost", "another's is held")
		s.Do("DEL", "turn")
		w.check(is(first.Token) == "lost", "one that ended is %v", is(first.Token))
	},
}

type wrong struct{ texts []string }

func (w *wrong) check(ok bool, format string, args ...any) {
	if !ok {
		w.texts = append(w.texts, fmt.Sprintf(format, args...))
	}
}

func two(t *testing.T, s *keywrighttest.Server) (a, b *lease.Lease) {
	return lease.New(open(t, s.URL()), "turn", time.Hour, lease.Options{Owner: "one"}),
		lease.New(open(t, s.URL()), "turn", time.Hour, lease.Options{Owner: "two"})
}

func TestLease(t *testing.T) {
	for name, law := range suite {
		t.Run(name, func(t *testing.T) {
			for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
				t.Run(string(brand), func(t *testing.T) {
					t.Parallel()
					s := keywrighttest.Start(t, brand)
					s.WatchScripts()
					var w wrong
					law(t, s, &w)
					for _, text := range w.texts {
						t.Error(text)
					}
				})
			}
		})
	}
}

func TestMutations(t *testing.T) {
	for _, m := range []struct{ law, guard, instead string }{
		{"one of two processes has it", "if fence and holder ~= owner then", "if false then"},
		{"it lasts as long again for its holder", "    redis.call('PEXPIRE', key, ms)\n", ""},
		{"it lasts as long again for its holder", "redis.call('PEXPIRE', KEYS[1], ARGV[2])", "redis.call('PTTL', KEYS[1])"},
		{"one that is lost is not taken again by a renewal", "if not lease_held(KEYS[1], ARGV[1]) then return 0 end", ""},
		{"one that is lost is not taken again by a renewal", "return redis.call('GET', key) == token", "return true"},
		{"one that is lost is not taken again by a renewal", "if fence and owner == ARGV[1] then", "if true then"},
		{"it always ends", "token, 'PX', ms)", "token)"},
		{"it always ends", "if left < 0 then", "if false then"},
		{"a full server gives it", "  redis.call('UNLINK', key)\n", ""},
		{"a script checks it in its own step", "return redis.call('GET', key) == token", "return true"},
	} {
		t.Run(m.law, func(t *testing.T) {
			restore, ok := lease.Mutate(m.guard, m.instead)
			defer restore()
			if !ok {
				t.Fatalf("the scripts do not have %q once: the mutation tests nothing", m.guard)
			}
			var w wrong
			suite[m.law](t, keywrighttest.Start(t, keywrighttest.Redis), &w)
			if len(w.texts) == 0 {
				t.Errorf("the law holds without %q", m.guard)
			}
		})
	}
}

// TestLostReply: a lease whose grant was not received is granted again, and one that was
// never received is given back.
func TestLostReply(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
	l := lease.New(open(t, "redis://"+p.Addr()), "turn", time.Minute, lease.Options{})
	if _, err := l.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.LoseReplyTo("EVALSHA")
	term, err := l.Acquire(t.Context())
	if err != nil || !p.Lost() || s.Do("GET", "turn") != term.Token {
		t.Fatalf("%+v, %v", term, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	// The caller waits for a moment only, and the release goes on without it.
	if err := l.Release(cancelled); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("released by a caller that is gone: %v", err)
	}
	expect.Eventually(t, "the release of a caller that is gone", func() bool { return s.Do("EXISTS", "turn") == int64(0) })
}

// TestALossIsHeard: a lease that is lost during the work under it is one notice and one
// line of the log; one that ends between two pieces of work, or is given back, is none.
func TestALossIsHeard(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	var log strings.Builder
	var heard []keywright.Notice
	hook := keywright.Hook{Notice: func(ctx context.Context, n keywright.Notice) {
		if n.Kind != notice.LeaseLost {
			return
		}
		if heard = append(heard, n); ctx.Err() != nil {
			t.Error("it is told with a context that has ended")
		}
	}}
	c := servertest.Open(t, s.URL(),
		keywright.Options{Hooks: []keywright.Hook{hook}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	const long, short = time.Hour, 200 * time.Millisecond
	for name, one := range map[string]struct {
		ttl  time.Duration
		do   func(l *lease.Lease, term lease.Term)
		want int
	}{
		"two renewals of a lease that is lost": {long, func(l *lease.Lease, term lease.Term) {
			s.Do("DEL", "turn")
			for range 2 {
				if _, err := l.Renew(t.Context(), term); !errors.Is(err, lease.ErrLost) {
					t.Error(err)
				}
			}
		}, 1},
		"it is held, and lost": {short, func(l *lease.Lease, term lease.Term) {
			held, stop := l.Hold(t.Context(), term)
			s.Do("DEL", "turn")
			<-held.Done()
			stop()
		}, 1},
		"it is held, and the server is silent until it ends": {short, func(l *lease.Lease, term lease.Term) {
			held, stop := l.Hold(t.Context(), term)
			s.Stop()
			<-held.Done()
			s.Continue()
			stop()
		}, 1},
		"it is asked for again, and another has it": {long, func(l *lease.Lease, _ lease.Term) {
			s.Do("SET", "turn", "1 two x", "PX", "60000")
			if _, err := l.Acquire(t.Context()); err == nil {
				t.Error("two have it")
			}
		}, 1},
		"a script says that another has it": {long, func(l *lease.Lease, _ lease.Term) { l.Took(t.Context(), false) }, 1},
		"a script says it to a caller that has left": {long, func(l *lease.Lease, _ lease.Term) {
			l.Took(canceledContext(t), false)
		}, 1},
		"the server is silent until it ends": {short, func(l *lease.Lease, term lease.Term) {
			s.Stop()
			for err := error(nil); err == nil || time.Now().Before(term.Until); {
				_, err = l.Renew(t.Context(), term)
			}
			s.Continue()
		}, 1},
		"its caller has left before it ends": {long, func(l *lease.Lease, term lease.Term) {
			if _, err := l.Renew(canceledContext(t), term); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}, 0},
		"no work was under way": {long, func(l *lease.Lease, term lease.Term) {
			l.Rest()
			s.Do("DEL", "turn")
			_, _ = l.Renew(t.Context(), term)
		}, 0},
		"it is given back": {long, func(l *lease.Lease, term lease.Term) {
			_ = l.Release(t.Context())
			_, _ = l.Renew(t.Context(), term)
		}, 0},
	} {
		s.Do("DEL", "turn")
		log.Reset()
		heard = nil
		l := lease.New(c, "turn", one.ttl, lease.Options{Entry: &keywright.Entry{Name: "sweep"}})
		term, err := l.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		one.do(l, term)
		if len(heard) != one.want || strings.Count(log.String(), "a lease was lost") != one.want {
			t.Errorf("%s: %v, %s", name, heard, log.String())
		}
		for _, n := range heard {
			if n.Entry != "sweep" || n.Elapsed <= 0 || !errors.Is(n.Err, lease.ErrLost) {
				t.Errorf("%s: %+v", name, n)
			}
		}
	}
}

// canceledContext returns the context of a caller that has left.
func canceledContext(t *testing.T) context.Context {
	ctx, leave := context.WithCancel(t.Context())
	leave()
	return ctx
}

// TestAnEndByTheLocalClock: a lease ends by the local clock when it would if it had begun with
// the question, and not with the answer: the server began it in between.
func TestAnEndByTheLocalClock(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
	asks := make(chan struct{}, 1)
	c := servertest.Open(t, "redis://"+p.Addr(), keywright.Options{Timeout: time.Minute,
		Hooks: []keywright.Hook{{Start: func(ctx context.Context, _ keywright.Call) context.Context {
			select {
			case asks <- struct{}{}:
			default:
			}
			return ctx
		}}}})
	l := lease.New(c, "turn", time.Hour, lease.Options{})
	for what, ask := range map[string]func(lease.Term) (lease.Term, error){
		"taken":   func(lease.Term) (lease.Term, error) { return l.Acquire(t.Context()) },
		"renewed": func(term lease.Term) (lease.Term, error) { return l.Renew(t.Context(), term) },
	} {
		term, err := l.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		<-asks
		p.Freeze()
		answered := make(chan error)
		go func() {
			var err error
			term, err = ask(term)
			answered <- err
		}()
		<-asks
		unanswered := time.Now() // it was asked before, and is answered after
		p.Thaw()
		if err := <-answered; err != nil {
			t.Fatal(what, err)
		}
		if from := term.Until.Add(-(time.Hour - time.Hour/100)); from.After(unanswered) { // what it counts from
			t.Errorf("%s: it counts from %v after the question", what, from.Sub(unanswered))
		}
	}
}

// TestWorkIsOnePiece: what a loss interrupts began when the lease was taken, and not when it was
// taken again.
func TestWorkIsOnePiece(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Redis)
	p := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{Delay: 10 * time.Millisecond})
	var elapsed time.Duration
	c := servertest.Open(t, "redis://"+p.Addr(), keywright.Options{Hooks: []keywright.Hook{{
		Notice: func(_ context.Context, n keywright.Notice) { elapsed = n.Elapsed }}}})
	l := lease.New(c, "turn", time.Hour, lease.Options{})
	if _, err := l.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	taken := time.Now()
	if _, err := l.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := time.Now()
	if l.Took(t.Context(), false); taken.Add(elapsed).Before(again) {
		t.Errorf("%v of work, at least %v", elapsed, again.Sub(taken))
	}
}

// TestHold: a lease that is held goes on past its TTL, and its context ends when it is
// lost or the server does not answer for as long as it lasts.
func TestHold(t *testing.T) {
	t.Parallel()
	const ttl = 300 * time.Millisecond
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	l := lease.New(open(t, s.URL()), "turn", ttl, lease.Options{})
	acquire := func() lease.Term {
		t.Helper()
		term, err := l.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return term
	}
	held, stop := l.Hold(t.Context(), acquire())
	for n, last := 0, int64(0); n < 3; { // three renewals
		left := s.Do("PTTL", "turn").(int64)
		if left > last {
			n++
		}
		if last = left; held.Err() != nil {
			acquire() // the machine was busy for longer than the lease lasts
			stop()
			held, stop = l.Hold(t.Context(), acquire())
		}
	}
	s.Do("DEL", "turn")
	over(t, held)
	if err := context.Cause(held); !errors.Is(err, lease.ErrLost) {
		t.Errorf("lost: %v", err)
	}
	stop()

	held, stop = l.Hold(t.Context(), acquire())
	s.Stop()
	over(t, held)
	if err := context.Cause(held); !errors.Is(err, lease.ErrLost) {
		t.Errorf("the server is frozen: %v", err)
	}
	s.Continue()
	stop()

	held, stop = l.Hold(t.Context(), acquire())
	stop()
	if held.Err() == nil {
		t.Error("stopped, and the context goes on")
	}
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// over waits for the end of a context that must end by itself.
func over(t *testing.T, ctx context.Context) {
	t.Helper()
	expect.Return(t, "it ends", func() { <-ctx.Done() })
}
