package main

import (
	"os"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/value/seal"
	"github.com/rogpeppe/go-internal/testscript"
)

// putSealed is `sealed RING PACKAGE KEY FIELD TEXT`: it seals a text with the
// active key of the ring in a file and stores it; FIELD - is a string.
func putSealed(ts *testscript.TestScript, _ bool, args []string) {
	text, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	r, err := seal.Parse(text)
	ts.Check(err)
	at := keywright.Place{Schema: args[1], Key: args[2], Field: args[3]}
	if args[3] == "-" {
		at.Field = ""
	}
	sealed, err := r.Seal(at, args[4])
	ts.Check(err)
	if at.Field == "" {
		server(ts).Do("SET", at.Key, sealed)
		return
	}
	server(ts).Do("HSET", at.Key, at.Field, sealed)
}

// ringID is `ringid RING NAME`: NAME is the id of the active key from now on.
func ringID(ts *testscript.TestScript, _ bool, args []string) {
	text, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	r, err := seal.Parse(text)
	ts.Check(err)
	ts.Setenv(args[1], r.Active())
}
