// Package moving keeps the state of CunningBot while it moves from the JSON files to Redis: each subsystem where its
// phase says.
package moving

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/cunningkeys"
	"github.com/keywright/keywright/examples/cunningbot/state"
	"github.com/keywright/keywright/examples/cunningbot/state/files"
	"github.com/keywright/keywright/examples/cunningbot/state/redis"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// Subsystems lists the parts of the migration, in the order in which they move.
var Subsystems = []string{"history", "pending", "breaking", "feeds", "trivia", "settings"}

// Migration is this process's place in the migration from the JSON files of a folder to Redis.
type Migration struct {
	*migrate.Migration
	moves *record.Map
	files files.Folder
}

// Open makes this process one of the migration that a declaration has, with the client of a Config or the way to it.
// With a client, Close does not close it.
func Open(ctx context.Context, dir string, declaration fs.FS, config migrate.Config) (*Migration, error) {
	moves, err := Declared(declaration)
	if err != nil {
		return nil, err
	}
	d, err := files.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	config.Root, config.Map = dir, moves
	m, err := migrate.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	return &Migration{m, moves, d}, nil
}

// keys returns the keys in Redis. Without Redis it fails until Redis has answered once.
func (m *Migration) keys() (*cunningkeys.Keyspace, error) {
	c, err := m.Client()
	if err != nil {
		return nil, err
	}
	return cunningkeys.New(c), nil
}

// Declared returns the migration of a declaration, keyspace.yaml.
func Declared(declaration fs.FS) (*record.Map, error) {
	ks, findings := load.File(declaration, "keyspace.yaml")
	if finding.Count(findings).Errors > 0 || len(ks.Migrations) != 1 {
		return nil, fmt.Errorf("keyspace.yaml cannot be read: %v", findings)
	}
	return record.Compile(ks.Migrations[0])
}

// New returns the store that reads and writes each subsystem where its phase says. All programs
// that use it run on one machine: what takes several steps is done under locks of the kernel.
func New(m *Migration) *state.Store {
	return &state.Store{
		Settings: settings{m}, Feeds: feeds{m}, Pending: pending{m},
		Breaking: breaking{m, files.NewBreaking(m.files)},
		History:  history{m}, Trivia: trivia{m}, Daily: daily{m}, Locks: files.NewLocks(m.files),
		Health: func(ctx context.Context) state.Health {
			return m.health(ctx, func(ctx context.Context) state.Health {
				c, err := m.Client()
				if err != nil {
					return state.Health{Status: "unhealthy", Error: err.Error()}
				}
				return redis.Health(ctx, c, cunningkeys.New(c))
			})
		},
		Close: func() { _ = m.Close() },
	}
}

// health returns that of all that subsystems read: of the files if one is read from them, and of Redis if
// one is read from there.
func (m *Migration) health(ctx context.Context, redis func(context.Context) state.Health) state.Health {
	var inFiles, inRedis bool
	phases := map[string]string{}
	for _, part := range Subsystems {
		is, err := m.Phase(part)
		if err != nil {
			return state.Health{Status: "unhealthy", Error: err.Error()}
		}
		phases[part] = is.Phase.String()
		if phase.Of(is.Phase).Reads == phase.Redis {
			inRedis = true
		} else {
			inFiles = true
		}
	}
	h := state.Health{Status: "healthy"}
	if inFiles {
		h = m.files.Health(ctx)
	}
	switch {
	case inRedis && h.Status == "healthy":
		h = redis(ctx)
	case !inRedis:
		ctx, stop := context.WithTimeout(ctx, time.Second) // the files decide: it is not waited for
		defer stop()
		h.Redis = redis(ctx).Error
	}
	h.Phases = phases
	return h
}

// place represents one key of a move.
type place struct {
	m    *Migration
	move *record.Move
	key  string
	err  error // no key can be built
}

// at returns the key of a move ("part.entry") with its placeholders.
func (m *Migration) at(move string, values ...string) place {
	mv := m.moves.Move(move)
	if mv == nil {
		return place{err: fmt.Errorf("%s is no move of the migration", move)}
	}
	key, err := mv.To.Keys[0].Pattern.Build(values...)
	return place{m, mv, string(key), err}
}

