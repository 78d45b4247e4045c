package entity

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"pgregory.net/rapid"
)

// dice decide what happens next.
type dice interface {
	below(n int) int
}

type rapidDice struct{ t *rapid.T }

func (d rapidDice) below(n int) int { return rapid.IntRange(0, n-1).Draw(d.t, "n") }

// failer gets the report of a contradiction; it ends the run.
type failer interface {
	Fatalf(format string, args ...any)
	Helper()
}

// mirror represents an item of the model.
type mirror struct {
	v       note // without what the server stamps
	version int64
	created time.Time // as it was first read
}

// world represents a store, and a plain model of what it should hold.
type world struct {
	failer
	dice
	ctx    context.Context
	server *keywrighttest.Server
	prefix string
	notes  *Store[string, note] // what is tried; its connection may suffer
	direct *Store[string, note] // looks from aside

	live, dead map[string]mirror // dead: expired and not yet swept
	top        map[string]int64  // the highest version that an id has had
	log        map[string][]string
	touched    map[string]bool // ids that something has happened to
	walking    bool
	inTheWay   bool
	tells      bool // has events; without them writes take another way
	faulty     bool
	settle     func() // after a lost reply: what is under way is over
	unknown    int
}

func newWorld(f failer, d dice, s *keywrighttest.Server, c *keywright.Client, prefix string, tells bool) *world {
	spec := noteSpec(prefix)
	if tells {
		spec = telling(prefix)
	}
	notes := storeOf(c, spec)
	return &world{failer: f, dice: d, ctx: context.Background(), server: s, prefix: prefix, notes: notes, direct: notes,
		tells: tells,
		live:  map[string]mirror{}, dead: map[string]mirror{}, top: map[string]int64{}, log: map[string][]string{},
		touched: map[string]bool{}}
}

// telling has each event in a stream and on a channel.
func telling(prefix string) *Spec[string, note] {
	spec := announcing(prefix)
	for _, events := range []*[]Event{&spec.OnCreate, &spec.OnUpdate, &spec.OnDelete, &spec.OnExpire} {
		*events = append(*events, Event{Mode: Publish, Channel: prefix + ".events", Plain: true, Data: (*events)[0].Data})
	}
	return spec
}

var (
	someIDs      = []string{"0", "-", "1", "007", "@x", "a=b", "ü", `"q"`, "new\nline", "*", "x y", "nul\x00nul"}
	someKinds    = []string{"fact", "task", "@x", "=3", "kind=3", `"`, "\x7f\x01", "é☃"}
	someTexts    = []string{"", "hello", "@kind", "*", "\x00\xff\xfe", "'\"\n"}
	someContexts = []string{"c1", "c2"}
)

func pick[E any](d dice, of []E) E { return of[d.below(len(of))] }

func (w *world) note() note {
	return note{Kind: pick(w, someKinds), Context: pick(w, someContexts), Priority: int64(1 + w.below(3)),
		Text: pick(w, someTexts), Due: w.Due()}
}

func (w *world) Due() *time.Time {
	if ms := w.below(5); ms > 0 {
		at := time.UnixMilli(int64(ms)).UTC()
		return &at
	}
	return nil
}

// happened returns an event as the model writes it.
func happened(what, id string, m mirror) string {
	if what == "expired" {
		m.version = 0
	}
	return fmt.Sprint(what, " ", id, " ", m.v.Kind, " ", m.v.Priority, " ", m.version)
}

// same reports whether an item is what the model says.
func (m mirror) same(v note) bool {
	due := func(t *time.Time) int64 {
		if t == nil {
			return 0
		}
		return t.UnixMilli()
	}
	return m.v.Kind == v.Kind && m.v.Context == v.Context && m.v.Priority == v.Priority && m.v.Text == v.Text &&
		due(m.v.Due) == due(v.Due)
}

// change describes what a write should do.
type change struct {
	what    string // the event
	next    note
	refusal error
}

