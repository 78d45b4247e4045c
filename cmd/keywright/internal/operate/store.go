package operate

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/internal/filelock"
	"github.com/keywright/keywright/keyspace/finding"
)

const recordFormat = 1

// maxRecord bounds the file of a run.
const maxRecord = 8 << 20

// record represents a run as its file has it.
type record struct {
	Format int
	Target string
	observe.Run
	Select    map[string]string // what is meant, as it was asked for
	AppliedBy string
	Began     time.Time
	Brief     Brief
	Did       *Outcome
}

// Brief represents a plan in short.
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

func (d *PlanQueue) planFile(id string) string { return filepath.Join(d.dir, id+planName) }

// save writes the file of a run, whole or not at all.
func (d *PlanQueue) save(r *record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	path := filepath.Join(d.dir, r.ID+recordName)
	return filelock.Write(path, text, 0o600)
}

// remove removes all files of a run, its own at last.
func (d *PlanQueue) remove(id string) error {
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
func (d *PlanQueue) load() error {
	names, err := filepath.Glob(filepath.Join(d.dir, "*"+recordName))
	if err != nil {
		return err
	}
	for _, name := range names {
		r := &run{}
		skip := func(why string) {
			d.Skipped = append(d.Skipped, finding.Printable(filepath.Base(name))+": "+finding.Printable(why))
		}
		if info, err := os.Stat(name); err != nil || info.Size() > maxRecord || !info.Mode().IsRegular() {
			skip("it is no file of a plan, or too large")
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &r.record); err != nil {
			skip("it is damaged: " + err.Error())
			continue
		}
		if r.Format != recordFormat || r.ID+recordName != filepath.Base(name) {
			skip("it is of another version of keywright, or has another name than it was given")
			continue
		}
		if err := d.wake(r); err != nil {
			return err
		}
		d.runs[r.ID] = r
	}
	return nil
}

// wake says of a run that was under way when the program ended that it is not.
func (d *PlanQueue) wake(r *run) error {
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
