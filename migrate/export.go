package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/keywright/keywright/migrate/internal/sides"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/internal/store"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// errSources reports an export over the files that there are.
var errSources = errors.New("the files there are the sources: name another folder, or roll the part back, " +
	"and they are written")

// ErrReplacedMeanwhile reports a file that was written between the comparison and the export.
var ErrReplacedMeanwhile = errors.New("the file was written meanwhile: export again, while no process writes it")

// maxEdits bounds what an export changes in the files that there are.
const maxEdits = 1 << 20

// ExportReport describes what an export wrote.
type ExportReport struct {
	Part    string
	Files   int64
	Records int64    // of the files, before
	Changed int64    // records that were added, changed or taken out
	Paths   []string // of the files, below the folder

	// Rejected are matches of the files that cannot be records. Where Redis has such a record it is
	// written as Redis has it; else the files say what the sources say, and Redis has it not.
	Rejected int64
	Rejects  []*record.Reject

	// Refused are records of Redis that no file can have: the declaration would not read them from their place
	// again. Reject.Key has the key. The files are written without them.
	Refused  int64
	Refusals []*record.Reject // at most 100
}

func (r *ExportReport) refuse(bad *record.Reject) {
	if r.Refused++; len(r.Refusals) < sides.MaxListed {
		r.Refusals = append(r.Refusals, bad)
	}
}

// ErrExported reports an export over files that have what was exported of other parts.
var ErrExported = errors.New("it was exported into this folder before, and other parts into the same files since: " +
	"name another folder")

// Export writes the files of a part as Redis has its records into another folder. Where a
// record is the same as in the file that there is, its bytes are the same. Parts of one file are
// exported into one folder one after the other. A part that is exported there again begins with
// the sources again.
func (m *Migration) Export(ctx context.Context, part, folder string) (*ExportReport, error) {
	is, err := m.inPhase(ctx, "export", part, phase.DualWrite, phase.Backfill, phase.Shadow, phase.Live,
		phase.RampDown, phase.Complete)
	if err != nil {
		return nil, err
	}
	to, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	report := &ExportReport{Part: part}
	edits := map[string][]record.Edit{}
	s := &sides.Sweep{Sides: m.sides, Part: part, Epoch: is.Epoch, Was: map[string]os.FileInfo{},
		Reject: func(r *record.Reject) error {
			if m.partOf[r.Move.Name] != part {
				return nil
			}
			if report.Rejected++; len(report.Rejects) < sides.MaxListed {
				report.Rejects = append(report.Rejects, r)
			}
			return nil
		}}
	s.Found = func(file string, g sources.Group, stored []*record.Record, diffs []record.Difference) error {
		if diffs[0].Kind == record.DiffExtra && stored == nil {
			all, err := m.server.TakeAll(ctx, part, is.Epoch, []sources.Group{g})
			if err != nil {
				return err
			}
			stored = all[0]
		}
		if report.Changed++; report.Changed > maxEdits {
			return ErrTooMany
		}
		edits[file] = append(edits[file], sources.EditsOf(m.moves[g.ID.Move], g.ID, stored)...)
		return nil
	}
	err = s.Run(ctx)
	if err == nil {
		err = m.docs.Files(ctx, m.disk.Root, part, func(file string) error {
			if edits[file] == nil {
				edits[file] = []record.Edit{}
			}
			return nil
		})
	}
	if err == nil {
		err = m.apart(ctx, to, edits)
	}
	for _, file := range slices.Sorted(maps.Keys(edits)) {
		if err != nil {
			break
		}
		report.Files, report.Paths = report.Files+1, append(report.Paths, file)
		err = m.exportFile(ctx, report, to, file, edits[file], s.Was[file])
	}
	report.Records = s.Records
	return report, m.wrong("export", part, err)
}

// apart is nil if no file would be written where sources are, whatever the folder is called.
func (m *Migration) apart(ctx context.Context, folder string, edits map[string][]record.Edit) error {
	folders := map[string]bool{m.disk.Root: true}
	for _, p := range m.parts {
		err := m.docs.Files(ctx, m.disk.Root, p.Name, func(file string) error {
			path, err := m.disk.Source(file)
			folders[filepath.Dir(path)] = true
			return err
		})
		if err != nil {
			return err
		}
	}
	var has []os.FileInfo
	for path := range folders {
		if is, err := os.Stat(path); err == nil {
			has = append(has, is)
		}
	}
	for file := range edits {
		is, err := os.Stat(filepath.Dir(filepath.Join(folder, filepath.FromSlash(file))))
		if err == nil && slices.ContainsFunc(has, func(of os.FileInfo) bool { return os.SameFile(of, is) }) {
			return errSources
		}
	}
	return nil
}

