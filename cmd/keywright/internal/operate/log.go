package operate

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/keywright/keywright/internal/filelock"
	"github.com/keywright/keywright/keyspace/finding"
)

// Bounds of a log: how large a file of it grows and how old its first line is until it gets the name with .1 at its
// end, and how many of those there are.
const (
	maxLog    = 4 << 20
	logAge    = 30 * 24 * time.Hour
	keptLogs  = 13 // of changes and of looks: a year at least, where nothing is larger
	keptPlans = 1  // of plans that were asked for, which change nothing
)

// entry represents a line of the log.
type entry struct {
	At      string `json:"at"`
	User    string `json:"user"`
	From    string `json:"from,omitempty"`
	Action  string `json:"action"` // plan, or what changes something: apply, stop, and end of what apply began
	Target  string `json:"target"`
	Run     string `json:"run"`
	Plan    string `json:"plan,omitempty"`
	Verb    string `json:"verb"`
	Title   string `json:"title"`
	State   string `json:"state"`
	Changed int64  `json:"changed,omitempty"` // with end: by all executions of the plan
	Problem string `json:"problem,omitempty"`
}

func (d *PlanQueue) entry(r *run, by By, action string) entry {
	e := entry{At: d.Now().UTC().Format(time.RFC3339Nano), User: by.User, From: by.From, Action: action,
		Target: r.Target, Run: r.ID,
		Plan: r.Brief.Plan, Verb: r.Verb, Title: r.Title, State: string(r.State), Problem: r.Problem}
	if r.Did != nil && action == "end" {
		e.Changed = r.Did.Total.Changed
	}
	return e
}

// glance represents a line of the log of looks.
type glance struct {
	At     string          `json:"at"`
	User   string          `json:"user"`
	From   string          `json:"from,omitempty"`
	Action string          `json:"action"` // look
	Target string          `json:"target"`
	Key    finding.JSONKey `json:"key"`
}

// Look notes that a user looks at the value of a key, before the value is read. What cannot be noted is refused.
func (d *PlanQueue) Look(target string, by By, key []byte) error {
	err := d.looks.write("look", glance{d.Now().UTC().Format(time.RFC3339Nano), by.User, by.From, "look", target, finding.Cut(key)})
	if err != nil {
		return refusal("not-logged", "look at the disk: each look at a value is noted before",
			"it cannot be noted who looks: %v", err)
	}
	return nil
}

// log represents a file of lines, each on the disk before what it says is done.
type log struct {
	path string
	kept int          // files of before
	sink *slog.Logger // where each line goes, too; nil: not written
	now  func() time.Time
	mu   sync.Mutex
}

// newLog returns a log of the folder.
func (d *PlanQueue) newLog(name string, kept int) *log {
	return &log{path: filepath.Join(d.dir, name), kept: kept, sink: d.Sink, now: d.Now}
}

func (l *log) write(action string, e any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.rotate(); err != nil {
		return err
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(finding.EscapeJSON(text), '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil && l.sink != nil {
		l.sink.Info(action, "log", filepath.Base(l.path), "entry", json.RawMessage(text))
	}
	return err
}

// rotate gives the file another name where it is large or old enough, and removes the oldest of those of before.
func (l *log) rotate() error {
	if !l.full() {
		return nil
	}
	for n := l.kept; n > 0; n-- {
		from := l.path
		if n > 1 {
			from += "." + strconv.Itoa(n-1)
		}
		if err := os.Rename(from, l.path+"."+strconv.Itoa(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return filelock.SyncFolder(filepath.Dir(l.path))
}

// full reports whether the file is large or old enough for another one.
func (l *log) full() bool {
	f, err := os.Open(l.path)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() >= maxLog {
		return true
	}
	var first struct{ At time.Time }
	return json.NewDecoder(io.LimitReader(f, maxRecord)).Decode(&first) == nil && !first.At.IsZero() &&
		l.now().Sub(first.At) >= logAge
}
