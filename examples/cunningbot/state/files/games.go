package files

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/state"
)

// guildStories holds the stories of a guild in story_history.json: when each was posted to which channel, and what
// it says.
type guildStories struct {
	Channels map[string]map[string]time.Time `json:"channels"`
	Stories  map[string]state.Story          `json:"stories"`
}

// stories is story_history.json, by guild.
type stories map[string]guildStories

type history struct{ Folder }

func (f history) Known(ctx context.Context, guild, channel string, hashes []string) (map[string]bool, error) {
	window, err := f.Window(ctx, guild, channel)
	if err != nil {
		return nil, err
	}
	all, err := readJSON[stories](f.Folder, historyFile)
	known, posted := map[string]bool{}, all[guild].Channels[channel]
	for _, hash := range hashes {
		if at, there := posted[hash]; there && time.Since(at) < window {
			known[hash] = true
		}
	}
	return known, err
}

func (f history) Record(ctx context.Context, guild, channel string, posted []state.Story) error {
	return f.change(ctx, guild, channel, func(g *guildStories, times map[string]time.Time) {
		for _, s := range posted {
			if _, there := times[s.Hash]; !there {
				times[s.Hash] = s.PostedAt
				put(&g.Stories, s.Hash, s)
			}
		}
	})
}

func (f history) change(ctx context.Context, guild, channel string,
	fn func(*guildStories, map[string]time.Time)) error {
	return change(ctx, f.Folder, historyFile, func(all *stories) (bool, error) {
		of := (*all)[guild]
		times := of.Channels[channel]
		if times == nil {
			times = map[string]time.Time{}
		}
		fn(&of, times)
		put(&of.Channels, channel, times)
		put((*map[string]guildStories)(all), guild, of)
		return true, nil
	})
}

func (f history) Window(_ context.Context, guild, channel string) (time.Duration, error) {
	hours, err := readMember[map[string]int64](f.Folder, guild, "dedup_windows")
	if n, set := hours[channel]; set {
		return time.Duration(n) * time.Hour, err
	}
	return 24 * time.Hour, err
}

func (f history) SetWindow(ctx context.Context, guild, channel string, hours int64) error {
	return changeMember(ctx, f.Folder, guild, "dedup_windows", func(all *map[string]int64) (bool, error) {
		put(all, channel, hours)
		return true, nil
	})
}

func (f history) Cleanup(ctx context.Context, guild, channel string) (dropped int, err error) {
	window, err := f.Window(ctx, guild, channel)
	if err != nil {
		return 0, err
	}
	err = f.change(ctx, guild, channel, func(g *guildStories, times map[string]time.Time) {
		for hash, at := range times {
			if time.Since(at) > window {
				delete(times, hash)
				delete(g.Stories, hash)
				dropped++
			}
		}
	})
	return dropped, err
}

// Game represents a game under trivia_games of a guild, its answers in it.
type Game struct {
	Question    string                  `json:"question"`
	Options     []string                `json:"options"`
	Answer      string                  `json:"answer"`
	ChannelID   state.ID                `json:"channel_id"`
	StartedAt   int64                   `json:"started_at"`
	EndsAt      int64                   `json:"ends_at"`
	Status      string                  `json:"status"`
	Message     string                  `json:"message_id,omitempty"`
	Submissions map[string]state.Answer `json:"submissions"`
}

// Expired reports whether a game without a result is so old that it is dropped.
func (g Game) Expired() bool { return time.Since(time.Unix(g.StartedAt, 0)) > 24*time.Hour }

// The members of a guild that have its games, and the results of those that are over with, for 30 days.
const (
	gamesMember   = "trivia_games"
	resultsMember = "trivia_results"
)

type trivia struct{ Folder }

func (f trivia) Registrations(_ context.Context, guild string) (map[string]state.Registration, error) {
	return readMember[map[string]state.Registration](f.Folder, guild, "trivia_registrations")
}

func (f trivia) PutRegistration(ctx context.Context, guild, id string, r state.Registration) error {
	return changeMember(ctx, f.Folder, guild, "trivia_registrations", func(all *map[string]json.RawMessage) (bool, error) {
		return true, putEncoded(all, id, r)
	})
}

func (f trivia) Open(ctx context.Context, guild, id string, g state.NewGame) (made bool, err error) {
	err = f.both(ctx, guild, func(games map[string]Game, results map[string]state.Result) (bool, error) {
		for old, g := range games {
			if g.Expired() {
				delete(games, old)
			}
		}
		_, there := games[id]
		_, played := results[id]
		if made = !there && !played; made {
			now := time.Now()
			games[id] = Game{Question: g.Question, Options: g.Options, Answer: g.Answer, ChannelID: state.ID(g.ChannelID),
				StartedAt: now.Unix(), EndsAt: now.Add(g.Lasts).Unix(), Status: "open", Submissions: map[string]state.Answer{}}
		}
		return made, nil
	})
	return made, err
}

