package migrate

import (
	"cmp"
	"context"
	"errors"

	"github.com/keywright/keywright/migrate/internal/shadow"
	"github.com/keywright/keywright/migrate/internal/sides"
	"github.com/keywright/keywright/migrate/internal/verify"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
	"github.com/keywright/keywright/migrate/step"
)

// Import brings every record of the files to Redis, in the phases dual-write, backfill and
// shadow. The gate of backfill asks for an import in that phase.
// What processes write meanwhile is not undone. It may be stopped, killed and run again: a
// run that finds all there changes nothing. A damaged file is listed, and the others
// are imported; the error is that of the first damaged one. Only a run that comes to its end without
// a reject and without a damaged file opens the gate.
func (m *Migration) Import(ctx context.Context, part string, o ImportOptions) (*ImportReport, error) {
	if err := m.takesPart("import", part); err != nil {
		return nil, err
	}
	is, err := m.inPhase(ctx, "import", part, phase.DualWrite, phase.Backfill, phase.Shadow)
	if err != nil {
		return nil, err
	}
	if err := m.alike(part); err != nil {
		return nil, m.wrong("import", part, err)
	}
	report := &ImportReport{Part: part}
	if err := m.note(part, is.Epoch, func(n *noted) { n.Imported = false }); err != nil {
		return nil, err
	}
	o.Batch = min(max(cmp.Or(o.Batch, 500), 1), 5000)
	pace := sides.NewPace(o.PerSecond)
	err = m.docs.Files(ctx, m.disk.Root, part, func(file string) error {
		report.Files++
		err := sides.ImportFile(ctx, m.sides, part, is.Epoch, file, report, o, pace)
		if !errors.As(err, new(*record.Error)) {
			return err
		}
		if report.Faulty++; len(report.Faults) < step.MaxListed {
			report.Faults = append(report.Faults, err)
		}
		return nil
	})
	if err == nil && report.Rejected+report.Faulty == 0 {
		err = m.note(part, is.Epoch, func(n *noted) { n.Imported, n.Loaded = true, true })
	}
	if err == nil && report.Faulty > 0 {
		err = report.Faults[0]
	}
	return report, m.wrong("import", part, err)
}

// Plan reads the files and says what an import would do. It makes of each record what Redis
// would have, and of that the file again, and compares.
func (m *Migration) Plan(ctx context.Context, part string) (*PlanReport, error) {
	if !m.known(part) {
		return nil, m.wrong("plan", part, errUnknown)
	}
	is, err := m.Phase(part)
	if err != nil {
		return nil, err
	}
	p := &PlanReport{Part: part, Coverage: Coverage{Sources: record.Coverages{}}}
	for _, fault := range m.unsupported(part) {
		p.Faulty, p.Faults = p.Faulty+1, append(p.Faults, fault)
	}
	memory, err := m.sides.Plan(ctx, p)
	if err != nil {
		return p, m.wrong("plan", part, err)
	}
	sides.EndCoverage(&p.Coverage, m.sides, part)
	if p.RoundTrip = p.Faulty == 0 && p.Rejected == 0; is.Intent == nil {
		err = m.note(part, is.Epoch, func(n *noted) {
			n.RoundTrip, n.Planned, n.Unread = p.RoundTrip, memory, step.UnreadOf(&p.Coverage)
		})
	}
	return p, err
}

// unsupported returns the moves of a part that cannot be written to both sides.
func (m *Migration) unsupported(part string) (out []error) {
	for _, mv := range m.sides.MovesOf(part) {
		if _, _, err := m.part(record.ID{Move: mv.Name}); err != nil {
			out = append(out, err)
		}
	}
	return out
}

// Export writes the files of a part as Redis has its records into another folder. Where a
// record is the same as in the file that there is, its bytes are the same. Parts of one file are
// exported into one folder one after the other. A part that is exported there again begins with
// the sources again. A file of the sources that is damaged is listed, and not written.
func (m *Migration) Export(ctx context.Context, part, folder string) (*ExportReport, error) {
	is, err := m.inPhase(ctx, "export", part, phase.DualWrite, phase.Backfill, phase.Shadow, phase.Live,
		phase.RampDown, phase.Complete)
	if err != nil {
		return nil, err
	}
	report, err := m.exports.Run(ctx, part, is.Epoch, folder)
	return report, m.wrong("export", part, err)
}

// Verify compares every record of a part in both directions, with values and times. A
// difference counts when it is still there a moment later and the record has no mark.
func (m *Migration) Verify(ctx context.Context, part string, o VerifyOptions) (*VerifyReport, error) {
	if err := m.takesPart("repair", part); o.Repair && err != nil {
		return nil, err
	}
	is, err := m.inPhase(ctx, "verify", part, phase.DualWrite, phase.Backfill, phase.Shadow, phase.Live, phase.RampDown)
	if err != nil {
		return nil, err
	}
	if err := m.alike(part); o.Repair && err != nil {
		return nil, m.wrong("repair", part, err)
	}
	if err := m.asDeclared(part); err != nil && o.Repair && phase.Of(is.Phase).Authority == phase.Redis {
		return nil, m.wrong("repair", part, err)
	}
	before, err := m.noted(part)
	if err != nil {
		return nil, m.wrong("verify", part, err)
	}
	report, err := verify.Run(ctx, m.sides, m.files, part, is, o, verify.Engine{Settle: m.shadow.Config.Settle,
		Marked: m.marked,
		Unfit:  m.unfitOf, Update: m.Update, Sync: func(ctx context.Context, ids []record.ID) error {
			return m.sync(ctx, part, is.State, is.Epoch, ids, false)
		}})
	if err == nil {
		err = m.note(part, is.Epoch, func(n *noted) {
			if n.Unread = step.UnreadOf(&report.Coverage); !report.Whole() {
				n.Verified, n.Differed = false, n.Differed+1
			} else if n.Differed == before.Differed { // no other has found a difference meanwhile
				n.Verified, n.Equal = true, n.Rules
			}
		})
	}
	if err == nil && report.Whole() {
		err = m.clearClasses(ctx, part)
	}
	return report, m.wrong("verify", part, err)
}

// clearClasses forgets the differences that reads have found: a verification has found none.
func (m *Migration) clearClasses(ctx context.Context, part string) error {
	return m.shadow.Change(ctx, func(all map[string]*shadow.Part) {
		if all[part] != nil {
			all[part].Classes, all[part].Cut = nil, 0
		}
	})
}

// marked returns which records of a part have a mark.
func (m *Migration) marked(part string) (has func(record.ID) bool, err error) {
	open, err := m.openMarks(part)
	return open.Has, err
}
