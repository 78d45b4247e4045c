package cunningbot_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	bot "github.com/keywright/keywright/examples/cunningbot"
	"github.com/keywright/keywright/examples/cunningbot/state"
	"github.com/keywright/keywright/examples/cunningbot/state/files"
	"github.com/keywright/keywright/examples/cunningbot/state/moving"
	"github.com/keywright/keywright/examples/cunningbot/state/redis"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
)

const (
	guild   = "844003671334977607" // above 2^53
	channel = "944003671334977609"
)

// onStores runs a test on each store: both brands, each key checked by a guard, files, and both while
// they are moved.
func onStores(t *testing.T, run func(t *testing.T, s *state.Store)) {
	t.Helper()
	onPlainStores(t, run)
	phases := []phase.Phase{phase.Shadow, phase.Live}
	if os.Getenv("KEYWRIGHT_KILLS") != "" {
		phases = []phase.Phase{phase.Off, phase.DualWrite, phase.Backfill, phase.Shadow, phase.Live, phase.RampDown,
			phase.Complete}
	}
	for _, at := range phases {
		t.Run("migrating, "+at.String(), func(t *testing.T) {
			t.Parallel()
			run(t, inPhase(t, keywrighttest.Start(t, keywrighttest.Redis), t.TempDir(), at))
		})
	}
}

// inPhase returns a store whose subsystems are in a phase; those that are named stay where they were.
func inPhase(t *testing.T, s *keywrighttest.Server, dir string, at phase.Phase, but ...string) *state.Store {
	t.Helper()
	c := open(t, s.URL())
	m, err := bot.NewMigration(t.Context(), dir, c)
	must(t, err)
	store := moving.New(m)
	t.Cleanup(store.Close)
	for _, part := range moving.Subsystems {
		for range at {
			if slices.Contains(but, part) {
				break
			}
			_, err := m.Advance(t.Context(), part, migrate.ChangeOptions{Force: true})
			must(t, err)
		}
	}
	return store
}

// onPlainStores runs a test on those that do not move.
func onPlainStores(t *testing.T, run func(t *testing.T, s *state.Store)) {
	t.Helper()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			run(t, redis.New(open(t, keywrighttest.Start(t, brand).URL())))
		})
	}
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		s, err := files.New(t.TempDir())
		must(t, err)
		run(t, s)
	})
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
		t.Errorf("%s: %s, not %s", what, g, w)
	}
}

func got[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		must(t, err)
		return v
	}
}

func articles(from, to int) (all []state.Article) {
	for i := from; i < to; i++ {
		at := fmt.Sprintf("https://news.example/%d", i)
		all = append(all, state.Article{ID: state.StoryHash(at), Item: at, Title: fmt.Sprint("article ", i), URL: at,
			Feed: "San Diego", Published: time.Unix(1e9, 0).UTC(), Queued: time.Now()})
	}
	return all
}

func ids(all []state.Article) (out []string) {
	for _, a := range all {
		out = append(out, a.ID)
	}
	return out
}

func TestSettings(t *testing.T) {
	onStores(t, func(t *testing.T, s *state.Store) {
		ctx := t.Context()
		same(t, "no persona", got(s.Settings.Persona(ctx, guild))(t), "")
		for _, g := range []string{"844003671334977608", guild, guild} {
			must(t, s.Settings.AddGuild(ctx, g))
		}
		same(t, "guilds", got(s.Settings.Guilds(ctx))(t), []string{guild, "844003671334977608"})
		must(t, s.Settings.SetPersona(ctx, guild, "a pirate"))
		same(t, "a persona", got(s.Settings.Persona(ctx, guild))(t), "a pirate")
		same(t, "that of another guild", got(s.Settings.Persona(ctx, "844003671334977608"))(t), "")
		must(t, s.Settings.Started(ctx, "1"))
		same(t, "health", s.Health(ctx).Status, "healthy")
	})
}

func TestFeeds(t *testing.T) {
	onStores(t, func(t *testing.T, s *state.Store) {
		ctx := t.Context()
		const name = "San Diego News"
		must(t, s.Feeds.PutFeed(ctx, guild, name, state.Feed{URL: "https://x.example", ChannelID: channel}))
		feeds := got(s.Feeds.Feeds(ctx, guild))(t)
		same(t, "an id above 2^53", feeds[name].ChannelID, channel)
		same(t, "a feed that does not say", feeds[name].On(), true)
		must(t, s.Feeds.MarkSeen(ctx, guild, name, []string{"a", "b"}, 3))
		must(t, s.Feeds.MarkSeen(ctx, guild, name, []string{"b", "a"}, 3))
		same(t, "unseen", got(s.Feeds.Unseen(ctx, guild, name, []string{"c", "a", "d"}))(t), []string{"c", "d"})
		must(t, s.Feeds.PutFeed(ctx, guild, name, state.Feed{URL: "https://y.example", ChannelID: channel}))
		same(t, "seen with another address", got(s.Feeds.Unseen(ctx, guild, name, []string{"a"}))(t), []string(nil))
		must(t, s.Feeds.MarkSeen(ctx, guild, name, []string{"c", "d", "e", "f"}, 3)) // more than are kept, in one second
		unseen := got(s.Feeds.Unseen(ctx, guild, name, []string{"a", "b", "c", "d", "e", "f"}))(t)
		same(t, "of more than are kept", len(unseen), 3)
		must(t, s.Feeds.RemoveFeed(ctx, guild, name))
		same(t, "no feeds", len(got(s.Feeds.Feeds(ctx, guild))(t)), 0)
	})
}

