package migrate_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

const lowered = `keywright: 1
vars: {nm: text}
keys:
  names: {key: names, type: hash, field: text, value: json, ttl: none}
  tags: {key: "tags:{nm}", type: list, member: int, ttl: none}
  low: {key: "low:{nm}", type: string, value: json, ttl: none}
migrations:
  d:
    sources: {one: {file: one.json}, two: {file: two.json}}
    parts:
      p:
        moves:
          - {from: "one:/n/{name}", to: names, field: "{name}", value: .}
          - {from: "one:/t/{name}/[]", to: tags, with: {nm: "lower({name})"}, member: ., kept: {name: names}}
          - {from: "two:/{name}", to: low, with: {nm: "lower({name})"}, value: ., kept: {name: names}}
`

// Two arrays that would be one list are two records, side by side or not: a plan says so, and what a program has made
// of them later is read by no command as one, and written over by none.
func TestTwoArraysThatAreOneList(t *testing.T) {
	t.Parallel()
	const twice = `{"n": {"b": 1, "c": 1}, "t": {"b": [3, 5], "B": [4], "c": [1]}}`
	server, root := kt.Start(t, kt.Redis), t.TempDir()
	c := dial(t, server.URL())
	writeFile(t, root, "one.json", twice)
	m := openDeclared(t, root, server.URL(), declaredMap(t, lowered))
	if r, err := m.Plan(t.Context(), "p"); err != nil || r.RoundTrip || r.Faulty == 0 {
		t.Errorf("%+v %v", r, err)
	}
	writeFile(t, root, "one.json", strings.Replace(twice, `"B": [4], `, "", 1))
	to(t, m, "p", phase.Backfill)
	if r, err := m.Import(t.Context(), "p", migrate.ImportOptions{}); err != nil || r.Written != 4 {
		t.Errorf("%+v %v", r, err)
	}
	writeFile(t, root, "one.json", twice)
	id := record.ID{Move: "p.tags", Key: "tags:b"}
	if got, err := m.Read(t.Context(), id); !errors.As(err, new(*record.Reject)) {
		t.Errorf("read: %v %v", got, err)
	}
	if err := migrate.Sync(m, "p", id); !errors.As(err, new(*record.Reject)) {
		t.Errorf("brought to Redis: %v", err)
	}
	redis(t, c, "RPUSH", "tags:c", "2")
	r, err := m.Verify(t.Context(), "p", migrate.VerifyOptions{Repair: true})
	if err != nil || r.Whole() || r.Repaired != 1 {
		t.Errorf("%+v %v", r, err)
	}
	to(t, m, "p", phase.Live)
	redis(t, c, "RPUSH", "tags:b", "6")
	redis(t, c, "RPUSH", "tags:c", "7")
	if r, err = m.Verify(t.Context(), "p", migrate.VerifyOptions{Repair: true}); err != nil || r.Whole() {
		t.Errorf("%+v %v", r, err)
	}
	text, err := os.ReadFile(filepath.Join(root, "one.json"))
	if want := strings.Replace(twice, `"c": [1]`, `"c": [1, 7]`, 1); err != nil || string(text) != want {
		t.Errorf("%s, not %s, %v", text, want, err)
	}
	folder := t.TempDir()
	if e, err := m.Export(t.Context(), "p", folder); err != nil || e.Refused == 0 {
		t.Errorf("%+v %v", e, err)
	}
	if text, err = os.ReadFile(filepath.Join(folder, "one.json")); err != nil || !strings.Contains(string(text), `"B": [4]`) {
		t.Errorf("%s %v", text, err)
	}
}
