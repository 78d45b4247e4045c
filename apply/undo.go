package apply

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/keywright/keywright/apply/journal"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/internal/filelock"
	"github.com/keywright/keywright/internal/jsonbound"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
)

// Undo represents a file of what was renamed, got new names beside the old, or was given a TTL: a line before each
// batch, on the disk before the batch is sent, and one after it that says which of its keys were not changed. A
// run that goes on adds to it. Each line has a sum of all before it, and the last one says that the run has ended.
type Undo struct {
	Plan  *plan.Plan // for which servers and declaration it holds, and what was asked for
	Ended bool       // of a file that was read: the run that wrote it has ended, and all that it wrote is there
	file  *os.File
	path  string
	sum   hash.Hash // of the lines so far
}

// undoHead represents the first line.
type undoHead struct {
	Undo int             `json:"undo"` // the version of the form
	Plan json.RawMessage `json:"plan"`
}

// undoLine represents each other line: a batch, or what became of the one before it.
type undoLine struct {
	DB   int        `json:"db"`
	Keys []undoPair `json:"keys,omitempty"`
	Ends bool       `json:"ends,omitempty"`
	Left []int      `json:"left,omitempty"` // places in Keys of those that were not changed
	Last bool       `json:"last,omitempty"` // the run has ended
	Sum  string     `json:"sum"`            // of all lines before this one
}

type undoPair struct {
	Old  finding.JSONKey `json:"old"`
	New  finding.JSONKey `json:"new,omitempty"`
	Ends int64           `json:"ends,omitempty"` // of a key that was given a TTL: Unix milliseconds
}

const (
	undoFormat  = 2
	maxUndoHead = plan.MaxBytes + 1<<10
	maxUndoLine = 64 << 20 // of a batch: its names have a megabyte, or one is longer
)

// ErrNoUndo reports a file that Undo did not write.
var ErrNoUndo = errors.New("it does not say what was renamed or given a TTL")

// OpenUndo begins such a file, or goes on with that of the same plan.
func OpenUndo(path string, p *plan.Plan) (*Undo, error) {
	u := &Undo{Plan: p, path: path}
	f, err := journal.OpenOwn(path)
	if err != nil {
		return nil, err
	}
	u.file = f
	if err := u.resume(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return u, nil
}

// resume goes to the end of the last whole line, or writes the first one.
func (u *Undo) resume() error {
	lines, end, first := bufio.NewReader(u.file), int64(0), true
	for {
		text, err := lines.ReadSlice('\n')
		n := int64(len(text))
		for first && errors.Is(err, bufio.ErrBufferFull) {
			var more []byte
			text = bytes.Clone(text)
			more, err = lines.ReadSlice('\n')
			if text = append(text, more...); len(text) > maxUndoHead {
				return ErrNoUndo
			}
			n = int64(len(text))
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			var more []byte
			more, err = lines.ReadSlice('\n')
			n += int64(len(more))
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if first {
			if err := u.sameHead(text); err != nil {
				return err
			}
		}
		first, end = false, end+n
	}
	head, err := u.head()
	if err == nil && end == 0 {
		err = u.isPartOf(head)
	}
	if err != nil {
		return err
	}
	if err := u.file.Truncate(end); err != nil {
		return err
	}
	if _, err := u.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	u.sum = sha256.New()
	if _, err := io.CopyN(u.sum, u.file, end); err != nil || end > 0 {
		return err
	}
	if err := u.write(head); err != nil {
		return err
	}
	return filelock.SyncFolder(filepath.Dir(u.path))
}

// sumOf returns how a line has the sum of those before it.
func sumOf(lines hash.Hash) string { return hex.EncodeToString(lines.Sum(nil)[:16]) }

func (u *Undo) head() (undoHead, error) {
	text, err := json.Marshal(u.Plan)
	return undoHead{undoFormat, text}, err
}

// isPartOf returns an error if the file has something else than the beginning of a first line,
// which a run that was killed leaves: it is not ours to write over.
func (u *Undo) isPartOf(head undoHead) error {
	whole, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if _, err := u.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	there, err := io.ReadAll(io.LimitReader(u.file, maxUndoHead+1))
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(whole, there) {
		return ErrNoUndo
	}
	return nil
}

func (u *Undo) sameHead(text []byte) error {
	p, err := parseHead(text)
	if err != nil {
		return err
	}
	if p.ID != u.Plan.ID {
		return errors.New("it says what another plan has changed")
	}
	return nil
}

// parseHead gives the plan of a first line.
func parseHead(text []byte) (*plan.Plan, error) {
	var head undoHead
	switch err := json.Unmarshal(text, &head); {
	case err != nil || head.Undo == 0 || len(head.Plan) == 0:
		return nil, ErrNoUndo
	case head.Undo != undoFormat:
		return nil, fmt.Errorf("it has form %d of an undo file, and this keywright knows %d: use the one that wrote it",
			head.Undo, undoFormat)
	}
	p, err := plan.Parse(head.Plan)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoUndo, err)
	}
	return p, nil
}

