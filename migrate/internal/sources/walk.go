package sources

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/keywright/keywright/keyspace/route"
)

// maxLinked bounds the folders that are walked through links: links to folders that have links to
// each other lead to more than there are.
const maxLinked = 10_000

// walk calls each for every file below a folder, also below folders that are links, as they are
// opened, but for keywright's own. A link to a folder that it is in itself leads to nothing new.
type walk struct {
	ctx    context.Context
	root   string
	each   func(file string) error
	dead   func(link string) error             // for a link that leads to nothing
	saw    func(folder string, is os.FileInfo) // before it is read; nil: it is not asked for
	linked int                                 // folders that were walked through links
}

// folder walks a folder; above are those that it is in.
func (w *walk) folder(name string, above []os.FileInfo) error {
	in := filepath.Join(w.root, filepath.FromSlash(name))
	is, err := os.Stat(in)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(above, func(of os.FileInfo) bool { return os.SameFile(of, is) }) {
		return nil
	}
	above = append(above[:len(above):len(above)], is)
	if w.saw != nil {
		w.saw(in, is)
	}
	entries, err := os.ReadDir(in)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
		if route.OwnName(e.Name()) {
			continue
		}
		file := path.Join(name, e.Name())
		folder := e.IsDir()
		if e.Type()&os.ModeSymlink != 0 {
			to, err := os.Stat(filepath.Join(in, e.Name()))
			if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ELOOP) {
				return fmt.Errorf("the link %s: %w", file, err)
			}
			if err != nil {
				if err := w.dead(file); err != nil {
					return err
				}
				continue
			}
			if folder = to.IsDir(); folder {
				if w.linked++; w.linked > maxLinked {
					return fmt.Errorf("below %s more than %d folders are links: take links out, or make them folders",
						w.root, maxLinked)
				}
			}
		}
		if folder {
			err = w.folder(file, above)
		} else {
			err = w.each(file)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
