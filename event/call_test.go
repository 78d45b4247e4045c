package event_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value"
)

func exchange(c *keywright.Client, config event.Config) event.Exchange[note, note] {
	return event.NewExchange(topic(c, config, "ask"), &notes,
		func(caller string) (string, error) { return "answers:" + caller, nil })
}

// serving answers until the test ends.
func serving[A any](t testing.TB, x event.Exchange[note, A], o event.ServeOptions,
	handle func(context.Context, event.Message[note]) (A, error)) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := x.Serve(ctx, o, handle); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
}

func double(_ context.Context, m event.Message[note]) (note, error) {
	switch {
	case m.Data.N < 0:
		return note{}, errors.New("it is negative")
	case m.Data.N == 0:
		panic("nothing")
	}
	return note{N: 2 * m.Data.N}, nil
}

// first asks until a responder listens.
func first(t testing.TB, x event.Exchange[note, note]) {
	t.Helper()
	eventually(t, "somebody answers", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := x.Call(ctx, note{N: 1})
		return err == nil
	})
}

func testCall(t *testing.T, url string) {
	for _, sharded := range []bool{false, true} {
		c := open(t, url)
		x := exchange(c, event.Config{Sharded: sharded})
		serving(t, exchange(open(t, url), event.Config{Sharded: sharded}), event.ServeOptions{}, double)
		first(t, x)
		var wg sync.WaitGroup
		for i := 1; i <= 100; i++ {
			wg.Go(func() {
				if a, err := x.Call(t.Context(), note{N: i}); err != nil || a.N != 2*i {
					t.Errorf("%d: %+v %v", i, a, err)
				}
			})
		}
		wg.Wait()
		for _, n := range []int{-1, 0} {
			if failed := (*event.Answered)(nil); !errors.As(expect.Err(x.Call(t.Context(), note{N: n})), &failed) {
				t.Errorf("%d: no error of the responder", n)
			}
		}
	}
}

func TestCollect(t *testing.T) {
	t.Parallel()
	url := keywrighttest.Start(t, keywrighttest.Valkey).URL()
	x := exchange(open(t, url), event.Config{})
	for i := range 3 {
		serving(t, exchange(open(t, url), event.Config{}), event.ServeOptions{},
			func(_ context.Context, m event.Message[note]) (note, error) {
				return note{N: m.Data.N, Key: fmt.Sprint(i)}, nil
			})
	}
	for _, n := range []int{0, -1} {
		if _, err := x.Collect(t.Context(), note{N: 5}, n); err == nil || !isInvalid(err) {
			t.Errorf("%d answers: %v", n, err)
		}
	}
	// As long as it may take, until that is enough for all.
	for _, most := range []int{3, 10} {
		patience := 100 * time.Millisecond
		eventually(t, "three answer", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			patience *= 2
			all, err := x.Collect(ctx, note{N: 5}, most)
			if len(all) > 3 {
				t.Fatalf("%d answers of three", len(all))
			}
			return err == nil && len(all) == 3
		})
	}
}

