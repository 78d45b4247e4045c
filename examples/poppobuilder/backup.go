package poppobuilder

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
	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
)

// Backup says where the daily backup goes.
type Backup struct {
	Dir         string        // "": there is none
	Keywright   string        // the program; "": keywright
	Declaration string        // keyspace.yaml
	URL         string        // of the server, for the program's environment
	Keep        int           // files; 0: 7
	Every       time.Duration // between two looks whether it is due; 0: 1 m
}

func (b Backup) every() time.Duration { return cmp.Or(b.Every, time.Minute) }

// backup saves the namespace once a day: one daemon at a time, under
// poppo:lock:backup:daily. It counts when it has been read back.
func (d *Daemon) backup(ctx context.Context) error {
	b := d.o.Backup
	if b.Dir == "" {
		return nil
	}
	lease, err := d.keys.LockBackupDaily().Try(ctx)
	if err != nil {
		return err
	}
	defer func() {
		ctx, stop := after(ctx)
		defer stop()
		_ = lease.Release(ctx)
	}()
	ctx = lease.Context()
	now := time.Now().UTC()
	today := now.Format(time.DateOnly)
	last, err := d.keys.BackupLast().Get(ctx)
	if err != nil && !errors.Is(err, keywright.ErrNotFound) {
		return err
	}
	if err == nil && last.Day.Format(time.DateOnly) == today {
		return nil
	}
	file := filepath.Join(b.Dir, fmt.Sprintf("%s-%s.kwa", d.o.Namespace, today))
	_ = os.Remove(file) // one that was not read back is none
	if err := b.run(ctx, "backup", "--file", b.Declaration, "--namespace", d.o.Namespace, "--to", file, "--quiet"); err != nil {
		return err
	}
	if err := b.run(ctx, "archive", "verify", file); err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if err := d.keys.BackupLast().Set(ctx, poppokeys.BackupLastValue{Day: now, File: file, Bytes: info.Size(), Taken: now}); err != nil {
		return err
	}
	return b.prune(d.o.Namespace)
}

// run executes keywright; it ends with ctx, and so with the lock.
func (b Backup) run(ctx context.Context, args ...string) error {
	c := exec.CommandContext(ctx, cmp.Or(b.Keywright, "keywright"), args...)
	c.Env = append(os.Environ(), "KEYWRIGHT_URL="+b.URL)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Run(); err != nil {
		return fmt.Errorf("keywright %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return nil
}

// prune keeps the newest files of the namespace, today's among them.
func (b Backup) prune(namespace string) error {
	files, err := filepath.Glob(filepath.Join(b.Dir, namespace+"-[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].kwa"))
	if err != nil {
		return err
	}
	slices.Sort(files)
	for _, file := range files[:max(0, len(files)-cmp.Or(b.Keep, 7))] {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}
