package migrate_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keywright/keywright"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// guilds leaves out what another file has, by two moves of one object.
const guilds = `keywright: 1
keys:
  guilds: {key: guilds, type: set, member: text, ttl: none}
  persona: {key: "persona:{g}", type: string, value: text, ttl: none}
migrations:
  files:
    sources: {s: {file: s.json}}
    parts:
      p:
        moves:
          - {from: "s:/{g}", to: guilds, member: "{g}", except: {g: global}}
          - {from: "s:/{g}/persona", to: persona, value: ., except: {g: global}}
`

// goTo brings a part of a declared migration to a phase, with all that its gates ask for.
func goTo(t testing.TB, m *migrate.Migration, part string, want phase.Phase) {
	t.Helper()
	for {
		is, err := m.Phase(part)
		if err != nil {
			t.Fatal(err)
		}
		if is.Phase == want {
			return
		}
		if is.Phase == phase.Backfill {
			if _, err := m.Import(t.Context(), part, migrate.ImportOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := m.Advance(t.Context(), part, migrate.ChangeOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNothingIsWrittenThatNoMoveReads: a record of Redis that a file could not give back is refused by each
// way to a file, by its key, and the files stay as they were and can be read.
func TestNothingIsWrittenThatNoMoveReads(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	c := dial(t, server.URL())
	root, out := t.TempDir(), t.TempDir()
	const doc = `{"a":{"persona":"y"},"global":{"persona":"z"}}`
	writeFile(t, root, "s.json", doc)
	m := openDeclared(t, root, server.URL(), declaredMap(t, guilds))
	goTo(t, m, "p", phase.Live)
	set := func(args ...string) {
		t.Helper()
		raw := c.Raw()
		if err := raw.Do(t.Context(), raw.B().Arbitrary(args...).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	unchanged := func(what string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(root, "s.json")); err != nil || string(got) != doc {
			t.Fatalf("%s: %s %v", what, got, err)
		}
	}
	global := record.ID{Move: "p.persona", Key: "persona:global"}
	err := m.Write(t.Context(), migrate.Change{ID: global,
		Records: []*record.Record{{Move: m.Move("p.persona"), Key: "persona:global", Value: []byte("secret")}}})
	class, _ := keywright.ClassOf(err)
	if bad := new(record.Reject); !errors.As(err, &bad) || bad.Key != "persona:global" || class != keywright.Invalid {
		t.Errorf("a write by a program: %v", err)
	}
	unchanged("a write")
	set("SADD", "guilds", "global")
	set("SET", "persona:global", "secret")
	for range 2 {
		r, err := m.Verify(t.Context(), "p", migrate.VerifyOptions{Repair: true})
		if err != nil || r.Extra != 2 || r.Repaired != 0 || r.Refused != 2 || len(r.Refusals) != 2 || r.Whole() {
			t.Fatalf("%+v %v", r, err)
		}
		for _, bad := range r.Refusals {
			if bad.Key == "" || bad.Digest == "" || strings.Contains(bad.Error(), "secret") {
				t.Error(bad)
			}
		}
		unchanged("a repair")
	}
	e, err := m.Export(t.Context(), "p", out)
	if err != nil || e.Refused != 2 || len(e.Refusals) != 2 {
		t.Fatalf("%+v %v", e, err)
	}
	if got, err := os.ReadFile(filepath.Join(out, "s.json")); err != nil || string(got) != doc {
		t.Errorf("the export is %s, %v", got, err)
	}
	goTo(t, m, "p", phase.Complete)
	set("SET", "persona:b", "new")
	var refused *migrate.RefusedError
	_, err = m.Rollback(t.Context(), "p", migrate.ChangeOptions{Force: true})
	if !errors.As(err, &refused) || refused.Count != 2 {
		t.Fatalf("the rollback: %v", err)
	}
	if is, err := m.Phase("p"); err != nil || is.Phase != phase.Complete || is.Intent != nil {
		t.Fatalf("%+v %v", is, err)
	}
	set("DEL", "persona:global")
	set("SREM", "guilds", "global")
	set("SADD", "guilds", "b")
	if _, err := m.Rollback(t.Context(), "p", migrate.ChangeOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	Run(t, m, "p")
	got, err := os.ReadFile(filepath.Join(root, "s.json"))
	if want := `{"a":{"persona":"y"},"global":{"persona":"z"},"b":{"persona":"new"}}`; err != nil || string(got) != want {
		t.Errorf("%s %v", got, err)
	}
}

// TestStatusSaysThatDataIsLost: after a flush the status of a part that has begun says it, and the error of what
// reads Redis says it once.
func TestStatusSaysThatDataIsLost(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	root := t.TempDir()
	writeFile(t, root, "s.json", `{"a":{"persona":"y"}}`)
	m := openDeclared(t, root, server.URL(), declaredMap(t, guilds))
	lost := func() error {
		t.Helper()
		all, err := m.Status(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		return all[0].Lost
	}
	for _, at := range []phase.Phase{phase.Off, phase.DualWrite, phase.Shadow} {
		goTo(t, m, "p", at)
		if err := lost(); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
	c := dial(t, server.URL()).Raw()
	if err := c.Do(t.Context(), c.B().Flushall().Build()).Error(); err != nil {
		t.Fatal(err)
	}
	if err := lost(); !errors.Is(err, phase.ErrLost) {
		t.Errorf("after a flush: %v", err)
	}
	_, err := m.Verify(t.Context(), "p", migrate.VerifyOptions{})
	if !errors.Is(err, phase.ErrLost) || strings.Contains(err.Error(), "\n") {
		t.Errorf("verify: %q", err)
	}
	server.Kill()
	if err := lost(); err != nil {
		t.Errorf("a server that is away has lost nothing: %v", err)
	}
}