// No one answers, and a connection that breaks meanwhile.
func TestNoAnswer(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	proxy := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
	var cut atomic.Bool // when the request has been sent
	c := servertest.Open(t, "redis://"+proxy.Addr(),
		keywright.Options{Hooks: []keywright.Hook{{Done: func(_ context.Context, call keywright.Call, _ keywright.Outcome) {
			if call.Op == "publish" && cut.Load() {
				proxy.Cut()
			}
		}}}})
	x := exchange(c, event.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := x.Call(ctx, note{N: 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody answers: %v", err)
	}
	serving(t, exchange(open(t, s.URL()), event.Config{}), event.ServeOptions{},
		func(ctx context.Context, m event.Message[note]) (note, error) {
			if m.Data.N == 9 {
				<-ctx.Done()
			}
			return note{}, ctx.Err()
		})
	first(t, exchange(open(t, s.URL()), event.Config{}))
	cut.Store(true)
	if _, err := x.Call(t.Context(), note{N: 9}); !errors.Is(err, event.ErrAnswerLost) {
		t.Errorf("the connection broke: %v", err)
	}
	eventually(t, "nothing is subscribed to any more", func() bool {
		return len(s.Do("PUBSUB", "CHANNELS", "answers:*").([]any)) == 0
	})
}

// what seals with a code that everybody knows; the tests of package seal are about
// ciphers.
type mask struct{}

func (mask) Seal(at keywright.Place, plain string) (string, error) {
	return at.Key + "/" + at.Field + "/" + strings.ToUpper(plain), nil
}

func (mask) Open(at keywright.Place, sealed string) (string, error) {
	plain, ok := strings.CutPrefix(sealed, at.Key+"/"+at.Field+"/")
	if !ok {
		return "", errors.New("it was sealed for another place")
	}
	return strings.ToLower(plain), nil
}

type secret struct{ Text string }

var text = value.Text(0)

var secrets = value.SealedObject(
	[]value.ObjectColumn[secret]{
		value.EncryptedMember(value.Member("text", value.Quoted, text, func(v *secret) *string { return &v.Text }))})

// What is declared encrypted travels sealed, for its channel, and not at all
// without a key ring.
func TestEncrypted(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := servertest.Open(t, s.URL(), keywright.Options{Sealer: mask{}})
	one := event.New(keywright.Binding{Client: c, Entry: &noteOf, Key: "notes:s"}, &secrets, event.Config{})
	got, raw := make(chan event.Message[secret], 1), make(chan string, 1)
	_, err := one.Subscribe(t.Context(), event.Options{}, func(m event.Message[secret], err error) { got <- m })
	must(t, err)
	_, err = c.Subscribe(t.Context(), "notes:s", keywright.Listener{Message: func(text string) { raw <- text }})
	must(t, err)
	must(t, one.Publish(t.Context(), secret{"hush"}))
	if m, text := <-got, <-raw; m.Data.Text != "hush" || strings.Contains(text, "hush") {
		t.Errorf("%+v travels as %s", m, text)
	}
	stream := event.NewStream(keywright.Binding{Client: c, Entry: &streamOf},
		event.StreamKeys{Main: "journal", Dead: "{journal}:dead"}, &secrets, event.StreamConfig{})
	_, err = stream.Publish(t.Context(), secret{"hush"})
	must(t, err)
	all, err := stream.Read(t.Context(), event.Begin, event.End, 10)
	must(t, err)
	if kept := fmt.Sprint(s.Do("XRANGE", "journal", "-", "+")); all[0].Data.Text != "hush" ||
		strings.Contains(kept, "hush") {
		t.Errorf("%+v is kept as %s", all, kept)
	}
	bare := event.New(keywright.Binding{Client: open(t, s.URL()), Entry: &noteOf, Key: "notes:s"}, &secrets,
		event.Config{})
	if class, ok := keywright.ClassOf(bare.Publish(t.Context(), secret{"hush"})); !ok || class != keywright.Invalid {
		t.Error("it was published without a key ring")
	}
}

// An error is answered although the zero answer is none that may be sent.
func TestErrorsOfStrictAnswers(t *testing.T) {
	url := keywrighttest.Start(t, keywrighttest.Valkey).URL()
	strict := value.Checked(func(text string) string {
		if text == "" {
			return "is empty"
		}
		return ""
	})
	make := func() event.Exchange[note, string] {
		return event.NewExchange(topic(open(t, url), event.Config{}, "ask"), &strict,
			func(caller string) (string, error) { return "answers:" + caller, nil })
	}
	x := make()
	serving(t, make(), event.ServeOptions{},
		func(context.Context, event.Message[note]) (string, error) { return "", errors.New("no") })
	eventually(t, "the error is answered", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		failed := (*event.Answered)(nil)
		return errors.As(expect.Err(x.Call(ctx, note{N: 1})), &failed) && failed.Text == "no"
	})
}

func isInvalid(err error) bool {
	class, _ := keywright.ClassOf(err)
	return class == keywright.Invalid
}
