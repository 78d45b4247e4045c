// Package files keeps the state of CunningBot in the JSON files that the bot had before, in one folder of one machine.
package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/state"
)

// The files, as the bot had them before, and one of its own: articles that were taken.
const (
	stateFile    = "app_state.json"
	pendingFile  = "pending_news.json"
	batchFile    = "pending_batches.json"
	breakingFile = "pending_breaking_news.json"
	historyFile  = "story_history.json"
)

// New returns the store on JSON files in a folder: each access reads the whole file, each change
// is made under a lock, in a temporary file that is synced and renamed.
func New(dir string) (*state.Store, error) {
	d, err := OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	return &state.Store{
		Settings: settings{d}, Feeds: feeds{d}, Pending: pending{d}, Breaking: breaking{d},
		History: history{d}, Trivia: trivia{d}, Daily: daily{d}, Locks: locks{d},
		Health: d.Health, Close: func() {},
	}, nil
}

// Folder holds the files of a folder.
type Folder struct{ dir string }

// OpenFolder opens a folder of files, which it makes where there is none.
func OpenFolder(dir string) (Folder, error) {
	return Folder{dir}, os.MkdirAll(filepath.Join(dir, "locks"), 0o700)
}

// readJSON decodes a file; one that is not there is empty. A number is as it was written.
func readJSON[T any](d Folder, name string) (v T, err error) {
	text, err := os.ReadFile(filepath.Join(d.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return v, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

// change reads a file, lets fn change what it has, and writes it, under the lock of the file.
// fn says whether there is anything to write.
func change[T any](ctx context.Context, d Folder, name string, fn func(v *T) (bool, error)) error {
	unlock, err := d.Lock(ctx, name+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	v, err := readJSON[T](d, name)
	if err != nil {
		return err
	}
	changed, err := fn(&v)
	if err != nil || !changed {
		return err
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return d.write(name, append(text, '\n'))
}

// write replaces a file: a temporary one, sync, rename, sync of the folder.
func (d Folder) write(name string, text []byte) (err error) {
	f, err := os.CreateTemp(d.dir, name+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(d.dir, name)); err != nil {
		return err
	}
	return SyncFolder(d.dir)
}

// SyncFolder keeps the new name of a file after a loss of power.
func SyncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Lock waits for a lock of the kernel, which frees it when the process dies.
func (d Folder) Lock(ctx context.Context, name string) (unlock func(), err error) {
	for {
		unlock, err = d.try(name)
		if !errors.Is(err, state.ErrHeld) {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// try takes a lock, or fails with ErrHeld. Its file stays.
func (d Folder) try(name string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(d.dir, "locks", name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// tryOnce takes a lock of a name that does not come again, or fails with ErrHeld. Its file goes with it. A program that
// knows only try may have such a lock at the same time: it is for work that is right if two do it.
func (d Folder) tryOnce(name string) (unlock func(), err error) {
	path := filepath.Join(d.dir, "locks", name)
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		current, err := locked(f, path)
		if current {
			return func() {
				_ = os.Remove(path) // while it is locked: one that has opened it tries again
				_ = f.Close()
			}, nil
		}
		_ = f.Close()
		if err != nil {
			return nil, err
		}
	}
}

func flock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return state.ErrHeld
	}
	return err
}

// locked locks a file, and reports whether it has its name still: a holder removes it before it frees it.
func locked(f *os.File, path string) (current bool, err error) {
	if err := flock(f); err != nil {
		return false, err
	}
	is, err := f.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(is, there), err
}

// Health returns whether the file of settings can be read.
func (d Folder) Health(context.Context) state.Health {
	if _, err := readJSON[appState](d, stateFile); err != nil {
		return state.Health{Status: "unhealthy", Error: err.Error()}
	}
	return state.Health{Status: "healthy"}
}

// appState is app_state.json: by guild and by member. What this program does not know stays.
type appState map[string]map[string]json.RawMessage

// member reads a member of a guild; the zero value if it is not there.
func member[T any](s appState, guild, name string) (v T, err error) {
	text, there := s[guild][name]
	if !there || string(text) == "null" {
		return v, nil
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return v, fmt.Errorf("%s: %s: %w", stateFile, name, err)
	}
	return v, nil
}

func (s *appState) set(guild, name string, v any) error {
	if *s == nil {
		*s = appState{}
	}
	if (*s)[guild] == nil {
		(*s)[guild] = map[string]json.RawMessage{}
	}
	of := (*s)[guild]
	return putEncoded(&of, name, v)
}

// readMember reads a member of a guild from the file.
func readMember[T any](d Folder, guild, name string) (v T, err error) {
	s, err := readJSON[appState](d, stateFile)
	if err != nil {
		return v, err
	}
	return member[T](s, guild, name)
}

// changeMember changes a member of a guild.
func changeMember[T any](ctx context.Context, d Folder, guild, name string, fn func(v *T) (bool, error)) error {
	return change(ctx, d, stateFile, func(s *appState) (bool, error) {
		v, err := member[T](*s, guild, name)
		if err != nil {
			return false, err
		}
		changed, err := fn(&v)
		if changed && err == nil {
			err = s.set(guild, name, v)
		}
		return changed, err
	})
}

// put puts v into a map, which may be nil.
func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

type settings struct{ Folder }

func (f settings) Guilds(context.Context) (guilds []string, err error) {
	s, err := readJSON[appState](f.Folder, stateFile)
	for guild := range s {
		if guild != state.Global {
			guilds = append(guilds, guild)
		}
	}
	slices.Sort(guilds)
	return guilds, err
}

func (f settings) AddGuild(ctx context.Context, guild string) error {
	return change(ctx, f.Folder, stateFile, func(s *appState) (bool, error) {
		if (*s)[guild] != nil {
			return false, nil
		}
		put((*map[string]map[string]json.RawMessage)(s), guild, map[string]json.RawMessage{})
		return true, nil
	})
}

func (f settings) Persona(_ context.Context, guild string) (string, error) {
	s, err := readJSON[appState](f.Folder, stateFile)
	if err != nil {
		return "", err
	}
	for _, at := range [][2]string{{guild, "current_personality"}, {guild, "default_persona"},
		{state.Global, "default_persona"}} {
		if persona, err := member[string](s, at[0], at[1]); err != nil || persona != "" {
			return persona, err
		}
	}
	return "", nil
}

func (f settings) SetPersona(ctx context.Context, guild, persona string) error {
	return changeMember(ctx, f.Folder, guild, "current_personality",
		func(v *string) (bool, error) { *v = persona; return true, nil })
}

func (f settings) Started(context.Context, string) error { return nil } // the files had no place for it

// dailyMarks describes what was posted, by day and game.
type dailyMarks map[string]map[string]string

type daily struct{ Folder }

func (f daily) Games(_ context.Context, guild string) (map[string]state.DailyGame, error) {
	s, err := readJSON[appState](f.Folder, stateFile)
	if err != nil {
		return nil, err
	}
	games, err1 := member[map[string]state.DailyGame](s, guild, "daily_games")
	minutes, err2 := member[map[string]int](s, guild, "schedules")
	for name, g := range games {
		minute, scheduled := minutes[name]
		if !scheduled {
			delete(games, name)
			continue
		}
		g.Minute = minute
		games[name] = g
	}
	return games, errors.Join(err1, err2)
}

func (f daily) PutGame(ctx context.Context, guild, name string, g state.DailyGame) error {
	return change(ctx, f.Folder, stateFile, func(s *appState) (bool, error) {
		games, err1 := member[map[string]json.RawMessage](*s, guild, "daily_games")
		minutes, err2 := member[map[string]int](*s, guild, "schedules")
		put(&minutes, name, g.Minute)
		return true, errors.Join(err1, err2, putEncoded(&games, name, g), s.set(guild, "daily_games", games),
			s.set(guild, "schedules", minutes))
	})
}

func (f daily) Begin(ctx context.Context, guild string, day time.Time, name string) (before string, err error) {
	err = f.mark(ctx, guild, day, name, "begun", &before)
	return before, err
}

func (f daily) Posted(ctx context.Context, guild string, day time.Time, name string) error {
	return f.mark(ctx, guild, day, name, "posted", nil)
}

func (f daily) mark(ctx context.Context, guild string, day time.Time, name, mark string, before *string) error {
	return changeMember(ctx, f.Folder, guild, "daily_posted", func(marks *dailyMarks) (bool, error) {
		for old := range *marks {
			if old < day.AddDate(0, 0, -3).Format(time.DateOnly) {
				delete(*marks, old)
			}
		}
		today := (*marks)[day.Format(time.DateOnly)]
		if before != nil {
			if *before = today[name]; *before != "" {
				return false, nil
			}
		}
		put(&today, name, mark)
		put((*map[string]map[string]string)(marks), day.Format(time.DateOnly), today)
		return true, nil
	})
}

type locks struct{ Folder }

func (f locks) Try(ctx context.Context, scope state.Scope, guild, id string, fn func(context.Context) error) error {
	unlock, err := f.tryOnce(strings.Join([]string{strings.ReplaceAll(string(scope), ":", "-"), guild, id}, "."))
	if err != nil {
		return err
	}
	defer unlock()
	return fn(ctx)
}

// putEncoded puts v into a map as JSON.
func putEncoded(m *map[string]json.RawMessage, name string, v any) error {
	text, err := state.Encode(v)
	if err == nil {
		put(m, name, text)
	}
	return err
}

// NewLocks returns the locks of a folder alone.
func NewLocks(d Folder) state.Locks { return locks{d} }

// MoveTo moves the files into another folder of the same disk, which must not be there.
func (d Folder) MoveTo(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	for _, name := range []string{stateFile, pendingFile, batchFile, breakingFile, historyFile} {
		err := os.Rename(filepath.Join(d.dir, name), filepath.Join(folder, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(folder) // only if it is empty
			return err
		}
	}
	return errors.Join(SyncFolder(folder), SyncFolder(d.dir))
}
