package cunningbot_test

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	bot "github.com/keywright/keywright/examples/cunningbot"
	"github.com/keywright/keywright/examples/cunningbot/seed"
	"github.com/keywright/keywright/examples/cunningbot/state/moving"
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
	for _, part := range moving.Subsystems {
		p, err := m.Plan(t.Context(), part)
		must(t, err)
		if !p.RoundTrip || p.Rejected+p.Faulty > 0 || p.Records == 0 {
			t.Errorf("%s: %+v", part, p)
		}
		for _, name := range p.Coverage.Names() {
			if s := p.Sources[name]; !s.Whole() || s.Bytes == 0 {
				t.Errorf("%s: %s: %+v %+v", part, name, s.Places, s.Shapes)
			}
		}
		t.Logf("%s: %d records", part, p.Records)
	}
}

// TestMigratingHealth: what subsystems read decides: a file that cannot be read is unhealthy although
// other subsystems are in Redis, and Redis is asked only if one is read from there.
func TestMigratingHealth(t *testing.T) {
	s, dir := keywrighttest.Start(t, keywrighttest.Redis), t.TempDir()
	files := inPhase(t, s, dir, phase.Off)
	must(t, files.Settings.AddGuild(t.Context(), guild))
	s.Kill()
	h := files.Health(t.Context())
	if h.Status != "healthy" || h.Redis == "" || h.Phases["history"] != "off" {
		t.Errorf("without Redis, which none reads: %+v", h)
	}
	files.Close()
	s.Restart()

	some := inPhase(t, s, dir, phase.Live, moving.Subsystems[1:]...)
	h = some.Health(t.Context())
	if h.Status != "healthy" || h.Redis != "" || h.Phases["history"] != "live" || h.Phases["settings"] != "off" {
		t.Errorf("both: %+v", h)
	}
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

// TestStartsWithoutRedis: a program that starts while Redis is away works with the files, and Redis has it later.
func TestStartsWithoutRedis(t *testing.T) {
	s, dir := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.Config("appendonly", "yes")), t.TempDir()
	inPhase(t, s, dir, phase.Shadow).Close()
	host, port, err := net.SplitHostPort(s.Addr())
	must(t, err)
	e, err := bot.Read(func(name string) string {
		return map[string]string{"USE_REDIS": "migrating", "REDIS_HOST": host, "REDIS_PORT": port,
			"CUNNINGBOT_STATE": dir}[name]
	})
	must(t, err)
	s.Kill()
	store, err := e.Open(t.Context(), "test", slog.New(slog.DiscardHandler))
	must(t, err)
	defer store.Close()
	must(t, store.Settings.AddGuild(t.Context(), guild))
	guilds, err := store.Settings.Guilds(t.Context())
	must(t, err)
	same(t, "guilds", guilds, []string{guild})
	same(t, "health", store.Health(t.Context()).Status, "healthy")
	if _, err := store.Breaking.Work(t.Context(), guild, nil); err != nil {
		t.Errorf("items in the file are worked off without Redis: %v", err)
	}
	s.Restart()
	raw := open(t, s.URL()).Raw()
	await(t, "Redis has the guild", func() bool {
		is, err := raw.Do(t.Context(), raw.B().Sismember().Key("global:config:guilds").Member(guild).Build()).AsBool()
		return err == nil && is
	})
}

// sendInteraction sends what a user does to a bot, signed as Discord signs it, and gives what the bot says.
func sendInteraction(t *testing.T, b *bot.Bot, body string) string {
	t.Helper()
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/interactions", strings.NewReader(body))
	r.Header.Set("X-Signature-Timestamp", "1")
	r.Header.Set("X-Signature-Ed25519", hex.EncodeToString(ed25519.Sign(private, []byte("1"+body))))
	w := httptest.NewRecorder()
	b.Handler(private.Public().(ed25519.PublicKey)).ServeHTTP(w, r)
	same(t, "status of "+body, w.Code, http.StatusOK)
	return w.Body.String()
}

// TestDirectMessage: a command in a direct message has no guild, and adds none: what the files have of no guild
// is there once, whichever side decides. A command that is refused adds none either.
func TestDirectMessage(t *testing.T) {
	for _, at := range []phase.Phase{phase.Off, phase.DualWrite, phase.Live, phase.RampDown, phase.Complete} {
		t.Run(at.String(), func(t *testing.T) {
			s, dir := keywrighttest.Start(t, keywrighttest.Redis), t.TempDir()
			state := filepath.Join(dir, "app_state.json")
			const text = `{"global": {"default_persona": "dry"}, "480032": {}}`
			must(t, os.WriteFile(state, []byte(text), 0o600))
			store := inPhase(t, s, dir, at)
			b := &bot.Bot{Store: store, Log: slog.New(slog.DiscardHandler)}
			said := sendInteraction(t, b, `{"type":2,"user":{"id":"1"},"data":{"name":"ask","options":[{"name":"question","value":"?"}]}}`)
			if strings.Contains(said, "cannot be done") {
				t.Error(said)
			}
			said = sendInteraction(t, b, `{"type":2,"guild_id":"999","channel_id":"7","member":{"user":{"id":"1"},"permissions":"0"},`+
				`"data":{"name":"persona","options":[{"name":"text","value":"loud"}]}}`)
			if !strings.Contains(said, "permission") {
				t.Error(said)
			}
			must(t, store.Settings.AddGuild(t.Context(), "global"))
			got, err := os.ReadFile(state)
			must(t, err)
			same(t, "the file", string(got), text)
			same(t, "guilds in Redis", s.Do("SISMEMBER", "global:config:guilds", "global"), "0")
		})
	}
}

// TestUseRedisAgainstThePhase: a program that is asked to use the files alone, or Redis alone, is refused while the
// migration says another side, with the way on, and begins where the two agree.
func TestUseRedisAgainstThePhase(t *testing.T) {
	s, dir := keywrighttest.Start(t, keywrighttest.Redis), t.TempDir()
	host, port, err := net.SplitHostPort(s.Addr())
	must(t, err)
	begins := func(use string) error {
		e, err := bot.Read(func(name string) string {
			return map[string]string{"USE_REDIS": use, "REDIS_HOST": host, "REDIS_PORT": port, "CUNNINGBOT_STATE": dir}[name]
		})
		must(t, err)
		store, err := e.Open(t.Context(), "test", slog.New(slog.DiscardHandler))
		if err == nil {
			store.Close()
		}
		return err
	}
	refused := func(use, want string) {
		t.Helper()
		if err := begins(use); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "USE_REDIS=migrating") {
			t.Errorf("USE_REDIS=%s: %v", use, err)
		}
	}
	must(t, begins("false"))
	must(t, begins("true"))
	inPhase(t, s, dir, phase.Off).Close()
	must(t, begins("false"))
	refused("true", "phase off")
	inPhase(t, s, dir, phase.DualWrite, moving.Subsystems[1:]...).Close()
	refused("false", "history is in phase dual-write")
	inPhase(t, s, dir, phase.RampDown, moving.Subsystems[1:]...).Close()
	refused("false", "rollback")
	refused("true", "advance")
	must(t, begins("migrating"))
}
