// Package copier copies keys from one server to another while both are in use, and compares until they agree. It
// chooses
// no keys and writes none itself: package restore writes, and package compare says what differs.
//
// API: may change until 1.0.
package copier

import (
	"context"
	"errors"
	"hash/maphash"
	"iter"
	"slices"

	"github.com/keywright/keywright/apply/content"
	"github.com/keywright/keywright/apply/plan"
	"github.com/keywright/keywright/apply/restore"
	"github.com/keywright/keywright/apply/wait"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/archive"
	"github.com/keywright/keywright/source/compare"
)

// Options say how keys are copied from a server to another one.
type Options struct {
	restore.Options // Place must give one database and one name to each key; Live is the target

	// Meant says whether a key is to be copied, and which entry it is of; nil: all are, of
	// archive.Undeclared. It is asked by several goroutines, one at a time.
	Meant func(name []byte) (entry int, ok bool)

	// Back is the source's key of one of the target, the reverse of Place; false: there is
	// none. nil: the same.
	Back func(compare.Key) (compare.Key, bool)

	// Content is that of Place; nil: no value has names in it.
	Content func(name []byte) *plan.Content

	// Snapshot yields the keys for the first pass, all of one moment; nil: the source is
	// scanned.
	Snapshot compare.Reading

	// Since returns what has happened to the source since the copy began by which it may have lost keys that no program
	// has deleted, such as a flush or a restart: then nothing is deleted at the target. It is asked before each batch of
	// them. nil: nothing is deleted.
	Since func(context.Context) (source.Reasons, error)

	Rounds int                      // of verification and repair at most; 0: 5, below 0: none
	Round  func(n int, what string) // called before each part of the work with its name; nil: it is not
}

// Report says what was copied. The first counts are of the first pass, in which each
// key of the source is read once; Checked is of the last round, which compared each key
// again.
type Report struct {
	restore.Report

	Checked  compare.Report
	Rounds   int   // that were made
	Repaired int64 // keys that were written again, since they differed in a round

	// Kept are keys that were at the target before, differ from the source, and were left.
	Kept int64

	// Deleted are keys that this run had written and that went away at the source while it was copied: they were deleted
	// at the target, too.
	Deleted int64

	// Harm is why nothing more was deleted at the target: the source may have lost keys.
	Harm source.Reasons

	// Only are keys that only the target has: they were there before, or went away at the source since they were last
	// compared.
	Only compare.Report

	Read source.Summary // of the first pass
}

// Settled reports whether everything that was to be copied is at the target: each key that
// differs in the last round was there before and was to be left. Without a round it is not
// known.
func (r *Report) Settled() bool {
	return r.Rounds > 0 && r.Checked.Differ() == r.Kept && r.Refused == 0
}

// rounds says how often a copy is compared and repaired unless the options say otherwise.
const rounds = 5

// Copy writes the keys of a server to another one, and compares both until nothing
// differs: what is written at the source meanwhile is copied again, a bounded number of
// times. With Plan it makes the first pass only, and changes nothing.
//
// The report is true also where Copy returns an error, as far as it goes.
func Copy(ctx context.Context, from, to compare.Live, clients restore.Clients, o Options) (Report, error) {
	if o.Rounds == 0 {
		o.Rounds = rounds
	}
	if o.Meant == nil {
		o.Meant = func([]byte) (int, bool) { return archive.Undeclared, true }
	}
	if o.Live == nil {
		o.Live = to
	}
	c := &copying{Options: o, from: from, to: to, clients: clients, seed: maphash.MakeSeed()}
	ctx, stop := wait.Bound(ctx, o.Waiting)
	defer stop(nil)
	err := c.run(ctx)
	return c.report, wait.Cause(ctx, err)
}

// copying represents one run.
type copying struct {
	Options
	from, to compare.Live
	clients  restore.Clients
	report   Report
	seed     maphash.Seed
	before   keySet           // keys of the target that were there and were left
	wrote    keySet           // keys of the target that this run has written
	written  int64            // keys that this round has written
	waiting  [2][]compare.Key // that differ, and are to be written: missing ones, and others
	bytes    int              // of their names
	kept     int64            // in this round
}

func (c *copying) run(ctx context.Context) (err error) {
	c.reportRound(0, "copy")
	first := c.Options.Options
	first.Existed = func(db int, key []byte) { c.before.add(c.hash(db, key)) }
	first.Wrote = func(db int, key []byte) { c.wrote.add(c.hash(db, key)) }
	read := c.Snapshot
	if read == nil {
		read = c.from.All
	}
	c.report.Report, err = restore.Restore(ctx, c.clients, c.records(ctx, read, &c.report.Read), first)
	if err != nil || c.Plan || c.Rounds < 0 {
		return err
	}
	if err := c.rounds(ctx); err != nil {
		return err
	}
	if err := c.follow(ctx); err != nil || c.report.Deleted == 0 {
		return err
	}
	if err := c.rounds(ctx); err != nil { // the source may have made some of them again meanwhile
		return err
	}
	c.reportRound(c.report.Rounds, "look for keys that only the target has")
	o := c.comparing()
	o.Ways = compare.Backward
	c.report.Only, err = compare.Run(ctx, c.shown(), c.to, o)
	return err
}

