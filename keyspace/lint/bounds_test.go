package lint

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/match"
)

// declarationOf is a declaration with n entries.
func declarationOf(n int, entry func(i int) string) string {
	var b strings.Builder
	b.WriteString("keywright: 1\npackage: p\nowner: o\nkeys:\n")
	for i := range n {
		fmt.Fprintf(&b, "  e%d: %s\n", i, entry(i))
	}
	return b.String()
}

// As many entries as a declaration may have are compared, whatever they expand to.
func TestManyEntriesAreCompared(t *testing.T) {
	for name, entry := range map[string]func(int) string{
		"queues": func(i int) string {
			return fmt.Sprintf(`{doc: D., key: "k%d:{a}", type: queue, value: text, ttl: none}`, i)
		},
		"strings": func(i int) string { return fmt.Sprintf(`{doc: D., key: "k%d:{a}", type: string, ttl: 1h}`, i) },
		"one prefix": func(i int) string {
			return fmt.Sprintf(`{doc: D., key: "shop:part:item_%d:{a}:{b}", type: string, ttl: 1h}`, i)
		},
	} {
		ks := declared(t, declarationOf(4000, entry))
		if found := Run(ks); len(found) > 0 {
			t.Errorf("%s: %d findings, %+v", name, len(found), found[0])
		}
		items, _ := ks.Items()
		if _, _, err := match.Compile(items); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is too complex is said within bounds, once, at a line and with the patterns.
func TestTooComplexIsSaidWhere(t *testing.T) {
	text := declarationOf(3000, func(i int) string {
		return fmt.Sprintf(`{doc: D., key: "{a}:{b}:k%d", type: string, ttl: 1h}`+"\n"+`  f%d: {doc: D., key: "k%d:{a}:{b}", type: string, ttl: 1h}`, i, i, i)
	})
	found := Run(declared(t, text))
	if len(found) != 1 || found[0].Code != "KW120" || found[0].Pos.Line != 5 || found[0].Entry != "e0" || !strings.Contains(found[0].Message, "{a}:{b}:k0, k0:{a}:{b}, {a}:{b}:k1 and 5997 more") {
		t.Errorf("%d findings: %+v", len(found), found[:min(len(found), 3)])
	}
	if c := finding.Count(found); c.Errors != 1 {
		t.Errorf("%+v", c)
	}
}

// declared loads a declaration that must have no errors.
func declared(t *testing.T, text string) *keyspace.Keyspace {
	t.Helper()
	ks, found := keyspace.Load(fstest.MapFS{"k.yaml": {Data: []byte(text)}}, "k.yaml")
	if c := finding.Count(found); c.Errors > 0 {
		t.Fatalf("%+v", found[0])
	}
	return ks
}
