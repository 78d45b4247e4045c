package event_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/event"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/kernel/notice"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value"
)

// Foreign messages of whatever form become dead letters with their contents, and
// hold nothing up.
func TestForeignMessagesAreBuried(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			j := journal(open(t, s.URL()), event.StreamConfig{Retry: 3})
			wide := func(n int) []string {
				fields := []string{}
				for i := range n {
					fields = append(fields, fmt.Sprint("f", i), "v")
				}
				return fields
			}
			foreign := [][]string{
				wide(4100), wide(500), wide(501), wide(100_000), {"", ""}, {"id", "x", "reason", "y", "form", "1", "group", "z"},
				{"data", strings.Repeat("x", 1<<20)}, {"\xff\x00", "\xfe"}, {"timestamp", "no number", "data", `{"n":1}`},
				{"data", "1", "data", "2"},
			}
			for _, fields := range foreign {
				s.Do(append([]string{"XADD", "journal", "*"}, fields...)...)
			}
			publish(t, j, 0, 3)
			var got log
			started(t, j, "g", event.RunOptions[note]{},
				func(_ context.Context, m event.Stored[note]) error { got.add(m); return nil })
			eventually(t, "all are done", func() bool {
				stats, err := j.Stats(t.Context())
				return err == nil && stats.Dead == int64(len(foreign)) && stats.Groups[0].Pending == 0 && len(got.numbers()) == 3
			})
			dead, err := j.Dead(t.Context(), event.Begin, 100)
			must(t, err)
			for i, d := range dead {
				if d.Group != "g" || d.Original == "x" || !strings.Contains(d.Reason, "not as declared") || d.Deliveries != 0 {
					t.Errorf("letter %d: %+v", i, d)
				}
			}
		})
	}
}

// bomb represents a message whose decoding panics.
type bomb struct{ N int }

func (b *bomb) UnmarshalJSON(text []byte) error {
	if bytes.Contains(text, []byte("13")) {
		panic("decoding")
	}
	_, err := fmt.Sscanf(string(text), `{"n":%d`, &b.N)
	return err
}

// A panic, or runtime.Goexit, in any function of the user costs the message.
func TestPanicsCostTheMessage(t *testing.T) {
	server := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, server.URL())
	publish(t, journal(c, event.StreamConfig{}), 0, 20)
	bombs := value.JSON[bomb]()
	s := event.NewStream(keywright.Binding{Client: c, Entry: &streamOf},
		event.StreamKeys{Main: "journal", Dead: "{journal}:dead"}, &bombs, event.StreamConfig{Retry: 2})
	var handled atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		must(t, s.Run(ctx, "g", func(_ context.Context, m event.Stored[bomb]) error {
			switch m.Data.N {
			case 3:
				panic("handler")
			case 4:
				runtime.Goexit()
			}
			handled.Add(1)
			return nil
		}, event.RunOptions[bomb]{Backoff: time.Millisecond, Concurrency: 3, OnError: func(error) { panic("OnError") },
			Key: func(b bomb) string {
				switch b.N {
				case 1:
					panic("key")
				case 2:
					runtime.Goexit()
				}
				return fmt.Sprint(b.N % 5)
			}}))
	})
	eventually(t, "the others are handled", func() bool {
		stats, err := s.Stats(t.Context())
		return err == nil && handled.Load() == 15 && len(stats.Groups) == 1 && stats.Groups[0].Pending == 0 && stats.Dead == 5
	})
	cancel()
	wg.Wait()
	dead, err := s.Dead(t.Context(), event.Begin, 10)
	must(t, err)
	var reasons []string
	for _, d := range dead {
		reasons = append(reasons, d.Reason)
	}
	slices.Sort(reasons)
	if want := []string{
		"RunOptions.Key called runtime.Goexit", "RunOptions.Key panicked: key", "decoding panicked: decoding",
		"the handler called runtime.Goexit", "the handler panicked: handler",
	}; !slices.Equal(reasons, want) {
		t.Errorf("the reasons are %q", reasons)
	}
}

// A panic of a topic's handler costs the message and is reported.
func TestTopicHandlerPanics(t *testing.T) {
	c := open(t, keywrighttest.Start(t, keywrighttest.Redis).URL())
	one := topic(c, event.Config{}, "a")
	var h received
	stop, err := one.Subscribe(t.Context(), event.Options{}, func(m event.Message[note], err error) {
		h.receive(m, err)
		switch {
		case err != nil:
			panic("again")
		case m.Data.N == 1:
			panic("once")
		case m.Data.N == 2:
			runtime.Goexit()
		}
	})
	must(t, err)
	defer stop()
	for i := range 4 {
		must(t, one.Publish(t.Context(), note{N: i}))
	}
	eventually(t, "all are heard", func() bool { return len(h.messages()) == 4 && len(h.reportedNotices()) == 2 })
	if panicked := (*event.Panicked)(nil); !errors.As(h.reportedNotices()[0], &panicked) || panicked.Channel != "notes:a" {
		t.Errorf("%v", h.reportedNotices())
	}
}

