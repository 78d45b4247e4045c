package cunningbot_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	bot "github.com/keywright/keywright/examples/cunningbot"
	"github.com/keywright/keywright/examples/cunningbot/local"
	"github.com/keywright/keywright/examples/cunningbot/outside"
	"github.com/keywright/keywright/examples/cunningbot/state"
	"github.com/keywright/keywright/examples/cunningbot/state/redis"
	"github.com/keywright/keywright/keywrighttest"
)

// fuse ends a context at a step: before or after an operation of the store, or a message.
type fuse struct {
	mu    sync.Mutex
	left  int
	blow  context.CancelFunc
	blown bool
}

func (f *fuse) set(steps int, blow context.CancelFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.blow, f.blown = steps, blow, false
}

func (f *fuse) step() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left--; f.left == 0 && f.blow != nil {
		f.blown = true
		f.blow()
	}
}

func (f *fuse) has() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.blown
}

func (f *fuse) hook() keywright.Hook {
	return keywright.Hook{
		Start: func(ctx context.Context, _ keywright.Call) context.Context { f.step(); return ctx },
		Done:  func(context.Context, keywright.Call, keywright.Outcome) { f.step() },
	}
}

// fused is Discord with a fuse.
type fused struct {
	outside.Messenger
	f *fuse
}

func (m fused) Post(ctx context.Context, message outside.Message) (string, error) {
	m.f.step()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	id, err := m.Messenger.Post(ctx, message)
	m.f.step()
	return id, err
}

// paper represents a feed that has what it is given.
type paper []outside.FeedItem

func (p paper) Read(context.Context, string) (outside.Items, error) {
	return outside.Items{List: p, Done: func() {}}, nil
}

// TestEachPlace: each task is ended at every place between two steps, one by one, and does the rest
// when it runs again: nothing is posted twice or forgotten. Discord remembers no nonces here, so
// that only what the bot does keeps it from posting again.
func TestEachPlace(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	discord := &local.Discord{Token: "t", Nonces: -1}
	web := httptest.NewServer(discord)
	t.Cleanup(web.Close)
	f := &fuse{}
	client, err := outside.NewDiscord(web.URL, "t")
	must(t, err)
	items := paper{}
	for i := range 25 { // two messages
		title := fmt.Sprint("Item ", i)
		if i == 7 {
			title += " hurricane"
		}
		items = append(items, outside.FeedItem{ID: fmt.Sprint(i), Title: title, URL: fmt.Sprintf("https://news.example/%d", i),
			Published: time.Unix(int64(1e9+i), 0)})
	}
	b := &bot.Bot{Store: redis.New(open(t, s.URL(), f.hook())), Discord: fused{client, f}, Reader: items,
		Log: slog.New(slog.DiscardHandler)}
	places := 0
	for place := 1; ; place++ {
		guild := fmt.Sprint(900000000000000000 + place)
		of := func(first int) string { return fmt.Sprint(first + place) }
		news, breaking, games := of(910000000000000000), of(920000000000000000), of(930000000000000000)
		f.set(0, nil)
		prepare(t, b.Store, guild, news, breaking, games)
		run := func(ctx context.Context) {
			for _, task := range []string{"rssfeed", "breaking-news-validator", "rsssummary", "dailygame", "trivia-poster",
				"trivia-closer"} {
				_ = bot.Tasks[task].Run(b, ctx, guild)
				if task == "trivia-poster" { // it is over at once, so that the closer has work
					_ = b.Store.Trivia.Close(ctx, guild, "reg-"+time.Now().UTC().Format("20060102"), true)
				}
			}
		}
		ctx, blow := context.WithCancel(t.Context())
		f.set(place, blow)
		run(ctx)
		blown := f.has()
		f.set(0, nil)
		blow()
		await(t, fmt.Sprint("all is posted after an end at place ", place), func() bool {
			run(t.Context())
			return s.Do("EXISTS", "rss:"+guild+":channels", "trivia:"+guild+":games:active") == int64(0) &&
				len(messages(discord, games)) >= 3
		})
		check(t, discord, place, news, breaking, games)
		if !blown {
			break
		}
		places++
	}
	if places < 60 {
		t.Errorf("%d places", places)
	}
	t.Logf("%d places", places)
}

// prepare gives a guild a feed, a topic, and games that are due.
func prepare(t *testing.T, s *state.Store, guild, news, breaking, games string) {
	t.Helper()
	ctx, now := t.Context(), time.Now().UTC()
	minute := now.Hour()*60 + now.Minute()
	must(t, s.Settings.AddGuild(ctx, guild))
	must(t, s.Feeds.PutFeed(ctx, guild, "feed", state.Feed{URL: "x", ChannelID: state.ID(news)}))
	must(t, s.Breaking.PutTopic(ctx, guild, "hurricane", breaking))
	must(t, s.Daily.PutGame(ctx, guild, "wordle", state.DailyGame{ChannelID: state.ID(games), Text: "x", Minute: minute}))
	must(t, s.Trivia.PutRegistration(ctx, guild, "reg", state.Registration{ChannelID: state.ID(games), Topic: "x",
		Minute: minute, Lasts: 600}))
}

func messages(d *local.Discord, channel string) (all []local.Message) {
	for _, m := range d.Messages() {
		if m.Channel == channel {
			all = append(all, m)
		}
	}
	return all
}

func check(t *testing.T, d *local.Discord, place int, news, breaking, games string) {
	t.Helper()
	links := d.Links()
	for i := range 25 {
		to := news
		if i == 7 {
			to = breaking
		}
		if n := links[fmt.Sprintf("%s https://news.example/%d", to, i)]; n != 1 {
			t.Errorf("ended at place %d, article %d was posted %d times", place, i, n)
		}
	}
	var titles []string
	for _, m := range messages(d, games) {
		titles = append(titles, m.Title)
	}
	if text := strings.Join(titles, ", "); text != "wordle, Trivia: x, Trivia: the answer" &&
		text != "Trivia: x, wordle, Trivia: the answer" && text != "Trivia: x, Trivia: the answer, wordle" {
		t.Errorf("ended at place %d: %s", place, text)
	}
}

// TestPostedButNotNoted: a game whose poster died before it noted the message, and that is over
// before another one looks, has its result posted nevertheless.
func TestPostedButNotNoted(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	discord := &local.Discord{Token: "t", Nonces: -1}
	web := httptest.NewServer(discord)
	t.Cleanup(web.Close)
	client, err := outside.NewDiscord(web.URL, "t")
	must(t, err)
	b := &bot.Bot{Store: redis.New(open(t, s.URL())), Discord: client, Log: slog.New(slog.DiscardHandler)}
	prepare(t, b.Store, guild, newsChannel, breakingChannel, gamesChannel)
	must(t, b.TriviaPoster(t.Context(), guild))
	id := s.Do("ZRANGE", "trivia:"+guild+":games:active", "0", "0").([]any)[0].(string)
	same(t, "the note is gone", s.Do("HDEL", "trivia:"+guild+":game:"+id, "message_id"), int64(1))
	must(t, b.Store.Trivia.Close(t.Context(), guild, id, true))
	must(t, b.TriviaCloser(t.Context(), guild))
	all := messages(discord, gamesChannel)
	same(t, "messages", len(all), 2)
	same(t, "the last one", all[len(all)-1].Title, "Trivia: the answer")
}
