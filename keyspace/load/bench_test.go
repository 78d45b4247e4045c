package load

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkLoad reads 1,000 entries of mixed kinds, as the largest teams have
// them.
func BenchmarkLoad(b *testing.B) {
	var text strings.Builder
	text.WriteString(head + "vars: {id: uuid, priority: high|normal|low}\nttls: {short: 15m in 1m..24h}\nkeys:\n")
	for i := range 250 {
		fmt.Fprintf(&text, "  cache%d:\n    key: svc%d:cache:{id}\n    type: cache\n    value: json\n    ttl: short\n", i, i)
		fmt.Fprintf(&text, "  lock%d: {key: \"svc%d:lock:{id}\", type: lock, ttl: 30s}\n", i, i)
		fmt.Fprintf(&text, "  queue%d: {key: \"svc%d:queue:{priority}\", type: queue, order: priority, ttl: none}\n", i, i)
		fmt.Fprintf(&text,
			"  item%d:\n    key: svc%d:item:{id}\n    type: entity\n    ttl: short\n    fields: {kind: a|b, at: unix_ms}\n "+
				"   index: {kind: \"svc%d:kind:{kind}\", at: \"svc%d:at\"}\n", i, i, i, i)
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if ks, findings := load(text.String()); len(findings) > 0 || len(ks.Entries) != 1000 {
			b.Fatal(findings)
		}
	}
}