// rounds compares and repairs until nothing differs, or nothing of it can be mended.
func (c *copying) rounds(ctx context.Context) error {
	for range c.Rounds {
		c.report.Rounds++
		c.reportRound(c.report.Rounds, "verify")
		if err := c.round(ctx); err != nil {
			return err
		}
		c.report.Kept = c.kept
		if c.written == 0 && len(c.report.Checked.A.Incomplete) == 0 {
			break
		}
	}
	return nil
}

// follow looks for keys that only the target has, and deletes those that this run has written and that the source has
// deleted since. Of more than maxKnown keys that were written it knows the first ones only. The report has what is
// left.
func (c *copying) follow(ctx context.Context) error {
	c.reportRound(c.report.Rounds, "look for keys that only the target has")
	var gone []compare.Difference
	bytes := 0
	flush := func() error {
		err := c.delete(ctx, gone)
		gone, bytes = gone[:0], 0
		return err
	}
	o := c.comparing()
	o.Ways = compare.Backward
	o.Each = func(d compare.Difference) error {
		if c.Since == nil || len(c.report.Harm) > 0 || d.What != compare.Extra ||
			!c.wrote.knows(c.hash(d.AtB.DB, d.AtB.Name)) {
			return nil
		}
		d.Key.Name, d.AtB.Name = slices.Clone(d.Key.Name), slices.Clone(d.AtB.Name)
		gone = append(gone, d)
		if bytes += len(d.Key.Name); len(gone) < restore.BatchKeys && bytes < restore.BatchBytes {
			return nil
		}
		return flush()
	}
	var err error
	c.report.Only, err = compare.Run(ctx, c.shown(), c.to, o)
	return errors.Join(err, flush())
}

// delete deletes keys at the target that the source, which is asked once more, does not have.
func (c *copying) delete(ctx context.Context, gone []compare.Difference) error {
	for len(gone) > 0 {
		same := 1 // of one database of either side
		for same < len(gone) && gone[same].Key.DB == gone[0].Key.DB && gone[same].AtB.DB == gone[0].AtB.DB {
			same++
		}
		if err := c.deleteIn(ctx, gone[:same]); err != nil {
			return err
		}
		gone = gone[same:]
	}
	return nil
}

func (c *copying) deleteIn(ctx context.Context, gone []compare.Difference) error {
	names := make([][]byte, len(gone))
	for i := range gone {
		names[i] = gone[i].Key.Name
	}
	there, err := c.from.There(ctx, gone[0].Key.DB, names)
	if err == nil { // after the question: what took the keys before it is seen
		c.report.Harm, err = c.Since(ctx)
	}
	if err != nil || len(c.report.Harm) > 0 {
		return err
	}
	client, err := c.clients(gone[0].AtB.DB)
	if err != nil {
		return err
	}
	var keys []string
	for i := range gone {
		if !there[i] {
			keys = append(keys, string(gone[i].AtB.Name))
		}
	}
	defer wait.Ask(ctx)()
	deleted, err := restore.Unlink(ctx, client, keys)
	c.report.Deleted += deleted
	return err
}

func (c *copying) reportRound(round int, what string) {
	if c.Round != nil {
		c.Round(round, what)
	}
}

// hash tells keys of the target apart.
func (c *copying) hash(db int, key []byte) uint64 {
	return maphash.Bytes(c.seed, key) + uint64(db)*0x9e3779b97f4a7c15
}

// errStopped ends a reading whose consumer wants no more.
var errStopped = errors.New("no more is wanted")

