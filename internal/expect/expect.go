// Package expect ends a test when what it expects does not happen: a call without an error, a condition, a return.
//
// It is for tests of this project, and imports testing and nothing of the project, so that every package can use it.
package expect

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// NoError ends a test at an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Err returns the error of a call that returns a value and an error.
func Err[T any](_ T, err error) error { return err }

// Equal compares what there is with what there should be.
func Equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// EqualMaps compares what is kept for each key. It shows the beginning of what differs.
func EqualMaps(t testing.TB, want, got map[string]string) {
	t.Helper()
	for key, w := range want {
		if got[key] != w {
			t.Errorf("%s: %.300s, want %.300s", key, got[key], w)
		}
	}
	Equal(t, "the number of keys", len(got), len(want))
}

// Patience says how long Eventually and Return wait. It ends a test that hangs; it does not decide one.
const Patience = 2 * time.Minute

// NotWithin opens the message of a test that waited in vain.
const NotWithin = "not within 2 minutes:"

// Eventually waits until ok returns true. It asks often at first and seldom later, so that a busy machine gets to
// what is waited for. When the test has failed elsewhere it waits no longer.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	wait := time.Millisecond
	for end := time.Now().Add(Patience); !ok(); wait = min(wait*5/4, 50*time.Millisecond) {
		switch {
		case t.Failed():
			t.FailNow()
		case time.Now().After(end):
			t.Fatalf("%s %s", NotWithin, what)
		}
		<-time.After(wait)
	}
}

// Success waits until do returns no error.
func Success(t testing.TB, do func() error) {
	t.Helper()
	var err error
	deadline := time.Now().Add(Patience)
	Eventually(t, "success", func() bool {
		if err = do(); err != nil && time.Now().After(deadline) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// Return runs f and fails the test when it does not return.
func Return(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(Patience):
		t.Fatalf("%s %s", NotWithin, what)
	}
}

// NextMillisecond returns when the clock of this machine shows a later millisecond.
func NextMillisecond(t testing.TB) {
	t.Helper()
	now := time.Now().UnixMilli()
	Eventually(t, "a millisecond passes", func() bool { return time.Now().UnixMilli() > now+1 })
}

// Text returns what is in a file.
func Text(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	NoError(t, err)
	return string(text)
}

// Allocates fails the test when f allocates more bytes than most.
func Allocates(t testing.TB, most uint64, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > most {
		t.Errorf("%d bytes were allocated, at most %d are allowed", got, most)
	}
}
