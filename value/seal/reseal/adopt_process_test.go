package reseal_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value/seal"
)

// adopted holds records that were plain text at first. A third of them is never
// written: an adoption has to seal those itself, once. Each of the others has one
// writer. The value of a record is a number that only grows.
type adopted struct {
	*world
	ring    *seal.Ring
	reader  keywright.Sealer
	writers [2]seal.Adopting
	at      []keywright.Place
	begun   []atomic.Int64 // the value that is about to be written
	last    []atomic.Int64 // the value that was acknowledged
	pushed  [2]int64       // elements that were pushed at the head of a list, by writer
	cold    map[int]string // records that are never written, as they were sealed
	still   bool           // lists grow no more: a list that moves too fast is not read whole
	mu      sync.RWMutex   // writers hold it for reading
	reads   atomic.Int64
}

func newAdopted(w *world, r *seal.Ring) *adopted {
	all := &adopted{world: w, ring: r, reader: seal.Adopting{Ring: r}, cold: map[int]string{}}
	for n := range 300 {
		all.at = append(all.at, keywright.Place{Schema: "shop", Key: fmt.Sprint("t:", n)},
			keywright.Place{Schema: "shop", Key: fmt.Sprint("h:", n), Field: "phone"})
	}
	for n := range 3000 {
		all.at = append(all.at, keywright.Place{Schema: "shop", Key: fmt.Sprint("m:", n%30), Field: fmt.Sprint("f", n)})
	}
	all.begun, all.last = make([]atomic.Int64, len(all.at)), make([]atomic.Int64, len(all.at))
	plain := seal.Adopting{Ring: r, Plain: true}
	all.writers = [2]seal.Adopting{plain, plain}
	for i := range all.at {
		all.write(i, plain)
	}
	for n := range all.pushed {
		for range 200 {
			all.push(n, plain)
		}
	}
	return all
}

// isCold says of which records there is no writer.
func isCold(i int) bool { return i%3 == 0 }

func (r *adopted) send(args ...string) string {
	raw := r.client.Raw()
	reply := raw.Do(context.Background(), raw.B().Arbitrary(args[0]).Keys(args[1]).Args(args[2:]...).Build())
	if err := reply.Error(); err != nil {
		r.Errorf("%q: %v", args, err)
	}
	text, _ := reply.ToString() // HSET and LPUSH give a number
	return text
}

func (r *adopted) stored(i int) string {
	if at := r.at[i]; at.Field != "" {
		return r.send("HGET", at.Key, at.Field)
	}
	return r.send("GET", r.at[i].Key)
}

func (r *adopted) write(i int, s keywright.Sealer) {
	at, value := r.at[i], r.begun[i].Add(1)
	text, err := s.Seal(at, strconv.FormatInt(value, 10))
	if err != nil {
		r.Error(err)
	}
	if at.Field != "" {
		r.send("HSET", at.Key, at.Field, text)
	} else {
		r.send("SET", at.Key, text)
	}
	r.last[i].Store(value)
}

// push adds the next number at the head of the list of writer n: the elements that
// an adoption has read move.
func (r *adopted) push(n int, s keywright.Sealer) {
	at := keywright.Place{Schema: "shop", Key: fmt.Sprint("l:", n)}
	text, err := s.Seal(at, strconv.FormatInt(r.pushed[n]+1, 10))
	if err != nil {
		r.Error(err)
	}
	r.send("LPUSH", at.Key, text)
	r.pushed[n]++
}

// load writes until ctx ends, and lets lists grow to 1,000 elements.
func (r *adopted) load(ctx context.Context, n int) {
	for ctx.Err() == nil {
		for i := n; i < len(r.at) && ctx.Err() == nil; i += len(r.writers) {
			r.mu.RLock()
			s := r.writers[n]
			if !isCold(i) {
				r.write(i, s)
			} else if i%20 == 0 && !r.still && r.pushed[n] < 1000 {
				r.push(n, s)
			}
			r.mu.RUnlock()
		}
	}
}

// seals lets a writer seal: afterwards none of its plain texts is on its way. After the
// last one, which is the first, lists are still.
func (r *adopted) seals(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writers[n].Plain = false
	r.still = n == 0
}

