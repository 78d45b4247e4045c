package entity

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/keywright/keywright/entity/pressure"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"pgregory.net/rapid"
)

// TestGoingInCluster: an entity in one slot, whose server is full.
func TestGoingInCluster(t *testing.T) {
	t.Parallel()
	cluster := keywrighttest.StartCluster(t, keywrighttest.Redis, 3, 0)
	c := open(t, cluster.URL())
	notes := storeOf(c, noteSpec("{n}"))
	const each = 600
	fillNotes(t, notes, each, 1, 2)
	var full *keywrighttest.Server
	for _, n := range cluster.Nodes {
		ratio := .5
		if size, _ := n.Do("DBSIZE").(int64); size > 0 {
			full, ratio = n, 1.1
		}
		press(t, n, ratio)
	}
	r := relieve(t, c, notes)
	left, _ := full.Do("ZCARD", "{n}:idx:priority:1").(int64)
	if len(r) != 2 || r[0].Server != full.Addr() || r[0].End != pressure.Below || r[0].Released != each-int(left) ||
		r[1].Shortened != int(left) {
		t.Errorf("%d are left: %+v", left, r)
	}
	sound(t, notes)
}

// TestGoingApart: items over all slots. Only those on the full server go, although
// the index, elsewhere, names all of them; also when it is the one with the index records.
func TestGoingApart(t *testing.T) {
	gate.Skip(t, "a check over slots calls what comes closer to its end while it looks a fault of its expiry time")
	t.Parallel()
	cluster := keywrighttest.StartCluster(t, keywrighttest.Valkey, 3, 0)
	c := open(t, cluster.URL())
	notes := spreadOn(t, c, "n")
	const each = 1200
	fillNotes(t, notes, each, 1)
	gone := 0
	for i, full := range cluster.Nodes {
		for j, n := range cluster.Nodes {
			press(t, n, map[bool]float64{true: 1.1, false: .5}[i == j])
		}
		r := relieve(t, c, notes)
		if len(r) != 2 || r[0].Server != full.Addr() || r[0].End != pressure.Below || r[0].Released == 0 ||
			r[1].Shortened == 0 || r[1].Skipped == 0 {
			t.Errorf("server %d: %+v", i, r)
		}
		for _, one := range r {
			gone += one.Released
		}
		for _, n := range cluster.Nodes {
			n.Try("DEL", "n:pressure") // the watcher is over
		}
	}
	all, err := notes.Check(t.Context(), CheckOptions{Found: func(p Problem) { t.Errorf("%+v", p) }})
	if err != nil || all.Items != each-gone {
		t.Errorf("%d are gone: %+v, %v", gone, all, err)
	}
}

// TestShortenIsNeverLonger: whatever is asked in whatever order, an item ends when
// the shortest demand says, and its entry in the expiry index with it.
func TestShortenIsNeverLonger(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	notes := storeOf(open(t, s.URL()), goingSpec())
	const items = 8
	fillNotes(t, notes, items, 1)
	target := notes.Going("priority+created")
	now := func() int64 {
		parts, _ := s.Do("TIME").([]any)
		sec, _ := strconv.ParseInt(fmt.Sprint(parts[0]), 10, 64)
		us, _ := strconv.ParseInt(fmt.Sprint(parts[1]), 10, 64)
		return sec*1000 + us/1000
	}
	rapid.Check(gate.Fixed(t), func(r *rapid.T) {
		ends := make([]int64, items)
		for i := range ends { // begin again
			key := fmt.Sprintf("1-%d", i)
			ends[i] = now() + rapid.Int64Range(600, 7200).Draw(r, "lifetime")*1000
			s.Do("PEXPIREAT", "n:item:"+key, strconv.FormatInt(ends[i], 10))
			s.Do("ZADD", "n:idx:expiry", strconv.FormatInt(ends[i], 10), key)
		}
		for range rapid.IntRange(1, 4).Draw(r, "demands") {
			to := time.Duration(rapid.IntRange(600, 7200).Draw(r, "to")) * time.Second
			chosen := rapid.SliceOfDistinct(rapid.IntRange(0, items-1), func(i int) int { return i }).Draw(r, "items")
			var ids []string
			for _, i := range chosen {
				ids = append(ids, fmt.Sprintf("1-%d", i))
			}
			before := now()
			n, err := target.Shorten(t.Context(), "1", ids, to)
			after, changed := now(), 0
			if err != nil {
				r.Fatal(err)
			}
			for _, i := range chosen {
				got, _ := s.Do("PEXPIRETIME", fmt.Sprintf("n:item:1-%d", i)).(int64)
				switch low, high := before+to.Milliseconds(), after+to.Milliseconds(); {
				case got == ends[i] && got <= high:
				case got < ends[i] && got >= low && got <= high:
					changed++
				default:
					r.Fatalf("item %d ended at %d, now at %d; asked was %d to %d", i, ends[i], got, low, high)
				}
				if score := fmt.Sprint(s.Do("ZSCORE", "n:idx:expiry", fmt.Sprintf("1-%d", i))); score != strconv.FormatInt(
					got, 10) {
					r.Fatalf("item %d ends at %d, by its index at %s", i, got, score)
				}
				ends[i] = got
			}
			if n != changed {
				r.Fatalf("%d were shortened, it says %d", changed, n)
			}
		}
	})
}
