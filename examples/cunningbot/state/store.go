// Package state has what CunningBot keeps: small interfaces, one per subsystem, and the types of what is in them.
//
// It stores nothing: packages redis, files and moving below it do.
package state

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Store represents all state of the bot, by subsystem.
type Store struct {
	Settings Settings
	Feeds    Feeds
	Pending  Pending
	Breaking Breaking
	History  History
	Trivia   Trivia
	Daily    Daily
	Locks    Locks
	Health   func(context.Context) Health
	Close    func()
}

// What the stores say.
var (
	ErrNone  = errors.New("there is none")                       // what was asked for is not there
	ErrHeld  = errors.New("another process has the lock")        // Locks.Try has not run
	ErrStale = errors.New("another process has gone on with it") // a batch that is dropped already
)

// Global is the guild of direct messages, which is none: its settings are those of all guilds.
const Global = "global"

// Settings holds the guilds and their personas. All lists of guilds are sorted.
type Settings interface {
	Guilds(ctx context.Context) ([]string, error)
	AddGuild(ctx context.Context, guild string) error
	// Persona is the guild's choice, else its default, else that of all guilds, else "".
	Persona(ctx context.Context, guild string) (string, error)
	SetPersona(ctx context.Context, guild, persona string) error
	// Started notes the version that runs.
	Started(ctx context.Context, version string) error
}

// Feeds holds the news feeds of a guild, by name, and what was seen of each.
type Feeds interface {
	Feeds(ctx context.Context, guild string) (map[string]Feed, error)
	PutFeed(ctx context.Context, guild, name string, f Feed) error
	RemoveFeed(ctx context.Context, guild, name string) error
	// Unseen gives those of the items that were not seen, in their order.
	Unseen(ctx context.Context, guild, name string, items []string) ([]string, error)
	// MarkSeen marks items and keeps the newest so many. Marking twice is marking once.
	MarkSeen(ctx context.Context, guild, name string, items []string, keep int) error
}

// Bounds of what waits.
const (
	MaxPending  = 10_000         // articles of a channel
	PendingLife = 48 * time.Hour // of an article
	MaxTries    = 3              // of an item that may be breaking news
)

// Pending holds the articles that wait for the summary of a channel, 48 hours each.
type Pending interface {
	// Channels are those with articles that wait or are being posted, sorted.
	Channels(ctx context.Context, guild string) ([]string, error)
	// Add queues articles and gives how many of them, from the front, are there now: a channel
	// has a bound. Adding twice is adding once.
	Add(ctx context.Context, guild, channel string, articles []Article) (int, error)
	// Take makes one batch of all that waits, in one step; or gives the batch that a process
	// has taken before and not posted to its end. ErrNone if nothing waits.
	Take(ctx context.Context, guild, channel string) (Batch, error)
	// Next gives the first articles of a batch, oldest first. Those whose 48 hours are over are
	// dropped. None: the batch is over.
	Next(ctx context.Context, b Batch, n int) ([]Article, error)
	// Drop takes articles out of a batch. ErrStale if the batch is another one by now.
	Drop(ctx context.Context, b Batch, ids []string) error
}

// Batch holds articles that were taken together.
type Batch struct {
	Guild, Channel string
	ID             string
	Again          bool // it was taken before: part of it may be posted
}

// Breaking is news that may be breaking: topics, where they go, and what is to be checked.
type Breaking interface {
	// Topics are the words that make news breaking, sorted.
	Topics(ctx context.Context, guild string) ([]string, error)
	// Channel gives where a topic is posted; ErrNone.
	Channel(ctx context.Context, guild, topic string) (string, error)
	PutTopic(ctx context.Context, guild, topic, channel string) error
	RemoveTopic(ctx context.Context, guild, topic string) error
	// AddItem queues an item. Adding twice is adding once, while it waits.
	AddItem(ctx context.Context, guild string, item Item) error
	// Work handles what waits, oldest first, and gives how many were handled. An item whose
	// handler fails is kept and tried again later, with one try less, unless the error is
	// ErrLater. tries counts from 1; the third one is the last.
	Work(ctx context.Context, guild string, handle func(ctx context.Context, item Item, tries int) error) (int, error)
}

// History holds the stories that were posted to a channel, as long as the channel's window.
type History interface {
	// Known gives which of the stories a channel has had within its window.
	Known(ctx context.Context, guild, channel string, hashes []string) (map[string]bool, error)
	// Record notes stories. Recording twice is recording once.
	Record(ctx context.Context, guild, channel string, stories []Story) error
	// Window is 24 hours unless set, 6 to 168.
	Window(ctx context.Context, guild, channel string) (time.Duration, error)
	SetWindow(ctx context.Context, guild, channel string, hours int64) error
	// Cleanup drops what is older than the window and gives how many.
	Cleanup(ctx context.Context, guild, channel string) (int, error)
}

