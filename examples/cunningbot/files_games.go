package cunningbot

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// channelStories is a channel in story_history.json, oldest first.
type channelStories struct {
	Stories []Story `json:"stories"`
}

// stories is story_history.json: by guild and channel.
type stories map[string]map[string]channelStories

type fileHistory struct{ files }

func (f fileHistory) Known(ctx context.Context, guild, channel string, hashes []string) (map[string]bool, error) {
	window, err := f.Window(ctx, guild, channel)
	if err != nil {
		return nil, err
	}
	all, err := read[stories](f.files, historyFile)
	known := map[string]bool{}
	for _, s := range all[guild][channel].Stories {
		if time.Since(s.PostedAt) < window && slices.Contains(hashes, s.Hash) {
			known[s.Hash] = true
		}
	}
	return known, err
}

func (f fileHistory) Record(ctx context.Context, guild, channel string, posted []Story) error {
	return f.change(ctx, guild, channel, func(list []Story) []Story {
		for _, s := range posted {
			if !slices.ContainsFunc(list, func(have Story) bool { return have.Hash == s.Hash }) {
				list = append(list, s)
			}
		}
		return list
	})
}

func (f fileHistory) change(ctx context.Context, guild, channel string, fn func([]Story) []Story) error {
	return change(ctx, f.files, historyFile, func(all *stories) (bool, error) {
		channels := (*all)[guild]
		put(&channels, channel, channelStories{fn(channels[channel].Stories)})
		put((*map[string]map[string]channelStories)(all), guild, channels)
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
	err = f.change(ctx, guild, channel, func(list []Story) []Story {
		kept := slices.DeleteFunc(slices.Clone(list), func(s Story) bool { return time.Since(s.PostedAt) > window })
		dropped = len(list) - len(kept)
		return kept
	})
	return dropped, err
}

// fileGame is a game under trivia_games of a guild, its answers in it.
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
	Result      *Result           `json:"result,omitempty"` // of a game that is over with
}

// over reports whether a game has its result, and gone whether that is old enough to be dropped.
func (g fileGame) over() bool { return g.Result != nil }
func (g fileGame) gone() bool {
	return time.Since(time.Unix(g.EndsAt, 0)) > 30*24*time.Hour || !g.over() && time.Since(time.Unix(g.StartedAt, 0)) > 24*time.Hour
}

const gamesMember = "trivia_games"

type fileTrivia struct{ files }

func (f fileTrivia) Registrations(_ context.Context, guild string) (map[string]Registration, error) {
	return readMember[map[string]Registration](f.files, guild, "trivia_registrations")
}

func (f fileTrivia) PutRegistration(ctx context.Context, guild, id string, r Registration) error {
	return changeMember(ctx, f.files, guild, "trivia_registrations", func(all *map[string]json.RawMessage) (bool, error) {
		put(all, id, encode(r))
		return true, nil
	})
}

func (f fileTrivia) Open(ctx context.Context, guild, id string, g NewGame) (made bool, err error) {
	err = changeMember(ctx, f.files, guild, gamesMember, func(all *map[string]fileGame) (bool, error) {
		for old, g := range *all {
			if g.gone() {
				delete(*all, old)
			}
		}
		_, there := (*all)[id]
		if made = !there; made {
			now := time.Now()
			put(all, id, fileGame{Question: g.Question, Options: g.Options, Answer: g.Answer, ChannelID: ID(g.ChannelID),
				StartedAt: now.Unix(), EndsAt: now.Add(g.Lasts).Unix(), Status: "open", Submissions: map[string]Answer{}})
		}
		return made, nil
	})
	return made, err
}

func (f fileTrivia) Game(_ context.Context, guild, id string) (Game, error) {
	g, err := f.game(guild, id)
	if err == nil && (g.over() || g.gone()) {
		err = ErrNone
	}
	if err != nil {
		return Game{}, err
	}
	from, to := time.Unix(g.StartedAt, 0), time.Unix(g.EndsAt, 0)
	return Game{NewGame: NewGame{g.Question, g.Options, g.Answer, string(g.ChannelID), to.Sub(from)}, StartedAt: from, EndsAt: to,
		Closed: g.Status == "closed", Submissions: len(g.Submissions), Message: g.Message}, nil
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
		if !there || g.over() || g.gone() {
			return false, ErrNone
		}
		err := fn(&g)
		put(all, id, g)
		return true, err
	})
}

func (f fileTrivia) Played(_ context.Context, guild, id string) (bool, error) {
	g, err := f.game(guild, id)
	if err == ErrNone {
		return false, nil
	}
	return g.over(), err
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
		if !g.over() && !g.gone() && g.EndsAt <= time.Now().Unix() {
			due = append(due, id)
		}
	}
	slices.SortFunc(due, strings.Compare)
	return due[:min(len(due), 1000)], err
}

func (f fileTrivia) Close(ctx context.Context, guild, id string, early bool) error {
	return f.change(ctx, guild, id, func(g *fileGame) error {
		now := time.Now().Unix()
		if g.EndsAt > now && g.Status != "closed" {
			if !early {
				return ErrEarly
			}
			g.EndsAt = now
		}
		g.Status = "closed"
		return nil
	})
}

func (f fileTrivia) Submissions(_ context.Context, guild, id string) (map[string]Answer, error) {
	g, err := f.game(guild, id)
	if err == ErrNone {
		return nil, nil
	}
	return g.Submissions, err
}

func (f fileTrivia) Finish(ctx context.Context, guild, id string, r Result) error {
	err := f.change(ctx, guild, id, func(g *fileGame) error { g.Result = &r; return nil })
	if err == ErrNone {
		return nil
	}
	return err
}

func (f fileTrivia) Result(_ context.Context, guild, id string) (Result, error) {
	g, err := f.game(guild, id)
	if err != nil {
		return Result{}, err
	}
	if !g.over() || time.Since(g.Result.EndedAt) > 7*24*time.Hour {
		return Result{}, ErrNone
	}
	return *g.Result, nil
}
