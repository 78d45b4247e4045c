// Package verify compares every record of a part in both directions, looks again at what differs, and repairs it if
// it is to. What a process does for it is given to it (Engine); it does not know in which phase the part may be
// verified.
package verify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/keywright/keywright/migrate/internal/disk"
	"github.com/keywright/keywright/migrate/internal/shadow"
	"github.com/keywright/keywright/migrate/internal/sides"
	"github.com/keywright/keywright/migrate/internal/sources"
	"github.com/keywright/keywright/migrate/internal/store"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
	"github.com/keywright/keywright/migrate/step"
)

// digestOf returns a digest of the values of a record, "" for none.
func digestOf(records []*record.Record) string {
	if len(records) == 0 {
		return ""
	}
	all := sha256.New()
	for _, r := range records {
		sum := r.Digest()
		all.Write(sum[:])
	}
	return hex.EncodeToString(all.Sum(nil)[:8])
}

// repairs reports whether a difference is of the class that is to be repaired.
func repairs(o *step.VerifyOptions, diffs []record.Difference) bool {
	for _, d := range diffs {
		if (o.Move == "" || o.Move == d.ID.Move) && (o.Kind == "" || o.Kind == d.Kind && o.Path == d.Path) {
			return true
		}
	}
	return false
}

// verification looks again at what was different.
type verification struct {
	sides   *sides.Sides
	files   *sources.Files
	engine  Engine
	o       step.VerifyOptions
	is      phase.PartState
	report  *step.VerifyReport
	classes *shadow.Part
	waiting []looked
	apart   int64 // records of the files that are not equal
}

// looked represents a record that was different when it was looked at first.
type looked struct {
	file   string
	id     record.ID
	ofFile bool           // a file had it then
	fault  *record.Reject // why no file can have it
}

// againBatch says how many records are looked at again together.
const againBatch = 2000

func (v *verification) add(ctx context.Context, l looked) error {
	if v.waiting = append(v.waiting, l); len(v.waiting) < againBatch {
		return nil
	}
	return v.flush(ctx)
}

// flush looks at the records a moment later, those of one file together.
func (v *verification) flush(ctx context.Context) error {
	if len(v.waiting) == 0 {
		return nil
	}
	byFile := map[string][]looked{}
	for _, l := range v.waiting {
		byFile[l.file] = append(byFile[l.file], l)
	}
	v.waiting = nil
	if err := disk.Pause(ctx, v.engine.Settle); err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(byFile)) {
		if err := v.again(ctx, file, byFile[file]); err != nil {
			return err
		}
	}
	return nil
}

// again looks at records of one file, and repairs them if it is to.
func (v *verification) again(ctx context.Context, file string, all []looked) error {
	part := v.report.Part
	ids := make([]record.ID, len(all))
	for i, l := range all {
		ids[i] = l.id
	}
	found, stored, unread, err := v.lookAt(ctx, part, v.is.Epoch, file, ids)
	if err != nil {
		return err
	}
	marked, err := v.engine.Marked(part)
	if err != nil {
		return err
	}
	var repair []record.ID
	for i, l := range all {
		records, bad := found.Of(l.id)
		diffs := sources.Different(v.sides.Moves[l.id.Move], records, stored[i])
		if unread[l.id] != nil {
			diffs = store.Unread(l.id)
		}
		switch {
		case bad != nil && l.ofFile: // it could be read before, so that it is not counted yet
			v.report.Rejected++
		case bad != nil: // it is counted; what Redis has may be the good one
			continue
		case len(diffs) == 0:
			v.report.Passing++
			continue
		case marked(l.id):
			v.report.Marked++
		default:
			v.count(l.id, sources.Living(records), stored[i], diffs)
			if v.fits(stored[i], cmp.Or(unread[l.id], l.fault)) && v.o.Repair && repairs(&v.o, diffs) {
				if err := v.endAsDeclared(ctx, l.id, records, diffs); err != nil {
					return err
				}
				repair = append(repair, l.id)
			}
		}
		if l.ofFile {
			v.apart++
		}
	}
	for len(repair) > 0 {
		n := min(len(repair), putBatch)
		done, err := v.repair(ctx, repair[:n])
		if err != nil {
			return err
		}
		v.report.Repaired, repair = v.report.Repaired+done, repair[n:]
	}
	return nil
}

// fits reports whether a file can have what Redis has, where that is what the files follow. What they cannot
// have is listed, and so is, wherever it is, a key of another type. fault is what is known already, or nil.
func (v *verification) fits(stored []*record.Record, fault *record.Reject) bool {
	otherType := fault != nil && errors.Is(fault, store.ErrType)
	if phase.Of(v.is.Phase).Authority != phase.Redis && !otherType {
		return true
	}
	bad := cmp.Or(v.engine.Unfit(stored), fault)
	if bad != nil {
		v.refuse(bad)
	}
	return bad == nil
}

