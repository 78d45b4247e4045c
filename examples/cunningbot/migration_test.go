package cunningbot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	bot "github.com/keywright/keywright/examples/cunningbot"
	"github.com/keywright/keywright/examples/cunningbot/local"
	"github.com/keywright/keywright/examples/cunningbot/seed"
	"github.com/keywright/keywright/examples/cunningbot/state"
	"github.com/keywright/keywright/examples/cunningbot/state/moving"
	"github.com/keywright/keywright/examples/cunningbot/state/redis"
	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
)

// move represents the migration of TestMigration, with what is around it.
type move struct {
	t       *testing.T
	w       *world
	s       *keywrighttest.Server
	dir     string
	m       *moving.Migration
	store   *state.Store
	running map[string]*sitetest.Process
	names   []string
	turn    int
	want    map[string]int // what must be posted, once each
	news    int
	changes int
}

// TestMigration: seven programs work on seeded JSON files and are killed, Redis too, while each
// subsystem goes to Redis, and one phase back: each from another phase, or with KEYWRIGHT_KILLS from
// every phase. No gate but those of time and counts is left out. At the end the files are archived, the
// programs work on Redis alone, and each article, game and result was posted once.
func TestMigration(t *testing.T) {
	gate.Skip(t, "kills seven programs and the server")
	v := newMove(t)
	p, over := &players{accepted: map[string]map[string]bool{}, closed: map[string]bool{}}, make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { p.play(v.w, 3, over) })
	v.games("first", 15)
	everywhere := os.Getenv("KEYWRIGHT_KILLS") != ""
	for i, part := range moving.Subsystems {
		if part == "trivia" {
			v.games("second", 4)
		}
		for to := phase.DualWrite; to <= phase.Complete; to++ {
			v.publish(3)
			v.change(part, to)
			v.kill()
			if everywhere || int(to-phase.DualWrite) == i {
				v.change(part, to-1)
				v.publish(2)
				v.change(part, to)
			}
			v.outage(part, to)
		}
	}
	v.settled()
	close(over)
	all.Wait()
	v.check(p)
	v.archived()
}

func newMove(t *testing.T) *move {
	t.Helper()
	v := &move{t: t, w: newWorld(t), dir: t.TempDir(), running: map[string]*sitetest.Process{}, want: map[string]int{},
		s: protected(t, keywrighttest.Redis, keywrighttest.Config("appendonly", "yes"),
			keywrighttest.Config("appendfsync", "always"))}
	o := seed.Options{Seed: 11, Now: time.Now(), Guilds: 2, Articles: 60, Items: 4, Stories: 20}
	if os.Getenv("KEYWRIGHT_KILLS") != "" {
		o = seed.Options{Seed: 11, Now: time.Now()}
	}
	must(t, seed.Write(v.dir, o))
	v.seeded()
	c := open(t, sitetest.URL(v.s, "migration"))
	var err error
	v.m, err = bot.NewMigration(t.Context(), v.dir, c)
	must(t, err)
	v.store = moving.New(v.m)
	t.Cleanup(v.store.Close)
	v.names = []string{"bot"}
	for verb := range bot.Tasks {
		v.names = append(v.names, verb)
	}
	slices.Sort(v.names)
	for _, name := range v.names {
		v.begin(name)
	}
	v.w.command(guild, newsChannel, "feed", "name", "San Diego", "url", v.w.urls["news"]+"/diego.rss")
	v.w.command(guild, atomChannel, "feed", "name", "東京", "url", v.w.urls["news"]+"/tokyo.atom")
	v.w.command(guild, breakingChannel, "topic", "word", "hurricane")
	return v
}

func (v *move) begin(name string) {
	args := []string{name}
	if name != "bot" {
		args = append(args, "-poll", "300ms")
	}
	env := append(v.w.env(v.s, "migration"), "USE_REDIS=migrating", "CUNNINGBOT_STATE="+v.dir)
	v.running[name] = start(v.t, env, program(v.t, "cunningbotd"), args...)
}

// seeded is what waits in the files. The model says no to items.
func (v *move) seeded() {
	var waiting map[string]map[string]map[string][]state.Article
	var items map[string][]state.Item
	read(v.t, v.dir, "pending_news.json", &waiting)
	read(v.t, v.dir, "pending_breaking_news.json", &items)
	for _, channels := range waiting {
		for channel, feeds := range channels {
			for _, list := range feeds {
				for _, a := range list {
					v.want[channel+" "+a.URL] = 1
				}
			}
		}
	}
	for _, list := range items {
		for _, i := range list {
			v.want[string(i.ChannelID)+" "+i.Article.URL] = 1
		}
	}
}

