package cunningbot

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/cunningbot/cunningkeys"
	"github.com/keywright/keywright/examples/cunningbot/outside"
	"github.com/keywright/keywright/examples/cunningbot/state/files"
)

// Backup represents the daily backup, by the program keywright.
type Backup struct {
	Dir         string
	URL         string        // of the server, for a user that may read all keys of the bot
	Keywright   string        // the program; "": keywright
	Declaration string        // keyspace.yaml
	Keep        time.Duration // 0: 7 days
	Now         func() time.Time
}

const (
	backupName = "cunningbot_"
	backupTime = "20060102_150405"
)

// Run makes a backup. It counts when it was read back: then meta:last_backup says so, and those
// that are older than seven days go. One that fails removes none, so the last good one is there
// always.
func (b Backup) Run(ctx context.Context, c *keywright.Client) (file string, err error) {
	now := time.Now
	if b.Now != nil {
		now = b.Now
	}
	if err := os.MkdirAll(b.Dir, 0o700); err != nil {
		return "", err
	}
	at := now().UTC()
	file = filepath.Join(b.Dir, backupName+at.Format(backupTime)+".kwa")
	unread := file + ".unread" // its name is given to what was read back only
	_ = os.Remove(unread)
	err = b.run(ctx, b.URL, "backup", "--file", b.Declaration, "--to", unread, "--quiet")
	if err == nil {
		err = b.run(ctx, "", "archive", "verify", unread)
	}
	if err != nil {
		_ = os.Remove(unread)
		return "", err
	}
	if err := os.Rename(unread, file); err != nil {
		return "", err
	}
	if err := files.SyncFolder(b.Dir); err != nil {
		return "", err
	}
	if err := cunningkeys.New(c).LastBackup().Set(at).Do(ctx); err != nil {
		return file, err
	}
	return file, b.prune(file, at)
}

// prune removes backups that are too old, but for the newest, and what killed runs have left.
func (b Backup) prune(newest string, now time.Time) error {
	all, err := b.all()
	for _, file := range all {
		if at := made(file); file != newest && now.Sub(at) > cmp.Or(b.Keep, 7*24*time.Hour) {
			err = errors.Join(err, os.Remove(file))
		}
	}
	left, err2 := filepath.Glob(filepath.Join(b.Dir, backupName+"*.kwa.*"))
	for _, file := range left {
		if info, err := os.Stat(file); err == nil && now.Sub(info.ModTime()) > 24*time.Hour {
			_ = os.Remove(file)
		}
	}
	return errors.Join(err, err2)
}

// all returns the backups that were read back, oldest first.
func (b Backup) all() ([]string, error) {
	all, err := filepath.Glob(filepath.Join(b.Dir, backupName+"*.kwa"))
	all = slices.DeleteFunc(all, func(file string) bool { return made(file).IsZero() })
	slices.Sort(all)
	return all, err
}

// Last returns when the last good one was made; the zero time without one.
func (b Backup) Last() (time.Time, error) {
	all, err := b.all()
	if err != nil || len(all) == 0 {
		return time.Time{}, err
	}
	return made(all[len(all)-1]), nil
}

// made returns when a backup was made, as its name says; the zero time of another file.
func made(file string) time.Time {
	name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), backupName), ".kwa")
	at, err := time.Parse(backupTime, name)
	if err != nil {
		return time.Time{}
	}
	return at
}

func (b Backup) run(ctx context.Context, url string, args ...string) error {
	c := exec.CommandContext(ctx, cmp.Or(b.Keywright, "keywright"), args...)
	c.Env = append(os.Environ(), "KEYWRIGHT_URL="+url)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 5 * time.Second
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Run(); err != nil {
		return fmt.Errorf("keywright %s: %w: %s", args[0], err, outside.Cut(strings.TrimSpace(said.String()), 1000))
	}
	return nil
}
