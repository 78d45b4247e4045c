package cunningbot_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/seed"
	"github.com/keywright/keywright/examples/cunningbot/state"
	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/internal/gate"
)

// TestSeed: the same seed makes the same files, of the sizes that the bot's had, and none is written
// over.
func TestSeed(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	o := seed.Options{Seed: 7, Now: time.Unix(1.8e9, 0)}
	must(t, seed.Write(one, o))
	must(t, seed.Write(two, o))
	for name, size := range map[string]int{"app_state.json": 16 << 10, "pending_news.json": 2_100_000,
		"pending_breaking_news.json": 10 << 10, "story_history.json": 30 << 10} {
		a, err1 := os.ReadFile(filepath.Join(one, name))
		b, err2 := os.ReadFile(filepath.Join(two, name))
		must(t, err1)
		must(t, err2)
		if !bytes.Equal(a, b) || len(a) < size || len(a) > 8*size {
			t.Errorf("%s has %d bytes; the same: %t", name, len(a), bytes.Equal(a, b))
		}
	}
	if seed.Write(one, o) == nil {
		t.Error("files in use were written over")
	}
}

// TestFileSystem: two of each task work on seeded JSON files and are killed; what waited is posted
// once, and what this program does not know of the files is as it was.
func TestFileSystem(t *testing.T) {
	gate.Skip(t, "runs programs")
	w, dir := newWorld(t), t.TempDir()
	must(t, seed.Write(dir, seed.Options{Seed: 3, Now: time.Now(), Guilds: 3, Articles: 240, Items: 9, Stories: 30}))
	want := map[string]int{}
	var waiting map[string]map[string]map[string][]state.Article
	var items map[string][]state.Item
	var before map[string]map[string]json.RawMessage
	read(t, dir, "pending_news.json", &waiting)
	read(t, dir, "pending_breaking_news.json", &items)
	read(t, dir, "app_state.json", &before)
	for _, channels := range waiting {
		for channel, feeds := range channels {
			for _, list := range feeds {
				for _, a := range list {
					same(t, "the id of an article", a.ID, state.StoryHash(a.URL))
					want[channel+" "+a.URL] = 1
				}
			}
		}
	}
	for _, list := range items {
		for _, i := range list {
			want[string(i.ChannelID)+" "+i.Article.URL] = 1 // the model says no
		}
	}
	env := []string{"USE_REDIS=false", "CUNNINGBOT_STATE=" + dir, "DISCORD_TOKEN=a-token", "DISCORD_API=" +
		w.urls["discord"], "OPENAI_API_KEY=a-key",
		"OPENAI_BASE_URL=" + w.urls["openai"], "TZ=UTC"}
	names := []string{"rsssummary", "rsssummary", "breaking-news-validator", "breaking-news-validator", "trivia-closer",
		"trivia-closer"}
	running := make([]*sitetest.Process, len(names))
	for i, name := range names {
		running[i] = start(t, env, program(t, "cunningbotd"), name, "-poll", "100ms")
	}
	for i := range names {
		n := len(w.discord.Messages())
		await(t, "something is posted", func() bool {
			return len(w.discord.Messages()) > n ||
				len(w.discord.Links()) == len(want)
		})
		running[i].Kill()
		running[i] = start(t, env, program(t, "cunningbotd"), names[i], "-poll", "100ms")
	}
	results := func() (n int) {
		for _, m := range w.discord.Messages() {
			if m.Title == "Trivia: the answer" {
				n++
			}
		}
		return n
	}
	await(t, "all is posted", func() bool { return len(w.discord.Links()) >= len(want) && results() >= 3 })
	for _, p := range running {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}
	for at, n := range w.discord.Links() {
		if n != want[at] {
			t.Errorf("%s was posted %d times", at, n)
		}
	}
	same(t, "all that waited", len(w.discord.Links()), len(want))
	same(t, "games that were over, once each", results(), 3)
	var after map[string]map[string]json.RawMessage
	read(t, dir, "app_state.json", &after)
	for guild, members := range before {
		for name, text := range members {
			if name != "trivia_games" && name != "trivia_results" && !sameJSON(text, after[guild][name]) {
				t.Errorf("%s of a guild has changed", name)
			}
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*.tmp"))
	must(t, err)
	if len(left) > 2*len(names) {
		t.Errorf("%d temporary files are left", len(left))
	}
}

func read(t *testing.T, dir, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	must(t, err)
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", name, err))
	}
}

// sameJSON compares texts without blanks.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