// read reads until ctx ends, as another process does: each record opens at any
// time, and is never older than what was acknowledged before it was read.
func (r *adopted) read(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i = (i + 1) % len(r.at) {
		before := r.last[i].Load()
		text, err := r.reader.Open(r.at[i], r.stored(i))
		value, number := strconv.ParseInt(text, 10, 64)
		if after := r.begun[i].Load(); err != nil || number != nil || value < before || value > after {
			r.Errorf("%s %s reads as %q, %v; want %d to %d", r.at[i].Key, r.at[i].Field, text, err, before, after)
			return
		}
		r.reads.Add(1)
	}
}

// check holds the writers and opens everything with a sealer: each record has the
// value that was written last, each list all its elements in their order, and a
// record that is never written is sealed once.
func (r *adopted) check(with keywright.Sealer, when string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	wrong := 0
	same := func(at keywright.Place, stored string, want int64) {
		text, err := with.Open(at, stored)
		if err != nil || text != strconv.FormatInt(want, 10) {
			if wrong++; wrong < 5 {
				r.Errorf("%s: %s %s is %q, %v; want %d", when, at.Key, at.Field, text, err, want)
			}
		}
	}
	for i, at := range r.at {
		stored := r.stored(i)
		same(at, stored, r.last[i].Load())
		if !isCold(i) || seal.IsPlain(stored) {
			continue
		}
		if r.cold[i] == "" {
			r.cold[i] = stored
		} else if r.cold[i] != stored {
			r.Errorf("%s: %s %s was sealed, and is sealed again", when, at.Key, at.Field)
		}
	}
	raw := r.client.Raw()
	for n, pushed := range r.pushed {
		at := keywright.Place{Schema: "shop", Key: fmt.Sprint("l:", n)}
		elements, err := raw.Do(context.Background(), raw.B().Lrange().Key(at.Key).Start(0).Stop(-1).Build()).AsStrSlice()
		if err != nil || int64(len(elements)) != pushed {
			r.Errorf("%s: %s has %d elements, %v; want %d", when, at.Key, len(elements), err, pushed)
			continue
		}
		for i, stored := range elements {
			same(at, stored, pushed-int64(i))
		}
	}
}

// TestAdoptionIsKilled: adoptions are killed in the middle again and again, under
// readers and under writers of which the first still writes plain text while the
// second seals, as during a deployment. Every record opens at any time and no write is
// undone. When all writers seal, an adoption that comes to its end has sealed
// everything, once: the ring alone opens it.
func TestAdoptionIsKilled(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	w := newWorld(t, s.URL())
	text := servertest.RingText("k1")
	all := newAdopted(w, ring(t, "k1"))
	ctx, stop := context.WithCancel(t.Context())
	var live sync.WaitGroup
	for n := range all.writers {
		live.Go(func() { all.load(ctx, n) })
	}
	live.Go(func() { all.read(ctx) })
	defer func() { stop(); live.Wait() }()
	kills, sealed := gate.Count(t, "KEYWRIGHT_KILLS", 2, 6), 0
	for n := 0; n < kills || sealed == 0 && n < 20; n++ { // how far a kill lets it come is up to the order of the server's keys
		if n == kills/3 {
			all.seals(1)
		}
		if walking(t, "adopt", s.URL(), text, 1+n*5%23) {
			t.Fatal("it came to its end before it was killed")
		}
		all.check(all.reader, fmt.Sprintf("after kill %d", n+1))
		if len(all.cold) < sealed {
			t.Errorf("%d records are sealed, and %d were", len(all.cold), sealed)
		}
		sealed = len(all.cold)
	}
	if sealed == 0 {
		t.Error("no kill was in the middle: nothing is sealed")
	}
	all.seals(0)
	walking(t, "adopt", s.URL(), text, 0)
	all.check(all.ring, "at last")
	sum := w.status(all.ring).Total()
	w.equal("left", fmt.Sprint(sum.Plain, sum.NotSealed, sum.Closed()), "0 0 0")
	cold := 0
	for i := range all.at {
		if isCold(i) {
			cold++
		}
	}
	w.equal("sealed by adoptions alone", len(all.cold), cold)
	walking(t, "adopt", s.URL(), text, 0)
	all.check(all.ring, "once more")
	if all.reads.Load() == 0 {
		t.Error("nothing was read meanwhile")
	}
	t.Logf("%d kills after which %d of %d were sealed, %d reads, last value %d", kills, sealed, cold, all.reads.Load(),
		all.last[1].Load())
}
