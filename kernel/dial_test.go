package kernel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keywright/keywright/kernel/internal/conn"
)

// TestDialsBackOff: after each failure the next dial waits, about twice as long
// up to a second, and a success forgets it all.
func TestDialsBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := conn.NewDialGate("tcp", 5*time.Second)
		last := time.Duration(0)
		for n := range 12 {
			g.Note("a:1", errors.New("refused"), true)
			wait, _ := g.Wait("a:1")
			most := min(conn.FirstDialDelay<<n, conn.MaxDialDelay)
			if wait < most/2 || wait > most {
				t.Errorf("after %d failures it waits %v, want %v to %v", n+1, wait, most/2, most)
			}
			last = wait
		}
		if wait, _ := g.Wait("b:1"); wait != 0 {
			t.Error("another address waits too")
		}
		for began := time.Now(); time.Since(began) < last; { // on the clock of the test
			<-time.After(last)
		}
		if wait, _ := g.Wait("a:1"); wait > 0 {
			t.Errorf("it waits %v more", wait)
		}
		g.Note("a:1", nil, true)
		g.Note("a:1", errors.New("refused"), true)
		if wait, _ := g.Wait("a:1"); wait > conn.FirstDialDelay {
			t.Errorf("after a success it waits %v", wait)
		}
	})
}

// TestDialErrorsAreNotSent: whatever fails before there is a connection counts as
// never sent.
func TestDialErrorsAreNotSent(t *testing.T) {
	g := conn.NewDialGate("tcp", 50*time.Millisecond)
	_, err := g.Dial(context.Background(), "127.0.0.1:1", &net.Dialer{}, nil)
	if class, again, _ := judge(err, true); class != NotApplied || !again {
		t.Errorf("%v: %v %t", err, class, again)
	}
	// The gate has kept what the dial failed with: it is reported again in the same words.
	_, again := g.Dial(&conn.Departure{Context: context.Background()}, "127.0.0.1:1", &net.Dialer{}, nil)
	if n := strings.Count(fmt.Sprint(again), "dial tcp"); n != 1 || !notSent(again) {
		t.Errorf("%d times dial: %v", n, again)
	}
	g.Failed["127.0.0.1:1"] = conn.DialFailure{Next: time.Now().Add(time.Hour), Err: errors.New("refused")}
	_, err = g.Dial(context.Background(), "127.0.0.1:1", &net.Dialer{}, nil)
	if class, _, _ := judge(err, true); class != NotApplied || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v: %v", err, class)
	}
	_, err = g.Dial(&conn.Departure{Context: context.Background()}, "127.0.0.1:1", &net.Dialer{}, nil)
	if class, again, _ := judge(err, true); class != NotApplied || !again || err.Error() != "dial tcp: refused" {
		t.Errorf("a caller of a server that was down a moment ago waited, and got %v (%v)", err, class)
	}
}

// TestADialEndsWithItsClient: also one that waits because the last has failed, and
// whose caller has time.
func TestADialEndsWithItsClient(t *testing.T) {
	life, end := context.WithCancel(t.Context())
	g := conn.NewDialGate("tcp", time.Hour)
	g.Life = life
	g.Failed["a:1"] = conn.DialFailure{Next: time.Now().Add(time.Hour), Delay: time.Hour, Err: errors.New("refused")}
	ended := make(chan error, 1)
	go func() {
		_, err := g.Connect(t.Context(), "a:1", &net.Dialer{}, nil)
		ended <- err
	}()
	end()
	select {
	case err := <-ended:
		if !notSent(err) {
			t.Errorf("%v does not say that nothing was sent", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the dial outlives its client")
	}
}
