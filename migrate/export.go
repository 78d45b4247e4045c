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

	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// errSources is an export over the files that there are.
var errSources = errors.New("the files there are the sources: name another folder, or roll the part back, and they are written")

// ErrReplacedMeanwhile is a file that was written between the comparison and the export.
var ErrReplacedMeanwhile = errors.New("the file was written meanwhile: export again, while no process writes it")

// maxEdits bounds what an export changes in the files that there are.
const maxEdits = 1 << 20

// ExportReport is what an export wrote.
type ExportReport struct {
	Part    string
	Files   int64
	Records int64    // of the files, before
	Changed int64    // records that were added, changed or taken out
	Paths   []string // of the files, below the folder
}

// Export writes the files of a part as Redis has its records into another folder. Where a
// record is the same as in the file that there is, its bytes are the same. Parts of one file are
// exported into one folder one after the other.
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
	s := &sweep{m: m, part: part, epoch: is.Epoch, was: map[string]os.FileInfo{}}
	s.found = func(file string, g group, stored []*record.Record, diffs []record.Difference) error {
		if diffs[0].Kind == record.DiffExtra && stored == nil {
			all, err := m.takeAll(ctx, part, is.Epoch, []group{g})
			if err != nil {
				return err
			}
			stored = all[0]
		}
		if report.Changed++; report.Changed > maxEdits {
			return ErrTooMany
		}
		edits[file] = append(edits[file], editsOf(m.moves[g.id.Move], g.id, stored)...)
		return nil
	}
	err = s.run(ctx)
	if err == nil {
		err = m.docs.Files(ctx, m.disk.root, part, func(file string) error {
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
		err = m.exportFile(ctx, to, file, edits[file], s.was[file])
	}
	report.Records = s.Records
	return report, m.wrong("export", part, err)
}

// apart is nil if no file would be written where sources are, whatever the folder is called.
func (m *Migration) apart(ctx context.Context, folder string, edits map[string][]record.Edit) error {
	folders := map[string]bool{m.disk.root: true}
	for _, p := range m.parts {
		err := m.docs.Files(ctx, m.disk.root, p.Name, func(file string) error {
			path, err := m.disk.source(file)
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

func (m *Migration) exportFile(ctx context.Context, folder, file string, edits []record.Edit,
	was os.FileInfo) error {
	path := filepath.Join(folder, filepath.FromSlash(file))
	from, err := m.exportFrom(path, file, was)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	r, err := m.disk.prepare(path, func(out io.Writer) error {
		_, err := m.docs.Rewrite(ctx, out, from, file, edits)
		return err
	})
	if err == nil {
		_, err = r.commit()
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	m.exported.Store(path, true)
	return nil
}

// exportFrom is what a file is written from: the source, or what another part has made of it.
func (m *Migration) exportFrom(path, file string, was os.FileInfo) (io.ReadCloser, error) {
	if _, again := m.exported.Load(path); again {
		return os.Open(path)
	}
	in, err := m.openSource(file)
	if err != nil {
		return nil, err
	}
	if in == nil {
		return io.NopCloser(bytes.NewReader(nil)), nil
	}
	if was == nil || !os.SameFile(was, in.was) || was.Size() != in.was.Size() || !was.ModTime().Equal(in.was.ModTime()) {
		return nil, errors.Join(fmt.Errorf("%s: %w", file, ErrReplacedMeanwhile), in.Close())
	}
	return in, nil
}

// bring makes the side that follows what the side that decides is, for all of a part: for a
// change of phase that begins to write a side which was not written before.
func (m *Migration) bring(ctx context.Context, part string, is phase.State, epoch uint64) (n int, err error) {
	var file string
	var ids []record.ID
	flush := func() error {
		some := ids
		ids = nil
		for len(some) > 0 {
			k := min(len(some), againBatch)
			if err := m.pull(ctx, part, epoch, file, some[:k], true); err != nil {
				return err
			}
			some, n = some[k:], n+k
		}
		return nil
	}
	s := &sweep{m: m, part: part, epoch: epoch}
	s.found = func(in string, g group, _ []*record.Record, _ []record.Difference) error {
		if in != file || len(ids) >= againBatch {
			if err := flush(); err != nil {
				return err
			}
		}
		file, ids = in, append(ids, g.id)
		return nil
	}
	if err = s.run(ctx); err == nil {
		err = flush()
	}
	return n, err
}
