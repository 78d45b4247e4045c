package fallback_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/fallback"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"pgregory.net/rapid"
)

// faulty represents a target that fails on command: without chance, so that a model can
// say what has to become of every write.
type faulty struct {
	hashes
	mu    sync.Mutex
	down  bool
	fault string // of the next write: "reply" and "request" are lost, "late" arrives on command
	late  []func()
}

var errDown = errors.New("the test says so")

func (f *faulty) set(down bool, fault string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down, f.fault = down, fault
}

func (f *faulty) downError(class keywright.Class) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return &keywright.Error{Class: class, Err: errDown}
	}
	return nil
}

func (f *faulty) Get(ctx context.Context, id string) (fallback.Item[fallback.Fields], error) {
	if err := f.downError(keywright.Retryable); err != nil {
		return fallback.Item[fallback.Fields]{}, err
	}
	return f.hashes.Get(ctx, id)
}

func (f *faulty) Ping(ctx context.Context) error {
	if err := f.downError(keywright.Retryable); err != nil {
		return err
	}
	return f.hashes.Ping(ctx)
}

func (f *faulty) Write(ctx context.Context, id string, c fallback.Change) (int64, error) {
	if err := f.downError(keywright.NotApplied); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	send := func() { _, _ = f.hashes.Write(context.WithoutCancel(ctx), id, c) }
	switch f.fault {
	case "":
		return f.hashes.Write(ctx, id, c)
	case "reply":
		send()
	case "late":
		f.late = append(f.late, send)
	}
	f.down, f.fault = true, ""
	return 0, &keywright.Error{Class: keywright.UnknownOutcome, Err: errDown}
}

func (f *faulty) deliver() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, send := range f.late {
		send()
	}
	f.late = nil
}

// state represents an item as the model has it.
type state struct {
	there      bool
	text, more string
	gen        int // the version
}

func (s state) String() string {
	if !s.there {
		return "-"
	}
	return s.text + "/" + s.more
}

type step struct {
	kind fallback.Kind
	v    string
	base int // gen that is there, 0 for none
	id   string
}

// after returns an item after a step.
func (m *model) after(s state, w step) state {
	switch {
	case w.kind == fallback.Delete:
		return state{}
	case !s.there:
		m.epoch++
		s = state{there: true, gen: 1000 * m.epoch}
	default:
		s.gen++
	}
	if w.kind == fallback.Put {
		s.text, s.more = w.v, ""
	} else {
		s.more = w.v
	}
	return s
}

// model describes what has to be.
type model struct {
	epoch  int
	server map[string]state
	copies map[string]state // what the second store has from the server
	chain  map[string][]step
	late   []step
	down   bool
}

// shown returns an item as a reader sees it while the server is away.
func (m *model) shown(id string) (s state, known bool) {
	s, known = m.copies[id]
	for _, w := range m.chain[id] {
		s, known = m.after(s, w), true
	}
	return s, known
}

// learn is a read of the server.
func (m *model) learn(id string) {
	if s := m.server[id]; s.there {
		m.copies[id] = s
	} else if _, known := m.copies[id]; known {
		m.copies[id] = state{}
	}
}

// back returns the replay.
func (m *model) back() (conflicts int) {
	m.down = false
	for id, chain := range m.chain {
		at := m.copies[id].gen
		for i, w := range chain {
			now := m.server[id]
			switch want := m.after(now, w); {
			case now.gen == at:
				m.server[id] = want
			case w.kind == fallback.Delete && !now.there:
			case w.kind == fallback.Put && now.there && now.text == w.v && now.more == "":
			case w.kind == fallback.Update && now.gen == at+1 && now.more == w.v:
			default:
				conflicts += len(chain) - i
				at = -1
			}
			if at < 0 {
				break
			}
			at = m.server[id].gen
		}
		m.copies[id] = m.server[id]
	}
	clear(m.chain)
	return conflicts
}

func (m *model) deliver() {
	for _, w := range m.late {
		if m.server[w.id].gen == w.base {
			m.server[w.id] = m.after(m.server[w.id], w)
		}
	}
	m.late = nil
}

// write returns a write by the guard, with a fault: what has to come of it.
func (m *model) write(w step, fault string) (pending bool, err error) {
	now := m.server[w.id]
	if !m.down {
		m.learn(w.id)
		if !now.there && w.kind != fallback.Put {
			return false, keywright.ErrNotFound
		}
		w.base = now.gen
		if fault == "" || fault == "reply" {
			m.server[w.id] = m.after(now, w)
		}
		switch {
		case fault == "" && w.kind != fallback.Delete:
			m.copies[w.id] = m.server[w.id]
			return false, nil
		case fault == "":
			m.copies[w.id] = state{}
			return false, nil
		case fault == "late":
			m.late = append(m.late, w)
		}
		m.down = true
	}
	if s, known := m.shown(w.id); w.kind != fallback.Put && !known {
		return false, fallback.ErrNoCopy
	} else if w.kind != fallback.Put && !s.there {
		return false, keywright.ErrNotFound
	}
	m.chain[w.id] = append(m.chain[w.id], w)
	return true, nil
}

// run represents one guard and its model.
type run struct {
	*rapid.T
	w       world
	f       *faulty
	g       *fallback.Guard[fallback.Fields]
	m       *model
	prefix  string
	n, lost int
}

