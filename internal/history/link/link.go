// Package link is a history in another process: requests and replies over a pipe, each a length and JSON, of at most
// 32 MiB. The client is a history.Store; Serve is the other end, for a store that it opens when it is asked to.
//
// It starts no process, and knows no database.
package link

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/keywright/keywright/internal/history"
	"github.com/keywright/keywright/internal/history/chunk"
)

// Form is the version of what is said. Both ends must have the same one.
const Form = 1

// maxFrame bounds a message.
const maxFrame = 32 << 20

// ErrClosed says that the other end has gone: what was asked may have been done.
var ErrClosed = errors.New("the process that keeps the history has ended")

// request asks for one thing. Names may be any bytes, so they are not JSON's strings.
type request struct {
	ID     uint64 `json:"id"`
	Do     string `json:"do"`
	Form   int    `json:"form,omitempty"`
	Store  string `json:"store,omitempty"`
	Target []byte `json:"target,omitempty"`
	Entry  []byte `json:"entry,omitempty"`
	Step   string `json:"step,omitempty"`
	From   int64  `json:"from,omitempty"` // seconds
	To     int64  `json:"to,omitempty"`
	Rows   []row  `json:"rows,omitempty"`
}

// reply answers the request with its number.
type reply struct {
	ID    uint64 `json:"id"`
	Code  string `json:"code,omitempty"` // of what has failed; "": nothing
	Error string `json:"error,omitempty"`
	Rows  []row  `json:"rows,omitempty"`
	At    *int64 `json:"at,omitempty"`
}

// row is points of an entry, as a chunk.
type row struct {
	Name   []byte `json:"name,omitempty"`
	Points []byte `json:"points"`
}

// codes lists the errors that are the same on both ends.
var codes = map[string]error{"order": history.ErrOrder, "too-many": history.ErrTooMany, "in-use": history.ErrInUse}

// remoteError represents an error of the other end.
type remoteError struct {
	text string
	is   error
}

func (t *remoteError) Error() string { return t.text }

// Unwrap gives the error that is the same on both ends.
func (t *remoteError) Unwrap() error { return t.is }

// write writes one message in one piece.
func write(w io.Writer, message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if len(text) > maxFrame {
		return history.ErrTooMany
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(text)), uint32(len(text))), text...))
	return err
}

// readMessage reads one message.
func readMessage(r io.Reader, message any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return fmt.Errorf("a message of %d bytes, of at most %d", n, maxFrame)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return err
	}
	return json.Unmarshal(text, message)
}

// rowsOf returns points by entry as rows.
func rowsOf(points map[string]history.Point) []row {
	out := make([]row, 0, len(points))
	for name, p := range points {
		out = append(out, row{[]byte(name), chunk.Encode([]history.Point{p})})
	}
	return out
}

// pointsOf returns rows as points by entry.
func pointsOf(rows []row) (map[string]history.Point, error) {
	out := map[string]history.Point{}
	for _, r := range rows {
		points, err := chunk.Decode(r.Points)
		if err != nil || len(points) != 1 {
			return nil, fmt.Errorf("%w: %d points where one is", chunk.ErrDamaged, len(points))
		}
		out[string(r.Name)] = points[0]
	}
	return out, nil
}

// wholeSeconds returns the first and last second that are within a time.
func wholeSeconds(from, to time.Time) (first, last int64) {
	if first = from.Unix(); from.Nanosecond() > 0 {
		first++
	}
	return first, to.Unix()
}
