package entity

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/scripts"
	"github.com/keywright/keywright/entity/pressure"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
)

// goingSpec announces on a stream what is deleted: it needs memory, too.
func goingSpec() *Spec[string, note] {
	spec := noteSpec("n")
	spec.OnDelete = []Event{{Mode: Append, Channel: "n:deleted", Data: []Part{{Name: "id"}}}}
	return spec
}

// fillNotes makes so many notes of each priority, 4 KiB each.
func fillNotes(t *testing.T, notes *Store[string, note], each int, priorities ...int64) {
	t.Helper()
	var running sync.WaitGroup
	room := make(chan struct{}, 128)
	for _, p := range priorities {
		for i := range each {
			room <- struct{}{}
			running.Go(func() {
				defer func() { <-room }()
				n := note{Kind: "k", Context: "c", Priority: p, Text: strings.Repeat("x", 4000)}
				if _, err := notes.Create(t.Context(), fmt.Sprintf("%d-%d", p, i), n,
					keywright.ExpiresIn(15*time.Minute)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	running.Wait()
}

var press = servertest.Press

func goingSteps(notes *Store[string, note]) []pressure.Step {
	target := notes.Going("priority+created")
	return []pressure.Step{
		{At: .8, Entry: "note", Target: target, Values: []string{"1"}, Shorten: 5 * time.Minute},
		{At: .9, To: .85, Entry: "note", Target: target, Values: []string{"1"}},
	}
}

func relieve(t *testing.T, c *keywright.Client, notes *Store[string, note]) []pressure.Report {
	t.Helper()
	w := pressure.New(keywright.Binding{Client: c, Entry: &keywright.Entry{Name: "note.pressure", Type: "string"},
		Key: "n:pressure"}, goingSteps(notes),
		pressure.Options{Pause: time.Nanosecond, Batch: 25})
	r, err := w.Once(t.Context())
	must(t, err)
	return r
}

// TestGoing: on a server that is full, notes of the lowest priority go, with
// their entries and an event each, until there is room; the rest of them is
// shortened, the hash and the expiry index alike. The others stay as they are.
func TestGoing(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		for _, policy := range []string{"noeviction", "volatile-ttl"} {
			t.Run(fmt.Sprint(brand, " ", policy), func(t *testing.T) {
				t.Parallel()
				const each = 600
				s := keywrighttest.Start(t, brand, keywrighttest.Config("maxmemory-policy", policy))
				c := open(t, s.URL())
				notes := storeOf(c, goingSpec())
				fillNotes(t, notes, each, 1, 2)
				press(t, s, map[string]float64{"noeviction": 1.1, "volatile-ttl": .93}[policy])
				r := relieve(t, c, notes)
				left, _ := s.Do("ZCARD", "n:idx:priority:1").(int64)
				if len(r) != 2 || r[0].End != pressure.Below || r[0].Released != each-int(left) || left == 0 ||
					r[1].Shortened != int(left) {
					t.Fatalf("%d are left: %+v", left, r)
				}
				if n := s.Do("XLEN", "n:deleted"); n != int64(r[0].Released) {
					t.Errorf("%v events of %d", n, r[0].Released)
				}
				if n := s.Do("ZCARD", "n:idx:priority:2"); n != int64(each) {
					t.Errorf("%v notes of priority 2", n)
				}
				latest := strconv.FormatInt(time.Now().Add(5*time.Minute).UnixMilli(), 10)
				if n := s.Do("ZCOUNT", "n:idx:expiry", "-inf", latest); n != left {
					t.Errorf("%v of %d are shortened in the expiry index", n, left)
				}
				sound(t, notes)
			})
		}
	}
}

// twice shortens the same notes two times: the second time changes nothing.
func twice(t *testing.T) (wrong []string) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	c := open(t, s.URL())
	notes := storeOf(c, goingSpec())
	fillNotes(t, notes, 200, 1)
	press(t, s, 1.1)
	target := notes.Going("priority+created")
	ids, next, err := target.Page(t.Context(), "1", "", 500)
	must(t, err)
	if len(ids) != 200 || next != "" {
		t.Fatalf("%d ids, then %q", len(ids), next)
	}
	for round, want := range []int{200, 0, 0} {
		before := s.Do("PEXPIRETIME", "n:item:1-7")
		n, err := target.Shorten(t.Context(), "1", append(ids, "1-99999"),
			[]time.Duration{time.Minute, time.Minute, time.Hour}[round])
		if err != nil || n != want || round > 0 && before != s.Do("PEXPIRETIME", "n:item:1-7") {
			wrong = append(wrong, fmt.Sprintf("round %d: %d shortened, %v", round, n, err))
		}
	}
	return wrong
}

func TestShortenedOnce(t *testing.T) {
	t.Parallel()
	for _, w := range twice(t) {
		t.Error(w)
	}
}

// TestGoingMutations: without what they guard, the suites turn red.
func TestGoingMutations(t *testing.T) {
	for _, m := range []struct{ name, guard, instead string }{
		{"it lengthens, and shortens again", "ARGV[a + 4] == 'any' or left > ttl", "true"},
		{"what needs memory comes first", "call('PEXPIRE', hash, ARGV[a + 2])\n    call('ZADD', expires, ends, id)",
			"call('ZADD', expires, ends, id)\n    call('PEXPIRE', hash, ARGV[a + 2])"},
	} {
		t.Run(m.name, func(t *testing.T) {
			old := scripts.Parts
			defer func() { scripts.Parts = old }()
			found := false
			scripts.Parts = scripts.Parts.Edit(func(_, text string) string {
				found = found || strings.Contains(text, m.guard)
				return strings.Replace(text, m.guard, m.instead, 1)
			})
			if wrong := twice(t); len(wrong) == 0 || !found {
				t.Errorf("the suite stays green without this guard, which was found: %v", found)
			} else {
				t.Log(wrong[0])
			}
		})
	}
}

// TestSweepWhenFull: what has expired is swept on a full server, too.
func TestSweepWhenFull(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		s := keywrighttest.Start(t, brand)
		notes := storeOf(open(t, s.URL()), goingSpec())
		fillNotes(t, notes, 200, 1, 2)
		for i := range 200 {
			s.Do("PEXPIRE", fmt.Sprintf("n:item:1-%d", i), "1")
			s.Do("ZADD", "n:idx:expiry", "1", fmt.Sprintf("1-%d", i))
		}
		press(t, s, 1.2)
		if _, err := s.Try("SET", "a", "b"); err == nil {
			t.Fatal("the server is not full")
		}
		if got, err := notes.Sweep(t.Context(), SweepOptions{}); err != nil || got.Gone != 200 {
			t.Errorf("%s: %+v, %v", brand, got, err)
		}
	}
}
