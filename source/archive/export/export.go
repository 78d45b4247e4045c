// Package export writes the values of an archive, or of one and those that add to it, in
// forms that other programs read: an RDB file, commands, and JSON. With the RDB form an
// archive is also a source.Source.
//
// It opens no file and does not speak to a server. It holds one value's part at a time,
// and of each value in parts reads the parts twice.
package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/rdb"
	"github.com/keywright/keywright/source/rdb/dump"
	"github.com/keywright/keywright/source/rdb/write"
)

// Options say what is exported.
type Options struct {
	Wants func(key []byte) bool // nil: all; asked by one goroutine
	// newest version that the RDB file may have, as dump.VersionOf gives it; 0: any. It has at most that of the archive's
	// values, which the servers that they are from load.
	RDB int

	Libraries bool // of functions are exported, too

	// Torn says of a key that its value is torn, for JSON; nil: none is
	Torn func(key []byte) bool

	// Escape is applied to JSON text before it is written; nil: nothing is.
	Escape func(json []byte) []byte
}

// Report says what was exported. Refused keys are not in the export.
type Report struct {
	Keys    int64   // that were exported
	Refused int64   // that have no place in the form
	Reasons []Named // of the first of these

	Libraries   []string // names of those of functions that were exported
	NoLibraries []string // names of those that have no place in the form
}

// Named represents a key that was not exported, and why.
type Named struct {
	Key    []byte
	DB     int
	Reason string
}

// Bounds of Report.Reasons: how many, and the bytes of a key.
const (
	maxReasons = 100
	maxNamed   = 4096
)

func (r *Report) refuse(v *archive.Value, why error) {
	if r.Refused++; len(r.Reasons) < maxReasons {
		r.Reasons = append(r.Reasons, Named{slices.Clone(v.Key[:min(len(v.Key), maxNamed)]), v.DB, why.Error()})
	}
}

// errRefused represents a value that has no place in a form. Nothing of it was written.
type errRefused struct{ error }

// each calls write with each value that is wanted, database by database. begin is called
// before the values of a database.
func (o *Options) each(ctx context.Context, c *archive.Chain, begin func(db int, keys int64) error,
	write func(*archive.Value) error) (report Report, err error) {
	order, records := c.Databases()
	for _, db := range order {
		if err := begin(db, records[db]); err != nil {
			return report, err
		}
		for v, err := range c.Values(db, nil) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return report, err
			}
			if o.Wants != nil && !o.Wants(v.Key) {
				continue
			}
			err := write(v)
			var refused errRefused
			switch {
			case errors.As(err, &refused):
				report.refuse(v, refused.error)
			case err != nil:
				return report, err
			default:
				report.Keys++
			}
		}
	}
	return report, nil
}

// all calls load with each library of functions, and then does what each does.
func (o *Options) all(ctx context.Context, c *archive.Chain, load func(source.Library) error,
	begin func(db int, keys int64) error, write func(*archive.Value) error) (Report, error) {
	var with, without []string
	if o.Libraries {
		if err := c.Libraries(func(lib source.Library) error {
			err := load(lib)
			if errors.Is(err, rdb.ErrUnknown) {
				without = append(without, lib.Name)
				return nil
			}
			with = append(with, lib.Name)
			return err
		}); err != nil {
			return Report{}, err
		}
	}
	report, err := o.each(ctx, c, begin, write)
	report.Libraries, report.NoLibraries = with, without
	return report, err
}

// RDB writes an RDB file. A value that its version does not have is written in an older
// form of the same type, where there is one.
func RDB(ctx context.Context, out io.Writer, c *archive.Chain, o Options) (Report, error) {
	own, err := versionOf(c)
	if err != nil {
		return Report{}, err
	}
	o.RDB = dump.Older(own, o.RDB)
	w := write.New(out, o.RDB, about(c.Newest())...)
	report, err := o.all(ctx, c, func(lib source.Library) error { return w.Library(lib.Code) },
		func(db int, keys int64) error { w.Database(db, keys); return nil },
		func(v *archive.Value) error { return writeRDB(w, v, o.RDB) })
	if err != nil {
		return report, err
	}
	return report, w.Close()
}

// writeRDB writes a value as it is if that can be, else its elements.
func writeRDB(w *write.Writer, v *archive.Value, version int) error {
	if v.Form == archive.Dump {
		value, _, err := dump.Rewrite(v.Payload, v.RDB, version)
		if err == nil {
			w.Dump(v.Key, v.Expires, value)
			return nil
		}
		if tried := v.Elements(func([][]byte, bool) error { return nil }); tried != nil {
			return errRefused{err}
		}
	}
	return w.Value(write.Value{Name: v.Key, Expires: v.Expires, Kind: v.Kind, Taken: v.Taken(), Elements: v.Elements})
}

// versionOf returns the newest RDB version of the values of archives, as they say it themselves. 0: no value says it,
// as all are in parts.
func versionOf(c *archive.Chain) (version int, err error) {
	for _, a := range c.Archives() {
		own, err := a.RDB()
		if err != nil {
			return 0, err
		}
		version = max(version, own)
	}
	return version, nil
}

// about returns the fields of a snapshot that say where it is from.
func about(a *archive.Archive) []string {
	out := []string{"ctime", fmt.Sprint(a.Meta.Taken.Unix())}
	if len(a.Meta.Shards) > 0 {
		s := a.Meta.Shards[0]
		out = append(out, map[bool]string{true: "valkey-ver", false: "redis-ver"}[s.Brand == "valkey"], s.Version)
	}
	return out
}