// TestPending: articles are there once, are taken in one step, and leave one by one; what comes
// meanwhile is in the next batch; a process that comes late drops nothing of it.
func TestPending(t *testing.T) {
	onStores(t, func(t *testing.T, s *state.Store) {
		ctx, p := t.Context(), s.Pending
		_, err := p.Take(ctx, guild, channel)
		same(t, "nothing waits", errors.Is(err, state.ErrNone), true)
		all := articles(0, 450)
		same(t, "added", got(p.Add(ctx, guild, channel, all))(t), 450)
		same(t, "added again", got(p.Add(ctx, guild, channel, all[:5]))(t), 5)
		same(t, "channels", got(p.Channels(ctx, guild))(t), []string{channel})
		first := got(p.Take(ctx, guild, channel))(t)
		same(t, "a new batch", first.Again, false)
		same(t, "added meanwhile", got(p.Add(ctx, guild, channel, articles(450, 460)))(t), 10)
		again := got(p.Take(ctx, guild, channel))(t)
		same(t, "the same batch", again.ID+fmt.Sprint(again.Again), first.ID+"true")
		var seen []string
		for {
			some := got(p.Next(ctx, again, 100))(t)
			if len(some) == 0 {
				break
			}
			same(t, "once more", ids(got(p.Next(ctx, first, 100))(t)), ids(some))
			seen = append(seen, ids(some)...)
			must(t, p.Drop(ctx, first, ids(some)))
		}
		want := ids(all)
		slices.Sort(seen)
		slices.Sort(want)
		same(t, "all of the batch, once", seen, want)
		second := got(p.Take(ctx, guild, channel))(t)
		same(t, "another batch", second.ID != first.ID && !second.Again, true)
		same(t, "one that is late", errors.Is(p.Drop(ctx, first, ids(articles(450, 455))), state.ErrStale), true)
		rest := got(p.Next(ctx, second, 100))(t)
		same(t, "the next batch", len(rest), 10)
		must(t, p.Drop(ctx, second, ids(rest)))
		same(t, "nothing is left", got(p.Channels(ctx, guild))(t), []string(nil))
	})
}

// TestPendingLives: an article lives for 48 hours from when it was queued, not from when another
// one was; one that is too old can come again.
func TestPendingLives(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	pendingLives(t, s, redis.New(open(t, s.URL())))
	s.Do("FLUSHALL")
	pendingLives(t, s, inPhase(t, s, t.TempDir(), phase.Live))
}

func pendingLives(t *testing.T, s *keywrighttest.Server, store *state.Store) {
	t.Helper()
	ctx, p := t.Context(), store.Pending
	key := "rss:" + guild + ":pending:" + channel
	all := articles(0, 3)
	same(t, "added", got(p.Add(ctx, guild, channel, all))(t), 3)
	hour := int64(time.Hour / time.Millisecond)
	now := time.Now().UnixMilli()
	s.Do("ZADD", key+":order", fmt.Sprint(now-49*hour), all[0].ID)
	s.Do("ZADD", key+":order", fmt.Sprint(now-47*hour), all[1].ID)
	s.Do("PEXPIRE", key, fmt.Sprint(hour))
	same(t, "another one", got(p.Add(ctx, guild, channel, articles(3, 4)))(t), 1)
	same(t, "the old one is gone", s.Do("HEXISTS", key, all[0].ID), int64(0))
	if left := s.Do("PTTL", key).(int64); left < 47*hour {
		t.Errorf("the others live for %d ms", left)
	}
	b := got(p.Take(ctx, guild, channel))(t)
	s.Do("ZADD", key+":order", fmt.Sprint(now-49*hour), all[1].ID)
	same(t, "one that became old in the batch", len(got(p.Next(ctx, b, 10))(t)), 2)
	same(t, "it is dropped", s.Do("HEXISTS", key, all[1].ID), int64(0))
	s.Do("ZADD", key+":order", fmt.Sprint(now-49*hour), all[2].ID)
	same(t, "an old one comes again", got(p.Add(ctx, guild, channel, all[2:]))(t), 1)
	must(t, p.Drop(ctx, b, ids(articles(3, 4))))
	b = got(p.Take(ctx, guild, channel))(t)
	same(t, "it is there", ids(got(p.Next(ctx, b, 10))(t)), ids(all[2:]))
}

