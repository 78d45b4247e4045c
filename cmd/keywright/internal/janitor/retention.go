package janitor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
)

// archiveEnd ends the names of backups.
const archiveEnd = ".kwa"

// BackupName returns the name of the backup of a job at a time. Later ones sort after earlier ones.
func BackupName(target, job string, at time.Time) string {
	return target + "." + job + "." + at.UTC().Format("20060102T150405Z") + archiveEnd
}

// Backups returns the backups of a job in a folder, the newest first.
func Backups(dir, target, job string) ([]string, error) {
	return archivesEnding(dir, target, job, archiveEnd)
}

// Parts returns the backups of a job that are being written, or that a run has left, under the names that they get
// when they are whole, the newest first.
func Parts(dir, target, job string) ([]string, error) {
	all, err := archivesEnding(dir, target, job, archiveEnd+archivefile.Part)
	for i, path := range all {
		all[i] = strings.TrimSuffix(path, archivefile.Part)
	}
	return all, err
}

// archivesEnding returns the files of a job that have such an end, the newest first.
func archivesEnding(dir, target, job, end string) ([]string, error) {
	all, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range all {
		stamp, ours := strings.CutPrefix(f.Name(), target+"."+job+".")
		stamp, archive := strings.CutSuffix(stamp, end)
		if _, err := time.Parse("20060102T150405Z", stamp); ours && archive && err == nil && f.Type().IsRegular() {
			out = append(out, filepath.Join(dir, f.Name()))
		}
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out, nil
}

// Retain deletes the backups of a job but the newest ones that are good. The first must have
// been found good, so a good one always stays. What good says of others is asked only where
// there are more than are kept.
func Retain(dir, target, job string, keep int, good func(path string) bool) (deleted int, err error) {
	all, err := Backups(dir, target, job)
	if err != nil || len(all) <= keep {
		return 0, err
	}
	kept := 0
	for i, path := range all {
		if kept < keep && (i == 0 || good(path)) {
			kept++
			continue
		}
		if kept < keep {
			continue // it is not good, and there are too few that are: a person may want it
		}
		if err := os.Remove(path); err != nil {
			return deleted, err
		}
		deleted++
	}
	return deleted, nil
}
