// Package replica reads what a server sends to its replicas: the bytes of an RDB, and where they end. It does not read
// what is in them: that is package rdb.
package replica

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/wire"
)

// Stream represents the RDB that one server makes for a replica: Read gives
// exactly its bytes, without the framing around them, and io.EOF after the last.
// A stream that is cut ends in an error that is io.ErrUnexpectedEOF, never in
// io.EOF. It is not safe for concurrent use.
type Stream struct {
	ReplID string // the replication id of the data; "" if the server did not say
	Offset int64  // where in the stream of changes the data belongs

	ctx    context.Context
	server string
	conn   *wire.Conn
	in     *bufio.Reader
	stop   func() bool // ends the watch over ctx
	left   int64       // bytes still to come, where the length was announced
	mark   []byte      // what follows the last byte, where it was not
	read   int64
	err    error // how it ended
}

const (
	defaultSilence = 60 * time.Second // repl-timeout of a server that was not tuned
	markLength     = 40
	streamBuffer   = 128 << 10
)

// greeting says what a replica says of itself. A server or proxy that knows none of
// it can still make a snapshot, so refusals are no errors.
//
// The port is none: a sentinel takes whatever connects like a replica for one it
// may promote, also on port 0, and never forgets it; a port that cannot be is
// not taken. eof lets the server stream without a file on its disk. rdb-only
// spares it to gather the changes for us.
var greeting = [][]string{
	{"REPLCONF", "listening-port", "65536"},
	{"REPLCONF", "capa", "eof", "capa", "psync2"},
	{"REPLCONF", "rdb-only", "1"},
}

// requests ask for the data, the next where a server does not take the last.
var requests = [][]string{{"PSYNC", "?", "-1"}, {"SYNC"}}

// Open connects to a server as a replica would and waits until it begins
// to send its data. silence is how long it may say nothing at all; 0 means 60 s.
// The server makes a fork for it. Close the stream as soon as it is not needed.
func Open(ctx context.Context, c connect.Config, silence time.Duration) (*Stream, error) {
	conn, err := connect.Dial(ctx, c)
	if err != nil {
		return nil, err
	}
	s := &Stream{ctx: ctx, server: c.String(), conn: conn}
	s.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
	if err := s.open(cmp.Or(silence, defaultSilence)); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// Read implements io.Reader.
func (s *Stream) Read(p []byte) (n int, err error) {
	if s.err != nil || len(p) == 0 {
		return 0, s.err
	}
	if s.mark != nil {
		n, err = s.marked(p)
	} else {
		n, err = s.measured(p)
	}
	s.read += int64(n)
	s.err = err
	return n, err
}

// Close ends the connection; the server is then rid of us.
func (s *Stream) Close() error {
	s.stop()
	if s.err == nil {
		s.err = os.ErrClosed
	}
	return s.conn.Close()
}

// Verdict says whether all of a snapshot was read. A parser that is done before
// the stream has read something else than the server sent.
func (s *Stream) Verdict(parsed error, sample bool) error {
	switch {
	case s.err != nil && s.err != io.EOF:
		return s.err // whatever the parser makes of it, this is the cause
	case parsed != nil || sample:
		return parsed
	}
	n, err := io.Copy(io.Discard, io.LimitReader(s, 1<<20))
	if err == nil && n > 0 {
		return fmt.Errorf("%d bytes or more follow the end of the snapshot", n)
	}
	return err
}

// measured reads a snapshot whose length was announced.
func (s *Stream) measured(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.in.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	if err != nil && s.left > 0 {
		return n, s.cut(err)
	}
	return n, nil
}

// marked reads a snapshot that ends with a mark. The server sends nothing after
// the mark until it learns that the data arrived, so it is the end of what has
// arrived at some moment. Until then its length is held back.
func (s *Stream) marked(p []byte) (int, error) {
	for {
		arrived, _ := s.in.Peek(s.in.Buffered())
		data := max(len(arrived)-markLength, 0)
		switch {
		case data > 0:
			n := copy(p, arrived[:data])
			_, err := s.in.Discard(n)
			return n, err
		case bytes.Equal(arrived, s.mark):
			return 0, io.EOF
		}
		if _, err := s.in.Peek(len(arrived) + 1); err != nil {
			return 0, s.cut(err)
		}
	}
}

// open says who we are, asks for the data and reads how it will be framed.
func (s *Stream) open(silence time.Duration) error {
	for _, args := range greeting {
		if _, err := connect.Ask(s.conn, args...); err != nil && !errors.As(err, new(*wire.ServerError)) {
			return s.failed(err)
		}
	}
	s.in = bufio.NewReaderSize(s.conn.Stream(silence), streamBuffer)
	var refusal error
	for _, args := range requests {
		s.conn.Command(args...)
		if err := s.conn.Flush(); err != nil {
			return s.failed(err)
		}
		err := s.answered()
		if err == nil {
			return nil
		}
		refusal = cmp.Or(refusal, err) // the first is about the better command
		if !connect.IsKind(err, connect.Denied) {
			break
		}
	}
	return refusal
}

// answered reads the replies to a request up to the first byte of the data.
func (s *Stream) answered() error {
	line, err := s.line()
	if err != nil {
		return err
	}
	if at, ok := strings.CutPrefix(line, "+FULLRESYNC "); ok {
		id, offset, _ := strings.Cut(at, " ")
		s.ReplID = id
		s.Offset, err = strconv.ParseInt(offset, 10, 64)
		if err != nil {
			return s.strange("+FULLRESYNC, an id and an offset", line)
		}
		if line, err = s.line(); err != nil {
			return err
		}
	}
	return s.framed(line)
}

// framed reads the line before the data: "$1234" or "$EOF:" and a mark.
func (s *Stream) framed(line string) error {
	if mark, ok := strings.CutPrefix(line, "$EOF:"); ok {
		if len(mark) != markLength {
			return s.strange(fmt.Sprintf("a mark of %d bytes", markLength), line)
		}
		s.mark = []byte(mark)
		return nil
	}
	length, err := strconv.ParseInt(strings.TrimPrefix(line, "$"), 10, 64)
	if err != nil || length <= 0 || line[0] != '$' {
		return s.strange("the length of a snapshot", line)
	}
	s.left = length
	return nil
}

// line reads a line that is not empty: empty ones keep the connection alive while
// the server prepares. An error reply is an error.
func (s *Stream) line() (string, error) {
	for {
		raw, err := s.in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return "", s.strange("a line", string(raw[:markLength]))
		}
		if err != nil {
			return "", s.failed(err)
		}
		line := strings.TrimRight(string(raw), "\r\n")
		if strings.HasPrefix(line, "-") {
			return "", s.refused(line[1:])
		}
		if line != "" {
			return line, nil
		}
	}
}

