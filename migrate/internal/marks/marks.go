// Package marks says which records may differ between the two sides: a mark is on the disk before its record is
// written, and holds no value. What becomes of a mark is decided by package migrate.
package marks

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright/internal/filelock"
	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/record"
)

// Mark says that a record may differ between the sides. It holds no value.
type Mark struct {
	Seq  uint64
	ID   record.ID `json:"id"`
	Part string    `json:"part"`
	At   int64     `json:"at"` // Unix ms
}

// Log holds those of one process, in a file. A mark is on the disk before what it is
// about is written; that it is over may be written later, or never: a mark too many
// costs a comparison.
type Log struct {
	path string
	at   func(string) error
	most int

	mu      sync.Mutex
	file    *os.File
	size    int64 // of what is known to be whole
	lines   int
	seq     uint64
	open    map[uint64]Mark
	trying  map[uint64]bool // of a write that is under way: it ends them itself
	buffer  []byte
	pending *Flush
	busy    bool
	idle    *sync.Cond
	broken  error
}

// Flush represents one sync of the file, of all marks that were added before it.
type Flush struct {
	done chan struct{}
	err  error
}

// RewriteAt is the lines of a file of marks from which on it is written again; fewer in tests.
var RewriteAt = 4096

// ErrMarks reports a write when so many records may differ that no more can be
// marked: the other side has been away for too long.
var ErrMarks = errors.New("too many records may differ: replay the marks, or bring the other side back")

// Open begins the marks of a process, of which at most so many records are open at a time.
func Open(path string, most int, at func(string) error) (*Log, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	m := &Log{path: path, at: at, most: most, file: f, open: map[uint64]Mark{}, trying: map[uint64]bool{}}
	m.idle = sync.NewCond(&m.mu)
	return m, nil
}

func (m Mark) line() []byte {
	text, _ := json.Marshal(m) // of texts and numbers
	return sealed("+" + strconv.FormatUint(m.Seq, 10) + " " + string(text))
}

// sealed returns a line with its checksum before it.
func sealed(text string) []byte {
	return fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE([]byte(text)), text)
}

// Add marks records. They are marked when the flush is done.
func (m *Log) Add(part string, ids []record.ID, now time.Time) ([]uint64, *Flush, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return nil, nil, m.broken
	}
	if len(m.open)+len(ids) > m.most {
		return nil, nil, ErrMarks
	}
	seqs := make([]uint64, len(ids))
	for i, id := range ids {
		m.seq++
		k := Mark{m.seq, id, part, now.UnixMilli()}
		m.open[k.Seq], m.trying[k.Seq], seqs[i] = k, true, k.Seq
		m.buffer = append(m.buffer, k.line()...)
		m.lines++
	}
	if m.pending == nil {
		m.pending = &Flush{done: make(chan struct{})}
	}
	f := m.pending
	if !m.busy {
		m.busy = true
		go m.flushAll()
	}
	return seqs, f, nil
}

// Wait is nil when the marks of the flush are on the disk.
func (f *Flush) Wait() error {
	<-f.done
	return f.err
}

// flushAll writes until nothing is pending: one sync for all that have come meanwhile.
func (m *Log) flushAll() {
	for {
		m.mu.Lock()
		f, text := m.pending, m.buffer
		m.pending, m.buffer = nil, nil
		if f == nil {
			m.buffer, m.busy = text, false
			m.idle.Broadcast()
			m.mu.Unlock()
			return
		}
		m.mu.Unlock()
		f.err = m.append(text)
		close(f.done)
	}
}

// append writes whole lines. What was written in part is taken back.
func (m *Log) append(text []byte) error {
	if m.broken != nil {
		return m.broken
	}
	err := m.at("mark")
	if err == nil {
		_, err = m.file.WriteAt(text, m.size)
	}
	if err == nil {
		err = m.file.Sync()
	}
	if err != nil {
		if back := m.file.Truncate(m.size); back != nil {
			m.mu.Lock()
			m.broken = fmt.Errorf("the marks cannot be written any more: %w", errors.Join(err, back))
			m.mu.Unlock()
		}
		return err
	}
	m.size += int64(len(text))
	return m.at("marked")
}

