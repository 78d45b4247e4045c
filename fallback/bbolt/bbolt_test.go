package bbolt_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/keywright/keywright/fallback"
	"github.com/keywright/keywright/fallback/bbolt"
	"github.com/keywright/keywright/fallback/storetest"
)

var ctx = context.Background()

func file(t *testing.T, path string) *bbolt.File {
	t.Helper()
	f, err := bbolt.Open(path, bbolt.Options{Wait: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestStore(t *testing.T) {
	// for speed: nothing is killed here
	f, err := bbolt.Open(filepath.Join(t.TempDir(), "second"), bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	storetest.Run(t, func(l fallback.Limits) (fallback.Store, error) {
		n++
		return f.Store(fmt.Sprint(n), l)
	})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestOneProcess: a file that is open is not opened again, and the error says so.
func TestOneProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "second")
	f := file(t, path)
	_, err := bbolt.Open(path, bbolt.Options{Wait: 50 * time.Millisecond})
	if !errors.Is(err, bbolt.ErrInUse) {
		t.Fatalf("a second one: %v", err)
	}
	s, err := f.Store("a", fallback.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Get(t.Context(), "a"); !errors.Is(err, fallback.ErrClosed) {
		t.Fatalf("behind Close: %v", err)
	}
	if err := file(t, path).Close(); err != nil {
		t.Fatal(err)
	}
}

// A store is the same value each time, so that a second guard of it is noticed.
func TestAStoreIsOpenedOnce(t *testing.T) {
	f := file(t, filepath.Join(t.TempDir(), "second"))
	defer f.Close()
	a, err := f.Store("a", fallback.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := f.Store("a", fallback.Limits{})
	other, err2 := f.Store("b", fallback.Limits{})
	if err != nil || err2 != nil || a != again || a == other {
		t.Errorf("%p %p %p %v %v", a, again, other, err, err2)
	}
	for _, name := range []string{"", "\x00stores"} {
		if _, err := f.Store(name, fallback.Limits{}); err == nil {
			t.Errorf("a store called %q", name)
		}
	}
}
