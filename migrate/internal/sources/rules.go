package sources

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright/keyspace"
)

// rulesOf returns a digest of all that decides whether both sides of a part are equal: its moves, the types of what
// they read and store, and how values are compared.
func rulesOf(m *keyspace.Migration, p *keyspace.Part) string {
	sum := sha256.New()
	typed := func(name string, t interface {
		fmt.Stringer
		Definition() string
	}) {
		fmt.Fprintf(sum, "%q %q %q\n", name, t, t.Definition())
	}
	fmt.Fprintf(sum, "%q\n", formOf(p))
	for _, mv := range p.Moves {
		types := mv.Types()
		for _, name := range slices.Sorted(maps.Keys(types)) {
			if types[name] != nil {
				typed(name, types[name])
			}
		}
		main := mv.To.Keys[0]
		for _, place := range main.Pattern.Placeholders() {
			typed(place.Name, place.Type)
		}
		for _, f := range slices.Concat(main.Fields, main.JSON) {
			typed(f.Name, f.Type)
		}
		for _, r := range m.Compare {
			if r.Entry == mv.To {
				fmt.Fprintf(sum, "%q %q %s\n", strings.Join(r.Field, "."), r.As, r.Until)
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// readsOf returns a digest of what the moves of all parts read, and of what is ignored.
func readsOf(m *keyspace.Migration) string {
	sum := sha256.New()
	for _, p := range m.Parts {
		fmt.Fprintf(sum, "%q\n", formOf(p))
	}
	for _, i := range m.Ignore {
		fmt.Fprintf(sum, "%q\n", i)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
