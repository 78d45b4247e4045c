package stored

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// TestParse: a stored job has its own time limit and its unique name only where its line has them, and what no enqueue
// has written is alien.
func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Claimed{
		"q1 1700000000000 - 3 - -\nbody": {Payload: "body", Enqueued: 1_700_000_000_000},
		"q1 5 high 3 r~250 {q}:unique:a%20b\na\nb": {Payload: "a\nb", Enqueued: 5, Timeout: 250 * time.Millisecond,
			Unique: "{q}:unique:a b"},
		"q1 5 high 3 r -\n":        {Enqueued: 5},
		"q1 5 high 3 r -":          {Alien: true}, // without a payload
		"5 high 3 r -\nbody":       {Alien: true},
		"q1 soon high 3 r -\nbody": {Alien: true},
		"q1 5 high 3 r a%2\nbody":  {Alien: true},
		"":                         {Alien: true},
	} {
		var got Claimed
		if got.Parse(text); got != want {
			t.Errorf("%q: %+v, not %+v", text, got, want)
		}
	}
}

// TestReadRun: what is known of a run is read by its fields; a newer form is an error, and any other text is none.
func TestReadRun(t *testing.T) {
	t.Parallel()
	token := Pad("host-1/abc")
	if len(token) < 65 {
		t.Errorf("%q is short enough for a listpack", token)
	}
	got, err := ReadRun(token + " 7 2 1 0 3 r1\nit failed\nhalf of it")
	want := Run{Attempt: 2, Crashes: 1, Owner: "host-1/abc", Progress: "half of it", Error: "it failed"}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := ReadRun("- 7 2 1 0 3 r1"); err != nil || got.Owner != "" || got.Attempt != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ReadRun("- 7 2 1 0 3 more r2"); !errors.Is(err, ErrNewer) {
		t.Error(err)
	}
	for _, text := range []string{"", "what is this"} {
		if got, err := ReadRun(text); err != nil || got != (Run{}) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// TestSettlementArgs: what is done and left nothing goes by its token in groups, the rest one by one after them.
func TestSettlementArgs(t *testing.T) {
	t.Parallel()
	if groups, args := SettlementArgs(nil); groups != "0" || args != nil {
		t.Error(groups, args)
	}
	groups, args := SettlementArgs([]Settlement{{Verb: "done", ID: "a", Token: "x"},
		{Verb: "retry", ID: "b", Token: "x", Text: "why", MS: 50}, {Verb: "done", ID: "c", Token: "y"},
		{Verb: "done", ID: "d", Token: "x"}, {Verb: "done", ID: "e", Token: "y", Name: "u"}})
	want := []string{"x ", "2", "a", "d", "y ", "1", "c", "retry", "b", "x ", "why", "50", "",
		"done", "e", "y ", "", "0", "u"}
	if groups != "2" || !slices.Equal(args, want) {
		t.Errorf("%s groups: %q", groups, args)
	}
}

// TestOf: of what a call of several runners brings each takes what is about its own settlements.
func TestOf(t *testing.T) {
	t.Parallel()
	why := errors.New("its attempts are used up")
	f := Fetched{Lost: []string{"a", "b"}, Dead: []Buried{{ID: "c"}, {ID: "d"}}}
	lost, dead := f.Of([]Settlement{{ID: "b"}, {ID: "d", Fatal: why}, {ID: "c"}})
	if !slices.Equal(lost, []string{"b"}) || len(dead) != 1 || dead[0].ID != "d" || dead[0].Cause != why {
		t.Errorf("%v, %+v", lost, dead)
	}
	if !slices.Equal(f.Lost, []string{"a"}) || len(f.Dead) != 1 || f.Dead[0].ID != "c" {
		t.Errorf("left: %+v", f)
	}
}