// A handler of an exchange that ends its goroutine costs the request.
func TestServeSurvives(t *testing.T) {
	c := open(t, keywrighttest.Start(t, keywrighttest.Redis).URL())
	x := exchange(c, event.Config{})
	serving(t, x, event.ServeOptions{Concurrency: 1}, func(_ context.Context, m event.Message[note]) (note, error) {
		if m.Data.N == 1 {
			runtime.Goexit()
		}
		return m.Data, nil
	})
	eventually(t, "it answers", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := x.Call(ctx, note{N: 0})
		return err == nil
	})
	if _, err := x.Call(t.Context(), note{N: 1}); !errors.As(err, new(*event.Answered)) {
		t.Errorf("%v", err)
	}
	if a, err := x.Call(t.Context(), note{N: 2}); err != nil || a.N != 2 {
		t.Errorf("%v, %v", a, err)
	}
}

// The zero values, and what is missing, are errors of class Invalid.
func TestZeroValues(t *testing.T) {
	c := open(t, keywrighttest.Start(t, keywrighttest.Redis).URL())
	ctx := t.Context()
	var topic0 event.Topic[note]
	var stream0 event.Stream[note]
	var exchange0 event.Exchange[note, note]
	var topics0 event.Topics[note]
	j, x, one := journal(c, event.StreamConfig{}), exchange(c, event.Config{}), topic(c, event.Config{}, "a")
	first := func(seq func(func(event.Message[note], error) bool)) (err error) {
		for _, err = range seq {
			break
		}
		return err
	}
	second := func(_ any, err error) error { return err }
	hear := func(event.Message[note], error) {}
	handle := func(context.Context, event.Stored[note]) error { return nil }
	answer := func(context.Context, event.Message[note]) (note, error) { return note{}, nil }
	stopless := func(_ func(), err error) error { return err }
	for name, err := range map[string]error{
		"publish":            topic0.Publish(ctx, note{}),
		"subscribe":          stopless(topic0.Subscribe(ctx, event.Options{}, hear)),
		"all":                first(topic0.All(ctx, event.Options{})),
		"topics":             stopless(topics0.Subscribe(ctx, event.Options{}, hear)),
		"pattern":            first(event.Pattern(topic0, "*", nil).All(ctx, event.Options{})),
		"stream publish":     second(stream0.Publish(ctx, note{})),
		"stream read":        second(stream0.Read(ctx, "", "", 1)),
		"stream dead":        second(stream0.Dead(ctx, "", 1)),
		"stats":              second(stream0.Stats(ctx)),
		"trim":               second(stream0.Trim(ctx, event.Policy{MaxLen: 1})),
		"redrive":            second(stream0.Redrive(ctx, "1-1")),
		"ack":                second(stream0.Ack(ctx, "g", "1-1")),
		"run":                stream0.Run(ctx, "g", handle, event.RunOptions[note]{}),
		"call":               second(exchange0.Call(ctx, note{})),
		"collect":            second(exchange0.Collect(ctx, note{}, 1)),
		"serve":              exchange0.Serve(ctx, event.ServeOptions{}, answer),
		"subscribe, nothing": stopless(one.Subscribe(ctx, event.Options{}, nil)),
		"run, nothing":       j.Run(ctx, "g", nil, event.RunOptions[note]{}),
		"run, no group":      j.Run(ctx, "", handle, event.RunOptions[note]{}),
		"run, grace":         j.Run(ctx, "g", handle, event.RunOptions[note]{Grace: -1}),
		"run, batch":         j.Run(ctx, "g", handle, event.RunOptions[note]{Batch: 1 << 30}),
		"serve, nothing":     x.Serve(ctx, event.ServeOptions{}, nil),
	} {
		if class, ok := keywright.ClassOf(err); !ok || class != keywright.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	publish(t, j, 0, 3)
	var n int
	for _, err := range j.All(ctx, "") {
		must(t, err)
		n++
	}
	if n != 3 {
		t.Errorf("from the zero position there are %d", n)
	}
}

// When the client closes, all that runs ends with ErrClosed.
func TestCloseEndsAll(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c, other := open(t, s.URL()), open(t, s.URL())
	ends := make(chan error, 10)
	began := make(chan struct{}, 10)
	publish(t, journal(other, event.StreamConfig{}), 0, 1)
	var h received
	_, err := topic(c, event.Config{}, "a").Subscribe(t.Context(), event.Options{}, h.receive)
	must(t, err)
	go func() {
		ends <- journal(c, event.StreamConfig{}).Run(t.Context(), "g", func(ctx context.Context, _ event.Stored[note]) error {
			began <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}, event.RunOptions[note]{})
	}()
	go func() { ends <- exchange(c, event.Config{}).Serve(t.Context(), event.ServeOptions{}, double) }()
	go func() {
		var last error
		for m, err := range topic(c, event.Config{}, "b").All(t.Context(), event.Options{}) {
			if last = err; err == nil && m.Data.N == 7 {
				began <- struct{}{}
			}
		}
		ends <- last
	}()
	go func() {
		_, err := exchange(c, event.Config{}).Call(t.Context(), note{N: 1 << 20})
		ends <- err
	}()
	<-began
	eventually(t, "the loop hears", func() bool {
		must(t, topic(other, event.Config{}, "b").Publish(t.Context(), note{N: 7}))
		return len(began) > 0
	})
	eventually(t, "the server listens", func() bool {
		return s.Do("PUBSUB", "NUMSUB", "notes:ask").([]any)[1].(int64) > 0
	})
	c.Close()
	for range 4 {
		if err := <-ends; err != nil && !errors.Is(err, keywright.ErrClosed) && !errors.As(err, new(*event.Answered)) {
			t.Errorf("%v", err)
		} else if err == nil {
			t.Log("one ended without an error: the call was answered")
		}
	}
	eventually(t, "the handler is told", func() bool {
		told := h.reportedNotices()
		return len(told) > 0 && errors.Is(told[len(told)-1], keywright.ErrClosed)
	})
}

// A normal start, work and stop write nothing at Info; a dead letter one line.
func TestWhatIsLogged(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	var text bytes.Buffer
	var mu sync.Mutex
	kinds := map[notice.Kind]int{}
	c, err := keywright.Open(t.Context(), s.URL(), keywright.Options{
		Logger: slog.New(slog.NewTextHandler(&text, nil)),
		Hooks: []keywright.Hook{
			{Notice: func(_ context.Context, n keywright.Notice) { mu.Lock(); kinds[n.Kind]++; mu.Unlock() }}},
	})
	must(t, err)
	j := journal(c, event.StreamConfig{Retry: 2})
	publish(t, j, 0, 10)
	var got log
	stop := started(t, j, "g", event.RunOptions[note]{Backoff: time.Millisecond},
		func(_ context.Context, m event.Stored[note]) error {
			if got.add(m); m.Data.N == 4 {
				return errors.New("the secret")
			}
			return nil
		})
	eventually(t, "all is done", func() bool {
		stats, err := j.Stats(t.Context())
		return err == nil && stats.Dead == 1 && stats.Groups[0].Pending == 0
	})
	stop()
	c.Close()
	if lines := strings.Count(text.String(), "\n"); lines != 1 || !strings.Contains(text.String(), "dead letter") ||
		strings.Contains(text.String(), "secret") {
		t.Errorf("the log:\n%s", text.String())
	}
	if kinds[notice.MessageDone] != 9 || kinds[notice.MessageFailed] != 2 || kinds[notice.DeadLetter] != 1 {
		t.Errorf("%v", kinds)
	}
}

// A message in a newer form is left pending, by each consumer that does not know
// it, and one that does gets it.
func TestNewerFormsAreLeft(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL())
	j := journal(c, event.StreamConfig{Retry: 1})
	s.Do("XADD", "journal", "*", "form", "2", "timestamp", "1", "data", `{"n":99}`)
	publish(t, j, 0, 3)
	var told atomic.Int64
	var got log
	o := event.RunOptions[note]{Lease: 300 * time.Millisecond, OnError: func(err error) {
		if newer := (*event.NewerForm)(nil); errors.As(err, &newer) && newer.Form == "2" {
			told.Add(1)
		}
	}}
	for range 2 {
		started(t, j, "g", o, func(_ context.Context, m event.Stored[note]) error { got.add(m); return nil })
	}
	eventually(t, "both have looked at it", func() bool { return told.Load() == 2 })
	eventually(t, "the others are done", func() bool {
		rows := s.Do("XPENDING", "journal", "g", "-", "+", "10").([]any)
		return len(got.numbers()) == 3 && len(rows) == 1 && rows[0].([]any)[3].(int64) == 1
	})
	later := event.NewStream(keywright.Binding{Client: c, Entry: &streamOf},
		event.StreamKeys{Main: "journal", Dead: "{journal}:dead"}, &notes, event.StreamConfig{Plain: true})
	var newer log
	started(t, later, "g", event.RunOptions[note]{Lease: 300 * time.Millisecond},
		func(_ context.Context, m event.Stored[note]) error { newer.add(m); return nil })
	eventually(t, "one that knows it has it", func() bool { return slices.Equal(newer.numbers(), []int{99}) })
	if _, err := j.Read(t.Context(), event.Begin, event.End, 1); !errors.As(err, new(*event.NewerForm)) {
		t.Errorf("%v", err)
	}
	var h received
	_, err := topic(c, event.Config{}, "a").Subscribe(t.Context(), event.Options{}, h.receive)
	must(t, err)
	s.Do("PUBLISH", "notes:a", `{"form":2,"timestamp":1,"data":{"n":1}}`)
	eventually(t, "it is told", func() bool { return len(h.reportedNotices()) == 1 })
	if !errors.As(h.reportedNotices()[0], new(*event.NewerForm)) || len(h.messages()) != 0 {
		t.Errorf("%v, %v", h.reportedNotices(), h.messages())
	}
	s.Do("XADD", "{journal}:dead", "*", "form", "2", "id", "1-1")
	if _, err := j.Dead(t.Context(), event.Begin, 1); !errors.As(err, new(*event.NewerForm)) {
		t.Errorf("%v", err)
	}
}

