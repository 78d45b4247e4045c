package migrate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
)

// A key is listed as the phase says: of the files, of Redis in pages, and of the files again where
// Redis is away and no record of the key has a mark.
func TestList(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis, kt.Config("appendonly", "yes"), kt.Config("appendfsync", "always"))
	root, m := t.TempDir(), declaredMap(t, bot)
	var feeds []string
	for n := range 1200 { // more than a page
		feeds = append(feeds, fmt.Sprintf(`"feed %d": {"n": %d}`, n, n))
	}
	writeFile(t, root, "state.json",
		`{"guilds": {"123": {"feeds": {"other": {}}}, "456": {"persona": "x", "feeds": {`+strings.Join(feeds, ",")+`}}}}`)
	writeFile(t, root, "guilds/456.json", `{"words": ["b", "a"], "daily": {"news": {"hour": 7, "minute": 30}}}`)
	a := openDeclared(t, root, server.URL(), m)
	names := func(move, key string) (out []string) {
		t.Helper()
		list, err := a.List(t.Context(), move, key)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			out = append(out, strings.ReplaceAll(r.Sub+"="+string(r.Value)+r.Score, " ", ""))
		}
		slices.Sort(out)
		return out
	}
	var want, now []string
	for at := phase.Off; at <= phase.RampDown; at++ {
		to(t, a, "history", at)
		to(t, a, "settings", at)
		if at == phase.Backfill {
			if r, err := a.Import(t.Context(), "settings", migrate.ImportOptions{}); err != nil || r.Rejected > 0 {
				t.Fatal(r, err)
			}
		}
		now = names("settings.feeds", "f:456")
		if at == phase.Off {
			want = now
		}
		if len(now) != 1200 || !slices.Equal(now, want) {
			t.Errorf("%s: %d feeds", at, len(now))
		}
		if now := names("settings.schedule", "d:456"); !slices.Equal(now, []string{"news=450"}) {
			t.Errorf("%s: %v", at, now)
		}
		if now := names("settings.words", "w:456"); !slices.Equal(now, []string{"=a", "=b"}) {
			t.Errorf("%s: %v", at, now)
		}
		if now := names("settings.feeds", "f:789"); len(now) != 0 {
			t.Errorf("%s: a key that is not there has %v", at, now)
		}
	}
	if _, err := a.List(t.Context(), "settings.none", "f:456"); err == nil {
		t.Error("a move that there is not was listed")
	}
	to(t, a, "settings", phase.Live)
	server.Do("HSET", "f:456", "feed 1", `{"n":7}`)
	if now := names("settings.feeds", "f:456"); slices.Equal(now, want) {
		t.Error("Redis decides, and the files were read")
	}
	server.Do("HSET", "f:456", "feed 1", `{"n":1}`)
	server.Kill()
	if now := names("settings.feeds", "f:456"); !slices.Equal(now, want) || a.Stats().Fallbacks == 0 {
		t.Errorf("Redis is away: %d feeds, %d times of the files", len(now), a.Stats().Fallbacks)
	}
	server.Restart()
}
