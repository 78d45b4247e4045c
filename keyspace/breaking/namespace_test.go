package breaking

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
)

// TestANamespaceThatStays: a namespace of a new import is new. The old one is still there,
// and no key is to be renamed from it.
func TestANamespaceThatStays(t *testing.T) {
	read := func(files fstest.MapFS) *keyspace.Keyspace {
		ks, found := load.File(files, "k.yaml")
		if finding.Count(found).Errors > 0 {
			t.Fatal(found)
		}
		return ks
	}
	a := "keywright: 1\nnamespace: p\nkeys:\n  a: {key: \"p:x\", type: lock, ttl: 1d}\n"
	b := "keywright: 1\nnamespace: q\nkeys:\n  b: {key: \"q:y\", type: lock, ttl: 1d}\n"
	old := read(fstest.MapFS{"k.yaml": {Data: []byte(a + "  b: {key: \"p:y\", type: lock, ttl: 1d}\n")}})
	now := read(fstest.MapFS{"k.yaml": {Data: []byte(a + "imports: [q.yaml]\n")}, "q.yaml": {Data: []byte(b)}})
	told := 0
	for _, f := range Run(old, now) {
		if f.Code == "KW608" {
			if told++; strings.Contains(f.Message, "was p") || strings.Contains(f.Fix, "from-namespace p") {
				t.Errorf("%s: %s", f.Message, f.Fix)
			}
		}
	}
	if told != 1 {
		t.Errorf("KW608 is told %d times", told)
	}
}