// both changes games and results of a guild in one step.
func (f trivia) both(ctx context.Context, guild string, fn func(map[string]Game, map[string]state.Result) (bool,
	error)) error {
	return change(ctx, f.Folder, stateFile, func(s *appState) (bool, error) {
		games, err1 := member[map[string]Game](*s, guild, gamesMember)
		results, err2 := member[map[string]state.Result](*s, guild, resultsMember)
		if err := errors.Join(err1, err2); err != nil {
			return false, err
		}
		if games == nil {
			games = map[string]Game{}
		}
		if results == nil {
			results = map[string]state.Result{}
		}
		changed, err := fn(games, results)
		if err != nil || !changed {
			return false, err
		}
		return true, errors.Join(s.set(guild, gamesMember, games), s.set(guild, resultsMember, results))
	})
}

func (f trivia) Game(_ context.Context, guild, id string) (state.Game, error) {
	g, err := f.game(guild, id)
	if err == nil && g.Expired() {
		err = state.ErrNone
	}
	if err != nil {
		return state.Game{}, err
	}
	return g.AsPlayed(), nil
}

// AsPlayed returns a game as the bot has it.
func (g Game) AsPlayed() state.Game {
	from, to := time.Unix(g.StartedAt, 0), time.Unix(g.EndsAt, 0)
	return state.Game{NewGame: state.NewGame{Question: g.Question, Options: g.Options, Answer: g.Answer,
		ChannelID: string(g.ChannelID), Lasts: to.Sub(from)}, StartedAt: from, EndsAt: to,
		Closed: g.Status == "closed", Submissions: len(g.Submissions), Message: g.Message}
}

func (f trivia) game(guild, id string) (Game, error) {
	games, err := readMember[map[string]Game](f.Folder, guild, gamesMember)
	g, there := games[id]
	if err == nil && !there {
		err = state.ErrNone
	}
	return g, err
}

// change changes a game that is not over with; ErrNone.
func (f trivia) change(ctx context.Context, guild, id string, fn func(g *Game) error) error {
	return changeMember(ctx, f.Folder, guild, gamesMember, func(all *map[string]Game) (bool, error) {
		g, there := (*all)[id]
		if !there || g.Expired() {
			return false, state.ErrNone
		}
		err := fn(&g)
		put(all, id, g)
		return true, err
	})
}

func (f trivia) Played(_ context.Context, guild, id string) (bool, error) {
	results, err := readMember[map[string]state.Result](f.Folder, guild, resultsMember)
	_, played := results[id]
	return played, err
}

func (f trivia) Posted(ctx context.Context, guild, id, message string) error {
	err := f.change(ctx, guild, id, func(g *Game) error { g.Message = message; return nil })
	if err == state.ErrNone {
		return nil
	}
	return err
}

func (f trivia) Submit(ctx context.Context, guild, id, user string, a state.Answer) (n int, err error) {
	err = f.change(ctx, guild, id, func(g *Game) error {
		if g.Status == "closed" || time.Now().Unix() > g.EndsAt {
			return state.ErrClosed
		}
		put(&g.Submissions, user, a)
		n = len(g.Submissions)
		return nil
	})
	return n, err
}

func (f trivia) Due(_ context.Context, guild string) (due []string, err error) {
	games, err := readMember[map[string]Game](f.Folder, guild, gamesMember)
	for id, g := range games {
		if !g.Expired() && g.EndsAt <= time.Now().Unix() {
			due = append(due, id)
		}
	}
	slices.SortFunc(due, strings.Compare)
	return due[:min(len(due), 1000)], err
}

func (f trivia) Close(ctx context.Context, guild, id string, early bool) error {
	return f.change(ctx, guild, id, func(g *Game) error { return g.Close(early) })
}

// Close closes a game whose time is over, or now if it is early.
func (g *Game) Close(early bool) error {
	now := time.Now().Unix()
	if g.EndsAt > now && g.Status != "closed" {
		if !early {
			return state.ErrEarly
		}
		g.EndsAt = now
	}
	g.Status = "closed"
	return nil
}

func (f trivia) Submissions(_ context.Context, guild, id string) (map[string]state.Answer, error) {
	g, err := f.game(guild, id)
	if err == state.ErrNone {
		return nil, nil
	}
	return g.Submissions, err
}

// Finish keeps the first result of a game, and drops those that are older than 30 days.
func (f trivia) Finish(ctx context.Context, guild, id string, r state.Result) error {
	return f.both(ctx, guild, func(games map[string]Game, results map[string]state.Result) (bool, error) {
		for old, r := range results {
			if time.Since(r.EndedAt) > 30*24*time.Hour {
				delete(results, old)
			}
		}
		g, there := games[id]
		if _, played := results[id]; there && !played && !g.Expired() {
			results[id] = r
		}
		delete(games, id)
		return there, nil
	})
}

func (f trivia) Result(_ context.Context, guild, id string) (state.Result, error) {
	results, err := readMember[map[string]state.Result](f.Folder, guild, resultsMember)
	r, there := results[id]
	if err == nil && (!there || time.Since(r.EndedAt) > 7*24*time.Hour) {
		err = state.ErrNone
	}
	return r, err
}