// games registers two games that are due.
func (v *move) games(name string, seconds int) {
	now := time.Now().UTC()
	for i := range 2 {
		must(v.t, v.store.Trivia.PutRegistration(v.t.Context(), guild, fmt.Sprint(name, i),
			state.Registration{ChannelID: gamesChannel,
				Topic: "sums", Minute: now.Hour()*60 + now.Minute(), Lasts: seconds}))
		must(v.t, v.store.Daily.PutGame(v.t.Context(), guild, fmt.Sprint(name, i), state.DailyGame{ChannelID: gamesChannel,
			Text: "play", Minute: now.Hour()*60 + now.Minute()}))
	}
}

func (v *move) publish(n int) {
	for range n {
		v.news++
		feed, to := "diego", newsChannel
		if v.news%2 == 0 {
			feed, to = "tokyo", atomChannel
		}
		title := fmt.Sprint("Item ", v.news)
		if v.news%5 == 3 {
			title, to = "urgent: hurricane "+title, breakingChannel
		}
		at := fmt.Sprintf("https://news.example/live/%d", v.news)
		v.want[to+" "+at] = 1
		v.w.news.Publish(feed, local.NewsItem{Title: title, URL: at, Text: "More.", At: time.Now()})
	}
}

// kill kills the next program, and starts it again.
func (v *move) kill() {
	name := v.names[v.turn%len(v.names)]
	v.turn++
	v.running[name].Kill()
	v.begin(name)
}

// change brings a part to a phase without force. What the gate asks for is done until it opens:
// programs write meanwhile.
func (v *move) change(part string, to phase.Phase) {
	v.t.Helper()
	ctx := v.t.Context()
	var err error
	faulty := 0
	for range 20 {
		var is migrate.PartState
		is, err = v.m.Phase(part)
		must(v.t, err)
		if to > is.Phase && is.Phase == phase.Off {
			p, err := v.m.Plan(ctx, part)
			must(v.t, err)
			if p.Rejected > 0 {
				v.t.Fatalf("%s: %+v", part, p)
			}
			if p.Faulty > 0 {
				faulty++ // a program has replaced a file while it was planned
				continue
			}
		}
		if to > is.Phase && is.Phase >= phase.DualWrite && is.Phase <= phase.RampDown {
			if is.Phase == phase.Backfill {
				r, err := v.m.Import(ctx, part, migrate.ImportOptions{})
				must(v.t, err)
				if r.Rejected > 0 {
					v.t.Fatalf("%s: %v", part, r.Rejects[0])
				}
			}
			_, err = v.m.Verify(ctx, part, migrate.VerifyOptions{})
			must(v.t, err)
		}
		_, err = v.m.Change(ctx, part, to, migrate.ChangeOptions{Limits: &phase.Limits{}, By: "a test"})
		var closed *migrate.GateError
		if err == nil {
			v.changes++
			return
		}
		if !errors.As(err, &closed) {
			v.t.Fatalf("%s to %s: %v", part, to, err)
		}
	}
	classes, _, _ := v.m.Classes(part)
	v.t.Fatalf("%s to %s: %v %+v, %d plans of files that were replaced meanwhile", part, to, err, classes, faulty)
}

// outage kills Redis: where the files decide the programs go on, where Redis does they wait.
func (v *move) outage(part string, at phase.Phase) {
	switch {
	case part == "history" && at == phase.Shadow:
		v.opened()
		v.s.Kill()
		for range v.names {
			v.kill() // programs that begin while Redis is away work with the files
		}
		v.publish(4)
		v.posted("Redis is away, and the files decide")
		v.s.Restart()
	case part == "pending" && at == phase.Live, part == "trivia" && at == phase.Live, part == "settings" &&
		at == phase.Complete:
		v.s.Kill()
		v.s.Restart()
	}
}

// opened waits until all programs have begun.
func (v *move) opened() {
	for name, p := range v.running {
		await(v.t, name+" has begun", func() bool { return strings.Contains(p.Said.String(), "where their phases say") })
	}
}

// posted waits until everything is posted that was published.
func (v *move) posted(when string) {
	await(v.t, when, func() bool { return len(v.w.discord.Links()) >= len(v.want) })
}

