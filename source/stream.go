package source

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// StreamState represents the last part of a stream, as JSON in its only element: what a
// stream has beside its entries. The parts before it have, for each entry, its ID,
// the number of its fields and values, and these.
type StreamState struct {
	LastID     string        `json:"last_id"`
	MaxDeleted string        `json:"max_deleted,omitempty"`
	Added      int64         `json:"added,omitempty"`
	Groups     []StreamGroup `json:"groups,omitempty"`
}

// StreamGroup represents a consumer group of a stream.
type StreamGroup struct {
	Name      []byte          `json:"name"`
	LastID    string          `json:"last_id"`
	Read      int64           `json:"read"` // entries-read; -1: unknown
	Consumers [][]byte        `json:"consumers,omitempty"`
	Pending   []StreamPending `json:"pending,omitempty"`
}

// StreamPending represents an entry that a consumer has and has not acknowledged.
type StreamPending struct {
	ID         string `json:"id"`
	Consumer   []byte `json:"consumer"`
	Idle       int64  `json:"idle"` // milliseconds
	Deliveries int64  `json:"deliveries"`
}

// Pending returns the IDs that are pending in a group, in ascending order, each once.
func (s *StreamState) Pending() (out []StreamID, err error) {
	for _, g := range s.Groups {
		for _, p := range g.Pending {
			id, err := ParseStreamID(p.ID)
			if err != nil {
				return nil, err
			}
			out = append(out, id)
		}
	}
	slices.SortFunc(out, StreamID.Compare)
	return slices.Compact(out), nil
}

// Estimate sets what groups have read, in a state of a server that did not count it (before Redis 7), to what a newer
// server computes when it loads the stream. first is the ID of its first entry, the zero ID if it has none.
func (s *StreamState) Estimate(first StreamID) error {
	last, err := ParseStreamID(s.LastID)
	for i := range s.Groups {
		at, wrong := ParseStreamID(s.Groups[i].LastID)
		if err = cmp.Or(err, wrong); err != nil {
			return err
		}
		read := int64(-1)
		switch {
		case s.Added == 0, at.Compare(first) < 0:
			read = 0
		case at == last:
			read = s.Added
		case at == first:
			read = 1
		}
		s.Groups[i].Read = read
	}
	return err
}

// StreamID represents the ID of an entry of a stream.
type StreamID struct{ MS, Seq uint64 }

// ParseStreamID reads an ID as 1700000000000-0; "" is 0-0.
func ParseStreamID(text string) (id StreamID, err error) {
	if text == "" {
		return id, nil
	}
	ms, seq, _ := strings.Cut(text, "-")
	if id.MS, err = strconv.ParseUint(ms, 10, 64); err == nil && seq != "" {
		id.Seq, err = strconv.ParseUint(seq, 10, 64)
	}
	return id, err
}

// Compare returns -1, 0 or 1: which of two IDs comes first.
func (id StreamID) Compare(o StreamID) int {
	return cmp.Or(cmp.Compare(id.MS, o.MS), cmp.Compare(id.Seq, o.Seq))
}

// String returns the ID as servers write it.
func (id StreamID) String() string {
	return strconv.FormatUint(id.MS, 10) + "-" + strconv.FormatUint(id.Seq, 10)
}
