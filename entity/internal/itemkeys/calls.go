package itemkeys

import (
	"context"
	"errors"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/failure"
	"github.com/keywright/keywright/kernel"
)

// Call represents one write of one item, as the script takes it.
type Call struct {
	ID        string
	Expected  string // record
	Found     bool   // the server said so
	Record    string
	Condition string
	TTL       string
	Stamps    Stamps
	Fields    []string // name, text, …
	Removed   []string
	Adds      []Entry
	Drops     []Entry
	At        []string // of a whole item: the key of each index, "" where it is in none
	Now, Dead []string // events, as the script takes them
}

// Stamps holds the fields that the server fills in; they come first.
type Stamps struct {
	Created, Updated bool
	Version          string
	Unit             string
}

// Count returns how many fields they are.
func (s Stamps) Count() (n int) {
	for _, on := range []bool{s.Created, s.Version != "", s.Updated} {
		if on {
			n++
		}
	}
	return n
}

// Field returns the text of a field, if the call writes it.
func (c *Call) Field(name string) (string, bool) {
	for i := 0; i+1 < len(c.Fields); i += 2 {
		if c.Fields[i] == name {
			return c.Fields[i+1], true
		}
	}
	return "", false
}

// Entry represents an id's entry in an index. Its score is "@field" to be read from the item,
// else a number; what is dropped needs none.
type Entry struct{ Key, Score string }

// Unscored is the score of all ids in an index that is sorted by nothing else: the
// server then has them in the order of their bytes.
const Unscored = "0"

const (
	AnyRecord = "*"
	Absent    = "absent"
	Present   = "present"
	Whatever  = "any"
)

// Stamp says what the server fills in.
func (s *Keys) Stamp(c *Call, whole bool) {
	c.Stamps = Stamps{Created: whole && s.Spec.Created != "", Version: s.Spec.Version, Updated: s.Spec.Updated != "",
		Unit: "1"}
	if s.Spec.Seconds {
		c.Stamps.Unit = "1000"
	}
	for _, name := range []string{s.Spec.Created, s.Spec.Version, s.Spec.Updated} {
		if name != "" && (name != s.Spec.Created || whole) {
			c.Fields = append(c.Fields, name, "")
		}
	}
}

// Affected reports whether a change of these fields moves entries that the index record
// names, and whether it changes scores.
func (ix *Index) Affected(touched func(string) bool) (value, score bool) {
	return ix.Field != "" && touched(ix.Field), ix.Score != "" && touched(ix.Score)
}

// Live returns the score of an index as the item has it.
func (ix *Index) Live() string {
	if ix.Score == "" {
		return Unscored
	}
	return "@" + ix.Score
}

// Outcome describes what the server says of a write.
type Outcome struct {
	Code, Text string
	Version    int64
	Now        int64 // ms
	Created    bool
	Record     string // of an item whose TTL began again
}

// Verdict returns what an outcome is to the caller.
func (s *Keys) Verdict(a *kernel.Action, out Outcome) (Outcome, error) {
	switch out.Code {
	case "absent":
		return out, keywright.ErrNotFound
	case "present":
		return out, s.conflict(a, out, failure.ErrExists)
	case "version":
		return out, s.conflict(a, out, failure.ErrVersion)
	}
	return out, nil
}

func (s *Keys) conflict(a *kernel.Action, out Outcome, err error) error {
	return &keywright.Error{Class: keywright.NotApplied, Op: a.Name, Entry: s.Entry.Name,
		Err: &failure.Conflict{Version: out.Version, Err: err}}
}

// Versioned returns an error if the entity has no version.
func (s *Keys) Versioned() error {
	if s.Spec.Version == "" {
		return &keywright.Error{Class: keywright.Invalid, Entry: s.Entry.Name,
			Err: errors.New("the entity has no version"), Hint: "declare one: stamps: {version: version}"}
	}
	return nil
}

// ReadRecord reads the record of an item.
func (s *Keys) ReadRecord(ctx context.Context, a *kernel.Action, id string) (string, error) {
	reading := *a
	reading.Effect, reading.Key = keywright.Reads, s.Spec.Records
	raw := s.Client.Raw()
	return kernel.Run(ctx, &reading, func(ctx context.Context) kernel.Reply {
		return raw.Do(ctx, raw.B().Hget().Key(s.Spec.Records).Field(id).Build())
	}, OptionalText)
}

// Mode returns the argument of `put` that says what a call is.
func (c *Call) Mode(renews bool) string {
	if c.Simple() {
		if renews {
			return "+"
		}
		return ""
	}
	head, expected := "0", c.Expected
	if renews {
		head = "1"
	}
	if expected == c.Record {
		expected = ""
	}
	return head + strconv.Itoa(len(c.Drops)) + " " + c.Condition + " " + expected
}

// Simple reports whether a call makes an item of which nothing is known to be left: it
// has no entries to leave.
func (c *Call) Simple() bool { return c.Condition == Absent && !c.Found }

// How touch changes a TTL.
const (
	TouchAny  = "any"
	TouchLess = "less" // only to a shorter life
	TouchMore = "more" // only to a longer one
)
