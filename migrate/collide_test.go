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

// Records that are one in Redis are listed with both places, and are none of those that can be moved.
func TestCollisionsHavePlaces(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	writeFile(t, root, "one.json", `{"n": {"ann": 1, "x": 1}}`)
	writeFile(t, root, "two.json", "{\n\"x\": 1,\n\"Ann\": 2,\n\"X\": 7,\n\"ann\": 3\n}")
	m, err := migrate.Open(t.Context(), migrate.Config{Root: root, Look: true, Map: declaredMap(t, lowered)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	r, err := m.Plan(t.Context(), "p")
	if err != nil || r.RoundTrip || r.Moves[0].Records != 2 || r.Moves[2].Records != 0 || r.Moves[2].Bytes != 0 {
		t.Errorf("%+v %v", r, err)
	}
	text := ""
	for _, fault := range r.Faults {
		text += fault.Error() + "\n"
	}
	for _, want := range []string{`two.json:4:6: p.low: the record "low:x" is in Redis the same as that of p.low at two.json:2:6`,
		`two.json:5:8: p.low: the record "low:ann" is in Redis the same as that of p.low at two.json:3:8`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nhas no %s", text, want)
		}
	}
}

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

// What has ended is not counted as what can be moved.
func TestAPlanCountsNoEndedRecord(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	writeFile(t, root, "state.json", `{"history": {"123": {"77": {"stories": [{"hash": "a", "at": "2020-01-01T00:00:00Z"},
{"hash": "b", "at": "2099-01-01T00:00:00Z"}]}}}}`)
	m, err := migrate.Open(t.Context(), migrate.Config{Root: root, Look: true, Map: declaredMap(t, bot)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	r, err := m.Plan(t.Context(), "history")
	if err != nil || r.Over != 1 || r.Moves[0].Records != 2 || r.Moves[1].Records != 1 || !r.RoundTrip {
		t.Errorf("%+v %v", r, err)
	}
}
