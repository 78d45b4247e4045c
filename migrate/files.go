package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"cmp"

	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// change represents one write of a file that waits for its turn. Those of one file that wait
// together are written together.
type change struct {
	part   string
	epoch  uint64
	drain  bool // by the process that changes the phase
	marked *flush
	alone  bool                                             // its edits are made of what the file has
	edits  func(ctx context.Context) ([]record.Edit, error) // under the lock of the file
	done   chan struct{}
	err    error
}

// writer writes one file for all callers of this process.
type writer struct {
	waiting []*change
	busy    bool
}

// files represents the side of the files.
type files struct {
	disk  *disk
	docs  Documents
	state func() (phases, error)
	life  context.Context
	wrote func(side phase.Side, part string, epoch uint64, drain bool)
	work  sync.WaitGroup

	mu      sync.Mutex
	writers map[string]*writer
}

// newFiles returns the side of the files, which writes them while life lasts. wrote is called where a write has just been
// done.
func newFiles(life context.Context, d *disk, docs Documents,
	wrote func(side phase.Side, part string, epoch uint64, drain bool)) *files {
	return &files{disk: d, docs: docs, state: d.phases, life: life, wrote: wrote, writers: map[string]*writer{}}
}

// commit writes a file. The error ErrChanging or ErrEpoch says that nothing was written.
func (f *files) commit(ctx context.Context, file string, c *change) error {
	c.done = make(chan struct{})
	f.mu.Lock()
	if f.life.Err() != nil {
		f.mu.Unlock()
		return context.Cause(f.life)
	}
	w := f.writers[file]
	if w == nil {
		w = &writer{}
		f.writers[file] = w
	}
	w.waiting = append(w.waiting, c)
	if !w.busy {
		w.busy = true
		f.work.Add(1)
		go f.serve(file, w)
	}
	f.mu.Unlock()
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.Index(w.waiting, c); i >= 0 {
		w.waiting = slices.Delete(w.waiting, i, i+1)
		return context.Cause(ctx)
	}
	return &inDoubt{err: context.Cause(ctx), done: c.done} // it may be written yet
}

// inDoubt represents a write that may have been done. With done it may be going on until that is
// closed: its mark must not be replayed before.
type inDoubt struct {
	err  error
	done chan struct{}
}

func (e *inDoubt) Error() string { return e.err.Error() }

// Unwrap gives the cause.
func (e *inDoubt) Unwrap() error { return e.err }

// serve writes until none waits.
func (f *files) serve(file string, w *writer) {
	defer f.work.Done()
	for {
		f.mu.Lock()
		batch := w.waiting
		w.waiting = nil
		if len(batch) == 0 {
			delete(f.writers, file)
			f.mu.Unlock()
			return
		}
		f.mu.Unlock()
		for len(batch) > 0 {
			n := 1
			for !batch[0].alone && n < len(batch) && !batch[n].alone {
				n++
			}
			f.serveBatch(file, batch[:n])
			batch = batch[n:]
		}
	}
}

func (f *files) serveBatch(file string, batch []*change) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.life), lockWait)
	defer cancel()
	err := f.write(ctx, file, batch)
	if err != nil && len(batch) > 1 && !isDoubt(err) && ctx.Err() == nil { // the fault of one is not the others'
		for _, c := range batch {
			f.serveBatch(file, []*change{c})
		}
		return
	}
	for _, c := range batch {
		if c.err == nil {
			c.err = err
		}
		close(c.done)
	}
}

func isDoubt(err error) bool {
	var doubt *inDoubt
	return errors.As(err, &doubt)
}

// write returns one replacement of a file: locked, prepared, synced, renamed, the folder
// synced. The epochs are looked at under the lock; a change of phase waits until no
// process has the lock of the part.
func (f *files) write(ctx context.Context, file string, batch []*change) error {
	locked := map[string]bool{}
	for _, c := range batch {
		if c.err = nil; locked[c.part] {
			continue
		}
		locked[c.part] = true
		lock, err := f.disk.lock(ctx, f.disk.partLock(c.part), true)
		if err != nil {
			return err
		}
		defer lock.free()
	}
	state, err := f.state()
	if err != nil {
		return err
	}
	going := batch[:0:0]
	for _, c := range batch {
		if c.err = c.allowed(state); c.err == nil {
			going = append(going, c)
		}
	}
	if len(going) == 0 {
		return nil
	}
	path, err := f.disk.source(file)
	if err != nil {
		return err
	}
	lock, err := f.disk.lock(ctx, f.disk.lockPath(file), false)
	if err != nil {
		return err
	}
	defer lock.free()
	if err := f.disk.at("locked"); err != nil {
		return err
	}
	edits, err := allEdits(ctx, going)
	if err != nil {
		return err
	}
	return f.replace(ctx, path, file, edits, going)
}

