package guard

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/keywright/keywright/internal/lua"
	"github.com/keywright/keywright/keyspace"
)

// scripts holds those that a keyspace declares, by their sums, with the keys that each names.
type scripts map[[sha1.Size]byte][]*keyspace.Key

func declaredScripts(ks *keyspace.Keyspace) scripts {
	out := scripts{}
	for _, e := range ks.Entries {
		if e.Script == nil {
			continue
		}
		sum := sha1.Sum([]byte(e.Script.Text))
		for _, name := range e.Script.Keys {
			if _, k := ks.Lookup(name); k != nil {
				out[sum] = append(out[sum], k)
			}
		}
	}
	return out
}

// may reports whether the script of a call may write a key of a construct: those of the
// constructs may, and those that are declared with this key. A function of a library, and
// a script that nothing declares, may not.
func (s scripts) may(args []string, key *keyspace.Key) bool {
	var sum [sha1.Size]byte
	switch name := lower(args[0]); {
	case strings.HasPrefix(name, "evalsha"):
		told, err := hex.DecodeString(args[1])
		if err != nil || copy(sum[:], told) != len(told) {
			return false
		}
	case strings.HasPrefix(name, "eval"):
		sum = sha1.Sum([]byte(args[1]))
	default:
		return false
	}
	return lua.Made(sum) || slices.Contains(s[sum], key)
}
