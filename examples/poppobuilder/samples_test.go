package poppobuilder

import "testing"

// TestLoad: the use of the CPU is that since the last look, not since the beginning.
func TestLoad(t *testing.T) {
	stat := func(text string) load {
		l, ok := parseLoad(text)
		if !ok {
			t.Fatalf("%q cannot be read", text)
		}
		return l
	}
	look := []load{
		stat("cpu  100 0 100 800 0 0 0 0 50 50\ncpu0 1 2 3\n"),
		stat("cpu  200 0 200 800 0 0 0 0 99 99\n"),
		stat("cpu  200 0 200 900 100 0 0 0 0 0\n"),
		stat("cpu  250 0 200 1050 100 0 0 0 0 0\n"),
	}
	for i, want := range []float64{100, 0, 25} {
		if got, ok := look[i+1].since(look[i]); !ok || got != want {
			t.Errorf("look %d: %v %%, want %v", i+1, got, want)
		}
	}
	if _, ok := look[0].since(look[0]); ok {
		t.Error("a use of the CPU in no time")
	}
	for _, bad := range []string{"", "cpu 1 2", "cpu a b c d e f", "intr 1 2 3 4 5 6"} {
		if _, ok := parseLoad(bad); ok {
			t.Errorf("%q is read", bad)
		}
	}
	if now := readLoad(); now.total <= 0 || now.busy > now.total {
		t.Errorf("the machine: %+v", now)
	}
}