// settled waits for all that must come.
func (v *move) settled() {
	v.posted("all is posted")
	await(v.t, "all games are over with, and the daily ones posted", func() bool {
		day, daily := time.Now().UTC().Format("20060102"), 0
		for _, name := range []string{"first0", "first1", "second0", "second1"} {
			if played, err := v.store.Trivia.Played(v.t.Context(), guild, name+"-"+day); err != nil || !played {
				return false
			}
		}
		for _, m := range v.w.discord.Messages() {
			if m.Channel == gamesChannel && m.Text == "play" {
				daily++
			}
		}
		return daily >= 4
	})
}

// check counts what has arrived.
func (v *move) check(p *players) {
	v.t.Helper()
	for at, n := range v.w.discord.Links() {
		if n != v.want[at] {
			v.t.Errorf("%s was posted %d times, not %d", at, n, v.want[at])
		}
	}
	refs, games, results := map[string]int{}, 0, map[string]bool{}
	for _, m := range v.w.discord.Messages() {
		if refs[m.Ref]++; refs[m.Ref] > 1 {
			v.t.Errorf("%s was posted %d times", m.Title, refs[m.Ref])
		}
		if m.Title == "Trivia: the answer" {
			results[m.Channel] = true
		}
		if len(m.Buttons) == 0 || m.Channel != gamesChannel { // a seeded registration may be due now
			continue
		}
		games++
		game := strings.Split(m.Buttons[0], ":")[1]
		if r := got(v.store.Trivia.Result(v.t.Context(), guild, game))(v.t); r.Answers < len(p.accepted[game]) {
			v.t.Errorf("game %s: %d answers, %d were accepted", game, r.Answers, len(p.accepted[game]))
		}
	}
	same(v.t, "games", games, 4)
	v.t.Logf("%d changes of phase, %d kills, %d messages, %d articles, answers of %d games", v.changes, v.turn, len(refs),
		len(v.want), len(p.accepted))
}

// archived ends the programs, archives the files, and starts the programs on Redis alone: they know
// what was posted.
func (v *move) archived() {
	v.t.Helper()
	for name, p := range v.running {
		if err := p.Stop(); err != nil {
			v.t.Errorf("%s was asked to stop: %v", name, err)
		}
	}
	if _, left, err := v.m.Replay(v.t.Context()); left > 0 || err != nil {
		v.t.Errorf("%d records may differ: %v", left, err)
	}
	var before map[string]map[string]json.RawMessage
	read(v.t, v.dir, "app_state.json", &before)
	archive := filepath.Join(v.dir, "archive")
	must(v.t, v.m.Archive(v.t.Context(), archive))
	same(v.t, "the version of the data", v.s.Do("GET", "meta:migration:version"), "1")
	left, err := filepath.Glob(filepath.Join(v.dir, "*.json"))
	must(v.t, err)
	same(v.t, "files that are left", left, []string(nil))
	store := redis.New(open(v.t, sitetest.URL(v.s, "test")))
	v.kept(store, before)
	user := map[bool]string{true: "cunningbot"}
	for _, name := range v.names {
		args := []string{name}
		if name != "bot" {
			args = append(args, "-poll", "300ms")
		}
		as := bot.Tasks[name].User
		if as == "" {
			as = user[true]
		}
		v.running[name] = start(v.t, v.w.env(v.s, as), program(v.t, "cunningbotd"), args...)
	}
	v.publish(5)
	v.posted("the programs work on Redis alone")
	for at, n := range v.w.discord.Links() {
		if n != v.want[at] {
			v.t.Errorf("on Redis alone, %s was posted %d times", at, n)
		}
	}
	for _, p := range v.running {
		must(v.t, p.Stop())
	}
	sitetest.Keywright(v.t, sitetest.URL(v.s, "test"), "audit", "--values=all", "--quiet")
}

// kept compares settings of the files that no program has changed with what Redis has.
func (v *move) kept(store *state.Store, before map[string]map[string]json.RawMessage) {
	v.t.Helper()
	ctx := context.Background()
	guilds := got(store.Settings.Guilds(ctx))(v.t)
	same(v.t, "guilds", len(guilds), len(before)-1)
	for of, members := range before {
		if of == "global" {
			continue
		}
		var feeds map[string]state.Feed
		var games map[string]state.DailyGame
		must(v.t, json.Unmarshal(members["rss_feeds"], &feeds))
		must(v.t, json.Unmarshal(members["daily_games"], &games))
		same(v.t, "feeds of "+of, len(got(store.Feeds.Feeds(ctx, of))(v.t)), len(feeds))
		same(v.t, "daily games of "+of, len(got(store.Daily.Games(ctx, of))(v.t)), len(games))
	}
}
