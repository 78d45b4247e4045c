package sources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/keywright/keywright/migrate/documents"
	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/record"
)

// Rewritten describes how a file is written: what it is made of, and what becomes of it.
type Rewritten struct {
	File  string // below the folder of the sources
	Path  string // where it is written
	In    io.Reader
	Edits []record.Edit

	// refused is called for records that no file can have; they are left out. Where it is nil the first
	// is the error, and nothing is written.
	Refused func(*record.Reject) error
}

// Rewrite writes a file beside the one whose place it takes, and reads it again: it has the records that the edits
// say, or it is not used. Every file of the sources is written by it.
func Rewrite(ctx context.Context, d *disk.Disk, docs documents.Documents, w Rewritten) (r *disk.Replacement,
	changed bool, err error) {
	left := map[record.ID]bool{}
	refused := w.Refused
	if refused != nil {
		refused = func(bad *record.Reject) error {
			id, _ := bad.Of()
			left[id] = true
			return w.Refused(bad)
		}
	}
	r, err = d.Prepare(w.Path, func(out io.Writer) (err error) {
		changed, err = docs.Rewrite(ctx, out, w.In, w.File, w.Edits, refused)
		return err
	})
	if err == nil && changed {
		if err = holds(docs, r.Temp, w, left); err != nil {
			r.Drop()
		}
	}
	if err != nil {
		return nil, false, fmt.Errorf("writing %s: %w", w.File, err)
	}
	return r, changed, nil
}

// ErrUnreadable reports a file that was not written, since it could not have been read again.
var ErrUnreadable = errors.New("it is not written: it could not be read again")

func holds(docs documents.Documents, path string, w Rewritten, left map[record.ID]bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	err = docs.Holds(f, w.File, w.Edits, func(id record.ID) bool { return left[id] })
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return err
}
