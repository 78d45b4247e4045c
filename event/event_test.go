package event_test

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
	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value"
	"go.uber.org/goleak"
)

// What rueidis puts off (see the tests of the root package) ends by itself.
func TestMain(m *testing.M) {
	worker()
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"))
}

type note struct {
	N   int    `json:"n"`
	Key string `json:"key,omitempty"`
}

var (
	notes    = value.JSON[note]()
	noteOf   = keywright.Entry{Name: "notes", Pattern: "notes:{who}", Type: "channel"}
	streamOf = keywright.Entry{Name: "journal", Pattern: "journal", Type: "stream"}
)

var (
	must       = expect.NoError
	open       = servertest.OpenPatient
	eventually = expect.Eventually
)

// TestServers runs what both servers, alone and as clusters, must do.
func TestServers(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			s.WatchScripts() // none writes before it has looked at all its keys
			all(t, s.URL(), s)
		})
		t.Run(string(brand)+" cluster", func(t *testing.T) {
			t.Parallel()
			c := keywrighttest.StartCluster(t, brand, 3, 0)
			all(t, c.URL(), c.Nodes...)
			t.Run("SlotMoves", func(t *testing.T) { testSlotMoves(t, c) })
		})
	}
}

func all(t *testing.T, url string, servers ...*keywrighttest.Server) {
	for name, f := range map[string]func(*testing.T, string){
		"Topic":               testTopic,
		"PatternAndJoin":      testPatternAndJoin,
		"Stream":              testStream,
		"RetryAndDeadLetters": testRetryAndDeadLetters,
		"Trim":                testTrim,
		"Trimmed":             testTrimmed,
		"Call":                testCall,
	} {
		for _, s := range servers {
			s.Do("FLUSHALL")
		}
		t.Run(name, func(t *testing.T) { f(t, url) })
	}
}

func topic(c *keywright.Client, config event.Config, who string) event.Topic[note] {
	return event.New(keywright.Binding{Client: c, Entry: &noteOf, Key: "notes:" + who}, &notes, config)
}

// received holds the messages and notices of a subscription.
type received struct {
	mu      sync.Mutex
	all     []event.Message[note]
	notices []error
}

func (h *received) receive(m event.Message[note], err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.notices = append(h.notices, err)
		return
	}
	h.all = append(h.all, m)
}

func (h *received) messages() []event.Message[note] {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]event.Message[note](nil), h.all...)
}

func (h *received) reportedNotices() []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]error(nil), h.notices...)
}

func testTopic(t *testing.T, url string) {
	c, other := open(t, url), open(t, url)
	for _, config := range []event.Config{{}, {Plain: true}, {Sharded: true}, {Plain: true, Sharded: true}} {
		var h received
		who := fmt.Sprintf("%v-%v", config.Plain, config.Sharded)
		stop, err := topic(c, config, who).Subscribe(t.Context(), event.Options{}, h.receive)
		must(t, err)
		for i := range 50 {
			must(t, topic(other, config, who).Publish(t.Context(), note{N: i}))
		}
		eventually(t, "all are heard", func() bool { return len(h.messages()) == 50 })
		for i, m := range h.messages() {
			timed := !config.Plain && time.Since(m.Time).Abs() < time.Minute
			if m.Data.N != i || m.Channel != "notes:"+who || config.Plain != m.Time.IsZero() || !config.Plain && !timed {
				t.Fatalf("%+v: message %d is %+v", config, i, m)
			}
		}
		stop()
		must(t, topic(other, config, who).Publish(t.Context(), note{}))
		if len(h.messages()) != 50 || len(h.reportedNotices()) > 0 {
			t.Errorf("after the end: %d messages, %v", len(h.messages()), h.reportedNotices())
		}
	}
}

func testPatternAndJoin(t *testing.T, url string) {
	c := open(t, url)
	var all, two received
	_, err := event.Pattern(topic(c, event.Config{}, ""), "notes:*",
		func(name string) bool { return !strings.HasSuffix(name, "x") }).Subscribe(t.Context(), event.Options{}, all.receive)
	must(t, err)
	_, err = event.Join(topic(c, event.Config{}, "a"), topic(c, event.Config{}, "x")).Subscribe(t.Context(),
		event.Options{}, two.receive)
	must(t, err)
	for i, who := range []string{"a", "b", "x"} {
		must(t, topic(c, event.Config{}, who).Publish(t.Context(), note{N: i}))
	}
	eventually(t, "they are heard", func() bool { return len(all.messages()) == 2 && len(two.messages()) == 2 })
	// In a cluster they came by two nodes: there is no order between channels.
	channels := map[string]bool{}
	for _, m := range all.messages() {
		channels[m.Channel] = true
	}
	if !channels["notes:a"] || !channels["notes:b"] {
		t.Errorf("%v", channels)
	}
	_, err = event.Pattern(topic(c, event.Config{Sharded: true}, ""), "notes:*", nil).Subscribe(t.Context(),
		event.Options{}, all.receive)
	if class, ok := keywright.ClassOf(err); !ok || class != keywright.Invalid {
		t.Errorf("a pattern of sharded channels: %v", err)
	}
}

