// Package members is the folder of the processes that take part in a migration: which there are, what each says of
// itself, and which records they have marked. It decides nothing about them.
package members

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/keywright/keywright/internal/filelock"
	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/marks"
	"github.com/keywright/keywright/migrate/record"
)

// Folder is the folder of the processes that take part.
type Folder struct {
	Disk *disk.Disk
	ID   string // of this one; "": it only looks
}

// Report describes what a process says of itself.
type Report struct {
	At     time.Time         `json:"at"`
	Pid    int               `json:"pid"`
	Epochs map[string]uint64 `json:"epochs"` // by which it works, by part
	Seen   map[string]uint64 `json:"seen"`   // the last ticket of each part
	Forms  map[string]string `json:"forms"`  // what it takes for the records of each part: PartOf.Form
}

// HoldsLock reports whether a process has its lock.
func (m *Folder) HoldsLock(id string) bool {
	path := m.Path(id, "lock")
	if _, err := os.Stat(path); err != nil {
		return false
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer func() { _ = filelock.Close(f) }()
	return errors.Is(filelock.Share(f), filelock.ErrInUse)
}

// EncodeReport returns what a process says of itself, as its file has it.
func EncodeReport(b Report) []byte {
	text, _ := json.Marshal(b) // of numbers, texts and times
	return text
}

// FilesOf lists the files of a process, its lock as the last.
var FilesOf = []string{"marks", "marks.tmp", "beat", "beat.tmp", "lock"}

// Path returns a file of a process.
func (m *Folder) Path(id, kind string) string {
	return filepath.Join(m.Disk.Own, disk.ProcessFolder, id+"."+kind)
}

// Others returns the ids of all processes that have left something, without this one.
func (m *Folder) Others() (out []string, err error) {
	entries, err := os.ReadDir(filepath.Join(m.Disk.Own, disk.ProcessFolder))
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".lock"); ok && id != m.ID {
			out = append(out, id)
		}
	}
	return out, err
}

// Marked holds marks of all processes.
type Marked struct {
	IDs    map[record.ID]bool
	Count  int64
	Oldest time.Time
}

// Has reports whether a record has a mark.
func (o Marked) Has(id record.ID) bool { return o.IDs[id] }

// HasKey reports whether a record of a key has a mark.
func (o Marked) HasKey(key string) bool {
	for id := range o.IDs {
		if id.Key == key {
			return true
		}
	}
	return false
}

// OpenMarks reads the marks of a part, of all processes.
func (m *Folder) OpenMarks(part string, own []marks.Mark) (Marked, error) {
	out := Marked{IDs: map[record.ID]bool{}}
	ids, err := m.Others()
	if err != nil {
		return out, err
	}
	all := own // the file of this process has some that are over
	for _, id := range ids {
		open, err := marks.Read(m.Path(id, "marks"))
		if err != nil {
			return out, err
		}
		all = append(all, open...)
	}
	for _, k := range all {
		if k.Part != part {
			continue
		}
		out.IDs[k.ID] = true
		if at := time.UnixMilli(k.At); out.Oldest.IsZero() || at.Before(out.Oldest) {
			out.Oldest = at
		}
	}
	out.Count = int64(len(out.IDs))
	return out, nil
}

// Highest returns the last ticket of each part that any process has seen. Where that cannot be read it
// is not known whether the server has lost data.
func (m *Folder) Highest() (map[string]uint64, error) {
	out := map[string]uint64{}
	_, err := disk.ReadJSON(m.Disk.SeenPath(), &out)
	ids, failed := m.Others()
	errs := []error{err, failed}
	for _, id := range ids {
		var b Report
		_, err := disk.ReadJSON(m.Path(id, "beat"), &b)
		errs = append(errs, err)
		for part, ticket := range b.Seen {
			out[part] = max(out[part], ticket)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return out, fmt.Errorf("%w: %w", ErrUnseen, err)
	}
	return out, nil
}

// ErrUnseen reports a file of the engine that cannot be read, and without which it is not known whether
// Redis has lost data.
var ErrUnseen = errors.New("the last tickets that processes have seen cannot be read")