func (r *run) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *run) write(id string, kind fallback.Kind, fault string) {
	r.n++
	w := step{kind: kind, v: fmt.Sprint(r.n), id: id}
	if !r.m.down && fault != "" {
		r.get(id) // so that the write is sent once, with the version that is there
		r.f.set(false, fault)
	}
	pending, want := r.m.write(w, fault)
	got, err := r.g.Put, error(nil)
	var receipt fallback.Receipt
	switch kind {
	case fallback.Put:
		receipt, err = got(context.Background(), r.prefix+id, text(w.v))
	case fallback.Update:
		receipt, err = r.g.Update(context.Background(), r.prefix+id, fallback.Fields{"more": w.v})
	case fallback.Delete:
		receipt, err = r.g.Delete(context.Background(), r.prefix+id)
	}
	if !errors.Is(err, want) || receipt.Pending != pending {
		r.Fatalf("%s of %s: pending %v, %v; want %v, %v", kind, id, receipt.Pending, err, pending, want)
	}
	r.f.set(r.m.down, "")
}

func (r *run) get(id string) {
	a, err := r.g.Get(context.Background(), r.prefix+id)
	want, known, source := r.m.server[id], true, fallback.FromRedis
	if r.m.down {
		want, known = r.m.shown(id)
		source = fallback.Second
	} else {
		r.m.learn(id)
	}
	got := "?"
	if errors.Is(err, keywright.ErrNotFound) {
		got = "-"
	} else if err == nil {
		got = a.Value["text"] + "/" + a.Value["more"]
	}
	switch {
	case !known && errors.Is(err, fallback.ErrNoCopy):
	case !known || got != want.String() || a.Source != source || a.Pending != len(r.m.chain[id]):
		r.Fatalf("get %s: %s from %s, %d pending, %v; want %v (known %v), %d pending", id, got, a.Source, a.Pending, err,
			want, known, len(r.m.chain[id]))
	}
}

// foreign is a write past the guard.
func (r *run) foreign(id string, kind fallback.Kind) {
	r.n++
	w := step{kind: kind, v: fmt.Sprint(r.n), id: id}
	if !r.m.server[id].there && kind != fallback.Put {
		return
	}
	r.m.server[id] = r.m.after(r.m.server[id], w)
	c := fallback.Change{Kind: kind, Fields: fallback.Fields{"more": w.v}, If: fallback.Any}
	if kind == fallback.Put {
		c.Fields = text(w.v)
	}
	_, err := r.w.raw.Write(context.Background(), r.prefix+id, c)
	r.ok(err)
}

// back lets the server return, and compares all there is with the model.
func (r *run) back() {
	r.lost += r.m.back()
	r.f.set(false, "")
	for deadline := time.Now().Add(10 * time.Second); ; <-time.After(time.Millisecond) {
		if s, err := r.g.State(context.Background()); err != nil || time.Now().After(deadline) {
			r.Fatalf("the replay does not end: %+v, %v", s, err)
		} else if s.Phase == fallback.Up {
			break
		}
	}
	for _, id := range ids {
		item, err := r.w.raw.Get(context.Background(), r.prefix+id)
		got := item.Value["text"] + "/" + item.Value["more"]
		if errors.Is(err, keywright.ErrNotFound) {
			got = "-"
		}
		if want := r.m.server[id]; got != want.String() {
			r.Fatalf("%s is %s (%v), want %v", id, got, err, want)
		}
	}
	list, err := r.g.Conflicts(context.Background())
	if err != nil || len(list) != r.lost {
		r.Fatalf("%d conflicts, want %d, %v", len(list), r.lost, err)
	}
}

var ids = []string{"a", "b", "c"}

// TestModel: whatever is done in whatever order, by the guard and past it, with
// outages, lost requests, lost replies and late requests: after the return the
// server has what a plain model says, and each read said before what it had to.
func TestModel(t *testing.T) {
	w := newWorld(t, keywrighttest.Redis, fallback.Options{})
	runs := 0
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		runs++
		r := &run{T: t, w: w, f: &faulty{hashes: w.raw}, prefix: fmt.Sprintf("%d:", runs),
			m: &model{server: map[string]state{}, copies: map[string]state{}, chain: map[string][]step{}}}
		var err error
		r.g, err = fallback.New(r.f, fallback.NewMemory(fallback.Limits{}),
			fast(fallback.Options{Probe: time.Millisecond, Patience: 5 * time.Second, WritePatience: 5 * time.Second}))
		r.ok(err)
		defer func() { _ = r.g.Close() }()
		id := rapid.SampledFrom(ids)
		kind := rapid.SampledFrom([]fallback.Kind{fallback.Put, fallback.Update, fallback.Update, fallback.Delete})
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) { r.write(id.Draw(t, "id"), kind.Draw(t, "kind"), "") },
			"fault": func(t *rapid.T) {
				fault := rapid.SampledFrom([]string{"reply", "request", "late"}).Draw(t, "fault")
				r.write(id.Draw(t, "id"), kind.Draw(t, "kind"), fault)
			},
			"get":     func(t *rapid.T) { r.get(id.Draw(t, "id")) },
			"foreign": func(t *rapid.T) { r.foreign(id.Draw(t, "id"), kind.Draw(t, "kind")) },
			"away":    func(*rapid.T) { r.m.down = true; r.f.set(true, "") },
			"late":    func(*rapid.T) { r.f.deliver(); r.m.deliver() },
			"back":    func(*rapid.T) { r.back() },
		})
		r.back()
	})
}
