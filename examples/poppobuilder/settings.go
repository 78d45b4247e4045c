package poppobuilder

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/keywright/keywright"
)

// Settings may be changed while daemons run: by Daemon.Set, over HTTP, or with
// redis-cli. A daemon looks at them every second.
type Settings struct {
	ClaudeTimeout time.Duration `json:"claude_timeout"` // agents give a task up after that
	GitHubRate    int64         `json:"github_rate"`    // calls per hour
	Maintenance   bool          `json:"maintenance"`    // the queue is paused
	Debug         bool          `json:"debug"`
}

// defaults hold where nothing is set.
var defaults = Settings{ClaudeTimeout: 5 * time.Minute, GitHubRate: 5000}

// Settings are those in effect.
func (d *Daemon) Settings() Settings {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

// settings reads them and does what they say. Maintenance is the pause of the queue:
// a pause by other means ends with the next look.
func (d *Daemon) settings(ctx context.Context) error {
	timeout, err1 := or(d.keys.ConfigClaudeTimeout().Get(ctx))(int64(defaults.ClaudeTimeout / time.Second))
	rate, err2 := or(d.keys.ConfigGithubRatelimit().Get(ctx))(defaults.GitHubRate)
	maintenance, err3 := or(d.keys.FlagMaintenance().Get(ctx))(defaults.Maintenance)
	debug, err4 := or(d.keys.FlagDebug().Get(ctx))(defaults.Debug)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err // those that were known stay
	}
	if err := d.paused(ctx, maintenance); err != nil {
		return err
	}
	if d.o.Level != nil {
		d.o.Level.Set(map[bool]slog.Level{true: slog.LevelDebug}[debug])
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = Settings{ClaudeTimeout: time.Duration(timeout) * time.Second, GitHubRate: rate, Maintenance: maintenance, Debug: debug}
	return nil
}

// or puts a default in the place of what is not there.
func or[T any](value T, err error) func(T) (T, error) {
	return func(otherwise T) (T, error) {
		if errors.Is(err, keywright.ErrNotFound) {
			return otherwise, nil
		}
		return value, err
	}
}

func (d *Daemon) paused(ctx context.Context, wanted bool) error {
	stats, err := d.keys.Tasks().Stats(ctx)
	switch {
	case err != nil || stats.Paused == wanted:
		return err
	case wanted:
		d.log.Info("maintenance: no task begins")
		return d.keys.Tasks().Pause(ctx)
	}
	d.log.Info("maintenance is over")
	return d.keys.Tasks().Resume(ctx)
}

// Set writes settings, for all daemons of the namespace.
func (d *Daemon) Set(ctx context.Context, s Settings) error {
	return errors.Join(
		d.keys.ConfigClaudeTimeout().Set(ctx, int64(s.ClaudeTimeout/time.Second)),
		d.keys.ConfigGithubRatelimit().Set(ctx, s.GitHubRate),
		d.keys.FlagMaintenance().Set(ctx, s.Maintenance),
		d.keys.FlagDebug().Set(ctx, s.Debug),
	)
}
