package compare

import "github.com/keywright/keywright/source"

// What says how a key differs.
type What string

// A key is missing at B, or is only at B, or has another type, value or expiry, or was
// written to each time it was read, or cannot be compared.
const (
	Missing  What = "missing"
	Extra    What = "extra"
	Type     What = "type"
	Value    What = "value"
	TTL      What = "ttl"
	Changing What = "changing"
	Unclear  What = "unclear"
)

// Whats lists all of them, in the order of reports.
var Whats = []What{Missing, Extra, Type, Value, TTL, Changing, Unclear}

// Key represents a name in a database.
type Key struct {
	DB   int
	Name []byte
}

// Difference represents a key that differs.
type Difference struct {
	What     What
	Key, AtB Key
	Entry    int
	A, B     Fact
	Why      string // of Unclear
}

// Figures holds the keys of a report. The figures but the first add up to Keys.
type Figures struct {
	Keys      int64 `json:"keys"`      // of either side
	Same      int64 `json:"same"`      // have the same value and expiry
	Missing   int64 `json:"missing"`   // are at the first only
	Extra     int64 `json:"extra"`     // are at the second only
	Type      int64 `json:"type"`      // have another type
	Value     int64 `json:"value"`     // have another value
	TTL       int64 `json:"ttl"`       // have another expiry, and the same value
	Changing  int64 `json:"changing"`  // were written to each time they were read
	Unclear   int64 `json:"unclear"`   // could not be compared
	Expired   int64 `json:"expired"`   // have expired, or went away at both, while they were compared
	Momentary int64 `json:"momentary"` // differ, and only make sense in their moment
}

// of returns the figure of a difference.
func (c *Figures) of(w What) *int64 {
	return map[What]*int64{Missing: &c.Missing, Extra: &c.Extra, Type: &c.Type, Value: &c.Value, TTL: &c.TTL,
		Changing: &c.Changing, Unclear: &c.Unclear}[w]
}

// Differ returns how many keys differ or are not known to be the same.
func (c *Figures) Differ() (n int64) {
	for _, w := range Whats {
		n += *c.of(w)
	}
	return n
}

// Report says how many keys are the same and how many differ, in all and by entry.
type Report struct {
	Figures
	Entries map[int]*Figures

	Named []Difference // the first that differ
	More  int64        // differ, too

	A, B source.Summary
}

// Bounds of Report.Named: how many, and the bytes of their names.
const (
	maxNamed      = 100
	maxNamedBytes = 1 << 20
)

// count adds a key to the figures of all and of its entry.
func (r *Report) count(entry int, of func(*Figures) *int64) { r.add(entry, 1, of) }

// add adds keys.
func (r *Report) add(entry int, keys int64, of func(*Figures) *int64) {
	if r.Entries == nil {
		r.Entries = map[int]*Figures{}
	}
	if r.Entries[entry] == nil {
		r.Entries[entry] = &Figures{}
	}
	for _, c := range []*Figures{&r.Figures, r.Entries[entry]} {
		c.Keys += keys
		*of(c) += keys
	}
}

// name keeps a difference, if there is room.
func (r *Report) name(d Difference) {
	bytes := 0
	for _, n := range r.Named {
		bytes += len(n.Key.Name)
	}
	if len(r.Named) == maxNamed || bytes+len(d.Key.Name) > maxNamedBytes {
		r.More++
		return
	}
	r.Named = append(r.Named, d)
}