// records returns what a reading yields, as records.
func (c *copying) records(ctx context.Context, read compare.Reading,
	sum *source.Summary) iter.Seq2[*archive.Record, error] {
	return func(yield func(*archive.Record, error) bool) {
		s, err := read(ctx, func(batch []source.Content) error {
			for i := range batch {
				if batch[i].Lost != "" {
					continue
				}
				entry, ok := c.Meant(batch[i].Name)
				if !ok {
					continue
				}
				r := archive.Of(&batch[i], entry)
				if !yield(&r, nil) {
					return errStopped
				}
			}
			return nil
		})
		if *sum = s; err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// Place returns where the target has a key; false: it is left out.
func (c *copying) place(k compare.Key, expires int64, entry int) (restore.Place, bool) {
	p := restore.Place{Key: k.Name, DB: k.DB, Expires: expires}
	if c.Place == nil {
		return p, true
	}
	p, err := c.Place(&archive.Record{Entry: entry, Key: k.Name, DB: k.DB, Expires: expires})
	return p, err == nil
}

// comparing returns how both servers are compared.
func (c *copying) comparing() compare.Options {
	return compare.Options{
		Meant: func(name []byte) (int, bool, bool) {
			entry, ok := c.Meant(name)
			if ok {
				_, ok = c.place(compare.Key{Name: name}, 0, entry)
			}
			return entry, false, ok
		},
		To: func(k compare.Key) compare.Key {
			p, _ := c.place(k, 0, archive.Undeclared)
			return compare.Key{DB: p.DB, Name: p.Key}
		},
		From: func(k compare.Key) (compare.Key, bool) {
			if c.Back == nil {
				return k, true
			}
			return c.Back(k)
		},
		Expiries: func(k compare.Key, a, b int64) bool {
			p, _ := c.place(k, a, archive.Undeclared)
			return p.ExpiryHolds(b)
		},
		Progress:  c.Options.Progress,
		Momentary: true,
	}
}

// shown returns the source with its values as they are to be at the target.
func (c *copying) shown() compare.Side {
	if c.Content == nil {
		return c.from
	}
	return content.Renamed(c.from, c.Content)
}

// round compares what the source has with the target, and writes what differs.
func (c *copying) round(ctx context.Context) (err error) {
	c.written, c.kept = 0, 0
	o := c.comparing()
	o.Ways = compare.Forward
	o.Each = func(d compare.Difference) error { return c.differs(ctx, &d) }
	c.report.Checked, err = compare.Run(ctx, c.shown(), c.to, o)
	return errors.Join(err, c.repair(ctx))
}

// differs notes a key that is to be written again.
func (c *copying) differs(ctx context.Context, d *compare.Difference) error {
	list := 1
	switch left := c.Existing == restore.Fail || c.Existing == restore.Skip || c.Existing == ""; {
	case d.What == compare.Missing:
		list = 0
	case left && c.before.has(c.hash(d.AtB.DB, d.AtB.Name)):
		c.kept++
		return nil
	}
	c.waiting[list] = append(c.waiting[list], compare.Key{DB: d.Key.DB, Name: slices.Clone(d.Key.Name)})
	if c.bytes += len(d.Key.Name); len(c.waiting[0])+len(c.waiting[1]) < restore.BatchKeys &&
		c.bytes < restore.BatchBytes {
		return nil
	}
	return c.repair(ctx)
}

// repair reads the keys that differ again, and writes them. One that was missing is not
// written over what came to the target meanwhile, if what is there is to be left.
func (c *copying) repair(ctx context.Context) error {
	waiting := c.waiting
	c.waiting, c.bytes = [2][]compare.Key{}, 0
	for list, keys := range waiting {
		o := c.Options.Options
		o.Progress, o.Existing = nil, restore.Replace
		o.Existed = func(db int, key []byte) { c.before.add(c.hash(db, key)) }
		o.Wrote = func(db int, key []byte) { c.wrote.add(c.hash(db, key)) }
		if list == 0 && (c.Existing == restore.Fail || c.Existing == "") {
			o.Existing = restore.Skip
		} else if list == 0 {
			o.Existing = c.Existing
		}
		for db, names := range byDatabase(keys) {
			var sum source.Summary
			ask := func(ctx context.Context, each func([]source.Content) error) (source.Summary, error) {
				return source.Summary{}, c.from.Ask(ctx, db, names, each)
			}
			r, err := restore.Restore(ctx, c.clients, c.records(ctx, ask, &sum), o)
			c.written += r.Restored
			c.report.Repaired += r.Restored
			c.report.Bytes += r.Bytes
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func byDatabase(keys []compare.Key) map[int][][]byte {
	out := map[int][][]byte{}
	for _, k := range keys {
		out[k.DB] = append(out[k.DB], k.Name)
	}
	return out
}

// maxKnown bounds the keys that are known to have been at the target, and those that are known to have been written: 16
// MiB each.
const maxKnown = 1 << 20

// keySet represents a bounded set of hashes. When it is full it may have every key.
type keySet struct {
	all  map[uint64]struct{}
	full bool
}

func (k *keySet) add(hash uint64) {
	if k.all == nil {
		k.all = map[uint64]struct{}{}
	}
	if k.full = k.full || len(k.all) == maxKnown; !k.full {
		k.all[hash] = struct{}{}
	}
}

// knows reports whether a hash was added, also to a set that is full.
func (k *keySet) knows(hash uint64) bool {
	_, ok := k.all[hash]
	return ok
}

// has reports whether a hash may have been added.
func (k *keySet) has(hash uint64) bool {
	_, ok := k.all[hash]
	return ok || k.full
}
