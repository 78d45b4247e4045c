package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/keywright/keywright/migrate/record"
)

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

// open opens a file of the sources; nil if there is none.
func (d *disk) open(file string) (*sourceFile, error) {
	path, err := d.source(file)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	is, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &sourceFile{f, file, is}, nil
}

// sourceFile represents a file as it was when it was opened: the engine replaces files, and does
// not write into them.
type sourceFile struct {
	*os.File
	name string
	was  os.FileInfo
}

// ErrWrittenMeanwhile reports a file that a program has written into while it was read.
var ErrWrittenMeanwhile = errors.New("the file was written while it was read, by a program that does not replace it")

func unchanged(f *sourceFile) error {
	is, err := f.Stat()
	if err == nil && (is.Size() != f.was.Size() || !is.ModTime().Equal(f.was.ModTime())) {
		err = fmt.Errorf("%s: %w", f.name, ErrWrittenMeanwhile)
	}
	return err
}
