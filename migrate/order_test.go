package migrate_test

import (
	"testing"

	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
)

// A part that was repaired from its files goes forward, and one that is ahead of it back: neither waits for the other.
// No step brings a part further ahead.
func TestAPartThatIsAheadAlready(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	m := open(t, t.TempDir(), server.URL(), plain{map[string]string{"string": "a", "field": "b", "hash": "c"}}, nil)
	parts := []string{"a", "b", "c"}
	for _, part := range parts {
		to(t, m, part, phase.Live)
	}
	if _, err := m.Repair(t.Context(), "a", migrate.RepairOptions{From: phase.Files}); err != nil {
		t.Fatal(err)
	}
	o := migrate.ChangeOptions{Force: true, Only: []phase.Gate{phase.Imported, phase.Verified, phase.Compared,
		phase.Unequal, phase.For, phase.Backup, phase.Fit, phase.Covered}} // with Only, Force keeps the order of the parts
	if _, err := m.Advance(t.Context(), "b", o); err == nil {
		t.Error("b is further ahead of a")
	}
	if _, err := m.Rollback(t.Context(), "b", o); err == nil {
		t.Error("b is back, and c ahead of it")
	}
	if _, err := m.Advance(t.Context(), "a", o); err != nil {
		t.Errorf("a does not go forward: %v", err)
	}
	if _, err := m.Rollback(t.Context(), "c", o); err != nil {
		t.Errorf("c does not go back: %v", err)
	}
}
