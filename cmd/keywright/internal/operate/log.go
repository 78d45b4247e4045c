package operate

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/internal/filelock"
)

// maxLog says how large the log grows until it gets the name with .1 at its end, in the place
// of the one that has it.
const maxLog = 4 << 20

// entry represents a line of the log.
type entry struct {
	At      string `json:"at"`
	User    string `json:"user"`
	From    string `json:"from,omitempty"`
	Action  string `json:"action"` // plan, apply, stop, or end: of what apply began
	Target  string `json:"target"`
	Run     string `json:"run"`
	Plan    string `json:"plan,omitempty"`
	Verb    string `json:"verb"`
	Title   string `json:"title"`
	State   string `json:"state"`
	Changed int64  `json:"changed,omitempty"` // with end: by all executions of the plan
	Problem string `json:"problem,omitempty"`
}

func (d *Desk) entry(r *run, by By, action string) entry {
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
func (d *Desk) Look(target string, by By, key []byte) error {
	err := d.looks.write(glance{d.Now().UTC().Format(time.RFC3339Nano), by.User, by.From, "look", target, finding.Cut(key)})
	if err != nil {
		return refusal("not-logged", "look at the disk: each look at a value is noted before",
			"it cannot be noted who looks: %v", err)
	}
	return nil
}

// log represents a file of lines, each on the disk before what it says is done.
type log struct {
	path string
	mu   sync.Mutex
}

func (l *log) write(e any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if info, err := os.Stat(l.path); err == nil && info.Size() >= maxLog {
		if err := os.Rename(l.path, l.path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := filelock.SyncFolder(filepath.Dir(l.path)); err != nil {
			return err
		}
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
	return errors.Join(err, f.Sync(), f.Close())
}