// endAsDeclared gives a record of Redis the end that its document, or the TTL of its entry, says, where Redis
// decides: no file has its end.
func (v *verification) endAsDeclared(ctx context.Context, id record.ID, file []*record.Record,
	diffs []record.Difference) error {
	if phase.Of(v.is.Phase).Authority != phase.Redis ||
		!slices.ContainsFunc(diffs, func(d record.Difference) bool { return d.Kind == record.DiffEnd }) {
		return nil
	}
	return v.engine.Update(ctx, id, func(now []*record.Record) ([]*record.Record, error) {
		for _, r := range now {
			r.Ends = sources.EndOf(file)
		}
		return now, nil
	})
}

func (v *verification) refuse(bad *record.Reject) {
	if v.report.Refused++; len(v.report.Refusals) < step.MaxListed {
		v.report.Refusals = append(v.report.Refusals, bad)
	}
}

// repair makes records equal: together, and where one of them cannot be written each by itself.
func (v *verification) repair(ctx context.Context, ids []record.ID) (done int64, err error) {
	err = v.engine.Sync(ctx, ids)
	switch bad := new(record.Reject); {
	case err == nil:
		return int64(len(ids)), nil
	case !store.OfRecord(err):
		return 0, err
	case len(ids) == 1:
		if !errors.As(err, &bad) {
			bad = sources.Unreadable(v.sides.Moves[ids[0].Move].Move, ids[0], err)
		}
		v.refuse(bad)
		return 0, nil
	}
	for i := range ids {
		n, err := v.repair(ctx, ids[i:i+1])
		if done += n; err != nil {
			return done, err
		}
	}
	return done, nil
}

// count counts a record that differs, once, however many differences it has.
func (v *verification) count(id record.ID, file, stored []*record.Record, diffs []record.Difference) {
	switch {
	case len(file) == 0:
		v.report.Extra++
	case len(stored) == 0 && diffs[0].Kind != record.DiffType: // that is what Redis has, and cannot be read
		v.report.Missing++
	default:
		v.report.Unequal++
	}
	if len(v.report.Differ) < step.MaxListed {
		v.report.Differ = append(v.report.Differ, step.Differing{ID: id, Differences: diffs, File: digestOf(file),
			Redis: digestOf(stored)})
	}
	v.classes.Differ(id, diffs, v.is.Epoch)
}

// lookAt reads records of one file from both sides.
func (v *verification) lookAt(ctx context.Context, part string, epoch uint64, file string,
	ids []record.ID) (found *sources.Found, stored [][]*record.Record, unread map[record.ID]*record.Reject, err error) {
	wanted := map[record.ID]bool{}
	groups := make([]sources.Group, len(ids))
	for i, id := range ids {
		wanted[id], groups[i] = true, sources.Group{ID: id}
	}
	if found = (&sources.Found{}); file != "" {
		if found, err = v.files.Find(file, wanted); err != nil {
			return nil, nil, nil, err
		}
	}
	stored, unread = make([][]*record.Record, 0, len(ids)), map[record.ID]*record.Reject{}
	for len(groups) > 0 {
		n := min(len(groups), store.SweepBatch)
		some, bad, err := v.sides.Server.TakeEach(ctx, part, epoch, groups[:n])
		if err != nil {
			return nil, nil, nil, err
		}
		maps.Copy(unread, bad)
		stored, groups = append(stored, some...), groups[n:]
	}
	return found, stored, unread, nil
}

// putBatch says how many records are read or repaired together.
const putBatch = 200

// Engine does what a verification asks of the process.
type Engine struct {
	Settle time.Duration // after which a difference is looked at again
	Marked func(part string) (has func(record.ID) bool, err error)
	Unfit  func([]*record.Record) *record.Reject // why no file can have a record
	Update func(ctx context.Context, id record.ID, change func([]*record.Record) ([]*record.Record, error)) error
	Sync   func(ctx context.Context, ids []record.ID) error // makes records equal
}

// Run compares every record of a part in both directions.
func Run(ctx context.Context, m *sides.Sides, files *sources.Files, part string, is phase.PartState,
	o step.VerifyOptions, e Engine) (*step.VerifyReport, error) {
	report := &step.VerifyReport{Part: part, Coverage: step.Coverage{Sources: record.Coverages{}}}
	v := &verification{sides: m, files: files, engine: e, o: o, is: is, report: report, classes: &shadow.Part{}}
	s := &sides.Sweep{Sides: m, Part: part, Epoch: is.Epoch, Pace: sides.NewPace(o.PerSecond), Cover: report.Sources,
		Reject: func(r *record.Reject) error {
			if m.PartOf[r.Move.Name] == part {
				report.Rejected++
			}
			return nil
		}}
	s.Found = func(file string, u store.Unequal) error {
		return v.add(ctx, looked{file, u.ID, len(u.Records) > 0, u.Fault})
	}
	err := s.Run(ctx)
	if err == nil {
		err = v.flush(ctx)
	}
	report.Files, report.Records, report.Bytes = s.Files, s.Records, s.Bytes
	report.Classes, report.Cut = v.classes.Classes, v.classes.Cut
	report.Equal = report.Records - v.apart
	sides.EndCoverage(&report.Coverage, m, part)
	return report, err
}
