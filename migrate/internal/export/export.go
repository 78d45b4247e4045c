// Package export writes the files of a part as Redis has its records into another folder. It does not touch the
// sources.
package export

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
	"sync"

	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/sides"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/internal/store"
	"github.com/keywright/keywright/migrate/record"
	"github.com/keywright/keywright/migrate/step"
)

// errSources reports an export over the files that there are.
var errSources = errors.New("the files there are the sources: name another folder, or roll the part back, " +
	"and they are written")

// ErrReplacedMeanwhile reports a file that was written between the comparison and the export.
var ErrReplacedMeanwhile = errors.New("the file was written meanwhile: export again, while no process writes it")

// maxEdits bounds what an export changes in the files that there are.
const maxEdits = 1 << 20

func refuse(r *step.ExportReport, bad *record.Reject) {
	if r.Refused++; len(r.Refusals) < step.MaxListed {
		r.Refusals = append(r.Refusals, bad)
	}
}

// ErrExported reports an export over files that have what was exported of other parts.
var ErrExported = errors.New("it was exported into this folder before, and other parts into the same files since: " +
	"name another folder")

// outside is nil if no file would be written where sources are, whatever the folder is called.
func (m *Exports) outside(ctx context.Context, folder string, edits map[string][]record.Edit) error {
	folders := map[string]bool{m.Disk.Root: true}
	for _, p := range m.Parts {
		err := m.Docs.Files(ctx, m.Disk.Root, p.Name, func(file string) error {
			path, err := m.Disk.Source(file)
			if errors.Is(err, disk.ErrUnusable) {
				return nil
			}
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

func (m *Exports) exportFile(ctx context.Context, report *step.ExportReport, folder, file string, edits []record.Edit,
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
	r, _, err := sources.Rewrite(ctx, m.Disk, m.Docs, sources.Rewritten{File: file, Path: path, In: from, Edits: edits,
		Refused: func(bad *record.Reject) error {
			refuse(report, bad)
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
func (m *Exports) exportFrom(part, path, file string, was os.FileInfo) (parts []string, from io.ReadCloser,
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
	in, err := m.Disk.Open(file)
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

// Exports writes the files of parts as Redis has their records. What it has written in this process it goes on from.
type Exports struct {
	*sides.Sides
	exported sync.Map // path of a file → the parts that were exported to it
}

// Run writes the files of a part into another folder.
func (m *Exports) Run(ctx context.Context, part string, epoch uint64, folder string) (*step.ExportReport, error) {
	to, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	report := &step.ExportReport{Part: part}
	edits := map[string][]record.Edit{}
	s := &sides.Sweep{Sides: m.Sides, Part: part, Epoch: epoch, Was: map[string]os.FileInfo{},
		Reject: func(r *record.Reject) error {
			if m.PartOf[r.Move.Name] != part {
				return nil
			}
			if report.Rejected++; len(report.Rejects) < step.MaxListed {
				report.Rejects = append(report.Rejects, r)
			}
			return nil
		}}
	damaged, changed := map[string]bool{}, map[string]int64{} // by file
	s.Fault = func(file string, err error) error {
		if report.Faulty++; len(report.Faults) < step.MaxListed {
			report.Faults = append(report.Faults, err)
		}
		damaged[file], report.Changed = true, report.Changed-changed[file]
		return nil
	}
	s.Found = func(file string, u store.Unequal) error {
		if damaged[file] {
			return nil
		}
		g, stored := u.Group, u.Stored
		if u.Fault == nil && u.Differences[0].Kind == record.DiffExtra {
			all, unread, err := m.Server.TakeEach(ctx, part, epoch, []sources.Group{g})
			if err != nil {
				return err
			}
			stored, u.Fault = all[0], unread[g.ID]
		}
		if u.Fault != nil { // a source that has it keeps it
			refuse(report, u.Fault)
			return nil
		}
		if report.Changed++; report.Changed > maxEdits {
			return sides.ErrTooMany
		}
		changed[file]++
		edits[file] = append(edits[file], sources.EditsOf(m.Moves[g.ID.Move], g.ID, stored)...)
		return nil
	}
	err = s.Run(ctx)
	if err == nil {
		err = m.Docs.Files(ctx, m.Disk.Root, part, func(file string) error {
			if edits[file] == nil {
				edits[file] = []record.Edit{}
			}
			return nil
		})
	}
	for file := range damaged {
		delete(edits, file)
	}
	if err == nil {
		err = m.outside(ctx, to, edits)
	}
	for _, file := range slices.Sorted(maps.Keys(edits)) {
		if err != nil {
			break
		}
		report.Files, report.Paths = report.Files+1, append(report.Paths, file)
		err = m.exportFile(ctx, report, to, file, edits[file], s.Was[file])
	}
	report.Records = s.Records
	return report, err
}