// allowed is nil if a change may be written in this state.
func (c *change) allowed(state phases) error {
	is := state.of(c.part).State
	if !c.drain {
		return is.MayWrite(c.epoch)
	}
	if is.Intent == nil || is.Intent.Epoch != c.epoch {
		return phase.ErrEpoch
	}
	return nil
}

// allEdits returns those of all changes; of several of one record the last counts.
func allEdits(ctx context.Context, going []*change) ([]record.Edit, error) {
	last := map[record.ID]int{}
	var sets [][]record.Edit
	for _, c := range going {
		edits, err := c.edits(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range edits {
			last[e.Record.ID()] = len(sets)
		}
		sets = append(sets, edits)
	}
	var out []record.Edit
	for i, edits := range sets {
		for _, e := range edits {
			if last[e.Record.ID()] == i {
				out = append(out, e)
			}
		}
	}
	return out, nil
}

func (f *files) replace(ctx context.Context, path, file string, edits []record.Edit, going []*change) error {
	old, err := os.Open(path)
	var in io.Reader = bytes.NewReader(nil)
	if err == nil {
		in = old
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	} else if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	next, changed, err := rewrite(ctx, f.disk, f.docs, rewritten{file: file, path: path, in: in, edits: edits})
	_ = old.Close() // nil if there is none
	if err != nil {
		return err
	}
	for _, c := range going { // their marks are on the disk before the file is replaced
		if c.marked != nil {
			if err := c.marked.wait(); err != nil {
				next.drop()
				return fmt.Errorf("marking a record of %s: %w", file, err)
			}
		}
	}
	if !changed {
		next.drop()
		return nil
	}
	renamed, err := next.commit()
	for _, c := range going {
		f.wrote(phase.Files, c.part, c.epoch, c.drain)
	}
	if err != nil {
		err = fmt.Errorf("writing %s: %w", file, err)
	}
	if err != nil && renamed {
		return &inDoubt{err: err}
	}
	return err
}

// found holds the records of one file that were looked for.
type found struct {
	records map[record.ID][]*record.Record
	rejects map[record.ID]*record.Reject // what may be the record, and cannot be read
}

// of gives a record, none where the file has it not. What the file has and cannot be read is no
// record that is not there: the error is a *record.Reject.
func (f *found) of(id record.ID) ([]*record.Record, error) {
	if bad := f.rejects[id]; bad != nil {
		return nil, bad
	}
	return f.records[id], nil
}

// find reads records of one file.
func (f *files) find(file string, ids map[record.ID]bool) (*found, error) {
	out := &found{map[record.ID][]*record.Record{}, map[record.ID]*record.Reject{}}
	in, err := f.disk.open(file)
	if err != nil || in == nil {
		return out, err
	}
	defer in.Close()
	keys := map[record.ID]bool{} // and moves: what is known of a record that has no whole ID
	for id := range ids {
		keys[record.ID{Move: id.Move}], keys[record.ID{Move: id.Move, Key: id.Key}] = true, true
	}
	partly := map[record.ID]*record.Reject{}
	err = f.docs.Read(in, file, nil, func(r *record.Record) error {
		if id := r.ID(); ids[id] {
			out.records[id] = append(out.records[id], r)
		}
		return nil
	}, func(bad *record.Reject) error {
		switch id, whole := bad.Of(); {
		case whole && ids[id]:
			out.rejects[id] = cmp.Or(out.rejects[id], bad)
		case !whole && keys[id]:
			partly[id] = cmp.Or(partly[id], bad)
		}
		return nil
	})
	for id := range ids {
		bad := cmp.Or(out.rejects[id], partly[record.ID{Move: id.Move}], partly[record.ID{Move: id.Move, Key: id.Key}])
		if bad != nil && (out.rejects[id] == bad || len(out.records[id]) == 0 || ordered(bad.Move.Kind)) {
			out.rejects[id] = bad
		}
	}
	return out, err
}
