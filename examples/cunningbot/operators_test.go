package cunningbot_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/seed"
	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// TestUsersOfTheMigration runs the commands of README.md from the files to Redis, each under the deployed user that it
// is for: migration moves, archive and operator save, and no command is refused a right.
func TestUsersOfTheMigration(t *testing.T) {
	gate.Skip(t, "runs twenty programs")
	s := protected(t, keywrighttest.Redis)
	dir := t.TempDir()
	must(t, seed.Write(dir, seed.Options{Seed: 3, Now: time.Now(), Guilds: 1, Articles: 3, Items: 1, Stories: 2}))
	as := func(user string, args ...string) string {
		t.Helper()
		return sitetest.Keywright(t, sitetest.URL(s, user), args...)
	}
	moves := func(args ...string) string {
		t.Helper()
		return as("migration", append([]string{"migrate"}, append(args, "--root", dir)...)...)
	}
	if said := moves("plan"); strings.Contains(said, "NOPERM") {
		t.Error(said)
	}
	for range 2 { // dual-write, backfill
		moves("advance", "history", "--apply")
	}
	moves("import", "history", "--apply")
	moves("verify", "history")
	moves("advance", "history", "--apply")
	moves("status")
	for _, user := range []string{"archive", "operator"} {
		file := filepath.Join(t.TempDir(), "all.kwa")
		as(user, "backup", "--to", file)
		as("archive", "verify", file, sitetest.URL(s, user))
		moves("verify", "history", "--backup", file)
	}
	as("operator", "queues")
	as("operator", "locks")
	as("operator", "audit", "--values")
	as("operator", "delete", "--entry", "history_story")
	moves("rollback", "history", "--apply")
	sitetest.Refusals(t, s)
}
