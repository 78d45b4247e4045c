package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/rdb"
	"github.com/keywright/keywright/source/rdb/dump"
	"github.com/keywright/keywright/source/rdb/write"
)

// Source represents a source.Source over a chain of archives: its keys are read like those of a snapshot
// file, with the same estimates of their sizes.
type Source struct {
	chain   *archive.Chain
	options SourceOptions
}

// SourceOptions say how an archive is read.
type SourceOptions struct {
	Name   string // of the file, for Summary.Endpoint
	OnlyDB int    // this database only; -1: all
	Clock  func() time.Time
	Cut    error // why the archive is not whole, as archive.Recover says it; nil: it is
}

// NewSource makes a Source of a chain.
func NewSource(c *archive.Chain, o SourceOptions) *Source { return &Source{c, o} }

// Scan implements source.Source.
func (s *Source) Scan(ctx context.Context, req source.Request, each func([]source.Key) error) (source.Summary, error) {
	in, out := io.Pipe()
	var refused Report
	done := make(chan struct{})
	go func() {
		defer close(done)
		var err error
		refused, err = s.write(ctx, out)
		out.CloseWithError(err)
	}()
	sum, err := rdb.New(in, rdb.Options{Name: s.options.Name, OnlyDB: s.options.OnlyDB, Taken: s.chain.Newest().Meta.Taken,
		Clock: s.options.Clock}).Scan(ctx, req, each)
	in.CloseWithError(errors.New("nothing more is read"))
	<-done
	m := &s.chain.Newest().Meta
	sum.Server, sum.Shards = "archive", max(len(m.Shards), 1)
	if len(m.Shards) > 0 {
		sum.Server = fmt.Sprintf("archive of %s %s, %s", m.Shards[0].Brand, m.Shards[0].Version,
			m.Taken.UTC().Format(time.RFC3339))
	}
	if s.options.Cut != nil {
		sum.Incomplete = sum.Incomplete.Add(source.Why(source.Damaged, "", s.options.Cut))
	}
	for _, r := range refused.Reasons {
		sum.Incomplete = sum.Incomplete.Add(source.Why(source.ValueCut, "", fmt.Sprintf("%q: %s", r.Key, r.Reason)).In(r.DB))
	}
	if m.Consistency != archive.OneMoment {
		sum.Notes = append(sum.Notes, "values are those of their own moment each")
	}
	return sum, err
}

// write writes the archive as a snapshot of the newest version of the family that its values are of.
func (s *Source) write(ctx context.Context, out io.Writer) (Report, error) {
	newest, err := versionOf(s.chain)
	if err != nil {
		return Report{}, err
	}
	if !dump.OfValkey(newest) {
		newest = slices.Max(dump.Versions())
	}
	w := write.New(out, newest, about(s.chain.Newest())...)
	o := Options{}
	report, err := o.each(ctx, s.chain, func(db int, keys int64) error { w.Database(db, keys); return nil },
		func(v *archive.Value) error {
			return writeRDB(w, v, max(newest, v.RDB))
		})
	if err != nil {
		return report, err
	}
	return report, w.Close()
}