// Write does a write and compares it with the model.
func (w *world) Write(id string, c change, run func() (int64, error)) {
	w.Helper()
	w.touched[id] = true
	version, err := run()
	class, _ := keywright.ClassOf(err)
	switch {
	case c.refusal != nil && errors.Is(err, c.refusal):
	case err == nil && c.refusal == nil:
		w.apply(id, c, version)
	case !w.faulty || err == nil:
		w.Fatalf("%s %q: %v, expected %v", c.what, id, err, c.refusal)
	case class == keywright.UnknownOutcome:
		w.unknown++
		w.resolve(id, c)
	case class == keywright.Refused:
		w.repair(id)
	case class != keywright.NotApplied && class != keywright.Retryable:
		w.Fatalf("%s %q: %v", c.what, id, err)
	}
}

func (w *world) apply(id string, c change, version int64) {
	w.Helper()
	m, was := w.live[id]
	if c.what == "deleted" {
		w.log[id] = append(w.log[id], happened("deleted", id, m))
		delete(w.live, id)
		return
	}
	if version <= w.top[id] {
		w.Fatalf("%s %q: version %d behind %d", c.what, id, version, w.top[id])
	}
	if d, dead := w.dead[id]; dead {
		w.log[id] = append(w.log[id], happened("expired", id, d))
		delete(w.dead, id)
	}
	what := "created"
	if was {
		what = "updated"
	}
	m = mirror{v: c.next, version: version, created: m.created}
	w.log[id] = append(w.log[id], happened(what, id, m))
	w.live[id], w.top[id] = m, version
}

// resolve finds out which of two possibilities it was.
func (w *world) resolve(id string, c change) {
	w.Helper()
	w.settle()
	item, err := w.direct.Get(w.ctx, id)
	m, was := w.live[id]
	switch {
	case errors.Is(err, keywright.ErrNotFound) && !was,
		err == nil && was && item.Version == m.version && m.same(item.Value):
	case c.next.Kind == blocked && w.inTheWay: // refused half way, and the reply lost
		w.repair(id)
	case errors.Is(err, keywright.ErrNotFound) && c.what == "deleted" && c.refusal == nil:
		w.apply(id, c, 0)
	case err == nil && c.what != "deleted" && c.refusal == nil && (mirror{v: c.next}).same(item.Value):
		w.apply(id, c, item.Version)
	default:
		w.Fatalf("after a lost reply to %s %q: %+v %v, was %+v (%v), or %+v", c.what, id, item, err, m, was, c)
	}
}

// repair puts right what a write that was refused half way has left.
func (w *world) repair(id string) {
	w.Helper()
	w.unblock()
	if w.faulty { // a server that is full refuses a repair, too
		w.server.Do("CONFIG", "SET", "maxmemory", "0")
	}
	item, err := w.direct.Get(w.ctx, id)
	m, was := w.live[id]
	if errors.Is(err, keywright.ErrNotFound) != !was || err == nil && item.Version < m.version {
		w.Fatalf("after a refused write of %q: %+v %v, was %+v %v", id, item, err, m, was)
	}
	if _, err := w.direct.Check(w.ctx, CheckOptions{Apply: true, Rate: 1 << 30}); err != nil {
		w.Fatalf("repair: %v", err)
	}
	if was && item.Version > m.version {
		item.Value.Version = 0
		w.live[id], w.top[id] = mirror{v: item.Value, version: item.Version, created: m.created}, item.Version
	}
}

const blocked = "blocked" // a kind whose index is in the way

// block puts a key of another type in the way, and reports whether it could.
func (w *world) block() bool {
	if len(w.ids(func(v note) bool { return v.Kind == blocked })) > 0 {
		return false
	}
	for _, m := range w.dead {
		if m.v.Kind == blocked {
			return false
		}
	}
	_, err := w.server.Try("SET", w.prefix+":idx:kind:"+blocked, "in the way") // a full server refuses it
	w.inTheWay = err == nil
	return w.inTheWay
}

func (w *world) unblock() {
	if w.inTheWay {
		w.server.Do("DEL", w.prefix+":idx:kind:"+blocked)
	}
	w.inTheWay = false
}

