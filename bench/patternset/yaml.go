package patternset

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// YAML declares the set as a keyspace file, one plain entry per pattern.
func (s *Set) YAML() []byte {
	var b strings.Builder
	b.WriteString("keywright: 1\npackage: generated\nowner: bench\n\nvars:\n")
	all := strings.Join(s.Texts(), "\n")
	for _, name := range slices.Sorted(maps.Keys(placeholders)) {
		if strings.Contains(all, "{"+name+"}") { // an unused var is a finding
			fmt.Fprintf(&b, "  %s: %s\n", name, placeholders[name].kind)
		}
	}
	b.WriteString("\nkeys:\n")
	for i, t := range s.templates {
		fmt.Fprintf(&b, "  entry_%04d:\n    doc: Entry %d of a generated file.\n    key: %q\n    type: %s\n    ttl: %s\n",
			i, i, t.Text, kinds[i%len(kinds)], ttls[i%len(ttls)])
	}
	return []byte(b.String())
}

var (
	kinds = []string{"string", "hash", "zset", "set", "list", "cache"}
	ttls  = []string{"1d", "15m in 1m..24h", "7d ~10%", "30d"}
)