// End ends the marks of a write: equal says that both sides have been made equal,
// else they stay and wait for a replay.
func (m *Log) End(seqs []uint64, equal bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, seq := range seqs {
		delete(m.trying, seq)
		if _, there := m.open[seq]; there && equal {
			delete(m.open, seq)
			m.buffer = append(m.buffer, sealed("-"+strconv.FormatUint(seq, 10))...)
			m.lines++
		}
	}
}

// Waiting gives the marks after one that no write is about to end, oldest first, at most so
// many.
func (m *Log) Waiting(part string, after uint64, most int) []Mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Mark
	for seq, k := range m.open {
		if seq > after && !m.trying[seq] && k.Part == part {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b Mark) int { return int(a.Seq) - int(b.Seq) })
	return out[:min(len(out), most)]
}

// All gives every open mark, also of writes that are under way.
func (m *Log) All() []Mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.open))
}

// FlushLazily writes that marks are over, and the file again where most of it is over.
func (m *Log) FlushLazily() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.busy {
		m.idle.Wait()
	}
	if m.broken != nil {
		return m.broken
	}
	if m.lines > RewriteAt && m.lines > 4*len(m.open) {
		return m.rewrite()
	}
	if len(m.buffer) == 0 {
		return nil
	}
	n, err := m.file.WriteAt(m.buffer, m.size)
	if err != nil {
		return errors.Join(err, m.file.Truncate(m.size))
	}
	m.size, m.buffer = m.size+int64(n), nil
	return nil
}

// rewrite makes the file again with the marks that are open.
func (m *Log) rewrite() error {
	var text []byte
	for _, k := range m.open {
		text = append(text, k.line()...)
	}
	temp := m.path + ".tmp"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, m.at("marks")); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if f, err = filelock.Replace(m.file, f, m.path, nil); err != nil {
		return err
	}
	m.file, m.size, m.lines, m.buffer = f, int64(len(text)), len(m.open), nil
	return filelock.SyncFolder(filepath.Dir(m.path))
}

// Close ends the file. left is how many marks are open: those stay for the next process.
func (m *Log) Close() (left int, err error) {
	err = m.FlushLazily()
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.busy {
		m.idle.Wait()
	}
	if m.broken == nil {
		m.broken = os.ErrClosed
	}
	return len(m.open), errors.Join(err, m.file.Sync(), m.file.Close())
}

// maxMarkFile bounds the file of marks of another process.
const maxMarkFile = 1 << 30

// ErrDamaged reports a file of marks that was not written by this program as it is.
var ErrDamaged = fmt.Errorf("it %w, and which records may differ is not known: repair the part, accepting that, "+
	"and verify it", disk.ErrDamaged)

// Read reads the open marks of a process, which may be adding some.
func Read(path string) ([]Mark, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	open := map[uint64]Mark{}
	lines := bufio.NewReader(io.LimitReader(f, maxMarkFile))
	for n := 1; ; n++ {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break // a line without its end was never on the disk as a whole
		} else if err != nil {
			return nil, err
		}
		if err := readMark(strings.TrimSuffix(line, "\n"), open); err != nil {
			if _, more := lines.Peek(1); errors.Is(more, io.EOF) {
				break
			}
			return nil, fmt.Errorf("%s, line %d: %w", path, n, err)
		}
	}
	out := make([]Mark, 0, len(open))
	for _, k := range open {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b Mark) int { return int(a.Seq) - int(b.Seq) })
	return out, nil
}

func readMark(line string, open map[uint64]Mark) error {
	sum, text, _ := strings.Cut(line, " ")
	if fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text))) != sum || len(text) < 2 {
		return ErrDamaged
	}
	number, rest, _ := strings.Cut(text[1:], " ")
	seq, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return ErrDamaged
	}
	if text[0] == '-' {
		delete(open, seq)
		return nil
	}
	k := Mark{Seq: seq}
	if err := json.NewDecoder(bytes.NewReader([]byte(rest))).Decode(&k); err != nil {
		return ErrDamaged
	}
	open[seq] = k
	return nil
}