// TestPendingBound: a channel that is full takes no more, and says so. A call has a minute for all of its articles, which
// is little for 10,000 of them with the race detector beside other tests.
func TestPendingBound(t *testing.T) {
	onStores(t, func(t *testing.T, s *state.Store) {
		n := 0
		for from := 0; from < 10_100; from += 5050 {
			n += got(s.Pending.Add(t.Context(), guild, channel, articles(from, from+5050)))(t)
		}
		same(t, "as many as find room", n, 10_000)
	})
}

func TestHistory(t *testing.T) {
	onStores(t, func(t *testing.T, s *state.Store) {
		ctx, h := t.Context(), s.History
		story := state.Story{Hash: "story_hash_abc", Title: "t", URL: "https://x.example", PostedAt: time.Now()}
		must(t, h.Record(ctx, guild, channel, []state.Story{story, story}))
		same(t, "known", got(h.Known(ctx, guild, channel, []string{"other", story.Hash}))(t),
			map[string]bool{story.Hash: true})
		same(t, "of another channel", len(got(h.Known(ctx, guild, "944003671334977610", []string{story.Hash}))(t)), 0)
		same(t, "the window", got(h.Window(ctx, guild, channel))(t), 24*time.Hour)
		must(t, h.SetWindow(ctx, guild, channel, 168))
		same(t, "a longer one", got(h.Window(ctx, guild, channel))(t), 168*time.Hour)
		same(t, "nothing is old", got(h.Cleanup(ctx, guild, channel))(t), 0)
	})
}

// TestBreaking: what fails is tried three times, what cannot be done now as often as needed, and
// the oldest is first.
func TestBreaking(t *testing.T) {
	onStores(t, func(t *testing.T, s *state.Store) {
		ctx, b := t.Context(), s.Breaking
		must(t, b.PutTopic(ctx, guild, "storm", channel))
		must(t, b.PutTopic(ctx, guild, "flood", channel))
		must(t, b.RemoveTopic(ctx, guild, "flood"))
		same(t, "topics", got(b.Topics(ctx, guild))(t), []string{"storm"})
		same(t, "the channel", got(b.Channel(ctx, guild, "storm"))(t), channel)
		_, err := b.Channel(ctx, guild, "flood")
		same(t, "no channel", errors.Is(err, state.ErrNone), true)
		for _, a := range append(articles(0, 3), articles(0, 1)...) {
			must(t, b.AddItem(ctx, guild, state.Item{Article: a, Topic: "storm", ChannelID: channel}))
		}
		var order []string
		tries := map[string][]int{}
		await(t, "all are handled", func() bool {
			_, err := b.Work(ctx, guild, func(_ context.Context, item state.Item, n int) error {
				title := item.Article.Title
				if tries[title] = append(tries[title], n); title == "article 1" && n < 3 {
					return errors.New("not yet")
				}
				order = append(order, title)
				return nil
			})
			must(t, err)
			return len(order) == 3
		})
		same(t, "the order", order, []string{"article 0", "article 2", "article 1"})
		same(t, "the tries", tries["article 1"], []int{1, 2, 3})
		n := got(b.Work(ctx, guild, func(context.Context, state.Item, int) error { return nil }))(t)
		same(t, "nothing is left", n, 0)
	})
}