// Step is one random operation.
func (w *world) Step() {
	w.Helper()
	id := pick(w, someIDs)
	m, there := w.live[id]
	v := w.note()
	if w.faulty && w.below(40) == 0 && w.block() {
		v.Kind = blocked
		defer w.unblock()
	}
	switch op := w.below(15); op {
	case 0, 1, 2:
		w.whole(op, id, v, there)
	case 3, 4, 5:
		w.partly(op, id, m, there, v)
	case 6:
		w.save(id, v, there)
	case 7, 8:
		w.delete(id, m, there, op == 7)
	case 9:
		w.prolong(id, there)
	case 10, 11:
		w.expire(id)
	case 12:
		w.Sweep()
	case 13:
		w.read(id)
	case 14:
		w.walk()
	}
}

func (w *world) whole(op int, id string, v note, there bool) {
	w.Helper()
	c := change{what: []string{"create", "put", "replace"}[op], next: v}
	run := []func(context.Context, string, note, ...keywright.WriteOption) (Item[string, note], error){w.notes.Create,
		w.notes.Put, w.notes.Replace}[op]
	switch {
	case op == 0 && there:
		c.refusal = ErrExists
	case op == 2 && !there:
		c.refusal = keywright.ErrNotFound
	}
	w.Write(id, c, func() (int64, error) { item, err := run(w.ctx, id, v); return item.Version, err })
}

// partly changes some fields.
func (w *world) partly(op int, id string, m mirror, there bool, v note) {
	w.Helper()
	next := m.v
	next.Text = v.Text
	changes := []Change[note]{setText.Set(v.Text)}
	if op > 3 {
		for range 1 + w.below(2) {
			switch w.below(3) {
			case 0:
				next.Kind = v.Kind
				changes = append(changes, setKind.Set(v.Kind))
			case 1:
				next.Priority = v.Priority
				changes = append(changes, setPriority.Set(v.Priority))
			default:
				next.Due = v.Due
				changes = append(changes, setDue.Unset())
				if v.Due != nil {
					changes[len(changes)-1] = setDue.Set(*v.Due)
				}
			}
		}
	}
	c := change{what: "update", next: next}
	if !there {
		c.refusal = keywright.ErrNotFound
	}
	if op < 5 {
		options := []keywright.WriteOption{keywright.ExpiresIn(2 * time.Hour)}[:w.below(2)]
		w.Write(id, c, func() (int64, error) { return w.notes.UpdateWith(w.ctx, id, options, changes...) })
		return
	}
	version := m.version - int64(w.below(2))
	if there && version != m.version {
		c.refusal = ErrVersion
	}
	w.Write(id, c, func() (int64, error) { return w.notes.UpdateIf(w.ctx, id, version, changes...) })
}

// save reads an item, and writes it back, or another that was in between.
func (w *world) save(id string, v note, there bool) {
	w.Helper()
	item, err := w.direct.Get(w.ctx, id)
	if (err == nil) != there {
		w.Fatalf("get %q: %v, but it is %v that it is there", id, err, there)
	}
	if !there {
		return
	}
	item.Value.Kind, item.Value.Due = v.Kind, v.Due
	next := w.live[id].v
	next.Kind, next.Due = v.Kind, v.Due
	c := change{what: "save", next: next}
	if w.below(3) == 0 {
		item.Version -= 1 + int64(w.below(2))
		c.refusal = ErrVersion
	}
	w.Write(id, c, func() (int64, error) { item, err := w.notes.Save(w.ctx, item); return item.Version, err })
}

func (w *world) delete(id string, m mirror, there, byVersion bool) {
	w.Helper()
	c := change{what: "deleted"}
	if !there {
		c.refusal = keywright.ErrNotFound
	}
	item := Item[string, note]{ID: id, Version: m.version}
	if byVersion && there {
		if w.below(2) == 0 {
			item, _ = w.direct.Get(w.ctx, id)
		}
		if w.below(3) == 0 {
			item.Version++
			c.refusal = ErrVersion
		}
	}
	w.Write(id, c, func() (int64, error) {
		run := func() (bool, error) { return w.notes.Delete(w.ctx, id) }
		if byVersion {
			run = func() (bool, error) { return w.notes.DeleteItem(w.ctx, item) }
		}
		ok, err := run()
		if err == nil && !ok && there && w.faulty && w.server.Do("EXISTS", w.notes.core.Key(id)).(int64) == 0 {
			return 0, nil // its reply was lost, and it was sent again: now it is not there
		}
		if err == nil && !ok {
			err = keywright.ErrNotFound
		}
		return 0, err
	})
}

