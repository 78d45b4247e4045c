package cunningbot_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/keywright/keywright"
	bot "github.com/keywright/keywright/examples/cunningbot"
	"github.com/keywright/keywright/examples/cunningbot/seed"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
)

// migration returns that of the bot, of the files in a folder.
func migration(t *testing.T, dir string, s *keywrighttest.Server) *migrate.Migration {
	t.Helper()
	c := open(t, s.URL())
	m, err := bot.NewMigration(t.Context(), dir, c)
	must(t, err)
	t.Cleanup(func() { _ = m.Close() })
	return m.Migration
}

// TestPlan: every record of seeded files has a place in Redis, and comes back from there as it is
// written.
func TestPlan(t *testing.T) {
	s, dir := keywrighttest.Start(t, keywrighttest.Redis), t.TempDir()
	must(t, seed.Write(dir, seed.Options{Seed: 5, Now: time.Now()}))
	m := migration(t, dir, s)
	for _, part := range bot.Subsystems {
		p, err := m.Plan(t.Context(), part)
		must(t, err)
		if !p.RoundTrip || p.Rejected+p.Faulty > 0 || p.Records == 0 {
			t.Errorf("%s: %+v", part, p)
		}
		t.Logf("%s: %d records", part, p.Records)
	}
}

// TestMigratingHealth: what subsystems read decides: a file that cannot be read is unhealthy although
// other subsystems are in Redis, and Redis is asked only if one is read from there.
func TestMigratingHealth(t *testing.T) {
	s, dir := keywrighttest.Start(t, keywrighttest.Redis), t.TempDir()
	files := moving(t, s, dir, phase.Off)
	must(t, files.Settings.AddGuild(t.Context(), guild))
	s.Kill()
	same(t, "without Redis, which none reads", files.Health(t.Context()).Status, "healthy")
	files.Close()
	s.Restart()

	some := moving(t, s, dir, phase.Live, bot.Subsystems[1:]...)
	same(t, "both", some.Health(t.Context()).Status, "healthy")
	state := filepath.Join(dir, "app_state.json")
	text, err := os.ReadFile(state)
	must(t, err)
	must(t, os.WriteFile(state, text[:len(text)/2], 0o600))
	same(t, "a file cannot be read", some.Health(t.Context()).Status, "unhealthy")
	must(t, os.WriteFile(state, text, 0o600))
	s.Kill()
	same(t, "Redis is away", some.Health(t.Context()).Status, "unhealthy")
}

// TestMigratingRefused: a program that Redis refuses says so and ends, and waits only for a server
// that is away.
func TestMigratingRefused(t *testing.T) {
	s := protected(t, keywrighttest.Redis)
	host, port, err := net.SplitHostPort(s.Addr())
	must(t, err)
	e, err := bot.Read(func(name string) string {
		return map[string]string{"USE_REDIS": "migrating", "REDIS_HOST": host, "REDIS_PORT": port,
			"REDIS_USERNAME": "migration", "REDIS_PASSWORD": "another", "CUNNINGBOT_STATE": t.TempDir()}[name]
	})
	must(t, err)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	_, err = e.Open(ctx, "test", slog.New(slog.DiscardHandler))
	if class, _ := keywright.ClassOf(err); class != keywright.Refused || ctx.Err() != nil {
		t.Errorf("a login that is wrong: %v", err)
	}
}