// TestTrivia: a game is opened once, takes answers while it runs, can be closed, and is not opened
// again when it is over with.
func TestTrivia(t *testing.T) {
	onStores(t, func(t *testing.T, s *state.Store) {
		ctx, tr := t.Context(), s.Trivia
		g := state.NewGame{Question: "Which?", Options: []string{"a", "b"}, Answer: "b", ChannelID: channel, Lasts: time.Hour}
		same(t, "opened", got(tr.Open(ctx, guild, "quiz-1", g))(t), true)
		same(t, "opened again", got(tr.Open(ctx, guild, "quiz-1", g))(t), false)
		answer := state.Answer{Answer: "b", At: time.Unix(1e9, 0).UTC()}
		_, err := tr.Submit(ctx, guild, "quiz-2", "123456789012345678", answer)
		same(t, "no such game", errors.Is(err, state.ErrNone), true)
		same(t, "an answer", got(tr.Submit(ctx, guild, "quiz-1", "123456789012345678", state.Answer{Answer: "a"}))(t), 1)
		same(t, "a second one", got(tr.Submit(ctx, guild, "quiz-1", "123456789012345678", answer))(t), 1)
		same(t, "another user's", got(tr.Submit(ctx, guild, "quiz-1", "123456789012345679", answer))(t), 2)
		must(t, tr.Posted(ctx, guild, "quiz-1", "17"))
		game := got(tr.Game(ctx, guild, "quiz-1"))(t)
		same(t, "the game", strings.TrimSpace(fmt.Sprintln(game.Options, game.Answer, game.ChannelID, game.Lasts,
			game.Submissions, game.Message, game.Closed)), "[a b] b "+channel+" 1h0m0s 2 17 false")
		same(t, "nothing is due", len(got(tr.Due(ctx, guild))(t)), 0)
		same(t, "too early", errors.Is(tr.Close(ctx, guild, "quiz-1", false), state.ErrEarly), true)
		must(t, tr.Close(ctx, guild, "quiz-1", true))
		must(t, tr.Close(ctx, guild, "quiz-1", false))
		_, err = tr.Submit(ctx, guild, "quiz-1", "123456789012345680", answer)
		same(t, "closed", errors.Is(err, state.ErrClosed), true)
		await(t, "it is due", func() bool { return slices.Equal(got(tr.Due(ctx, guild))(t), []string{"quiz-1"}) })
		same(t, "the answers", got(tr.Submissions(ctx, guild, "quiz-1"))(t),
			map[string]state.Answer{"123456789012345678": answer, "123456789012345679": answer})
		r := state.Result{Question: "Which?", Answer: "b", Answers: 2, Right: []string{"1", "2"},
			EndedAt: time.Now().UTC().Truncate(time.Second)}
		must(t, tr.Finish(ctx, guild, "quiz-1", r))
		must(t, tr.Finish(ctx, guild, "quiz-1", state.Result{EndedAt: time.Now()}))
		same(t, "the result", got(tr.Result(ctx, guild, "quiz-1"))(t), r)
		same(t, "played", got(tr.Played(ctx, guild, "quiz-1"))(t), true)
		same(t, "not opened again", got(tr.Open(ctx, guild, "quiz-1", g))(t), false)
		same(t, "nothing is due any more", len(got(tr.Due(ctx, guild))(t)), 0)
		must(t, tr.PutRegistration(ctx, guild, "reg1", state.Registration{ChannelID: channel, Topic: "x", Minute: 7}))
		same(t, "registrations", got(tr.Registrations(ctx, guild))(t)["reg1"].Minute, 7)
	})
}

func TestDaily(t *testing.T) {
	onStores(t, func(t *testing.T, s *state.Store) {
		ctx, day := t.Context(), time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
		must(t, s.Daily.PutGame(ctx, guild, "Wordle", state.DailyGame{ChannelID: channel, Text: "x", Minute: 1439}))
		same(t, "the schedule", got(s.Daily.Games(ctx, guild))(t)["Wordle"].Minute, 1439)
		for _, want := range []string{"", "begun"} {
			same(t, "begun", got(s.Daily.Begin(ctx, guild, day, "Wordle"))(t), want)
		}
		must(t, s.Daily.Posted(ctx, guild, day, "Wordle"))
		same(t, "posted", got(s.Daily.Begin(ctx, guild, day, "Wordle"))(t), "posted")
		same(t, "the next day", got(s.Daily.Begin(ctx, guild, day.AddDate(0, 0, 1), "Wordle"))(t), "")
	})
}

// TestTogether: many that add, take and answer at the same time lose nothing.
func TestTogether(t *testing.T) {
	onStores(t, func(t *testing.T, s *state.Store) {
		ctx := t.Context()
		g := state.NewGame{Question: "?", Options: []string{"a"}, Answer: "a", ChannelID: channel, Lasts: time.Hour}
		_, err := s.Trivia.Open(ctx, guild, "quiz", g)
		must(t, err)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for n := range 5 {
					if _, err := s.Pending.Add(ctx, guild, channel, articles(i*5+n, i*5+n+1)); err != nil {
						t.Error(err)
					}
					if _, err := s.Trivia.Submit(ctx, guild, "quiz", fmt.Sprint(100000000000000000+i*5+n),
						state.Answer{Answer: "a"}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		var mu sync.Mutex
		inside, most := 0, 0
		for range 4 {
			all.Go(func() {
				err := s.Locks.Try(ctx, state.LockTriviaGame, guild, "quiz", func(context.Context) error {
					mu.Lock()
					inside++
					most = max(most, inside)
					mu.Unlock()
					_, err := s.Trivia.Game(ctx, guild, "quiz")
					mu.Lock()
					inside--
					mu.Unlock()
					return err
				})
				if err != nil && !errors.Is(err, state.ErrHeld) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		same(t, "one at a time", most, 1)
		b := got(s.Pending.Take(ctx, guild, channel))(t)
		same(t, "articles", len(got(s.Pending.Next(ctx, b, 100))(t)), 40)
		same(t, "answers", got(s.Trivia.Game(ctx, guild, "quiz"))(t).Submissions, 40)
	})
}
