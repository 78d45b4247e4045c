package operate

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/internal/filelock"
	"github.com/keywright/keywright/plan"
)

const recordFormat = 1

// maxRecord bounds the file of a run.
const maxRecord = 8 << 20

// record is a run as its file has it.
type record struct {
	Format int
	Target string
	observe.Run
	AppliedBy string
	Began     time.Time
	Brief     Brief
	Did       *Outcome
}

// Brief is a plan in short.
type Brief struct {
	Plan       string // its ID
	Change     int64  // things that would be changed
	Leave      int64
	Bytes      int64
	Entries    []plan.Part
	MoreParts  int // entries that are not among them
	Left       []plan.Left
	Incomplete []plan.Reason
	Changes    []plan.Change // the first of them
	Listed     int           // how many there are
}

func brief(p *plan.Plan) Brief {
	b := Brief{Plan: p.ID, Change: p.Total.Change, Leave: p.Total.Leave, Bytes: p.Total.Bytes, Left: p.Left,
		Incomplete: p.Incomplete,
		Entries:    p.Entries[:min(len(p.Entries), showEntry)], Changes: p.Changes[:min(len(p.Changes), showChange)],
		Listed: len(p.Changes)}
	b.MoreParts = len(p.Entries) - len(b.Entries)
	return b
}

// The files of a run.
const (
	recordName = ".run"
	planName   = ".plan"
)

func (d *Desk) planFile(id string) string { return filepath.Join(d.dir, id+planName) }

// save writes the file of a run, whole or not at all.
func (d *Desk) save(r *record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	path := filepath.Join(d.dir, r.ID+recordName)
	f, err := os.OpenFile(path+".part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".part", path); err != nil {
		return err
	}
	return filelock.SyncFolder(d.dir)
}

// remove removes all files of a run, its own at last.
func (d *Desk) remove(id string) error {
	names, err := filepath.Glob(filepath.Join(d.dir, id+".*"))
	if err != nil {
		return err
	}
	for _, last := range []bool{false, true} {
		for _, name := range names {
			if strings.HasSuffix(name, recordName) == last {
				if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
		}
	}
	return nil
}

// load reads the runs of the folder.
func (d *Desk) load() error {
	names, err := filepath.Glob(filepath.Join(d.dir, "*"+recordName))
	if err != nil {
		return err
	}
	for _, name := range names {
		r := &run{}
		if info, err := os.Stat(name); err != nil || info.Size() > maxRecord {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if json.Unmarshal(text, &r.record) != nil || r.Format != recordFormat ||
			r.ID+recordName != filepath.Base(name) {
			continue // of another version, or not ours
		}
		if err := d.wake(r); err != nil {
			return err
		}
		d.runs[r.ID] = r
	}
	return nil
}

// wake says of a run that was under way when the program ended that it is not.
func (d *Desk) wake(r *run) error {
	switch r.State {
	case observe.Planning:
		r.State, r.Problem = observe.Refused, "keywright serve ended while it was made"
	case observe.Underway, observe.Stopping:
		r.State, r.Problem, r.Hint = observe.Interrupted, "keywright serve ended while it ran",
			"apply it again to go on where it was"
	default:
		return nil
	}
	r.Ended = d.Now()
	return d.save(&r.record)
}
