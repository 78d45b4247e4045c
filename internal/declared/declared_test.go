package declared_test

import (
	"strings"
	"testing"

	"github.com/keywright/keywright/gen/grafana"
	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/keyspace"
)

const text = "keywright: 1\npackage: p\nkeys: {a: {key: a, type: string, ttl: 1h}}\n"

func TestDeclared(t *testing.T) {
	for name, ks := range map[string]*keyspace.Keyspace{"a text": declared.Keyspace(t, text),
		"bytes": declared.Clean(t, []byte(text)), "a file": declared.File(t, "../everykeys/keyspace.yaml")} {
		if len(ks.Entries) == 0 {
			t.Errorf("%s has no entries", name)
		}
	}
}

func TestGenerated(t *testing.T) {
	g := declared.Generator(grafana.Generate)
	whole := g.Text(t, text)
	_, head, _ := strings.Cut(whole[:40], "\n")
	module := g.Module(t, declared.Keyspace(t, text), head)
	if !strings.HasSuffix(module, whole[40:]) || strings.Contains(module, head) {
		t.Errorf("%.100s", module)
	}
}
