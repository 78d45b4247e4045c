package infer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/keywright/keywright/infer"
	"github.com/keywright/keywright/source"
)

// listed is a source of keys that are made one after the other; it can be read so many times.
type listed struct {
	keys  int
	times int
	name  func(i int) string
	kind  func(i int) source.Kind // nil: strings
}

// Scan implements source.Source.
func (l *listed) Scan(ctx context.Context, _ source.Request, yield func([]source.Key) error) (source.Summary, error) {
	if l.times--; l.times < 0 {
		return source.Summary{}, errors.New("it was read to its end")
	}
	for i := range l.keys {
		k := source.Key{Name: []byte(l.name(i)), Kind: source.String, TTL: source.NoTTL, Bytes: 10}
		if l.kind != nil {
			k.Kind = l.kind(i)
		}
		if err := yield([]source.Key{k}); err != nil {
			return source.Summary{}, err
		}
	}
	return source.Summary{Endpoint: "list"}, nil
}

// TestASecondReadingCounts: of more keys than are kept each entry has all its keys, and the parts are all keys; of a
// source that is read once the draft says that its counts are near the truth.
func TestASecondReadingCounts(t *testing.T) {
	for _, times := range []int{1, 2} {
		src := &listed{keys: 200_000, times: times, name: func(i int) string {
			switch {
			case i%1000 == 1:
				return fmt.Sprintf("%x:lonely:%d", i*7919, i)
			case i%4 == 0:
				return fmt.Sprintf("user:%d:cart", i)
			}
			return fmt.Sprintf("order:%d", i)
		}}
		in, err := infer.New(infer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d, _, err := in.Run(t.Context(), src, source.Request{})
		if err != nil || d.About != (times == 1) {
			t.Fatalf("about: %t, %v", d.About, err)
		}
		if got := sum(d); got != d.All || d.All.Keys != 200_000 {
			t.Errorf("the parts are %+v of %+v", got, d.All)
		}
		counts := map[string]int64{}
		for _, e := range d.Entries {
			counts[e.Pattern] = e.Keys
		}
		if times == 2 && (counts["user:{user_id}:cart"] != 50_000 || counts["order:{order_id}"] != 149_800) {
			t.Errorf("%v", counts)
		}
	}
}

// TestTypesOfManyKeys: of more keys than are kept, too, a family has one type if nearly all its keys have it.
func TestTypesOfManyKeys(t *testing.T) {
	for lists, want := range map[int]string{ // of a thousand
		50: "  # guess: 10,000 of the keys are of type list: they belong to something else\n  order:\n",
		60: "order:{order_id}: 200,000 keys, like order:{int}: keys of several types under one pattern: 188,000 of type " +
			"string, 12,000 of type list\n",
	} {
		src := &listed{keys: 200_000, times: 2, name: func(i int) string { return fmt.Sprintf("order:%d", i) },
			kind: func(i int) source.Kind {
				if i%1000 < lists {
					return source.List
				}
				return source.String
			}}
		in, err := infer.New(infer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d, _, err := in.Run(t.Context(), src, source.Request{})
		if text := string(d.YAML()); err != nil || !strings.Contains(text, want) || sum(d) != d.All {
			t.Errorf("want %q, not\n%s (%v)", want, text, err)
		}
	}
}
