//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

// TestServeMigrations: the page of migrations has what `keywright migrate` has done, and says where nothing is known.
func TestServeMigrations(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	dir := t.TempDir()
	declaration := filepath.Join(dir, "keyspace.yaml")
	for name, text := range map[string]string{"state.json": `{"1": {"persona": "x"}}`, "keyspace.yaml": `keywright: 1
package: bot
vars: {g: int}
keys: {persona: {key: "persona:{g}", type: string, value: text, ttl: none}}
migrations:
  one: {sources: {state: {file: state.json}}, parts: {all: {moves: [{from: "state:/{g}/persona", to: persona, value: .}]}}}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	type list struct {
		At, Partial string
		Items       []struct {
			Migration, Part, Phase, Authority string
			Forward                           *struct{ To string }
		}
	}
	shown := func() (out list) {
		url, stop := serving(t, "-f", declaration, "-u", s.URL(), "--store", "none")
		defer stop()
		changing(t, url, func() bool {
			text, _ := get(t, url+"api/v1/t/default/migrations", http.StatusOK)
			if err := json.Unmarshal([]byte(text), &out); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			return out.At != ""
		})
		return out
	}
	if l := shown(); len(l.Items) != 1 || l.Items[0].Part != "all" || l.Items[0].Phase != "" ||
		!strings.Contains(l.Partial, "another machine") {
		t.Errorf("%+v", l)
	}
	if _, err := os.Stat(filepath.Join(dir, ".keywright")); err == nil {
		t.Error("to look has made a folder")
	}
	for _, args := range [][]string{{"plan", "all"}, {"advance", "all", "--apply"}} {
		var said bytes.Buffer
		if err := keywrightWith(t, &said, append(append([]string{"migrate"}, args...), "-f", declaration, "-u", s.URL())...).
			Run(); err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
	}
	if l := shown(); len(l.Items) != 1 || l.Items[0].Phase != "dual-write" || l.Items[0].Authority != "files" ||
		l.Items[0].Forward == nil || l.Partial != "" {
		t.Errorf("%+v", l)
	}
}
