package cunningbot

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

// guildStories holds the stories of a guild in story_history.json: when each was posted to which channel, and what
// it says.
type guildStories struct {
	Channels map[string]map[string]time.Time `json:"channels"`
	Stories  map[string]Story                `json:"stories"`
}

// stories is story_history.json, by guild.
type stories map[string]guildStories

type fileHistory struct{ files }

func (f fileHistory) Known(ctx context.Context, guild, channel string, hashes []string) (map[string]bool, error) {
	window, err := f.Window(ctx, guild, channel)
	if err != nil {
		return nil, err
	}
	all, err := read[stories](f.files, historyFile)
	known, posted := map[string]bool{}, all[guild].Channels[channel]
	for _, hash := range hashes {
		if at, there := posted[hash]; there && time.Since(at) < window {
			known[hash] = true
		}
	}
	return known, err
}

func (f fileHistory) Record(ctx context.Context, guild, channel string, posted []Story) error {
	return f.change(ctx, guild, channel, func(g *guildStories, times map[string]time.Time) {
		for _, s := range posted {
			if _, there := times[s.Hash]; !there {
				times[s.Hash] = s.PostedAt
				put(&g.Stories, s.Hash, s)
			}
		}
	})
}

func (f fileHistory) change(ctx context.Context, guild, channel string,
	fn func(*guildStories, map[string]time.Time)) error {
	return change(ctx, f.files, historyFile, func(all *stories) (bool, error) {
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

func (f fileHistory) Window(_ context.Context, guild, channel string) (time.Duration, error) {
	hours, err := readMember[map[string]int64](f.files, guild, "dedup_windows")
	if n, set := hours[channel]; set {
		return time.Duration(n) * time.Hour, err
	}
	return 24 * time.Hour, err
}

func (f fileHistory) SetWindow(ctx context.Context, guild, channel string, hours int64) error {
	return changeMember(ctx, f.files, guild, "dedup_windows", func(all *map[string]int64) (bool, error) {
		put(all, channel, hours)
		return true, nil
	})
}

func (f fileHistory) Cleanup(ctx context.Context, guild, channel string) (dropped int, err error) {
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

// fileGame represents a game under trivia_games of a guild, its answers in it.
type fileGame struct {
	Question    string            `json:"question"`
	Options     []string          `json:"options"`
	Answer      string            `json:"answer"`
	ChannelID   ID                `json:"channel_id"`
	StartedAt   int64             `json:"started_at"`
	EndsAt      int64             `json:"ends_at"`
	Status      string            `json:"status"`
	Message     string            `json:"message_id,omitempty"`
	Submissions map[string]Answer `json:"submissions"`
}

// expired reports whether a game without a result is so old that it is dropped.
func (g fileGame) expired() bool { return time.Since(time.Unix(g.StartedAt, 0)) > 24*time.Hour }

// The members of a guild that have its games, and the results of those that are over with, for 30 days.
const (
	gamesMember   = "trivia_games"
	resultsMember = "trivia_results"
)

type fileTrivia struct{ files }

func (f fileTrivia) Registrations(_ context.Context, guild string) (map[string]Registration, error) {
	return readMember[map[string]Registration](f.files, guild, "trivia_registrations")
}

func (f fileTrivia) PutRegistration(ctx context.Context, guild, id string, r Registration) error {
	return changeMember(ctx, f.files, guild, "trivia_registrations", func(all *map[string]json.RawMessage) (bool, error) {
		return true, putEncoded(all, id, r)
	})
}

func (f fileTrivia) Open(ctx context.Context, guild, id string, g NewGame) (made bool, err error) {
	err = f.both(ctx, guild, func(games map[string]fileGame, results map[string]Result) (bool, error) {
		for old, g := range games {
			if g.expired() {
				delete(games, old)
			}
		}
		_, there := games[id]
		_, played := results[id]
		if made = !there && !played; made {
			now := time.Now()
			games[id] = fileGame{Question: g.Question, Options: g.Options, Answer: g.Answer, ChannelID: ID(g.ChannelID),
				StartedAt: now.Unix(), EndsAt: now.Add(g.Lasts).Unix(), Status: "open", Submissions: map[string]Answer{}}
		}
		return made, nil
	})
	return made, err
}

// both changes games and results of a guild in one step.
func (f fileTrivia) both(ctx context.Context, guild string, fn func(map[string]fileGame, map[string]Result) (bool,
	error)) error {
	return change(ctx, f.files, stateFile, func(s *state) (bool, error) {
		games, err1 := member[map[string]fileGame](*s, guild, gamesMember)
		results, err2 := member[map[string]Result](*s, guild, resultsMember)
		if err := errors.Join(err1, err2); err != nil {
			return false, err
		}
		if games == nil {
			games = map[string]fileGame{}
		}
		if results == nil {
			results = map[string]Result{}
		}
		changed, err := fn(games, results)
		if err != nil || !changed {
			return false, err
		}
		return true, errors.Join(s.set(guild, gamesMember, games), s.set(guild, resultsMember, results))
	})
}

func (f fileTrivia) Game(_ context.Context, guild, id string) (Game, error) {
	g, err := f.game(guild, id)
	if err == nil && g.expired() {
		err = ErrNone
	}
	if err != nil {
		return Game{}, err
	}
	return g.game(), nil
}

// game returns a game as the bot has it.
func (g fileGame) game() Game {
	from, to := time.Unix(g.StartedAt, 0), time.Unix(g.EndsAt, 0)
	return Game{NewGame: NewGame{g.Question, g.Options, g.Answer, string(g.ChannelID), to.Sub(from)}, StartedAt: from,
		EndsAt: to, Closed: g.Status == "closed", Submissions: len(g.Submissions), Message: g.Message}
}

func (f fileTrivia) game(guild, id string) (fileGame, error) {
	games, err := readMember[map[string]fileGame](f.files, guild, gamesMember)
	g, there := games[id]
	if err == nil && !there {
		err = ErrNone
	}
	return g, err
}

// change changes a game that is not over with; ErrNone.
func (f fileTrivia) change(ctx context.Context, guild, id string, fn func(g *fileGame) error) error {
	return changeMember(ctx, f.files, guild, gamesMember, func(all *map[string]fileGame) (bool, error) {
		g, there := (*all)[id]
		if !there || g.expired() {
			return false, ErrNone
		}
		err := fn(&g)
		put(all, id, g)
		return true, err
	})
}

func (f fileTrivia) Played(_ context.Context, guild, id string) (bool, error) {
	results, err := readMember[map[string]Result](f.files, guild, resultsMember)
	_, played := results[id]
	return played, err
}

func (f fileTrivia) Posted(ctx context.Context, guild, id, message string) error {
	err := f.change(ctx, guild, id, func(g *fileGame) error { g.Message = message; return nil })
	if err == ErrNone {
		return nil
	}
	return err
}

func (f fileTrivia) Submit(ctx context.Context, guild, id, user string, a Answer) (n int, err error) {
	err = f.change(ctx, guild, id, func(g *fileGame) error {
		if g.Status == "closed" || time.Now().Unix() > g.EndsAt {
			return ErrClosed
		}
		put(&g.Submissions, user, a)
		n = len(g.Submissions)
		return nil
	})
	return n, err
}

func (f fileTrivia) Due(_ context.Context, guild string) (due []string, err error) {
	games, err := readMember[map[string]fileGame](f.files, guild, gamesMember)
	for id, g := range games {
		if !g.expired() && g.EndsAt <= time.Now().Unix() {
			due = append(due, id)
		}
	}
	slices.SortFunc(due, strings.Compare)
	return due[:min(len(due), 1000)], err
}

func (f fileTrivia) Close(ctx context.Context, guild, id string, early bool) error {
	return f.change(ctx, guild, id, func(g *fileGame) error { return g.close(early) })
}

// close closes a game whose time is over, or now if it is early.
func (g *fileGame) close(early bool) error {
	now := time.Now().Unix()
	if g.EndsAt > now && g.Status != "closed" {
		if !early {
			return ErrEarly
		}
		g.EndsAt = now
	}
	g.Status = "closed"
	return nil
}

func (f fileTrivia) Submissions(_ context.Context, guild, id string) (map[string]Answer, error) {
	g, err := f.game(guild, id)
	if err == ErrNone {
		return nil, nil
	}
	return g.Submissions, err
}

// Finish keeps the first result of a game, and drops those that are older than 30 days.
func (f fileTrivia) Finish(ctx context.Context, guild, id string, r Result) error {
	return f.both(ctx, guild, func(games map[string]fileGame, results map[string]Result) (bool, error) {
		for old, r := range results {
			if time.Since(r.EndedAt) > 30*24*time.Hour {
				delete(results, old)
			}
		}
		g, there := games[id]
		if _, played := results[id]; there && !played && !g.expired() {
			results[id] = r
		}
		delete(games, id)
		return there, nil
	})
}

func (f fileTrivia) Result(_ context.Context, guild, id string) (Result, error) {
	results, err := readMember[map[string]Result](f.files, guild, resultsMember)
	r, there := results[id]
	if err == nil && (!there || time.Since(r.EndedAt) > 7*24*time.Hour) {
		err = ErrNone
	}
	return r, err
}