// refusals say what an error reply to a request means, by what it contains. The
// first row that fits counts.
var refusals = []struct {
	contains string
	kind     connect.Kind
	hint     string
}{
	{"NOMASTERLINK", connect.Unreachable, replicaAlone},
	{"not connected with my master", connect.Unreachable, replicaAlone},
	{"BGSAVE failed", connect.Broken,
		"the server could not make the snapshot: its log says why (memory for the fork, the disk)"},
	{"NOPERM", connect.Denied, notAllowed},
	{"unknown command", connect.Denied, notAllowed},
	{"not allowed", connect.Denied, notAllowed},
	{"disabled", connect.Denied, notAllowed},
	{"not supported", connect.Denied, notAllowed},
}

const (
	replicaAlone = "the replica has lost its primary: take another replica, or the primary"
	notAllowed   = "a snapshot needs a user with +ping +psync +sync +replconf, and managed services seldom allow it to " +
		"anybody; audit with SCAN instead (without --snapshot)"
)

func (s *Stream) refused(message string) error {
	code, _, _ := strings.Cut(message, " ")
	reply := &wire.ServerError{Code: code, Message: message}
	for _, r := range refusals {
		if strings.Contains(strings.ToLower(message), strings.ToLower(r.contains)) {
			return &connect.Error{Kind: r.kind, Server: s.server,
				Err: fmt.Errorf("no snapshot: the server answers %q: %w", message, reply), Hint: r.hint}
		}
	}
	return connect.Explain(s.server, reply)
}

func (s *Stream) strange(want, got string) error {
	return connect.Explain(s.server, &wire.ProtocolError{Want: want, Got: strconv.QuoteToASCII(got[:min(len(got), 60)])})
}

// failed explains a connection that broke before the data.
func (s *Stream) failed(err error) error {
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &connect.Error{Kind: connect.Broken, Server: s.server,
			Err:  fmt.Errorf("the connection was closed before the snapshot began: %w", io.ErrUnexpectedEOF),
			Hint: "the fork or the saving failed (the server's log says why), or a proxy in between knows no replication"}
	}
	return connect.Explain(s.server, err)
}

// cut explains a connection that broke within the data.
func (s *Stream) cut(err error) error {
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	what, hint := "was cut",
		"the server stopped or its saving failed (its log says why), or it dropped us because we read too slowly "+
			"(client-output-buffer-limit replica, repl-timeout)"
	if errors.Is(err, os.ErrDeadlineExceeded) {
		what, hint = "fell silent", "the server hangs, or the network between"
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	} else {
		err = fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err)
	}
	return &connect.Error{Kind: connect.Broken, Server: s.server,
		Err: fmt.Errorf("the snapshot %s after %d bytes: %w", what, s.read, err), Hint: hint}
}
