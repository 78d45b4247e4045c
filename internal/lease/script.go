package lease

import (
	_ "embed"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/redis/rueidis"
)

//go:embed functions.lua
var functionsText string

//go:embed take.lua
var takeText string

//go:embed keep.lua
var keepText string

//go:embed free.lua
var freeText string

// scripts are what a lease does on the server.
type scripts struct{ take, keep, free *keywright.Script }

// standard are the scripts of all leases; a variable so that a test can take a guard
// out and see that it is missed.
var standard = newScripts(func(text string) string { return text })

func newScripts(edit func(string) string) scripts {
	script := func(name, text string) *keywright.Script { return keywright.NewScript(name, edit(functionsText+text)) }
	return scripts{script("lease take", takeText), script("lease keep", keepText), script("lease free", freeText)}
}

// Mutate changes the scripts of all leases until restore is called, and with them those
// that Include makes. It is for tests that take a guard out.
func Mutate(old, new string) (restore func(), ok bool) {
	ok = strings.Count(functionsText+takeText+keepText+freeText, old) == 1
	scripts, functions := standard, functionsText
	edit := func(text string) string { return strings.Replace(text, old, new, 1) }
	standard, functionsText = newScripts(edit), edit(functionsText)
	return func() { standard, functionsText = scripts, functions }, ok
}

// Include is a script's text with the functions that take and check a lease in place
// of the line `--include lease`: in a step that does something else too.
func Include(text string) string { return strings.Replace(text, "--include lease\n", functionsText, 1) }

// Keep makes a lease last for ttl from now, if the token is its still; 0 gives it up.
// false: it is not held any more. It is for keys that are taken in a step of their own.
func Keep(a keywright.Action, key, token string, ttl time.Duration) keywright.Op[bool] {
	a.Effect = keywright.Idempotent
	return keywright.NewOp(keywright.Spec[bool]{
		Action: a, Script: standard.keep, Keys: []string{key}, Args: []string{token, ms(ttl)},
		Decode: rueidis.RedisResult.AsBool,
	})
}

func ms(d time.Duration) string {
	if d > 0 {
		d = max(d, time.Millisecond)
	}
	return strconv.FormatInt(d.Milliseconds(), 10)
}