// all returns the records of the key.
func (p place) all(ctx context.Context) ([]*record.Record, error) {
	if p.err != nil {
		return nil, p.err
	}
	return p.m.List(ctx, p.move.Name, p.key)
}

// get is one of them, or what a string or hash has with ""; nil if it is not there, or is over.
func (p place) get(ctx context.Context, sub string) (*record.Record, error) {
	if p.err != nil {
		return nil, p.err
	}
	list, err := p.m.Read(ctx, record.ID{Move: p.move.Name, Key: p.key, Sub: sub})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	if over, _ := list[0].Over(time.Now()); over {
		return nil, nil
	}
	return list[0], nil
}

// text returns the value of a record; "" without one.
func (p place) text(ctx context.Context, sub string) (string, error) {
	r, err := p.get(ctx, sub)
	if r == nil {
		return "", err
	}
	return string(r.Value), err
}

// is makes a record what fill makes of an empty one, gone takes it away.
func (p place) is(sub string, fill func(r *record.Record)) edit {
	r := &record.Record{Move: p.move, Key: p.key, Sub: sub}
	if p.err == nil {
		fill(r)
	}
	return edit{migrate.Change{ID: p.id(sub), Records: []*record.Record{r}}, p.err}
}

func (p place) deletion(sub string) edit { return edit{migrate.Change{ID: p.id(sub)}, p.err} }

func (p place) id(sub string) (id record.ID) {
	if p.err == nil {
		id = record.ID{Move: p.move.Name, Key: p.key, Sub: sub}
	}
	return id
}

func (p place) member(sub string) edit { return p.is(sub, func(*record.Record) {}) }

func (p place) value(sub, text string) edit {
	return p.is(sub, func(r *record.Record) { r.Value = []byte(text) })
}

func (p place) score(sub string, n int64) edit {
	return p.is(sub, func(r *record.Record) { r.Score = fmt.Sprint(n) })
}

// json returns a value that is encoded.
func (p place) json(sub string, v any) edit {
	text, err := state.Encode(v)
	e := p.value(sub, string(text))
	e.err = errors.Join(e.err, err)
	return e
}

// edit represents a change that is to be written.
type edit struct {
	migrate.Change
	err error
}

// inOne says how many records are written in one step at most.
const inOne = 100

// atOnce says how many steps are under way: those of one file share its replacement, which costs as much
// for a hundred records as for thousands.
const atOnce = 32

