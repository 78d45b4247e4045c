package entity

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
)

// ErrExists reports an item that is there already.
var ErrExists = fmt.Errorf("the item is there already")

// ErrVersion reports an item that was changed since it was read.
var ErrVersion = fmt.Errorf("the item has another version")

// Conflict represents a condition that does not hold; nothing was changed. It is
// ErrExists or ErrVersion to errors.Is.
type Conflict struct {
	Version int64 // that the item has, 0 without versions
	Err     error
}

func (c *Conflict) Error() string {
	if c.Version != 0 && c.Err == ErrVersion {
		return fmt.Sprintf("%v: %d", c.Err, c.Version)
	}
	return c.Err.Error()
}

// Unwrap gives ErrExists or ErrVersion.
func (c *Conflict) Unwrap() error { return c.Err }

// call represents one write of one item, as the script takes it.
type call struct {
	id        string
	expected  string // record
	found     bool   // the server said so
	record    string
	condition string
	ttl       string
	stamps    stamps
	fields    []string // name, text, …
	removed   []string
	adds      []entry
	drops     []entry
	at        []string // of a whole item: the key of each index, "" where it is in none
	now, dead []string // events, as the script takes them
}

// stamps holds the fields that the server fills in; they come first.
type stamps struct {
	created, updated bool
	version          string
	unit             string
}

// count returns how many fields they are.
func (s stamps) count() (n int) {
	for _, on := range []bool{s.created, s.version != "", s.updated} {
		if on {
			n++
		}
	}
	return n
}

// field returns the text of a field, if the call writes it.
func (c *call) field(name string) (string, bool) {
	for i := 0; i+1 < len(c.fields); i += 2 {
		if c.fields[i] == name {
			return c.fields[i+1], true
		}
	}
	return "", false
}

// entry represents an id's entry in an index. Its score is "@field" to be read from the item,
// else a number; what is dropped needs none.
type entry struct{ key, score string }

// unscored is the score of all ids in an index that is sorted by nothing else: the
// server then has them in the order of their bytes.
const unscored = "0"

const (
	anyRecord = "*"
	absent    = "absent"
	present   = "present"
	whatever  = "any"
)

func (s *core) stamp(c *call, whole bool) {
	c.stamps = stamps{created: whole && s.spec.Created != "", version: s.spec.Version, updated: s.spec.Updated != "",
		unit: "1"}
	if s.spec.Seconds {
		c.stamps.unit = "1000"
	}
	for _, name := range []string{s.spec.Created, s.spec.Version, s.spec.Updated} {
		if name != "" && (name != s.spec.Created || whole) {
			c.fields = append(c.fields, name, "")
		}
	}
}

// affected reports whether a change of these fields moves entries that the ledger
// knows, and whether it moves any.
func (ix *index) affected(touched func(string) bool) (value, score bool) {
	return ix.Field != "" && touched(ix.Field), ix.Score != "" && touched(ix.Score)
}

// live returns the score of an index as the item has it.
func (ix *index) live() string {
	if ix.Score == "" {
		return unscored
	}
	return "@" + ix.Score
}

// outcome describes what the server says of a write.
type outcome struct {
	code, text string
	version    int64
	now        int64 // ms
	created    bool
	record     string // of an item whose TTL began again
}

// verdict returns what an outcome is to the caller.
func (s *core) verdict(a *kernel.Action, out outcome) (outcome, error) {
	switch out.code {
	case "absent":
		return out, keywright.ErrNotFound
	case "present":
		return out, s.conflict(a, out, ErrExists)
	case "version":
		return out, s.conflict(a, out, ErrVersion)
	}
	return out, nil
}

func (s *core) conflict(a *kernel.Action, out outcome, err error) error {
	return &keywright.Error{Class: keywright.NotApplied, Op: a.Name, Entry: s.entry.Name,
		Err: &Conflict{Version: out.version, Err: err}}
}

func (s *core) versioned() error {
	if s.spec.Version == "" {
		return &keywright.Error{Class: keywright.Invalid, Entry: s.entry.Name,
			Err: errors.New("the entity has no version"), Hint: "declare one: stamps: {version: version}"}
	}
	return nil
}

// look reads the record of an item.
func (s *core) look(ctx context.Context, a *kernel.Action, id string) (string, error) {
	reading := *a
	reading.Effect, reading.Key = keywright.Reads, s.spec.Ledger
	raw := s.client.Raw()
	return kernel.Run(ctx, &reading, func(ctx context.Context) kernel.Reply {
		return raw.Do(ctx, raw.B().Hget().Key(s.spec.Ledger).Field(id).Build())
	}, optionalText)
}

// mode returns how `put` is told what a call is.
func (c *call) mode(renews bool) string {
	if c.simple() {
		if renews {
			return "+"
		}
		return ""
	}
	head, expected := "0", c.expected
	if renews {
		head = "1"
	}
	if expected == c.record {
		expected = ""
	}
	return head + strconv.Itoa(len(c.drops)) + " " + c.condition + " " + expected
}

// simple reports whether a call makes an item of which nothing is known to be left: it
// has no entries to leave.
func (c *call) simple() bool { return c.condition == absent && !c.found }

// How touch changes a TTL.
const (
	touchAny  = "any"
	touchLess = "less" // only to a shorter life
	touchMore = "more" // only to a longer one
)
