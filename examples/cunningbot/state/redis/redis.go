// Package redis keeps the state of CunningBot in Redis or Valkey, by the generated package cunningkeys.
package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/cunningbot/cunningkeys"
	"github.com/keywright/keywright/examples/cunningbot/state"
	"github.com/keywright/keywright/lock"
)

// New returns the store on a client that is open. Close does not close the client.
func New(c *keywright.Client) *state.Store {
	k := cunningkeys.New(c)
	return &state.Store{
		Settings: settings{k}, Feeds: feeds{k}, Pending: pending{k}, Breaking: breaking{k},
		History: history{k}, Trivia: trivia{k}, Daily: daily{k}, Locks: locks{k},
		Health: func(ctx context.Context) state.Health { return Health(ctx, c, k) },
		Close:  func() {},
	}
}

// or returns what was read, or what holds where nothing is there.
func or[T any](v T, err error) func(T) (T, error) {
	return func(otherwise T) (T, error) {
		if errors.Is(err, keywright.ErrNotFound) {
			return otherwise, nil
		}
		return v, err
	}
}

// none is ErrNone for what is not there.
func none(err error) error {
	if errors.Is(err, keywright.ErrNotFound) {
		return state.ErrNone
	}
	return err
}

// pieces of a call: a script takes at most so many articles or items.
const piece = 200

type settings struct{ k *cunningkeys.Keyspace }

func (s settings) Guilds(ctx context.Context) ([]string, error) {
	guilds, err := s.k.Guilds().Members().Do(ctx)
	slices.Sort(guilds)
	return guilds, err
}

func (s settings) AddGuild(ctx context.Context, guild string) error {
	_, err := s.k.Guilds().Add(guild).Do(ctx)
	return err
}

func (s settings) Persona(ctx context.Context, guild string) (string, error) {
	var b keywright.Batch
	asked := []*keywright.Pending[string]{
		keywright.Queue(&b, s.k.GuildPersonality(guild).Get()),
		keywright.Queue(&b, s.k.GuildDefaultPersona(guild).Get()),
		keywright.Queue(&b, s.k.DefaultPersona().Get()),
	}
	if err := b.Run(ctx); err != nil {
		return "", err
	}
	for _, a := range asked {
		if persona, err := a.Result(); err == nil {
			return persona, nil
		}
	}
	return "", nil
}

func (s settings) SetPersona(ctx context.Context, guild, persona string) error {
	return s.k.GuildPersonality(guild).Set(persona).Do(ctx)
}

func (s settings) Started(ctx context.Context, version string) error {
	return s.k.BotVersion().Set(version).Do(ctx)
}

type daily struct{ k *cunningkeys.Keyspace }

func (d daily) Games(ctx context.Context, guild string) (map[string]state.DailyGame, error) {
	games, err := state.Decoded[state.DailyGame](d.k.DailyGames(guild).All().Do(ctx))
	if err != nil {
		return nil, err
	}
	out := map[string]state.DailyGame{}
	for at, err := range d.k.DailySchedule(guild).Each(ctx, 100) {
		if err != nil {
			return nil, err
		}
		if g, ok := games[at.Member]; ok {
			g.Minute = int(at.Score)
			out[at.Member] = g
		}
	}
	return out, nil
}

func (d daily) PutGame(ctx context.Context, guild, name string, g state.DailyGame) error {
	text, err := state.Encode(g)
	if err != nil {
		return err
	}
	if _, err := d.k.DailyGames(guild).Set(name, text).Do(ctx); err != nil {
		return err
	}
	_, err = d.k.DailySchedule(guild).Add(name, int64(g.Minute)).Do(ctx) // last: without it there is no game
	return err
}

func (d daily) Begin(ctx context.Context, guild string, day time.Time, name string) (string, error) {
	posted := d.k.DailyPosted(guild, day)
	first, err := posted.SetIfAbsent(name, cunningkeys.ProgressBegun).Do(ctx)
	if err != nil || first {
		return "", err
	}
	before, err := posted.Get(name).Do(ctx)
	return string(before), err
}

func (d daily) Posted(ctx context.Context, guild string, day time.Time, name string) error {
	_, err := d.k.DailyPosted(guild, day).Set(name, cunningkeys.ProgressPosted).Do(ctx)
	return err
}

type locks struct{ k *cunningkeys.Keyspace }

func (l locks) Try(ctx context.Context, scope state.Scope, guild, id string, fn func(context.Context) error) error {
	lease, err := l.of(scope, guild, id).Try(ctx)
	if errors.Is(err, lock.ErrHeld) {
		return state.ErrHeld
	}
	if err != nil {
		return err
	}
	defer func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer stop()
		_ = lease.Release(ctx) // it ends by itself if this fails
	}()
	return fn(lease.Context())
}

func (l locks) of(scope state.Scope, guild, id string) lock.Lock {
	switch scope {
	case state.LockDaily:
		return l.k.LockDaily(guild)
	case state.LockTrivia:
		return l.k.LockTrivia(guild, id)
	case state.LockTriviaGame:
		return l.k.LockTriviaGame(guild, id)
	}
	return l.k.LockRSS(guild, id)
}

// Health needs +ping and +info; total_keys are those of all databases.
func Health(ctx context.Context, c *keywright.Client, k *cunningkeys.Keyspace) state.Health {
	checked, err := c.Check(ctx)
	if err != nil {
		return state.Health{Status: "unhealthy", Error: err.Error()}
	}
	h := state.Health{Status: "healthy"}
	var bytes int64
	for _, s := range checked.Servers {
		h.ConnectedClients += s.Clients
		h.TotalKeys += s.Keys
		bytes += s.Memory
	}
	h.UsedMemoryHuman = fmt.Sprintf("%.2fM", float64(bytes)/(1<<20))
	if at, err := k.LastBackup().Get().Do(ctx); err == nil {
		h.LastBackup = &at
	}
	return h
}
