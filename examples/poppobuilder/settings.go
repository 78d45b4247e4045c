package poppobuilder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
)

// Settings may be changed while daemons run: by Daemon.Set, over HTTP, or with
// redis-cli. A daemon looks at them every second.
type Settings struct {
	ClaudeTimeout int64 `json:"claude_timeout"` // seconds; agents give a task up after that
	GitHubRate    int64 `json:"github_rate"`    // calls per hour
	Maintenance   bool  `json:"maintenance"`    // the queue is paused
	Debug         bool  `json:"debug"`
}

// defaults hold where nothing is set.
var defaults = Settings{ClaudeTimeout: 300, GitHubRate: 5000}

// Patch changes some settings. What is nil stays as it is.
type Patch struct {
	ClaudeTimeout *int64 `json:"claude_timeout"`
	GitHubRate    *int64 `json:"github_rate"`
	Maintenance   *bool  `json:"maintenance"`
	Debug         *bool  `json:"debug"`
}

// Settings returns those in effect.
func (d *Daemon) Settings() Settings {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

// settings reads them and does what they say. Maintenance is the pause of the queue:
// a pause by other means ends with the next look.
func (d *Daemon) settings(ctx context.Context) error {
	timeout, err1 := or(d.keys.ConfigClaudeTimeout().Get().Do(ctx))(defaults.ClaudeTimeout)
	rate, err2 := or(d.keys.ConfigGithubRatelimit().Get().Do(ctx))(defaults.GitHubRate)
	maintenance, err3 := or(d.keys.FlagMaintenance().Get().Do(ctx))(defaults.Maintenance)
	debug, err4 := or(d.keys.FlagDebug().Get().Do(ctx))(defaults.Debug)
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
	d.now = Settings{ClaudeTimeout: timeout, GitHubRate: rate, Maintenance: maintenance, Debug: debug}
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
		err = d.keys.Tasks().Pause(ctx)
	default:
		d.log.Info("maintenance is over")
		err = d.keys.Tasks().Resume(ctx)
	}
	if err == nil {
		d.tellMaintenance(ctx, wanted)
	}
	return err
}

// tellMaintenance publishes on poppo:channel:events:maintenance. The flag is what counts: an
// event that no program got changes nothing.
func (d *Daemon) tellMaintenance(ctx context.Context, on bool) {
	told := poppokeys.OtherEventsMessage{Data: json.RawMessage(strconv.FormatBool(on))}
	err := d.keys.OtherEventsTopic("maintenance").Publish(ctx, told)
	if err != nil {
		d.log.Warn("maintenance is not announced", "error", err)
	}
}

// Set changes settings for all daemons of the namespace: all that the patch has, in
// one step, or none.
func (d *Daemon) Set(ctx context.Context, p Patch) error {
	if p.ClaudeTimeout != nil && *p.ClaudeTimeout < 1 || p.GitHubRate != nil && *p.GitHubRate < 0 {
		return fmt.Errorf("%w: claude_timeout is a second or more, github_rate is not negative", errAsked)
	}
	err := d.keys.Client().Transact(ctx, func(tx *keywright.Tx) error {
		if p.ClaudeTimeout != nil {
			keywright.Queue(tx, d.keys.ConfigClaudeTimeout().Set(*p.ClaudeTimeout))
		}
		if p.GitHubRate != nil {
			keywright.Queue(tx, d.keys.ConfigGithubRatelimit().Set(*p.GitHubRate))
		}
		if p.Maintenance != nil {
			keywright.Queue(tx, d.keys.FlagMaintenance().Set(*p.Maintenance))
		}
		if p.Debug != nil {
			keywright.Queue(tx, d.keys.FlagDebug().Set(*p.Debug))
		}
		return nil
	})
	return errors.Join(err, d.settings(ctx))
}

// errSetting reports a setting that does not exist.
var errSetting = fmt.Errorf("%w: claude_timeout, github_rate, maintenance and debug are the settings", errAsked)

// Unset gives a setting its default.
func (d *Daemon) Unset(ctx context.Context, name string) (err error) {
	switch name {
	case "claude_timeout":
		_, err = d.keys.ConfigClaudeTimeout().Delete().Do(ctx)
	case "github_rate":
		_, err = d.keys.ConfigGithubRatelimit().Delete().Do(ctx)
	case "maintenance":
		_, err = d.keys.FlagMaintenance().Delete().Do(ctx)
	case "debug":
		_, err = d.keys.FlagDebug().Delete().Do(ctx)
	default:
		return errSetting
	}
	return errors.Join(err, d.settings(ctx))
}
