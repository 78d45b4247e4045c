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

// A process that only looks takes no part in the migration and changes nothing; what reads files
// alone needs no server.
func TestLook(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	root, m := t.TempDir(), declaredMap(t, bot)
	writeFile(t, root, "state.json", `{"guilds": {"456": {"persona": "x"}}}`)
	var bytes, records int64
	alone, err := migrate.Open(t.Context(), migrate.Config{Root: root, Map: m, Look: true,
		Progress: func(b, r int64) { bytes, records = b, r }})
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	if p, err := alone.Plan(t.Context(), "settings"); err != nil || p.Records != 1 || !p.RoundTrip {
		t.Errorf("%+v %v", p, err)
	}
	if files, size, err := alone.Size(t.Context(), "settings"); err != nil || files != 1 || size != bytes || records != 1 {
		t.Errorf("%d files of %d bytes, %d bytes and %d records read, %v", files, size, bytes, records, err)
	}
	status, err := alone.Status(t.Context())
	if err != nil || len(status) != 2 || len(status[0].Processes) != 0 || len(status[0].Facts.Unfit) != 1 {
		t.Errorf("%+v %v", status, err)
	}
	if _, err := alone.Verify(t.Context(), "settings", migrate.VerifyOptions{}); err == nil {
		t.Error("verified without a server")
	}
	if left, err := os.ReadDir(filepath.Join(root, ".keywright", "files", "processes")); err != nil || len(left) > 0 {
		t.Errorf("a process that looks is there: %v %v", left, err)
	}
	looks, err := migrate.Open(t.Context(), migrate.Config{Root: root, Map: m, Look: true, Client: dial(t, server.URL())})
	if err != nil {
		t.Fatal(err)
	}
	defer looks.Close()
	i := record.ID{Move: "settings.persona", Key: "p:456"}
	_, imported := looks.Import(t.Context(), "settings", migrate.ImportOptions{})
	_, verified := looks.Verify(t.Context(), "settings", migrate.VerifyOptions{Repair: true})
	_, advanced := looks.Advance(t.Context(), "history", migrate.ChangeOptions{Force: true})
	_, repaired := looks.Repair(t.Context(), "history", migrate.RepairOptions{From: phase.Files})
	_, _, replayed := looks.Replay(t.Context())
	for n, err := range []error{imported, verified, advanced, repaired, replayed,
		looks.Write(t.Context(), changeOf(m, i, "y"))} {
		if class, _ := keywright.ClassOf(err); class != keywright.Invalid || err == nil ||
			!strings.Contains(err.Error(), "look only") {
			t.Errorf("%d: %v", n, err)
		}
	}
	if _, err := migrate.Open(t.Context(), migrate.Config{Root: root, Map: m}); err == nil {
		t.Error("a process takes part without a server")
	}
}

// Force goes on without the gates that are named, and no others.
func TestForceOfSomeGates(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis, kt.Config("appendonly", "yes"))
	root, m := t.TempDir(), declaredMap(t, bot)
	writeFile(t, root, "state.json", `{"history": {"x": 1}}`)
	take := openDeclared(t, root, server.URL(), m)
	some := migrate.ChangeOptions{Force: true, Only: []phase.Gate{phase.Fit, phase.For}}
	var closed *migrate.GateError
	if _, err := take.Advance(t.Context(), "history", some); !errors.As(err, &closed) {
		t.Errorf("the round trip was not looked at: %v", err)
	}
	if _, err := take.Advance(t.Context(), "settings", some); err == nil || !strings.Contains(err.Error(), "comes first") {
		t.Errorf("the parts are out of order: %v", err)
	}
	some.Only = append(some.Only, phase.RoundTrip, phase.Covered)
	if done, err := take.Advance(t.Context(), "history", some); err != nil || len(done.Forced) != 2 {
		t.Errorf("%+v %v", done, err)
	}
}