// Trivia holds registrations, games and answers. The time of a game is that of the store.
type Trivia interface {
	Registrations(ctx context.Context, guild string) (map[string]Registration, error)
	PutRegistration(ctx context.Context, guild, id string, r Registration) error
	// Open makes a game; false if there is one of this id, or it was played.
	Open(ctx context.Context, guild, id string, g NewGame) (bool, error)
	// Game gives one that is not over with; ErrNone.
	Game(ctx context.Context, guild, id string) (Game, error)
	// Played reports whether a game is over with.
	Played(ctx context.Context, guild, id string) (bool, error)
	// Posted notes the message of a game.
	Posted(ctx context.Context, guild, id, message string) error
	// Submit records an answer, the last one of a user counts, and gives how many users have
	// answered. ErrNone without such a game, ErrClosed when it is over.
	Submit(ctx context.Context, guild, id, user string, a Answer) (int, error)
	// Due gives games whose time is over and that have no result yet, a thousand at most.
	Due(ctx context.Context, guild string) ([]string, error)
	// Close lets no answer come any more; early: also before the game's time is over, else that
	// is ErrEarly. ErrNone without such a game.
	Close(ctx context.Context, guild, id string, early bool) error
	Submissions(ctx context.Context, guild, id string) (map[string]Answer, error)
	// Finish writes result and history and ends the game, in one step. The first result counts.
	// Of a game that is gone it forgets that it is due.
	Finish(ctx context.Context, guild, id string, r Result) error
	// Result gives how a game ended, for 7 days; ErrNone.
	Result(ctx context.Context, guild, id string) (Result, error)
}

// What the stores say of games.
var (
	ErrClosed = errors.New("the game is closed")          // an answer comes after its end
	ErrEarly  = errors.New("the game's time is not over") // it is not closed yet
)

// Daily holds the games that are posted once a day.
type Daily interface {
	Games(ctx context.Context, guild string) (map[string]DailyGame, error)
	PutGame(ctx context.Context, guild, name string, g DailyGame) error
	// Begin says that a game will be posted for a day, and what was said before: "" nothing,
	// "begun", or "posted".
	Begin(ctx context.Context, guild string, day time.Time, name string) (before string, err error)
	// Posted says that it is.
	Posted(ctx context.Context, guild string, day time.Time, name string) error
}

// Scope describes what a lock is for.
type Scope string

// The scopes, each of one container.
const (
	LockRSS        Scope = "rss"
	LockDaily      Scope = "daily"
	LockTrivia     Scope = "trivia"
	LockTriviaGame Scope = "trivia:game"
)

// Locks keep two processes from the same work. What is done under one must bear that two do it
// nevertheless: a process that is frozen may wake up when it has lost its lock.
type Locks interface {
	// Try runs fn while the lock is held; its context ends when the lock is lost. ErrHeld if
	// another process has it.
	Try(ctx context.Context, scope Scope, guild, id string, fn func(context.Context) error) error
}

// Health describes how the store is doing, in the page's words.
type Health struct {
	Status           string     `json:"status"` // healthy or unhealthy
	ConnectedClients int        `json:"connected_clients,omitempty"`
	UsedMemoryHuman  string     `json:"used_memory_human,omitempty"`
	TotalKeys        int64      `json:"total_keys,omitempty"`
	LastBackup       *time.Time `json:"last_backup,omitempty"`
	Error            string     `json:"error,omitempty"`

	// while subsystems migrate
	Phases map[string]string `json:"phases,omitempty"` // by subsystem
	Redis  string            `json:"redis,omitempty"`  // why it cannot be used, where nothing is read from it
}

// Taken returns when a batch was made, which its id says: no article of it was queued later.
func (b Batch) Taken() time.Time {
	var micros int64
	if _, err := fmt.Sscanf(b.ID, "b%d", &micros); err != nil {
		return time.Now().Add(-PendingLife)
	}
	return time.UnixMicro(micros).Truncate(time.Millisecond)
}

// Until returns the last moment of a batch: its last millisecond.
func (b Batch) Until() time.Time { return b.Taken().Add(time.Millisecond - 1) }

// NewBatch names a batch of all that was queued up to now, or to the last article if that is later.
func NewBatch(now, last time.Time) string { return fmt.Sprintf("b%d", Latest(now, last).UnixMicro()) }

// Latest returns the later one.
func Latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// ErrLater is wrapped by what an item cannot be blamed for: it is no try.
var ErrLater = errors.New("it cannot be done now")
