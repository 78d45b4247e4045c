package migrate_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/keywright/keywright"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
)

// A damaged file of the engine is said, and set aside by a repair that accepts it: a look changes nothing, and what the
// file said counts no longer.
func TestDamagedFilesOfTheEngine(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"shadow.json", "phase.json"} {
		t.Run(name, func(t *testing.T) {
			server, root := kt.Start(t, kt.Redis), t.TempDir()
			m := open(t, root, server.URL(), plain{map[string]string{"string": "a", "field": "b"}}, nil)
			to(t, m, "a", phase.Live)
			to(t, m, "b", phase.DualWrite)
			i := id("string:a:1")
			if err := m.Write(t.Context(), change(i, "1")); err != nil {
				t.Fatal(err)
			}
			own := filepath.Join(root, ".keywright", "test")
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			writeFile(t, own, name, "{")
			m = open(t, root, server.URL(), plain{map[string]string{"string": "a", "field": "b"}}, nil)
			_, err := m.Status(t.Context())
			if class, _ := keywright.ClassOf(err); !errors.Is(err, migrate.ErrDamaged) || class != keywright.Refused {
				t.Errorf("status: %v", err)
			}
			o := migrate.RepairOptions{From: phase.Redis}
			if _, err := m.Repair(t.Context(), "a", o); !errors.Is(err, migrate.ErrDamaged) {
				t.Errorf("repaired without a word: %v", err)
			}
			o.Accept, o.Look = true, true
			if r, err := m.Repair(t.Context(), "a", o); err != nil || r.Phase != phase.Live {
				t.Errorf("a look: %+v %v", r, err)
			}
			if left, err := os.ReadFile(filepath.Join(own, name)); err != nil || string(left) != "{" {
				t.Errorf("a look has changed it: %q %v", left, err)
			}
			o.Look = false
			if r, err := m.Repair(t.Context(), "a", o); err != nil || r.Phase != phase.Live {
				t.Fatalf("%+v %v", r, err)
			}
			if left, err := os.ReadFile(filepath.Join(own, name+".damaged")); err != nil || string(left) != "{" {
				t.Errorf("it is not set aside: %q %v", left, err)
			}
			all, err := m.Status(t.Context())
			if err != nil || len(all) != 2 || all[0].Lost != nil || (all[1].Lost != nil) != (name == "phase.json") {
				t.Errorf("%+v %v", all, err)
			}
			if read, err := m.Read(t.Context(), i); err != nil || !slices.Equal(shown(read), []string{"1"}) {
				t.Errorf("read: %v %v", shown(read), err)
			}
			if _, err := m.Repair(t.Context(), "b", migrate.RepairOptions{From: phase.Redis}); err != nil {
				t.Fatal(err)
			}
			if at := phaseOf(t, m, "b"); at != phase.DualWrite {
				t.Errorf("the other part is in %s", at)
			}
		})
	}
}

// A damaged file of what commands have found out is as none: every gate that it would open is closed.
func TestDamagedFacts(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	root, m := settingsInShadow(t, server.URL())
	writeFile(t, root, ".keywright/files/facts-settings.json", `{"verified": true, "imported": true`)
	f, err := m.Facts(t.Context(), "settings")
	if err != nil || f.Verified || f.Imported || f.RoundTrip || f.Looked {
		t.Errorf("%+v %v", f, err)
	}
	settingsVerified(t, m, true)
}
