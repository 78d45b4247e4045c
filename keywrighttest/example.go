package keywrighttest

import (
	"fmt"
	"testing"
)

// Example starts a server for an Example function, which gets no testing.TB. It gives
// the server's URL and a function that stops the server: defer it. What goes wrong
// is a panic, which is how an Example fails.
func Example(options ...Option) (url string, stop func()) {
	e := &example{}
	s := Start(e, Redis, options...)
	return s.URL(), e.end
}

// example is as much of a testing.TB as a server needs.
type example struct {
	testing.TB // nil: what is not below is not called
	last       []func()
}

func (e *example) Helper()                   {}
func (e *example) Cleanup(f func())          { e.last = append(e.last, f) }
func (e *example) Error(args ...any)         { panic(fmt.Sprint(args...)) }
func (e *example) Errorf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (e *example) Fatal(args ...any)         { panic(fmt.Sprint(args...)) }
func (e *example) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

func (e *example) end() {
	for len(e.last) > 0 {
		f := e.last[len(e.last)-1]
		e.last = e.last[:len(e.last)-1]
		f()
	}
}
