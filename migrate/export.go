package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// errSources is an export over the files that there are.
var errSources = errors.New("the folder is that of the sources: roll the part back, and they are written")

// maxEdits bounds what an export changes in the files that there are.
const maxEdits = 1 << 20

// ExportReport is what an export wrote.
type ExportReport struct {
	Part    string
	Files   int64
	Records int64 // of the files, before
	Changed int64 // records that were added, changed or taken out
}

// Export writes the files of a part as Redis has its records into another folder. Where a
// record is the same as in the file that there is, its bytes are the same.
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
	if to == m.disk.root {
		return nil, m.wrong("export", part, errSources)
	}
	report := &ExportReport{Part: part}
	edits := map[string][]record.Edit{}
	s := &sweep{m: m, part: part, epoch: is.Epoch}
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
	for file := range edits {
		if err != nil {
			break
		}
		report.Files++
		err = m.exportFile(to, file, edits[file])
	}
	report.Records = s.Records
	return report, m.wrong("export", part, err)
}

func (m *Migration) exportFile(folder, file string, edits []record.Edit) error {
	in, err := m.openSource(file)
	if err != nil {
		return err
	}
	var from io.Reader = bytes.NewReader(nil)
	if in != nil {
		defer in.Close()
		from = in
	}
	path := filepath.Join(folder, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	r, err := m.disk.prepare(path, func(out io.Writer) error {
		_, err := m.docs.Rewrite(out, from, file, edits)
		return err
	})
	if err == nil {
		_, err = r.commit()
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return nil
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
