package sources

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

	"github.com/keywright/keywright/migrate/documents"
	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/marks"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// Change represents one write of a file that waits for its turn. Those of one file that wait
// together are written together.
type Change struct {
	Part   string
	Epoch  uint64
	Drain  bool // by the process that changes the phase
	Marked *marks.Flush
	Alone  bool                                             // its edits are made of what the file has
	Edits  func(ctx context.Context) ([]record.Edit, error) // under the lock of the file
	done   chan struct{}
	err    error
}

// writer writes one file for all callers of this process.
type writer struct {
	Waiting []*Change
	busy    bool
}

// Files represents the side of the files.
type Files struct {
	disk  *disk.Disk
	docs  documents.Documents
	state func() (disk.Phases, error)
	life  context.Context
	wrote func(side phase.Side, part string, epoch uint64, drain bool)
	Work  sync.WaitGroup

	Mu      sync.Mutex
	Writers map[string]*writer
}

// NewFiles returns the side of the files, which writes them while life lasts. wrote is called where a write has just
// been done.
func NewFiles(life context.Context, d *disk.Disk, docs documents.Documents,
	wrote func(side phase.Side, part string, epoch uint64, drain bool)) *Files {
	return &Files{disk: d, docs: docs, state: d.Phases, life: life, wrote: wrote, Writers: map[string]*writer{}}
}

// Commit writes a file. The error ErrChanging or ErrEpoch says that nothing was written.
func (f *Files) Commit(ctx context.Context, file string, c *Change) error {
	c.done = make(chan struct{})
	f.Mu.Lock()
	if f.life.Err() != nil {
		f.Mu.Unlock()
		return context.Cause(f.life)
	}
	w := f.Writers[file]
	if w == nil {
		w = &writer{}
		f.Writers[file] = w
	}
	w.Waiting = append(w.Waiting, c)
	if !w.busy {
		w.busy = true
		f.Work.Add(1)
		go f.serve(file, w)
	}
	f.Mu.Unlock()
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if i := slices.Index(w.Waiting, c); i >= 0 {
		w.Waiting = slices.Delete(w.Waiting, i, i+1)
		return context.Cause(ctx)
	}
	return &InDoubt{Err: context.Cause(ctx), Done: c.done} // it may be written yet
}

// InDoubt represents a write that may have been done. With done it may be going on until that is
// closed: its mark must not be replayed before.
type InDoubt struct {
	Err  error
	Done chan struct{}
}

func (e *InDoubt) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *InDoubt) Unwrap() error { return e.Err }

// serve writes until none waits.
func (f *Files) serve(file string, w *writer) {
	defer f.Work.Done()
	for {
		f.Mu.Lock()
		batch := w.Waiting
		w.Waiting = nil
		if len(batch) == 0 {
			delete(f.Writers, file)
			f.Mu.Unlock()
			return
		}
		f.Mu.Unlock()
		for len(batch) > 0 {
			n := 1
			for !batch[0].Alone && n < len(batch) && !batch[n].Alone {
				n++
			}
			f.serveBatch(file, batch[:n])
			batch = batch[n:]
		}
	}
}

func (f *Files) serveBatch(file string, batch []*Change) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.life), disk.LockWait)
	defer cancel()
	err := f.write(ctx, file, batch)
	if err != nil && len(batch) > 1 && !IsDoubt(err) && ctx.Err() == nil { // the fault of one is not the others'
		for _, c := range batch {
			f.serveBatch(file, []*Change{c})
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

// IsDoubt reports whether a write may have been done although it failed.
func IsDoubt(err error) bool {
	var doubt *InDoubt
	return errors.As(err, &doubt)
}

// write returns one replacement of a file: locked, prepared, synced, renamed, the folder
// synced. The epochs are looked at under the lock; a change of phase waits until no
// process has the lock of the part.
func (f *Files) write(ctx context.Context, file string, batch []*Change) error {
	locked := map[string]bool{}
	for _, c := range batch {
		if c.err = nil; locked[c.Part] {
			continue
		}
		locked[c.Part] = true
		lock, err := f.disk.Lock(ctx, f.disk.PartLock(c.Part), true)
		if err != nil {
			return err
		}
		defer lock.Free()
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
	path, lock, err := f.disk.LockSource(ctx, file)
	if err != nil {
		return err
	}
	defer lock.Free()
	if err := f.disk.At("locked"); err != nil {
		return err
	}
	edits, err := allEdits(ctx, going)
	if err != nil {
		return err
	}
	return f.replace(ctx, path, file, edits, going)
}

// allowed is nil if a change may be written in this state.
func (c *Change) allowed(state disk.Phases) error {
	is := state.Of(c.Part).State
	if !c.Drain {
		return is.MayWrite(c.Epoch)
	}
	if is.Intent == nil || is.Intent.Epoch != c.Epoch {
		return phase.ErrEpoch
	}
	return nil
}

// allEdits returns those of all changes; of several of one record the last counts.
func allEdits(ctx context.Context, going []*Change) ([]record.Edit, error) {
	last := map[record.ID]int{}
	var sets [][]record.Edit
	for _, c := range going {
		edits, err := c.Edits(ctx)
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

func (f *Files) replace(ctx context.Context, path, file string, edits []record.Edit, going []*Change) error {
	old, err := os.Open(path)
	var in io.Reader = bytes.NewReader(nil)
	if err == nil {
		in = old
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	} else if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	next, changed, err := Rewrite(ctx, f.disk, f.docs, Rewritten{File: file, Path: path, In: in, Edits: edits})
	_ = old.Close() // nil if there is none
	if err != nil {
		return err
	}
	for _, c := range going { // their marks are on the disk before the file is replaced
		if c.Marked != nil {
			if err := c.Marked.Wait(); err != nil {
				next.Drop()
				return fmt.Errorf("marking a record of %s: %w", file, err)
			}
		}
	}
	if !changed {
		next.Drop()
		return nil
	}
	renamed, err := next.Commit()
	for _, c := range going {
		f.wrote(phase.Files, c.Part, c.Epoch, c.Drain)
	}
	if err != nil {
		err = fmt.Errorf("writing %s: %w", file, err)
	}
	if err != nil && renamed {
		return &InDoubt{Err: err}
	}
	return err
}

// Found holds the records of one file that were looked for.
type Found struct {
	records map[record.ID][]*record.Record
	rejects map[record.ID]*record.Reject // what may be the record, and cannot be read
}

// Of gives a record, none where the file has it not. What the file has and cannot be read is no
// record that is not there: the error is a *record.Reject.
func (f *Found) Of(id record.ID) ([]*record.Record, error) {
	if bad := f.rejects[id]; bad != nil {
		return nil, bad
	}
	return f.records[id], nil
}

// Find reads records of one file.
func (f *Files) Find(file string, ids map[record.ID]bool) (*Found, error) {
	out := &Found{map[record.ID][]*record.Record{}, map[record.ID]*record.Reject{}}
	in, err := f.disk.Open(file)
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
		id := r.ID()
		if !ids[id] {
			return nil
		}
		all := out.records[id]
		if n := len(all); n > 0 && r.Move != nil && Ordered(r.Move.Kind) && !Continues(all[n-1], r) && out.rejects[id] == nil {
			out.rejects[id] = Unreadable(r.Move, id, errTwoLists)
			out.rejects[id].At = r.At
		}
		out.records[id] = append(all, r)
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
		if bad != nil && (out.rejects[id] == bad || len(out.records[id]) == 0 || Ordered(bad.Move.Kind)) {
			out.rejects[id] = bad
		}
	}
	return out, err
}
