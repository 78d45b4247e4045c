// Package plan is a change as data: what a command would do to the keys of a server,
// for which server and declaration that holds, what it leaves alone and why. A plan is
// a JSON document, so that it can be looked at, kept, and executed later.
//
// A verb that changes what a rule selects (delete, clean, ttl) has a Rule, which decides
// about one key at a time, and the plan holds counts; the executor, package apply, asks
// the rule again for each key. A verb that changes few and known things lists each of
// them as a Change.
//
// The package does no I/O and knows no client.
//
// API: may change until 1.0.
package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/keywright/keywright/internal/jsonbound"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
)

// Format is the version of the form of a plan.
const Format = 1

// MaxBytes bounds the text of a plan that is read.
const MaxBytes = 64 << 20

// MaxChanges bounds the changes that a plan lists.
const MaxChanges = 100_000

// Plan describes what a command would do. Its JSON names are stable.
type Plan struct {
	Format      int       `json:"format"`
	ID          string    `json:"id"` // the SHA-256 of everything else
	Verb        string    `json:"verb"`
	Made        time.Time `json:"made"`
	Tool        string    `json:"tool"` // the version of the program
	Server      Server    `json:"server"`
	From        *Server   `json:"from,omitempty"`        // of a copy: the server that is read
	Declaration string    `json:"declaration,omitempty"` // the SHA-256 of its files; absent: there is none
	Request     Request   `json:"request"`

	Total      Counts   `json:"total"`
	Entries    []Part   `json:"entries"`              // their counts add up to those of total
	Left       []Left   `json:"left_alone,omitempty"` // why; their keys add up to those that total leaves alone
	Incomplete []Reason `json:"incomplete,omitempty"` // why not all keys may have been seen
	Changes    []Change `json:"changes,omitempty"`    // each, where they are few and known

	Libraries []Library `json:"libraries,omitempty"` // of functions, that are restored or copied
}

// Counts holds the keys that a plan or one entry of it is about: those that would be
// changed and those that are left alone add up to Keys.
type Counts struct {
	Keys   int64 `json:"keys"`   // that are meant
	Change int64 `json:"change"` // that would be changed
	Leave  int64 `json:"leave"`  // that are left alone; Plan.Left says why
	Bytes  int64 `json:"bytes"`  // memory of those that would be changed
}

// Part describes what a plan is about, of one entry.
type Part struct {
	Entry string `json:"entry"` // "" for keys that no entry declares
	Counts
	Examples []Example `json:"examples,omitempty"` // of keys that would be changed
}

// Example represents the name of a key, and where it is.
type Example struct {
	Key finding.JSONKey `json:"key"`
	DB  int             `json:"db"`
	To  finding.JSONKey `json:"to,omitempty"` // of a rename: its new name
}

// Left represents a reason for which keys are left alone.
type Left struct {
	Code     Code      `json:"code"`
	What     string    `json:"what"`
	Fix      string    `json:"fix,omitempty"`
	Keys     int64     `json:"keys"`
	Examples []Example `json:"examples,omitempty"`
}

// Change represents one change of something that is known by name.
type Change struct {
	Verb   string          `json:"verb"`
	Entry  string          `json:"entry,omitempty"`
	Key    finding.JSONKey `json:"key"`
	DB     int             `json:"db"`
	Before string          `json:"before,omitempty"`
	After  string          `json:"after,omitempty"`
	If     string          `json:"if,omitempty"` // what must still be so
}

// Request describes what was asked for.
type Request struct {
	Entries    []string          `json:"entries,omitempty"`
	Owners     []string          `json:"owners,omitempty"`
	Globs      []string          `json:"match,omitempty"`
	Where      []string          `json:"where,omitempty"`
	Undeclared bool              `json:"undeclared,omitempty"`
	Namespace  string            `json:"namespace,omitempty"`     // that --namespace named
	Anywhere   bool              `json:"any_namespace,omitempty"` // also keys outside of the namespaces
	DB         int               `json:"db"`                      // -1: all
	Options    map[string]string `json:"options,omitempty"`       // of the verb
	Archive    string            `json:"archive,omitempty"`       // the ID of the archive that is restored
}

// Server describes what a plan holds for.
type Server struct {
	Name    string  `json:"name"` // without credentials
	Cluster bool    `json:"cluster"`
	Shards  []Shard `json:"shards"`
}

// Shard represents one primary.
type Shard struct {
	Address string   `json:"address"`
	Brand   string   `json:"brand"`
	Version string   `json:"version"`
	RunID   string   `json:"run_id"`
	ReplID  string   `json:"replication_id"`
	Flushes int64    `json:"flushes"` // calls of FLUSHALL, FLUSHDB and SWAPDB so far; -1: not known
	Slots   []string `json:"slots,omitempty"`
}

// Digest identifies a declaration: the names and texts of its files. It is empty for a
// declaration of no file.
func Digest(ks *keyspace.Keyspace) string {
	if ks == nil || len(ks.Files) == 0 {
		return ""
	}
	h := sha256.New()
	for _, f := range ks.Files {
		fmt.Fprintf(h, "%d:%s %d:", len(f.Name), f.Name, len(f.Text))
		h.Write(f.Text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Seal gives the plan the ID that it has by its content.
func (p *Plan) Seal() error {
	id, err := p.digest()
	p.ID = id
	return err
}

func (p *Plan) digest() (string, error) {
	bare := *p
	bare.ID = ""
	text, err := json.Marshal(bare)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// Write writes the text of a sealed plan.
func (p *Plan) Write(w io.Writer) error {
	var out bytes.Buffer
	if err := finding.WriteJSON(&out, p, "  "); err != nil {
		return err
	}
	if out.Len() > MaxBytes {
		return fmt.Errorf("the plan has more than %d MiB", MaxBytes>>20)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// Read reads a plan that Write wrote. One that was changed since is an error.
func Read(r io.Reader) (*Plan, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("it has more than %d MiB", MaxBytes>>20)
	}
	return Parse(text)
}

// What the text of a plan may have: each change is an object, and so are its key and the
// examples of the entries.
const (
	maxObjects = 5 * MaxChanges
	maxValues  = 20 * MaxChanges
)

// Parse is Read of a text.
func Parse(text []byte) (*Plan, error) {
	if err := jsonbound.Check(text, maxObjects, maxValues); err != nil {
		return nil, fmt.Errorf("it is no plan: %w", err)
	}
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("it is no plan: %w", err)
	}
	if head.Format != Format {
		return nil, fmt.Errorf("its format is %d, and this program knows %d", head.Format, Format)
	}
	p := &Plan{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(p); err != nil {
		return nil, fmt.Errorf("it is no plan: %w", err)
	}
	if id, err := p.digest(); err != nil || id != p.ID {
		return nil, fmt.Errorf("it was changed since it was written: its ID does not fit what it says")
	}
	if len(p.Changes) > MaxChanges {
		return nil, fmt.Errorf("it lists more than %d changes", MaxChanges)
	}
	return p, nil
}
