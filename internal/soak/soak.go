// Package soak says how much a test that costs much does: little in every run, all of it where the variable
// KEYWRIGHT_SOAK is set, as `make soak` does.
//
// It is for tests of this module, and runs nothing itself.
package soak

import (
	"math/rand/v2"
	"os"

	"github.com/keywright/keywright/keywrighttest"
)

// Brands returns the brands of servers to run against: one of them, drawn, or all of them.
func Brands() []keywrighttest.Brand {
	all := keywrighttest.Brands()
	if os.Getenv("KEYWRIGHT_SOAK") != "" {
		return all
	}
	return all[rand.IntN(len(all)):][:1]
}
