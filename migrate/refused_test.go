package migrate_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
)

const refused = `keywright: 1
keys:
  user: {key: "user:{id}", type: entity, ttl: none, fields: {name: text, at: unix_s}, index: {at: "users"}}
  jobs: {key: "jobs:{g}", type: queue, value: json, ttl: none}
migrations:
  files:
    sources: {s: {file: s.json}}
    parts:
      users: {moves: [{from: "s:/users/{id}", to: user}]}
      work: {moves: [{from: "s:/jobs/{g}/[]", to: jobs, value: .}]}
`

// Records that scripts of their own write are refused before any step, with what to do instead.
func TestItemsAndJobsAreRefused(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	root := t.TempDir()
	writeFile(t, root, "s.json", `{"users": {"u1": {"name": "ann", "at": 1795000000}}, "jobs": {"a": [{"n": 1}]}}`)
	m := openDeclared(t, root, server.URL(), declaredMap(t, refused))
	for part, advice := range map[string]string{"users": "Create of the entity's generated store",
		"work": "let the workers empty the file"} {
		p, err := m.Plan(t.Context(), part)
		if err != nil || p.Faulty == 0 || p.RoundTrip {
			t.Fatalf("%s: %+v %v", part, p, err)
		}
		_, refusal := m.Advance(t.Context(), part, migrate.ChangeOptions{Force: true})
		for _, err := range []error{p.Faults[0], refusal} {
			var e *keywright.Error
			if !errors.As(err, &e) || e.Class != keywright.Invalid || !strings.Contains(e.Hint, advice) {
				t.Errorf("%s: %v", part, err)
			}
		}
		if is, err := m.Phase(part); err != nil || is.Phase != phase.Off {
			t.Errorf("%s: in phase %s, %v", part, is.Phase, err)
		}
		_, err = m.Import(t.Context(), part, migrate.ImportOptions{})
		if err == nil {
			t.Errorf("%s was imported", part)
		}
	}
	if n := server.Do("DBSIZE"); n != int64(0) {
		t.Errorf("Redis has %v keys", n)
	}
}

// A cluster is refused when a migration is opened, with the way around it.
func TestAClusterIsRefused(t *testing.T) {
	t.Parallel()
	c := kt.StartCluster(t, kt.Redis, 3, 0)
	root := t.TempDir()
	m, err := migrate.Open(t.Context(), migrate.Config{Root: root, Map: declaredMap(t, bot), Client: dial(t, c.URL())})
	var e *keywright.Error
	if !errors.As(err, &e) || e.Class != keywright.Invalid || !strings.Contains(e.Hint, "keywright copy") {
		t.Errorf("%v", err)
	}
	if m != nil {
		_ = m.Close()
	}
}
