package migrate

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
	"github.com/keywright/keywright/migrate/record"
)

// mark says that a record may differ between the sides. It holds no value.
type mark struct {
	seq  uint64
	ID   record.ID `json:"id"`
	Part string    `json:"part"`
	At   int64     `json:"at"` // Unix ms
}

// marks holds those of one process, in a file. A mark is on the disk before what it is
// about is written; that it is over may be written later, or never: a mark too many
// costs a comparison.
type marks struct {
	path string
	at   func(string) error
	most int

	mu      sync.Mutex
	file    *os.File
	size    int64 // of what is known to be whole
	lines   int
	seq     uint64
	open    map[uint64]mark
	trying  map[uint64]bool // of a write that is under way: it ends them itself
	buffer  []byte
	pending *flush
	busy    bool
	idle    *sync.Cond
	broken  error
}

// flush represents one sync of the file, of all marks that were added before it.
type flush struct {
	done chan struct{}
	err  error
}

// rewriteAt is the lines of a file of marks from which on it is written again; fewer in tests.
var rewriteAt = 4096

// ErrMarks reports a write when so many records may differ that no more can be
// marked: the other side has been away for too long.
var ErrMarks = errors.New("too many records may differ: replay the marks, or bring the other side back")

func openMarks(path string, most int, at func(string) error) (*marks, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	m := &marks{path: path, at: at, most: most, file: f, open: map[uint64]mark{}, trying: map[uint64]bool{}}
	m.idle = sync.NewCond(&m.mu)
	return m, nil
}

func (m mark) line() []byte {
	text, _ := json.Marshal(m) // of texts and numbers
	return sealed("+" + strconv.FormatUint(m.seq, 10) + " " + string(text))
}

// sealed returns a line with its checksum before it.
func sealed(text string) []byte {
	return fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE([]byte(text)), text)
}

// add marks records. They are marked when the flush is done.
func (m *marks) add(part string, ids []record.ID, now time.Time) ([]uint64, *flush, error) {
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
		k := mark{m.seq, id, part, now.UnixMilli()}
		m.open[k.seq], m.trying[k.seq], seqs[i] = k, true, k.seq
		m.buffer = append(m.buffer, k.line()...)
		m.lines++
	}
	if m.pending == nil {
		m.pending = &flush{done: make(chan struct{})}
	}
	f := m.pending
	if !m.busy {
		m.busy = true
		go m.flushAll()
	}
	return seqs, f, nil
}

// wait is nil when the marks of the flush are on the disk.
func (f *flush) wait() error {
	<-f.done
	return f.err
}

// flushAll writes until nothing is pending: one sync for all that have come meanwhile.
func (m *marks) flushAll() {
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
func (m *marks) append(text []byte) error {
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

// settle ends the marks of a write: equal says that both sides have been made equal,
// else they stay and wait for a replay.
func (m *marks) settle(seqs []uint64, equal bool) {
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

// waiting gives the marks after one that no write is about to end, oldest first, at most so
// many.
func (m *marks) waiting(part string, after uint64, most int) []mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []mark
	for seq, k := range m.open {
		if seq > after && !m.trying[seq] && k.Part == part {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b mark) int { return int(a.seq) - int(b.seq) })
	return out[:min(len(out), most)]
}

// all gives every open mark, also of writes that are under way.
func (m *marks) all() []mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.open))
}

// flushLazily writes that marks are over, and the file again where most of it is over.
func (m *marks) flushLazily() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.busy {
		m.idle.Wait()
	}
	if m.broken != nil {
		return m.broken
	}
	if m.lines > rewriteAt && m.lines > 4*len(m.open) {
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
func (m *marks) rewrite() error {
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

// close ends the file. left is how many marks are open: those stay for the next process.
func (m *marks) close() (left int, err error) {
	err = m.flushLazily()
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

// errDamaged reports a file of marks that was not written by this program as it is.
var errDamaged = errors.New("it is damaged, and which records may differ is not known: repair the part, " +
	"accepting that, and verify it")

// readMarks reads the open marks of a process, which may be adding some.
func readMarks(path string) ([]mark, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	open := map[uint64]mark{}
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
	out := make([]mark, 0, len(open))
	for _, k := range open {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b mark) int { return int(a.seq) - int(b.seq) })
	return out, nil
}

func readMark(line string, open map[uint64]mark) error {
	sum, text, _ := strings.Cut(line, " ")
	if fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text))) != sum || len(text) < 2 {
		return errDamaged
	}
	number, rest, _ := strings.Cut(text[1:], " ")
	seq, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return errDamaged
	}
	if text[0] == '-' {
		delete(open, seq)
		return nil
	}
	k := mark{seq: seq}
	if err := json.NewDecoder(bytes.NewReader([]byte(rest))).Decode(&k); err != nil {
		return errDamaged
	}
	open[seq] = k
	return nil
}
