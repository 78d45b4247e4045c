package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/cmd/keywright/internal/archivefile"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/keyspace/selection"
	"github.com/keywright/keywright/source/archive"
)

// records returns those that are meant. Entries are those of this declaration: the archive
// may have been made with another one.
func (r *restoreRun) records(ctx context.Context) iter.Seq2[*archive.Record, error] {
	return func(yield func(*archive.Record, error) bool) {
		err := r.each(ctx, func(rec *archive.Record) error {
			entry, ok := r.sel.Moves(rec.Key)
			if !ok {
				if !rec.More {
					r.out.NotMeant++
				}
				return nil
			}
			if !rec.More && entry == selection.Undeclared && r.sel.Foreign(rec.Key) {
				r.out.Foreign++
			}
			if rec.Entry = entry; !yield(rec, nil) {
				return errEnough
			}
			return nil
		})
		if r.out.Complete = err == nil; err != nil && err != errEnough {
			yield(nil, err)
		}
	}
}

// reachable opens each database that keys go to, before the first of them is written. What
// cannot be read by its index is found when it is restored.
func (r *restoreRun) reachable(ctx context.Context, path string) error {
	chain := r.chain
	if chain == nil {
		in, err := archivefile.Open(path, sources.ArchiveKeys(ctx, r.App, &r.Unlocking))
		if err != nil {
			return nil
		}
		r.closers = append(r.closers, func() { _ = in.Close() })
		if chain, err = archive.NewChain(in.Archive); err != nil {
			return nil
		}
	}
	r.opened = chain
	if len(r.Selecting.Asked()) == 0 {
		_, r.needs = chain.Newest().Index.Totals()
	}
	if r.toDB >= 0 {
		return nil // it is opened first
	}
	order, _ := chain.Databases()
	for _, db := range order {
		_, err := r.clients.Client(db)
		if err == nil || !r.has(ctx, chain, db) {
			continue
		}
		return noDatabase(err, fmt.Sprintf("%s has keys of database %d", path, db), r.config.String(),
			"--to-db 0 writes the keys of all databases into that one")
	}
	return ctx.Err()
}

// has reports whether a database of archives has a key that would be restored.
func (r *restoreRun) has(ctx context.Context, chain *archive.Chain, db int) bool {
	for v, err := range chain.Values(db, nil) {
		if err != nil || ctx.Err() != nil {
			return false
		}
		if _, ok := r.sel.Moves(v.Key); !ok {
			continue
		}
		if _, left := r.Place(&archive.Record{Key: v.Key, DB: db}); left == nil {
			return true
		}
	}
	return false
}

// errEnough ends a reading whose consumer wants no more.
var errEnough = errors.New("no more is wanted")

// each reads the records, in the same order each time.
func (r *restoreRun) each(ctx context.Context, do func(*archive.Record) error) error {
	if r.in != nil {
		for {
			rec, err := r.in.Next()
			if err == io.EOF {
				return nil
			}
			if err == nil && rec.Form != archive.Gone {
				err = do(rec)
			}
			if err != nil {
				return err
			}
		}
	}
	order, _ := r.chain.Databases()
	for _, db := range order {
		err := sources.Each(ctx, r.chain.Values(db, nil), func(v *archive.Value) error { return v.Records(do) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Place says where and until when a record is restored.
func (r *restoreRun) Place(rec *archive.Record) (restore.Place, error) {
	return r.place(r.sel, rec, func(p *restore.Place) {
		p.Expires = shifted(rec.Expires, r.meta.Taken.UnixMilli(), r.now)
		p.SameExpiry = noLaterThan(p.Expires)
	}, func() int64 { return r.now })
}

// shifted returns an expiry that leaves from now on what was left at a moment. An archive may
// be forged: what is beyond all reason ends at farthest.
func shifted(expires, moment, now int64) int64 {
	expires, moment = min(expires, farthest), min(max(moment, 0), farthest)
	return min(now+max(expires-moment, 1), farthest)
}