func (u *Undo) write(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	u.sum.Write(text)
	_, err = u.file.Write(text)
	return errors.Join(err, u.file.Sync())
}

// line writes a line after the first.
func (u *Undo) line(l undoLine) error {
	l.Sum = sumOf(u.sum)
	return u.write(l)
}

// finish notes that the run has ended.
func (u *Undo) finish() error {
	if u == nil {
		return nil
	}
	return u.line(undoLine{Last: true})
}

// begin notes a batch before it is sent.
func (u *Undo) begin(steps []*keyChange) ([]*keyChange, error) {
	if u == nil {
		return nil, nil
	}
	l := undoLine{DB: steps[0].db}
	var noted []*keyChange
	for _, s := range steps {
		to := s.To
		switch s.Do.(type) {
		case plan.Retag:
			to = string(s.key)
		case plan.Move, plan.Merge, plan.Expire:
		default:
			continue
		}
		noted = append(noted, s)
		l.Keys = append(l.Keys, undoPair{s.key, finding.JSONKey(to), s.ends})
	}
	if len(noted) == 0 {
		return nil, nil
	}
	return noted, u.line(l)
}

// end notes what became of a batch.
func (u *Undo) end(steps []*keyChange) error {
	if len(steps) == 0 {
		return nil
	}
	l := undoLine{DB: steps[0].db, Ends: true}
	for i, s := range steps {
		if !s.done {
			l.Left = append(l.Left, i)
		}
	}
	return u.line(l)
}

// Close closes the file.
func (u *Undo) Close() error {
	if u == nil || u.file == nil {
		return nil
	}
	return u.file.Close()
}

// ReadUndo reads the head of a file that says what was renamed, or given a TTL, and looks whether all lines are there
// as they were written. The file of a run that was killed has no end, which Ended says.
func ReadUndo(path string) (*Undo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, max(maxUndoHead, maxUndoLine))
	if !lines.Scan() {
		return nil, errors.Join(ErrNoUndo, lines.Err())
	}
	p, err := parseHead(lines.Bytes())
	if err != nil {
		return nil, err
	}
	u := &Undo{Plan: p, path: path}
	return u, u.follow(lines)
}

// follow reads the lines after the first, each of which has the sum of those before it.
func (u *Undo) follow(lines *bufio.Scanner) error {
	sum := sha256.New()
	add := func() { sum.Write(append(slices.Clone(lines.Bytes()), '\n')) }
	add()
	for n := 2; lines.Scan(); n++ {
		l, err := parseBatch(lines.Bytes())
		if err != nil {
			if u.Ended = false; !lines.Scan() {
				break // the last line of a killed run: its batch was not sent
			}
			return fmt.Errorf("line %d is damaged: %w", n, err)
		}
		if l.Sum != sumOf(sum) {
			return fmt.Errorf("lines before line %d were changed, or are missing", n)
		}
		u.Ended = l.Last
		add()
	}
	return lines.Err()
}

// parseBatch reads a line after the first.
func parseBatch(text []byte) (l undoLine, err error) {
	if err := jsonbound.Check(text, 5*renameKeys, 10*renameKeys); err != nil {
		return l, err
	}
	return l, json.Unmarshal(text, &l)
}

// Scan yields the keys that were renamed, by their new names, or given a TTL, as the Scan of
// a source does; named is called with the old name of each, or when it ends, before that. Of a batch
// that was interrupted all keys are yielded.
func (u *Undo) Scan(named func(old []byte, ends int64)) Scan {
	return func(ctx context.Context, each func([]source.Key) error) (sum source.Summary, err error) {
		f, err := os.Open(u.path)
		if err != nil {
			return sum, err
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, maxUndoLine)
		lines.Scan()
		var open undoLine
		give := func(left []int) error {
			var keys []source.Key
			for i, k := range open.Keys {
				if len(left) > 0 && left[0] == i {
					left = left[1:]
					continue
				}
				named(k.Old, k.Ends)
				sum.Keys++
				name := k.New
				if k.Ends > 0 {
					name = k.Old
				}
				keys = append(keys, source.Key{Name: name, DB: open.DB, TTL: source.NoTTL, Bytes: -1})
			}
			open = undoLine{}
			if len(keys) == 0 {
				return ctx.Err()
			}
			return each(keys)
		}
		for lines.Scan() {
			l, err := parseBatch(lines.Bytes())
			if err != nil {
				if lines.Scan() {
					return sum, fmt.Errorf("%s is damaged: %w", u.path, err)
				}
				break // the last line of a killed run: its batch was not sent
			}
			if err := give(l.Left); err != nil {
				return sum, err
			}
			if !l.Ends {
				open = l
			}
		}
		return sum, errors.Join(lines.Err(), give(nil))
	}
}
