package archive

import (
	"fmt"
	"slices"

	"github.com/keywright/keywright/source"
)

// LibraryIndex describes where an archive has a library of functions.
type LibraryIndex struct {
	Offset int64  `json:"at"`
	Name   string `json:"name"`
	Engine string `json:"engine"`
	Bytes  int64  `json:"bytes"`
	Digest Digest `json:"digest"` // of its code
}

// Fits reports whether a library has the code that the index speaks of, as far as a digest tells it.
func (l *LibraryIndex) Fits(f *source.LibraryFact) bool {
	return l.Name == f.Name && l.Bytes == f.Bytes && l.Digest == Digest(f.Sum[:len(l.Digest)])
}

// libraryAt returns what the index says of a library.
func libraryAt(at int64, lib *source.LibraryFact) LibraryIndex {
	return LibraryIndex{Offset: at, Name: lib.Name, Engine: lib.Engine, Bytes: lib.Bytes,
		Digest: Digest(lib.Sum[:len(Digest{})])}
}

// parseLibrary reads the body of a section as a library.
func parseLibrary(at int64, body []byte, before int) (source.Library, LibraryIndex, error) {
	lib, err := source.ParseLibrary(body)
	if err == nil && before >= source.MaxLibraries {
		err = fmt.Errorf("%w: more than %d libraries of functions", ErrTooLarge, source.MaxLibraries)
	} else if err != nil {
		err = fmt.Errorf("%w: %w", ErrSense, err)
	}
	return lib, libraryAt(at, &lib.LibraryFact), err
}

// AddLibrary writes a library of functions. One that is there is not written again; it is an error if its code is
// another one.
func (w *Writer) AddLibrary(lib *source.Library) error {
	for i := range w.index.Libraries {
		if there := &w.index.Libraries[i]; there.Name == lib.Name && !there.Fits(&lib.LibraryFact) {
			return fmt.Errorf("%w %q is in the archive with another code", source.ErrLibrary, lib.Name)
		} else if there.Name == lib.Name {
			return nil
		}
	}
	if len(w.index.Libraries) >= source.MaxLibraries || len(lib.Code) > source.MaxLibrary {
		return fmt.Errorf("%w: %w %q", ErrTooLarge, source.ErrLibrary, lib.Name)
	}
	at := w.offset
	if err := w.section(kindLibrary, lib.Code); err != nil {
		return err
	}
	w.index.Libraries = append(w.index.Libraries, libraryAt(at, &lib.LibraryFact))
	w.total.Blocks++ // a program that knows no libraries finds fewer blocks in the index, and refuses the archive
	return nil
}

// Libraries calls each with the libraries of functions of the archive.
func (a *Archive) Libraries(each func(source.Library) error) error {
	for i := range a.Index.Libraries {
		at := &a.Index.Libraries[i]
		body, err := a.section(at.Offset, kindLibrary)
		var lib source.Library
		if err == nil {
			lib, err = source.ParseLibrary(slices.Clone(body))
		}
		if err == nil && !at.Fits(&lib.LibraryFact) {
			err = fmt.Errorf("%w: it is not the library %q of the index", ErrDamaged, at.Name)
		}
		if err != nil {
			return &CutError{Offset: at.Offset, Err: err}
		}
		if err := each(lib); err != nil {
			return err
		}
	}
	return nil
}

// Libraries are those of the newest archive: one that adds to others has all libraries that there were.
func (c *Chain) Libraries(each func(source.Library) error) error { return c.all[0].Libraries(each) }

// library notes a library that was read.
func (r *Reader) library(at int64, body []byte) error {
	_, index, err := parseLibrary(at, body, len(r.Libraries))
	if err == nil {
		r.Libraries = append(r.Libraries, index)
		r.blocks++
	}
	return err
}

// recovered notes a library of an archive that is not whole.
func (a *Archive) recovered(at int64, body []byte) error {
	_, index, err := parseLibrary(at, body, len(a.Index.Libraries))
	if err == nil {
		a.Index.Libraries = append(a.Index.Libraries, index)
		a.Footer.Blocks++
	}
	return err
}

// sameLibraries holds the libraries that were read against those of the index.
func (r *Reader) sameLibraries() error {
	if !slices.Equal(r.Libraries, r.index.Libraries) {
		return fmt.Errorf("%w: the index does not fit the libraries of functions", ErrDamaged)
	}
	return nil
}
