package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/keywright/keywright/migrate/record"
)

// rewritten describes how a file is written: what it is made of, and what becomes of it.
type rewritten struct {
	file  string // below the folder of the sources
	path  string // where it is written
	in    io.Reader
	edits []record.Edit

	// refused is called for records that no file can have; they are left out. Where it is nil the first
	// is the error, and nothing is written.
	refused func(*record.Reject) error
}

// rewrite writes a file beside the one whose place it takes, and reads it again: it has the records that the edits
// say, or it is not used. Every file of the sources is written by it.
func rewrite(ctx context.Context, d *disk, docs Documents, w rewritten) (r *replacement, changed bool, err error) {
	left := map[record.ID]bool{}
	refused := w.refused
	if refused != nil {
		refused = func(bad *record.Reject) error {
			id, _ := bad.Of()
			left[id] = true
			return w.refused(bad)
		}
	}
	r, err = d.prepare(w.path, func(out io.Writer) (err error) {
		changed, err = docs.Rewrite(ctx, out, w.in, w.file, w.edits, refused)
		return err
	})
	if err == nil && changed {
		if err = holds(docs, r.temp, w, left); err != nil {
			r.drop()
		}
	}
	if err != nil {
		return nil, false, fmt.Errorf("writing %s: %w", w.file, err)
	}
	return r, changed, nil
}

// ErrUnreadable reports a file that was not written, since it could not have been read again.
var ErrUnreadable = errors.New("it is not written: it could not be read again")

func holds(docs Documents, path string, w rewritten, left map[record.ID]bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	err = docs.Holds(f, w.file, w.edits, func(id record.ID) bool { return left[id] })
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return err
}
