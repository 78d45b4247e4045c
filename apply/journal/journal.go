// Package journal notes on the disk what was done of a plan, before each batch, so that a run that was interrupted or
// killed goes on and its report counts what all runs did. It knows no server: what a batch is, its callers know.
//
// API: may change until 1.0.
package journal

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/keywright/keywright/internal/filelock"
	"github.com/keywright/keywright/internal/jsonbound"
)

// Journal describes what was done of a plan so far, in a file beside it: a line before each
// batch, on the disk before the batch is sent. A run that was interrupted or killed goes
// on with it, and the report of the run that ends counts what all of them did. One process
// has it at a time.
type Journal struct {
	path string
	file *os.File
	size int64
	head journalHead
	Last Line
	At   int // of a plan that lists its changes: how many were decided about
	done bool
}

// journalHead represents the first line.
type journalHead struct {
	Format int    `json:"format"`
	Plan   string `json:"plan"`
}

// Line represents each other line: what all batches before did, and what the one that
// begins is about. Only the last line counts.
type Line struct {
	Done map[string]KeyCounts `json:"done,omitempty"`
	Open map[string]int64     `json:"open,omitempty"`
	// how many listed changes, or records of an archive, are before the batch
	At  int  `json:"at,omitempty"`
	End bool `json:"end,omitempty"` // the plan was executed to its end

	Restored map[int]Counts `json:"restored,omitempty"` // of a restore: what became of the records before At, by entry
}

const (
	journalFormat = 1
	maxJournal    = 1 << 20  // bytes, from which it is written again with its last line only
	maxJournalAll = 16 << 20 // bytes that are read: those and a line, which has the counts of each entry twice
	maxCounts     = 100_000  // of a line
)

// ErrOtherJournal reports a journal of another plan.
var ErrOtherJournal = errors.New("the journal is of another plan")

// ErrInUse reports a journal that another process has.
var ErrInUse = filelock.ErrInUse

// Open opens the journal of a plan, or begins it. resumed says that there is one
// of a run that has begun a batch and did not come to its end.
func Open(path, plan string) (j *Journal, resumed bool, err error) {
	j = &Journal{path: path, head: journalHead{journalFormat, plan}}
	if j.file, err = openAlone(path); err != nil {
		return nil, false, fmt.Errorf("%s: %w", path, err)
	}
	text, err := j.read()
	if err == nil {
		err = j.parse(text)
	}
	switch {
	case err != nil:
		return nil, false, errors.Join(fmt.Errorf("%s: %w", path, err), j.Close())
	case j.done:
		err, j.file = filelock.Close(j.file), nil
		return j, false, err
	case j.size > 0:
		l := j.Last
		return j, len(l.Done)+len(l.Open)+len(l.Restored)+l.At > 0, nil
	}
	if err = j.rewrite(); err != nil {
		return nil, false, errors.Join(err, j.Close())
	}
	return j, false, nil
}

// openAlone opens a file, or makes it, and locks it: another process that executes the plan
// has the same journal.
func openAlone(path string) (f *os.File, err error) {
	for range 100 {
		if f, err = OpenOwn(path); errors.Is(err, fs.ErrExist) {
			continue // another process has just made it
		}
		if err != nil {
			return nil, err
		}
		if err = filelock.Lock(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		own, err := f.Stat()
		now, gone := os.Lstat(path)
		if err == nil && gone == nil && os.SameFile(own, now) {
			return f, nil
		}
		if err := errors.Join(err, filelock.Close(f)); err != nil {
			return nil, err
		}
	}
	return nil, cmp.Or(err, ErrInUse) // it is renamed all the time
}

func (j *Journal) read() ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(j.file, maxJournalAll+1))
	if err == nil && len(text) > maxJournalAll {
		err = fmt.Errorf("it is no journal: it has more than %d MiB", maxJournalAll>>20)
	}
	return text, err
}

var errNoJournal = errors.New("it is no journal that this program knows")

// parse takes the last whole line: a killed process may have left a part of one.
func (j *Journal) parse(text []byte) error {
	whole := bytes.LastIndexByte(text, '\n') + 1
	lines := bufio.NewScanner(bytes.NewReader(text[:whole]))
	lines.Buffer(nil, maxJournalAll)
	if !lines.Scan() { // it was killed before its first line was whole: nothing was done
		head, err := json.Marshal(j.head)
		if err == nil && !bytes.HasPrefix(head, text) {
			err = errNoJournal
		}
		return err
	}
	j.size = int64(whole)
	var head journalHead
	if err := json.Unmarshal(lines.Bytes(), &head); err != nil || head.Format != journalFormat {
		return errNoJournal
	}
	if head.Plan != j.head.Plan {
		return ErrOtherJournal
	}
	for lines.Scan() {
		var l Line
		err := jsonbound.Check(lines.Bytes(), maxCounts, 10*maxCounts)
		if err == nil {
			err = json.Unmarshal(lines.Bytes(), &l)
		}
		if err != nil {
			return fmt.Errorf("it is damaged: %w", err)
		}
		j.Last, j.done = l, l.End
	}
	return lines.Err()
}

// Done reports whether the plan was executed to its end.
func (j *Journal) Done() bool { return j.done }

// Total returns what all runs did, once the plan was executed to its end.
func (j *Journal) Total() (c KeyCounts) {
	for _, of := range j.Last.Done {
		c.Plus(of)
	}
	for _, of := range j.Last.Restored {
		c.Keys, c.Changed = c.Keys+of.Keys, c.Changed+of.Restored
	}
	return c
}

// ErrDone reports a plan that was executed to its end.
var ErrDone = errors.New("the plan was executed to its end")

