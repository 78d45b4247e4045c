package apply

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/keywright/keywright/internal/jsonbound"
)

// Journal is what was done of a plan so far, in a file beside it: a line before each
// batch, on the disk before the batch is sent. A run that was interrupted or killed goes
// on with it, and the report of the run that ends counts what all of them did.
type Journal struct {
	path string
	file *os.File
	size int64
	head journalHead
	last journalLine
	at   int // of a plan that lists its changes: how many were decided about
	done bool
}

// journalHead is the first line.
type journalHead struct {
	Format int    `json:"format"`
	Plan   string `json:"plan"`
}

// journalLine is each other line: what all batches before did, and what the one that
// begins is about. Only the last line counts.
type journalLine struct {
	Done map[string]KeyCounts `json:"done,omitempty"`
	Open map[string]int64     `json:"open,omitempty"`
	At   int                  `json:"at,omitempty"`  // how many listed changes, or records of an archive, are before the batch
	End  bool                 `json:"end,omitempty"` // the plan was executed to its end

	Restored map[int]Counts `json:"restored,omitempty"` // of a restore: what became of the records before At, by entry
}

const (
	journalFormat = 1
	maxJournal    = 1 << 20  // bytes, from which it is written again with its last line only
	maxJournalAll = 16 << 20 // bytes that are read: those and a line, which has the counts of each entry twice
	maxCounts     = 100_000  // of a line
)

// ErrOtherJournal is returned for a journal of another plan.
var ErrOtherJournal = errors.New("the journal is of another plan")

// OpenJournal opens the journal of a plan, or begins it. resumed says that there is one
// of a run that did not come to its end.
func OpenJournal(path, plan string) (j *Journal, resumed bool, err error) {
	j = &Journal{path: path, head: journalHead{journalFormat, plan}}
	text, err := readJournal(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	if err == nil && len(text) > 0 {
		if err := j.parse(text); err != nil {
			return nil, false, fmt.Errorf("%s: %w", path, err)
		}
		if j.done {
			return j, false, nil
		}
		resumed = true
	}
	return j, resumed, j.rewrite()
}

func readJournal(path string) ([]byte, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxJournalAll+1))
	if err == nil && len(text) > maxJournalAll {
		err = fmt.Errorf("%s is no journal: it has more than %d MiB", path, maxJournalAll>>20)
	}
	return text, err
}

// parse takes the last whole line: a killed process may have left a part of one.
func (j *Journal) parse(text []byte) error {
	lines := bufio.NewScanner(bytes.NewReader(text[:bytes.LastIndexByte(text, '\n')+1]))
	lines.Buffer(nil, maxJournalAll)
	if !lines.Scan() {
		return nil // it was killed before its first line was whole: nothing was done
	}
	var head journalHead
	if err := json.Unmarshal(lines.Bytes(), &head); err != nil || head.Format != journalFormat {
		return errors.New("it is no journal that this program knows")
	}
	if head.Plan != j.head.Plan {
		return ErrOtherJournal
	}
	for lines.Scan() {
		var l journalLine
		err := jsonbound.Check(lines.Bytes(), maxCounts, 10*maxCounts)
		if err == nil {
			err = json.Unmarshal(lines.Bytes(), &l)
		}
		if err != nil {
			return fmt.Errorf("it is damaged: %w", err)
		}
		j.last, j.done = l, l.End
	}
	return lines.Err()
}

// Done reports whether the plan was executed to its end.
func (j *Journal) Done() bool { return j.done }

// Total is what all runs did, once the plan was executed to its end.
func (j *Journal) Total() (c KeyCounts) {
	for _, of := range j.last.Done {
		c.plus(of)
	}
	for _, of := range j.last.Restored {
		c.Keys, c.Changed = c.Keys+of.Keys, c.Changed+of.Restored
	}
	return c
}

// ErrDone is returned for a plan that was executed to its end.
var ErrDone = errors.New("the plan was executed to its end")

// Changed is how many keys were changed or are gone so far, and how many may have been
// changed, by entry.
func (j *Journal) Changed() (done, maybe map[string]int64) {
	done, maybe = map[string]int64{}, map[string]int64{}
	for entry, c := range j.before() {
		done[entry], maybe[entry] = c.Changed+c.Gone, c.Unknown
	}
	return done, maybe
}

// before is what earlier runs did. A batch that was begun and not ended is unknown. Keys
// that were left alone or refused are looked at again, so they are not counted here.
func (j *Journal) before() map[string]KeyCounts {
	out := map[string]KeyCounts{}
	for entry, c := range j.last.Done {
		c.Keys, c.Left, c.Refused = c.Changed+c.Gone+c.Unknown, 0, 0
		out[entry] = c
	}
	for entry, n := range j.last.Open {
		c := out[entry]
		c.Keys += n
		c.Unknown += n
		out[entry] = c
	}
	return out
}

// place is how many listed changes were decided about, and up to which one they were sent
// by a run whose end was not written down.
func (j *Journal) place() (at, doubted int) {
	if len(j.last.Open) > 0 {
		return j.last.At, j.last.At + listedBatch
	}
	return j.last.At, 0
}

// begin notes a batch before it is sent.
func (j *Journal) begin(done map[string]*KeyCounts, open map[string]int64) error {
	return j.write(journalLine{Done: values(done), Open: maps.Clone(open), At: j.at})
}

// state notes what is done at the end of a run.
func (j *Journal) state(done map[string]*KeyCounts, end bool) error {
	return j.write(journalLine{Done: values(done), At: j.at, End: end})
}

func values(m map[string]*KeyCounts) map[string]KeyCounts {
	out := map[string]KeyCounts{}
	for k, v := range m {
		out[k] = *v
	}
	return out
}

func (j *Journal) write(l journalLine) error {
	j.last = l
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if j.size+int64(len(text)) > maxJournal {
		return j.rewrite()
	}
	n, err := j.file.Write(append(text, '\n'))
	j.size += int64(n)
	return errors.Join(err, j.file.Sync())
}

// rewrite writes a new file with the head and the last line, renamed into place.
func (j *Journal) rewrite() error {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	if err := errors.Join(e.Encode(j.head), e.Encode(j.last)); err != nil {
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
	if err = errors.Join(err, f.Sync()); err == nil {
		err = os.Rename(j.path+".part", j.path)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if j.file != nil {
		_ = j.file.Close()
	}
	j.file, j.size = f, int64(out.Len())
	return syncFolder(filepath.Dir(j.path))
}

// syncFolder makes a new name in a folder last.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" { // it syncs no folder
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) { // some file systems cannot
		return err
	}
	return nil
}

// Close closes the file.
func (j *Journal) Close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}