// What this version stores, as later ones must read it.
func TestFixtures(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL())
	j := journal(c, event.StreamConfig{})
	s.Do("XADD", "journal", "1-1", "timestamp", "1700000000000", "data", `{"n":1,"key":"k"}`)
	s.Do("XADD", "{journal}:dead", "2-1", "form", "1", "id", "1-1", "group", "g", "reason", "no", "deliveries", "5",
		"timestamp", "1700000000000", "data", `{"n":1}`)
	s.Do("XADD", "{journal}:dead", "2-2", "form", "1", "id", "1-2", "group", "g", "reason", "no", "deliveries", "5",
		"packed", `9:timestamp13:17000000000004:data7:{"n":2}`)
	all, err := j.Read(t.Context(), "", "", 10)
	must(t, err)
	dead, err := j.Dead(t.Context(), "", 10)
	must(t, err)
	if len(all) != 1 || all[0].Data != (note{1, "k"}) || all[0].Time.UnixMilli() != 1700000000000 {
		t.Errorf("%+v", all)
	}
	if len(dead) != 2 || dead[0].Data.N != 1 || dead[1].Data.N != 2 || dead[1].Time.UnixMilli() != 1700000000000 ||
		dead[1].Original != "1-2" {
		t.Errorf("%+v", dead)
	}
	var h received
	_, err = topic(c, event.Config{}, "a").Subscribe(t.Context(), event.Options{}, h.receive)
	must(t, err)
	s.Do("PUBLISH", "notes:a", `{"timestamp":1700000000000,"data":{"n":3}}`)
	eventually(t, "it is heard", func() bool { return len(h.messages()) == 1 })
	if m := h.messages()[0]; m.Data.N != 3 || m.Time.UnixMilli() != 1700000000000 {
		t.Errorf("%+v", m)
	}
}