// Changed returns how many keys were changed or are gone so far, and how many may have been
// changed, by entry.
func (j *Journal) Changed() (done, maybe map[string]int64) {
	done, maybe = map[string]int64{}, map[string]int64{}
	for entry, c := range j.Before() {
		done[entry], maybe[entry] = c.Changed+c.Gone, c.Unknown
	}
	return done, maybe
}

// Before returns what earlier runs did. A batch that was begun and not ended is unknown. Keys
// that were left alone or refused are looked at again, so they are not counted here.
func (j *Journal) Before() map[string]KeyCounts {
	out := map[string]KeyCounts{}
	for entry, c := range j.Last.Done {
		c.Keys, c.Left, c.Refused = c.Changed+c.Gone+c.Unknown, 0, 0
		out[entry] = c
	}
	for entry, n := range j.Last.Open {
		c := out[entry]
		c.Keys += n
		c.Unknown += n
		out[entry] = c
	}
	return out
}

// Place returns how many listed changes were decided about, and up to which one they were sent
// by a run whose end was not written down.
func (j *Journal) Place() (at, doubted int) {
	if len(j.Last.Open) > 0 {
		return j.Last.At, j.Last.At + ListedBatch
	}
	return j.Last.At, 0
}

// Begin notes a batch before it is sent.
func (j *Journal) Begin(done map[string]*KeyCounts, open map[string]int64) error {
	return j.Write(Line{Done: values(done), Open: maps.Clone(open), At: j.At})
}

// Save notes what is done at the end of a run.
func (j *Journal) Save(done map[string]*KeyCounts, end bool) error {
	return j.Write(Line{Done: values(done), At: j.At, End: end})
}

func values(m map[string]*KeyCounts) map[string]KeyCounts {
	out := map[string]KeyCounts{}
	for k, v := range m {
		out[k] = *v
	}
	return out
}

// Write notes a line, on the disk when it returns.
func (j *Journal) Write(l Line) error {
	j.Last = l
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if j.size+int64(len(text)) > maxJournal {
		return j.rewrite()
	}
	n, err := j.file.WriteAt(append(text, '\n'), j.size)
	if err != nil { // a part of a line is no end of the next one
		return errors.Join(err, j.file.Truncate(j.size))
	}
	j.size += int64(n)
	return j.file.Sync()
}

// rewrite writes a new file with the head and the last line, renamed into place.
func (j *Journal) rewrite() error {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	if err := errors.Join(e.Encode(j.head), e.Encode(j.Last)); err != nil {
		return err
	}
	if err := os.Remove(j.path + ".part"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // it may be a link to something else
	}
	f, err := os.OpenFile(j.path+".part", os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(out.Bytes())
	if err = errors.Join(err, f.Sync()); err != nil {
		return errors.Join(err, f.Close())
	}
	if f, err = filelock.Replace(j.file, f, j.path, filelock.Lock); err != nil {
		return err
	}
	j.file, j.size = f, int64(out.Len())
	return filelock.SyncFolder(filepath.Dir(j.path))
}

// Close closes the file.
func (j *Journal) Close() error {
	if j.file == nil {
		return nil
	}
	return filelock.Close(j.file)
}

// KeyCounts holds the keys of a report. Changed, Gone, Left, Refused and Unknown add up to
// Keys.
type KeyCounts struct {
	Keys    int64 `json:"keys"`    // that are meant
	Changed int64 `json:"changed"` // removed, or given a TTL
	Gone    int64 `json:"gone"`    // were gone before they were changed
	Left    int64 `json:"left_alone"`
	Refused int64 `json:"refused"` // that the server did not permit to change
	Unknown int64 `json:"unknown"` // whose change was interrupted; it may have been done
	Bytes   int64 `json:"bytes"`   // memory of the changed ones
}

// Plus adds counts.
func (c *KeyCounts) Plus(o KeyCounts) {
	c.Keys += o.Keys
	c.Changed += o.Changed
	c.Gone += o.Gone
	c.Left += o.Left
	c.Refused += o.Refused
	c.Unknown += o.Unknown
	c.Bytes += o.Bytes
}

// Counts holds the keys of a report. The figures add up to Keys.
type Counts struct {
	Keys     int64 `json:"keys"`     // that were given
	Restored int64 `json:"restored"` // written; in a plan: to be written
	Same     int64 `json:"same"`     // were there with the same value and expiry
	Existing int64 `json:"existing"` // were there and were left
	Expired  int64 `json:"expired"`  // had expired before they could be restored
	Left     int64 `json:"left_out"` // that Place left out
	Refused  int64 `json:"refused"`  // that the server did not take
	Unknown  int64 `json:"unknown"`  // whose writing was interrupted

	Replaces int64 `json:"replaces,omitempty"` // in a plan: of Restored, those that are there now
	Bytes    int64 `json:"bytes"`              // of keys and values that were written
}

// Plus adds counts.
func (c *Counts) Plus(o *Counts) {
	c.Keys += o.Keys
	c.Restored += o.Restored
	c.Same += o.Same
	c.Existing += o.Existing
	c.Expired += o.Expired
	c.Left += o.Left
	c.Refused += o.Refused
	c.Unknown += o.Unknown
	c.Replaces += o.Replaces
	c.Bytes += o.Bytes
}

// OpenOwn opens a file to go on with it, or makes it. What is no file of a folder, as a
// link to another one, is an error: no run has made it.
func OpenOwn(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	return os.OpenFile(path, os.O_RDWR, 0o600)
}

// ListedBatch says how many changes are in a batch.
const ListedBatch = 256
