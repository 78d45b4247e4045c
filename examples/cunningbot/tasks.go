package cunningbot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/outside"
	"github.com/keywright/keywright/examples/cunningbot/state"
)

// Bot describes what the seven programs share.
type Bot struct {
	Store   *state.Store
	Discord outside.Messenger
	Model   outside.Model // nil: none
	Reader  outside.Reader
	Log     *slog.Logger
	Zone    *time.Location // of schedules; nil: UTC

	late    sync.WaitGroup // commands that are answered later
	waiting atomic.Int32   // how many
}

// A Task does its work for one guild, once.
type Task func(b *Bot, ctx context.Context, guild string) error

// Tasks lists the six that poll, and how often unless it is said otherwise.
var Tasks = map[string]struct {
	Run  Task
	Poll time.Duration
	User string // of Redis
}{
	"dailygame":               {(*Bot).DailyGame, 10 * time.Minute, "dailygame"},
	"rssfeed":                 {(*Bot).RSSFeed, 5 * time.Minute, "rssfeed"},
	"rsssummary":              {(*Bot).RSSSummary, 10 * time.Minute, "rsssummary"},
	"breaking-news-validator": {(*Bot).BreakingNews, time.Minute, "breaking_news_validator"},
	"trivia-poster":           {(*Bot).TriviaPoster, time.Minute, "trivia_poster"},
	"trivia-closer":           {(*Bot).TriviaCloser, time.Minute, "trivia_closer"},
}

// Poll does a task for all guilds, again and again until ctx ends. What fails for one guild is
// said, and does not keep others waiting.
func (b *Bot) Poll(ctx context.Context, every time.Duration, task Task) {
	for {
		guilds, err := b.Store.Settings.Guilds(ctx)
		b.warn(ctx, "guilds", "", err)
		for _, guild := range guilds {
			if ctx.Err() != nil {
				return
			}
			b.warn(ctx, "guild", guild, task(b, ctx, guild))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
	}
}

// warn says that something failed, unless it is the end of the program, or another process that
// does the same.
func (b *Bot) warn(ctx context.Context, what, name string, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, state.ErrHeld) {
		b.Log.Warn("it failed, and is tried again with the next poll", what, name, "error", err)
	}
}

func (b *Bot) zone() *time.Location {
	if b.Zone == nil {
		return time.UTC
	}
	return b.Zone
}

// slot represents a moment of a schedule.
type slot struct {
	day time.Time // midnight, UTC: names the day
	at  time.Time
}

// due gives the last moment of a schedule by minutes of the day, if that is at most late ago and
// not before added. A minute that a day lacks, since clocks change, is as much after the change.
func due(now time.Time, zone *time.Location, minute int, late time.Duration, added *time.Time) (slot, bool) {
	local := now.In(zone)
	for _, back := range []int{0, 1} {
		y, m, d := local.AddDate(0, 0, -back).Date()
		s := slot{time.Date(y, m, d, 0, 0, 0, 0, time.UTC), time.Date(y, m, d, minute/60, minute%60, 0, 0, zone)}
		is := s.at.In(zone)
		s.at = s.at.Add(time.Duration(minute-is.Hour()*60-is.Minute()) * time.Minute) // not 0, if the day lacks it
		if s.at.After(now) {
			continue
		}
		return s, now.Sub(s.at) <= late && (added == nil || !s.at.Before(*added))
	}
	return slot{}, false
}

// DailyGame posts the games of a guild whose time has come, each once a day, and up to six hours
// late after an outage.
func (b *Bot) DailyGame(ctx context.Context, guild string) error {
	games, err := b.Store.Daily.Games(ctx, guild)
	if err != nil || len(games) == 0 {
		return err
	}
	return b.Store.Locks.Try(ctx, state.LockDaily, guild, "games", func(ctx context.Context) (err error) {
		for name, g := range games {
			if s, is := due(time.Now(), b.zone(), g.Minute, 6*time.Hour, g.Added); is && g.On() {
				err = errors.Join(err, b.dailyGame(ctx, guild, name, g, s))
			}
		}
		return err
	})
}

func (b *Bot) dailyGame(ctx context.Context, guild, name string, g state.DailyGame, s slot) error {
	before, err := b.Store.Daily.Begin(ctx, guild, s.day, name)
	if err != nil || before == "posted" {
		return err
	}
	m := outside.Message{Channel: string(g.ChannelID), Title: name, Text: g.Text,
		Ref: state.Hash("daily", guild, name, s.day.Format(time.DateOnly))}
	if _, err := outside.PostOnce(ctx, b.Discord, m, before != "", s.at); err != nil {
		return fmt.Errorf("the daily game %q: %w", name, err)
	}
	return b.Store.Daily.Posted(ctx, guild, s.day, name)
}

// ask asks the model with the guild's persona; "" if there is none or it does not answer, which
// is said.
func (b *Bot) ask(ctx context.Context, guild, task, prompt string) string {
	if b.Model == nil {
		return ""
	}
	persona, err := b.Store.Settings.Persona(ctx, guild)
	b.warn(ctx, "guild", guild, err)
	answer, err := b.Model.Ask(ctx, strings.TrimSpace(persona+"\n\n"+task), prompt)
	b.warn(ctx, "guild", guild, err)
	return answer
}
