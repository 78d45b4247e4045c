package migrate

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

// members is the folder of the processes that take part.
type members struct {
	disk *disk.Disk
	id   string // of this one; "": it only looks
}

// beatFile describes what a process says of itself.
type beatFile struct {
	At     time.Time         `json:"at"`
	Pid    int               `json:"pid"`
	Epochs map[string]uint64 `json:"epochs"` // by which it works, by part
	Seen   map[string]uint64 `json:"seen"`   // the last ticket of each part
	Forms  map[string]string `json:"forms"`  // what it takes for the records of each part: PartOf.Form
}

// holdsLock reports whether a process has its lock.
func (m *members) holdsLock(id string) bool {
	path := m.path(id, "lock")
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

func encodeBeat(b beatFile) []byte {
	text, _ := json.Marshal(b) // of numbers, texts and times
	return text
}

// ofProcess lists the files of a process, its lock as the last.
var ofProcess = []string{"marks", "marks.tmp", "beat", "beat.tmp", "lock"}

func (m *members) path(id, kind string) string {
	return filepath.Join(m.disk.Own, disk.ProcessFolder, id+"."+kind)
}

// others returns the ids of all processes that have left something, without this one.
func (m *members) others() (out []string, err error) {
	entries, err := os.ReadDir(filepath.Join(m.disk.Own, disk.ProcessFolder))
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".lock"); ok && id != m.id {
			out = append(out, id)
		}
	}
	return out, err
}

// openSet holds marks of all processes.
type openSet struct {
	ids    map[record.ID]bool
	Count  int64
	Oldest time.Time
}

func (o openSet) has(id record.ID) bool { return o.ids[id] }

// hasKey reports whether a record of a key has a mark.
func (o openSet) hasKey(key string) bool {
	for id := range o.ids {
		if id.Key == key {
			return true
		}
	}
	return false
}

// openMarks reads the marks of a part, of all processes.
func (m *members) openMarks(part string, own []marks.Mark) (openSet, error) {
	out := openSet{ids: map[record.ID]bool{}}
	ids, err := m.others()
	if err != nil {
		return out, err
	}
	all := own // the file of this process has some that are over
	for _, id := range ids {
		open, err := marks.Read(m.path(id, "marks"))
		if err != nil {
			return out, err
		}
		all = append(all, open...)
	}
	for _, k := range all {
		if k.Part != part {
			continue
		}
		out.ids[k.ID] = true
		if at := time.UnixMilli(k.At); out.Oldest.IsZero() || at.Before(out.Oldest) {
			out.Oldest = at
		}
	}
	out.Count = int64(len(out.ids))
	return out, nil
}

// highest returns the last ticket of each part that any process has seen. Where that cannot be read it
// is not known whether the server has lost data.
func (m *members) highest() (map[string]uint64, error) {
	out := map[string]uint64{}
	_, err := disk.ReadJSON(m.disk.SeenPath(), &out)
	ids, failed := m.others()
	errs := []error{err, failed}
	for _, id := range ids {
		var b beatFile
		_, err := disk.ReadJSON(m.path(id, "beat"), &b)
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
