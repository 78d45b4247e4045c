package migrate

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/keywright/keywright/migrate/internal/digests"
	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/fit"
	"github.com/keywright/keywright/migrate/internal/marks"
	"github.com/keywright/keywright/migrate/internal/shadow"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// With gives a configuration documents that no declaration has made, and hooks.
func With(c Config, d Documents, at func(point string) error) Config {
	c.documents, c.at = d, at
	return c
}

// Tracing gives a configuration a function that is called where a write has just been done,
// under the lock of the part's files.
func Tracing(c Config, wrote func(side phase.Side, part string, epoch uint64, drain bool)) Config {
	c.wrote = wrote
	return c
}

// RewriteMarksAt lets files of marks be written again when they have so many lines.
func RewriteMarksAt(lines int) { marks.RewriteAt = lines }

// Abandon frees the lock that says that a process lives, as its death does.
func Abandon(m *Migration) { m.lock.Free() }

// Compared compares a record as a read does, and is why it could not.
func Compared(m *Migration, id record.ID) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, diffs, err := m.shadow.Guarded(ctx, id)
	if err == nil && len(diffs) > 0 {
		err = errors.New("it differs")
	}
	return err
}

// HasMark says why a record is not compared.
var HasMark = shadow.ErrMarked

// Serving reports whether a file is being written, and no other change waits for it.
func Serving(m *Migration, file string) bool {
	m.files.Mu.Lock()
	defer m.files.Mu.Unlock()
	w := m.files.Writers[file]
	return w != nil && len(w.Waiting) == 0
}

// Lacks returns what a server lacks that says this of itself.
func Lacks(info, config map[string]string, planned int64, expires bool) []string {
	return fit.Facts{Info: info, Config: config, Planned: planned, Expires: expires}.Lacks()
}

// Sync makes both sides of records equal, as a replay does.
func Sync(m *Migration, part string, ids ...record.ID) error {
	is, err := m.Phase(part)
	if err != nil {
		return err
	}
	return m.sync(context.Background(), part, is.State, is.Epoch, ids, false)
}

// Firsts asks about n identities, twice, and says how many came for the first time each time. So
// many are held in memory.
func Firsts(n uint64, held int) (firsts []uint64, err error) {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	o := digests.Once{Room: (&disk.Disk{Own: folder}).Room, Most: held}
	defer o.Close()
	for range 2 {
		found := uint64(0)
		for id := range n {
			first, err := o.First(id * 0x9e3779b97f4a7c15)
			if err != nil {
				return nil, err
			}
			if first {
				found++
			}
		}
		firsts = append(firsts, found)
	}
	return firsts, nil
}

// HoldLock takes the lock of a process.
func HoldLock(path string) (free func(), err error) {
	l, err := (&disk.Disk{}).TryLock(path, false)
	return l.Free, err
}

// EndsWhileBegun lets a process end while a write or a push of it begins, and reports whether it
// does so without waiting for that. An end that waits looks like one that is slow: then it
// says no.
func EndsWhileBegun(m *Migration, what string) bool {
	mu := &m.files.Mu
	if what == "a push" {
		mu = &m.pushes.Mu
	}
	mu.Lock()
	defer mu.Unlock()
	go func() { _ = m.Close() }()
	return disk.Pause(m.life, 300*time.Millisecond) != nil
}

// Listed returns how often the folders were read for the names of files.
func Listed(m *Migration) int { return sources.Walked(m.docs) }
