package cache

import "testing"

type oneValue struct{ kept map[string]Kept[int] }

func (o oneValue) Get(key string) (Kept[int], bool) { v, ok := o.kept[key]; return v, ok }
func (o oneValue) Set(key string, v Kept[int])      { o.kept[key] = v }
func (o oneValue) Delete(key string)                { delete(o.kept, key) }
func (o oneValue) Clear()                           { clear(o.kept) }

// TestWhatIsOnItsWayIsVoid: a value that was read before its key was invalidated
// does not get into the tier, one that was read after it does.
func TestWhatIsOnItsWayIsVoid(t *testing.T) {
	t.Parallel()
	for name, invalidate := range map[string]func(*tier[int]){
		"its key":    func(x *tier[int]) { x.invalidated([]string{"other", "a"}) },
		"everything": func(x *tier[int]) { x.invalidated(nil) },
		"by hand":    func(x *tier[int]) { x.drop("a") },
	} {
		x := &tier[int]{Tier: oneValue{map[string]Kept[int]{}}, fetches: map[string]*fetch{}}
		first := x.begin("a")
		also := x.begin("a")
		invalidate(x)
		second := x.begin("a")
		x.end("a", second, true, Kept[int]{Value: 2})
		x.end("a", first, true, Kept[int]{Value: 1})
		x.end("a", also, true, Kept[int]{Value: 1})
		if v, ok := x.Tier.Get("a"); !ok || v.Value != 2 {
			t.Errorf("%s: %v, %t; want what was read behind it", name, v.Value, ok)
		}
		if len(x.fetches) != 0 {
			t.Errorf("%s: %d fetches are left", name, len(x.fetches))
		}
		if invalidate(x); len(x.Tier.(oneValue).kept) != 0 {
			t.Errorf("%s: what is kept has survived", name)
		}
	}
}