func (m *Migration) exportFile(ctx context.Context, report *ExportReport, folder, file string, edits []record.Edit,
	was os.FileInfo) error {
	part := report.Part
	path := filepath.Join(folder, filepath.FromSlash(file))
	parts, from, err := m.exportFrom(part, path, file, was)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	r, _, err := sources.Rewrite(ctx, m.disk, m.docs, sources.Rewritten{File: file, Path: path, In: from, Edits: edits,
		Refused: func(bad *record.Reject) error {
			report.refuse(bad)
			return nil
		}})
	if err == nil {
		_, err = r.Commit()
	}
	if err != nil {
		return err
	}
	m.exported.Store(path, append(parts, part))
	return nil
}

// exportFrom returns what a file is written from, and the parts that are in it: the source, or what
// other parts have made of it.
func (m *Migration) exportFrom(part, path, file string, was os.FileInfo) (parts []string, from io.ReadCloser,
	err error) {
	if before, again := m.exported.Load(path); again {
		parts = before.([]string)
		switch {
		case !slices.Contains(parts, part):
			f, err := os.Open(path)
			return slices.Clone(parts), f, err
		case len(parts) > 1:
			return nil, nil, fmt.Errorf("%s: part %s: %w", file, part, ErrExported)
		}
	}
	in, err := m.disk.Open(file)
	if err != nil {
		return nil, nil, err
	}
	if in == nil {
		return nil, io.NopCloser(bytes.NewReader(nil)), nil
	}
	if was == nil || !os.SameFile(was, in.Was) || was.Size() != in.Was.Size() || !was.ModTime().Equal(in.Was.ModTime()) {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", file, ErrReplacedMeanwhile), in.Close())
	}
	return nil, in, nil
}

// bring makes the side that follows what the side that decides is, for all of a part: for a
// change of phase that begins to write a side which was not written before.
func (m *Migration) bring(ctx context.Context, part string, is phase.State, epoch uint64) (n int, err error) {
	var file string
	var ids []record.ID
	refused := &RefusedError{}
	flush := func() error {
		some, err := m.fitting(ctx, part, epoch, ids, refused)
		if ids = nil; err != nil {
			return err
		}
		for len(some) > 0 {
			k := min(len(some), againBatch)
			if err := m.pull(ctx, part, epoch, file, some[:k], true); err != nil {
				return err
			}
			some, n = some[k:], n+k
		}
		return nil
	}
	s := &sides.Sweep{Sides: m.sides, Part: part, Epoch: epoch}
	s.Found = func(in string, g sources.Group, _ []*record.Record, _ []record.Difference) error {
		if in != file || len(ids) >= againBatch {
			if err := flush(); err != nil {
				return err
			}
		}
		file, ids = in, append(ids, g.ID)
		return nil
	}
	if err = s.Run(ctx); err == nil {
		err = flush()
	}
	if err == nil && refused.Count > 0 {
		return n, refused
	}
	return n, err
}

// RefusedError represents records of Redis that no file can have, so that the files cannot decide.
type RefusedError struct {
	Count   int64
	Rejects []*record.Reject // at most 100
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%d records of Redis cannot be in a file, such as %v", e.Count, e.Rejects[0])
}

// Unwrap gives the first.
func (e *RefusedError) Unwrap() error { return e.Rejects[0] }

// fitting returns the records that a file can have, and notes the others.
func (m *Migration) fitting(ctx context.Context, part string, epoch uint64, ids []record.ID,
	refused *RefusedError) (out []record.ID, err error) {
	groups := make([]sources.Group, len(ids))
	for i, id := range ids {
		groups[i].ID = id
	}
	for some := range slices.Chunk(groups, store.SweepBatch) {
		stored, err := m.server.TakeAll(ctx, part, epoch, some)
		if err != nil {
			return nil, err
		}
		for i, g := range some {
			if bad := m.unfitOf(stored[i]); bad == nil {
				out = append(out, g.ID)
			} else if refused.Count++; len(refused.Rejects) < sides.MaxListed {
				refused.Rejects = append(refused.Rejects, bad)
			}
		}
	}
	return out, nil
}

// unfitOf returns why no file can have a record, nil if one can.
func (m *Migration) unfitOf(records []*record.Record) *record.Reject {
	for _, r := range records {
		if bad := new(record.Reject); errors.As(m.docs.Fits(r), &bad) {
			return bad
		}
	}
	return nil
}

// ErrTooMany is returned by Export where too many records differ, and by List where a key has too many.
var ErrTooMany = errors.New("there are more records than are taken in one go")
