package poppobuilder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/poppobuilder/poppokeys"
)

// Backup says where the daily backup goes.
type Backup struct {
	Dir   string        // "": there is none
	URL   string        // of the server, for a user that may read all of the namespace
	Keep  int           // files; 0: 7
	Every time.Duration // between two looks whether it is due; 0: 1 m
}

// backup saves the namespace once a day: one daemon at a time, under
// poppo:lock:backup:daily. It counts when it has been read back.
func (d *Daemon) backup(ctx context.Context) error {
	b, tool := d.o.Backup, d.o.Tool
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
	last, err := d.keys.BackupLast().Get().Do(ctx)
	if err != nil && !errors.Is(err, keywright.ErrNotFound) {
		return err
	}
	if err == nil && last.Day.Format(time.DateOnly) == today {
		return nil
	}
	if err := os.MkdirAll(b.Dir, 0o700); err != nil {
		return err
	}
	file := filepath.Join(b.Dir, fmt.Sprintf("%s-%s.kwa", d.o.Namespace, today))
	_ = os.Remove(file) // a file that was not read back is no backup
	if err := tool.run(ctx, b.URL, "backup", "--file", tool.Declaration, "--namespace", d.o.Namespace, "--to", file,
		"--quiet"); err != nil {
		return err
	}
	if err := tool.run(ctx, "", "archive", "verify", file); err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if err := d.keys.BackupLast().Set(poppokeys.BackupLastValue{Day: now, File: file, Bytes: info.Size(),
		Taken: now}).Do(ctx); err != nil {
		return err
	}
	d.log.Info("the backup of today is whole", "file", file, "bytes", info.Size())
	return b.prune(d.o.Namespace)
}

// prune keeps the newest files of the namespace, today's among them, and removes what
// killed backups have left.
func (b Backup) prune(namespace string) error {
	date := namespace + "-[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].kwa"
	files, err1 := filepath.Glob(filepath.Join(b.Dir, date))
	parts, err2 := filepath.Glob(filepath.Join(b.Dir, date+".part")) // the holder of the lock is the only writer
	err := errors.Join(err1, err2)
	slices.Sort(files)
	for _, file := range append(files[:max(0, len(files)-cmp.Or(b.Keep, 7))], parts...) {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}