// A cut connection and a server that begins again are reported, once each.
func TestGap(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		for _, sharded := range []bool{false, true} {
			t.Run(fmt.Sprint(brand, " sharded ", sharded), func(t *testing.T) {
				t.Parallel()
				s := keywrighttest.Start(t, brand)
				proxy := keywrighttest.NewProxy(t, s.Addr(), keywrighttest.Rules{})
				mine := topic(open(t, "redis://"+proxy.Addr()), event.Config{Sharded: sharded}, "a")
				theirs := topic(open(t, s.URL()), event.Config{Sharded: sharded}, "a")
				var h received
				_, err := mine.Subscribe(t.Context(), event.Options{}, h.receive)
				must(t, err)
				for round, fault := range []func(){proxy.Cut, s.Restart} {
					must(t, theirs.Publish(t.Context(), note{N: 1}))
					eventually(t, "it is heard", func() bool { return len(h.messages()) == 2*round+1 })
					fault()
					eventually(t, "the gap is told", func() bool { return len(h.reportedNotices()) == round+1 })
					if gap := (*event.Gap)(nil); !errors.As(h.reportedNotices()[round], &gap) || gap.Channel != "notes:a" {
						t.Fatalf("%v", h.reportedNotices())
					}
					eventually(t, "it goes on", func() bool { return theirs.Publish(t.Context(), note{N: 2}) == nil })
					eventually(t, "it is heard", func() bool { return len(h.messages()) == 2*round+2 })
				}
			})
		}
	}
}

// The subscription of a sharded channel follows its slot.
func testSlotMoves(t *testing.T, cluster *keywrighttest.Cluster) {
	c := open(t, cluster.URL())
	var h received
	names := map[string]event.Topic[note]{}
	for i := 0; len(names) < 4; i++ {
		if name := fmt.Sprint(i); slot.Of([]byte("notes:"+name)) < 40 {
			names[name] = topic(c, event.Config{Sharded: true}, name)
		}
	}
	for _, one := range names {
		_, err := one.Subscribe(t.Context(), event.Options{}, h.receive)
		must(t, err)
	}
	cluster.MoveSlots(0, 1, 40)
	eventually(t, "the gaps are told", func() bool { return len(h.reportedNotices()) >= 4 })
	for name, one := range names {
		eventually(t, "channel "+name+" is heard", func() bool {
			if err := one.Publish(t.Context(), note{Key: name}); err != nil {
				return false
			}
			return slices.ContainsFunc(h.messages(), func(m event.Message[note]) bool { return m.Data.Key == name })
		})
	}
}

// A slow handler loses messages, gets their number, and holds up no one.
func TestDropped(t *testing.T) {
	c := open(t, keywrighttest.Start(t, keywrighttest.Redis).URL())
	slow, quick := received{}, received{}
	held := make(chan struct{})
	one := topic(c, event.Config{}, "a")
	_, err := one.Subscribe(t.Context(), event.Options{Buffer: 10},
		func(m event.Message[note], err error) { <-held; slow.receive(m, err) })
	must(t, err)
	_, err = one.Subscribe(t.Context(), event.Options{}, quick.receive)
	must(t, err)
	for i := range 100 {
		must(t, one.Publish(t.Context(), note{N: i}))
	}
	eventually(t, "the other one hears all", func() bool { return len(quick.messages()) == 100 })
	close(held)
	eventually(t, "the drop is told", func() bool { return len(slow.reportedNotices()) > 0 })
	lost := 0
	for _, notice := range slow.reportedNotices() {
		if d := (*event.Dropped)(nil); errors.As(notice, &d) {
			lost += d.Messages
		}
	}
	if n := len(slow.messages()); n+lost != 100 || n < 10 || n > 11 {
		t.Errorf("%d heard, %d dropped", n, lost)
	}
}

func TestIteratorAndBadMessage(t *testing.T) {
	c := open(t, keywrighttest.Start(t, keywrighttest.Valkey).URL())
	one := topic(c, event.Config{}, "a")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil { // until the loop below listens and has received one
			_ = c.Raw().Do(ctx, c.Raw().B().Publish().Channel("notes:a").Message("no json").Build()).Error()
			_ = one.Publish(ctx, note{N: 7})
			<-time.After(time.Millisecond)
		}
	}()
	var bad, good int
	for m, err := range one.All(ctx, event.Options{}) {
		if decode := (*keywright.DecodeError)(nil); errors.As(err, &decode) {
			bad++
		} else if must(t, err); m.Data.N == 7 {
			good++
		}
		if bad > 2 && good > 2 {
			break
		}
	}
	if bad < 3 || good < 3 {
		t.Errorf("%d bad, %d good", bad, good)
	}
}
