package fallback

import (
	"errors"
	"reflect"
	"sync"
)

// ErrGuarded reports a store that another Guard of this process uses: both would apply
// the same log.
var ErrGuarded = errors.New("another guard uses the store; a store belongs to one guard at a time")

// claims lists the stores that are in use, each with its guard.
var claims sync.Map

// claim takes a store for a guard, until release.
func claim(s Store, guard any) error {
	if !reflect.ValueOf(s).Comparable() {
		return nil // it cannot be distinguished from others
	}
	if _, taken := claims.LoadOrStore(s, guard); taken {
		return ErrGuarded
	}
	return nil
}

func release(s Store, guard any) {
	if reflect.ValueOf(s).Comparable() {
		claims.CompareAndDelete(s, guard)
	}
}