// A key that holds something else is named.
func TestWrongTypesAreNamed(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL())
	j := journal(c, event.StreamConfig{})
	s.Do("SET", "journal", "x")
	ctx := t.Context()
	_, published := j.Publish(ctx, note{})
	_, read := j.Read(ctx, "", "", 1)
	_, looked := j.Stats(ctx)
	_, trimmed := j.Trim(ctx, event.Policy{MaxLen: 1})
	_, acked := j.Ack(ctx, "g", "1-1")
	for name, err := range map[string]error{"publish": published, "read": read, "stats": looked, "trim": trimmed,
		"ack": acked} {
		if class, _ := keywright.ClassOf(err); err == nil || !strings.Contains(err.Error(), `"journal"`) ||
			name != "stats" && class != keywright.Refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.Do("DEL", "journal")
	s.Do("SET", "{journal}:dead", "x")
	publish(t, j, 0, 1)
	_, redriven := j.Redrive(ctx, "1-1")
	told := make(chan error, 100)
	started(t, j, "g", event.RunOptions[note]{OnError: func(err error) {
		select {
		case told <- err:
		default:
		}
	}}, func(context.Context, event.Stored[note]) error { return event.Discard(errors.New("no")) })
	for name, err := range map[string]error{"redrive": redriven, "bury": <-told} {
		if class, _ := keywright.ClassOf(err); class != keywright.Refused ||
			!strings.Contains(err.Error(), "{journal}:dead") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.Do("XPENDING", "journal", "g").([]any)[0].(int64) != 1 {
		t.Error("the message is gone")
	}
	s.Do("DEL", "{journal}:dead")
	eventually(t, "it is buried then", func() bool { return s.Do("XLEN", "{journal}:dead").(int64) == 1 })
}
