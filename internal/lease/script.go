package lease

import (
	"embed"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/lua"
	"github.com/keywright/keywright/kernel"
)

//go:embed *.lua
var files embed.FS

var parts = lua.New(files)

// scripts describes what a lease does on the server.
type scripts struct{ take, keep, free *keywright.Script }

// standard lists the scripts of all leases; a variable so that a test can take a guard
// out and see that it is missed.
var standard = newScripts(parts)

func newScripts(parts *lua.Set) scripts {
	return scripts{
		take: keywright.NewScript("lease take", parts.Later("take")),
		keep: keywright.NewScript("lease keep", parts.Later("keep")),
		free: keywright.NewScript("lease free", parts.Later("free")),
	}
}

// Mutate changes the scripts of all leases until restore is called. It is for tests that
// take a guard out.
func Mutate(old, new string) (restore func(), ok bool) {
	mutant, n := parts.Mutant("", old, new)
	scripts, files := standard, parts
	standard, parts = newScripts(mutant), mutant
	return func() { standard, parts = scripts, files }, n == 1
}

// Keep makes a lease last for ttl from now, if the token is its still; 0 gives it up.
// false: it is not held any more. It is for keys that are taken in a step of their own.
func Keep(a kernel.Action, key, token string, ttl time.Duration) keywright.Op[bool] {
	a.Effect = keywright.Idempotent
	return kernel.NewOp(kernel.Spec[bool]{
		Action: a, Script: standard.keep, Keys: []string{key}, Args: []string{token, ms(ttl)},
		Decode: kernel.Reply.AsBool,
	})
}

func ms(d time.Duration) string {
	if d > 0 {
		d = max(d, time.Millisecond)
	}
	return strconv.FormatInt(d.Milliseconds(), 10)
}
