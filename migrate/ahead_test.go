package migrate_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
)

// A process that begins finds out what was lost, and every command of it says the same: the folder of the phases, an
// older copy of it, the last writes of the server, and what was seen of the server.
func TestWhatIsLostIsSaid(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis)
	c := dial(t, server.URL())
	root, m := settingsInShadow(t, server.URL())
	own, older, live := filepath.Join(root, ".keywright"), t.TempDir(), t.TempDir()
	closed := func() {
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	closed()
	copied := func(to, from string) {
		t.Helper()
		if err := errors.Join(os.RemoveAll(to), os.CopyFS(to, os.DirFS(from))); err != nil {
			t.Fatal(err)
		}
	}
	copied(older, own)
	m = openDeclared(t, root, server.URL(), declaredMap(t, bot))
	to(t, m, "history", phase.Live)
	to(t, m, "settings", phase.Live)
	closed()
	copied(live, own)
	ticket, err := c.Raw().Do(t.Context(), c.Raw().B().Hget().Key("keywright:migrate:files").Field("ticket:settings").
		Build()).ToString()
	if err != nil {
		t.Fatal(err)
	}
	for what, scene := range map[string]struct {
		make func()
		want error
	}{
		"nothing": {func() {}, nil},
		"the folder": {func() {
			if err := os.RemoveAll(own); err != nil {
				t.Fatal(err)
			}
		}, phase.ErrAhead},
		"an older copy": {func() { copied(own, older) }, phase.ErrAhead},
		"the last writes of the server": {func() {
			redis(t, c, "HSET", "keywright:migrate:files", "ticket:settings", "5")
		}, phase.ErrLost},
		"what was seen": {func() { writeFile(t, own, "files/seen.json", "x") }, migrate.ErrUnseen},
	} {
		copied(own, live)
		redis(t, c, "HSET", "keywright:migrate:files", "ticket:settings", ticket)
		scene.make()
		looks, err := migrate.Open(t.Context(), migrate.Config{Root: root, Map: declaredMap(t, bot), Look: true, Client: c})
		if err != nil {
			t.Fatal(err)
		}
		all, failed := looks.Status(t.Context())
		if failed != nil || len(all) != 2 || !errors.Is(all[1].Lost, scene.want) ||
			(scene.want == nil) != (all[1].Lost == nil) {
			t.Errorf("%s: status: %+v %v", what, all, failed)
		}
		_, verified := looks.Verify(t.Context(), "settings", migrate.VerifyOptions{})
		_, exported := looks.Export(t.Context(), "settings", t.TempDir())
		for verb, err := range map[string]error{"verify": verified, "export": exported, "look": looks.Lost(t.Context(),
			"settings")} {
			if !errors.Is(err, scene.want) || (scene.want == nil) != (err == nil) {
				t.Errorf("%s: %s: %v", what, verb, err)
			}
		}
		if err := looks.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