// write writes edits of one part, a hundred in one step: after a failure some of the steps are written.
func (m *Migration) write(ctx context.Context, edits ...edit) error {
	var steps [][]migrate.Change
	for some := range slices.Chunk(edits, inOne) {
		changes := make([]migrate.Change, len(some))
		for i, e := range some {
			if e.err != nil {
				return e.err
			}
			changes[i] = e.Change
		}
		steps = append(steps, changes)
	}
	errs := make([]error, len(steps))
	room := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	for i, changes := range steps {
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			errs[i] = m.Write(ctx, changes...)
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// under does something that takes several steps, one process at a time.
func (m *Migration) under(ctx context.Context, lock string, fn func() error) error {
	unlock, err := m.files.Lock(ctx, lock)
	if err != nil {
		return err
	}
	defer unlock()
	return fn()
}

// decodedAll reads what a key has as JSON, by field.
func decodedAll[T any](ctx context.Context, p place) (map[string]T, error) {
	list, err := p.all(ctx)
	all := make(map[string]json.RawMessage, len(list))
	for _, r := range list {
		all[r.Sub] = r.Value
	}
	return state.Decoded[T](all, err)
}

// subs returns the fields or members of a key, sorted.
func (p place) subs(ctx context.Context) (out []string, err error) {
	list, err := p.all(ctx)
	for _, r := range list {
		out = append(out, r.Sub)
	}
	slices.Sort(out)
	return out, err
}

// scores returns the members of a key with their scores.
func (p place) scores(ctx context.Context) (map[string]int64, error) {
	list, err := p.all(ctx)
	out := make(map[string]int64, len(list))
	for _, r := range list {
		out[r.Sub] = wholeScore(r.Score)
	}
	return out, err
}

// wholeScore reads a score, of which the declaration says that it is whole.
func wholeScore(score string) int64 {
	n, err := json.Number(score).Int64()
	if err != nil {
		f, _ := json.Number(score).Float64() // 1.8e+09
		n = int64(f)
	}
	return n
}

// byScore returns members in the order of their scores.
func byScore(scores map[string]int64) []string { return files.Oldest(scores, len(scores)) }

type settings struct{ *Migration }

func (s settings) Guilds(ctx context.Context) ([]string, error) {
	return s.at("settings.guilds").subs(ctx)
}

func (s settings) AddGuild(ctx context.Context, guild string) error {
	if guild == state.Global { // the files have settings of all guilds there, and the migration reads it as no guild
		return nil
	}
	guilds := s.at("settings.guilds")
	if there, err := guilds.get(ctx, guild); err != nil || there != nil {
		return err
	}
	return s.write(ctx, guilds.member(guild))
}

func (s settings) Persona(ctx context.Context, guild string) (string, error) {
	for _, p := range []place{s.at("settings.guild_personality", guild), s.at("settings.guild_default_persona", guild),
		s.at("settings.default_persona")} {
		if persona, err := p.text(ctx, ""); err != nil || persona != "" {
			return persona, err
		}
	}
	return "", nil
}

func (s settings) SetPersona(ctx context.Context, guild, persona string) error {
	return s.write(ctx, s.at("settings.guild_personality", guild).value("", persona))
}

func (s settings) Started(context.Context, string) error { return nil } // the files had no place for it

type daily struct{ *Migration }

func (d daily) Games(ctx context.Context, guild string) (map[string]state.DailyGame, error) {
	games, err := decodedAll[state.DailyGame](ctx, d.at("settings.daily_games", guild))
	if err != nil {
		return nil, err
	}
	minutes, err := d.at("settings.daily_schedule", guild).scores(ctx)
	out := map[string]state.DailyGame{}
	for name, minute := range minutes {
		if g, there := games[name]; there {
			g.Minute = int(minute)
			out[name] = g
		}
	}
	return out, err
}

func (d daily) PutGame(ctx context.Context, guild, name string, g state.DailyGame) error {
	return d.write(ctx, d.at("settings.daily_games", guild).json(name, g),
		d.at("settings.daily_schedule", guild).score(name, int64(g.Minute)))
}

func (d daily) posted(guild string, day time.Time) place {
	return d.at("settings.daily_posted", guild, day.Format(time.DateOnly))
}

func (d daily) Begin(ctx context.Context, guild string, day time.Time, name string) (before string, err error) {
	err = d.under(ctx, "daily."+guild, func() error {
		if before, err = d.posted(guild, day).text(ctx, name); err != nil || before != "" {
			return err
		}
		for back := 4; back < 8; back++ { // the key is over by now; the file is not
			old := d.posted(guild, day.AddDate(0, 0, -back))
			names, err := old.subs(ctx)
			if err != nil {
				return err
			}
			for _, name := range names {
				if err := d.write(ctx, old.deletion(name)); err != nil {
					return err
				}
			}
		}
		return d.write(ctx, d.posted(guild, day).value(name, "begun"))
	})
	return before, err
}

func (d daily) Posted(ctx context.Context, guild string, day time.Time, name string) error {
	return d.write(ctx, d.posted(guild, day).value(name, "posted"))
}

// ErrMoving reports a migration that is not at its end.
var ErrMoving = errors.New("it is not at its end")

// Archive moves the JSON files into a folder of the same disk, when every subsystem is complete and
// no item waits in a file, and notes in Redis that its data is the one there is. No program reads the
// files then.
func (m *Migration) Archive(ctx context.Context, folder string) error {
	for _, part := range Subsystems {
		is, err := m.Phase(part)
		if err != nil {
			return err
		}
		if is.Phase != phase.Complete || is.Intent != nil {
			return fmt.Errorf("%s is in phase %s: %w", part, is.Phase, ErrMoving)
		}
	}
	items, file, err := m.files.Checking()
	for guild, n := range items {
		if n > 0 {
			err = errors.Join(err, fmt.Errorf("%d breaking news of the guild %s wait in %s: %w", n, guild, file, ErrMoving))
		}
	}
	if err != nil {
		return err
	}
	keys, err := m.keys()
	if err != nil {
		return err
	}
	if err := keys.MigrationVersion().Set("1").Do(ctx); err != nil {
		return err
	}
	return m.files.MoveTo(folder)
}