func (w *world) prolong(id string, there bool) {
	w.Helper()
	w.touched[id] = true
	var err error
	if w.below(2) == 0 {
		err = w.notes.Touch(w.ctx, id)
	} else {
		_, err = w.notes.Shorten(w.ctx, id, 30*time.Minute)
	}
	if !w.faulty && errors.Is(err, keywright.ErrNotFound) == there || err != nil && !w.faulty && there {
		w.Fatalf("touch %q: %v, but it is %v that it is there", id, err, there)
	}
}

// expire ends the time of an item, by the server's own means.
func (w *world) expire(id string) {
	w.touched[id] = true
	if m, there := w.live[id]; there {
		w.server.Do("EVAL",
			"redis.call('PTTL', KEYS[1]) redis.call('ZCARD', KEYS[2]) redis.call('PEXPIREAT', KEYS[1], 1) redis.call('ZADD', "+
				"KEYS[2], 1, ARGV[1])", "2", w.notes.core.Key(id), w.notes.core.Spec.Expires, id)
		w.dead[id] = m
		delete(w.live, id)
	}
}

func (w *world) Sweep() {
	w.Helper()
	for id := range w.dead {
		w.touched[id] = true
	}
	done, err := w.notes.Sweep(w.ctx, SweepOptions{Batch: 1 + w.below(5), Rate: 1 << 30, Lease: 5 * time.Millisecond})
	if err != nil {
		if !w.faulty {
			w.Fatalf("sweep: %v", err)
		}
		w.settle()
	}
	if !w.faulty && done.Gone != len(w.dead) {
		w.Fatalf("swept %+v of %d", done, len(w.dead))
	}
	w.swept()
}

// swept takes over what has been swept: with faults the index records say it.
func (w *world) swept() {
	for id, m := range w.dead {
		if w.faulty && w.server.Do("HEXISTS", w.notes.core.Spec.Records, id).(int64) == 1 {
			continue
		}
		w.log[id] = append(w.log[id], happened("expired", id, m))
		delete(w.dead, id)
	}
}

func (w *world) read(id string) {
	w.Helper()
	m, there := w.live[id]
	for name, get := range map[string]func() (Item[string, note], error){
		"get": func() (Item[string, note], error) { return w.notes.Get(w.ctx, id) },
		"modify": func() (Item[string, note], error) {
			return w.notes.Modify(w.ctx, id, func(*note) error { return errStop })
		},
	} {
		item, err := get()
		if w.faulty && err != nil && !errors.Is(err, keywright.ErrNotFound) && !errors.Is(err, errStop) {
			continue
		}
		if errors.Is(err, keywright.ErrNotFound) == there || there && (item.Version != m.version || !m.same(item.Value)) {
			w.Fatalf("%s %q: %+v %v, model %+v %v", name, id, item, err, m, there)
		}
	}
	if got, err := w.notes.Exists(w.ctx, id); err == nil && got != there {
		w.Fatalf("%q exists: %v", id, got)
	}
}

var errStop = errors.New("stop")

// ids gives those of the model that fit, sorted.
func (w *world) ids(fits func(note) bool) []string {
	out := slices.Collect(maps.Keys(w.live))
	out = slices.DeleteFunc(out, func(id string) bool { return !fits(w.live[id].v) })
	slices.Sort(out)
	return out
}

var worlds atomic.Int64

// TestModel: whatever is done, in whatever order, items, indexes and events are
// those of a plain model.
func TestModel(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		s.WatchScripts()
		c := open(t, s.URL())
		rapid.Check(gate.Fixed(t), func(r *rapid.T) {
			w := newWorld(r, rapidDice{r}, s, c, fmt.Sprint("w", worlds.Add(1)), rapid.Bool().Draw(r, "tells"))
			heard := collectPublished(t, c, w.prefix+".*")
			for range rapid.IntRange(1, 50).Draw(r, "steps") {
				w.Step()
			}
			w.Agree()
			w.announcing(heard())
			w.cleanUp()
		})
	})
}
