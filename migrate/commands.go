package migrate

import (
	"context"

	"github.com/keywright/keywright/migrate/internal/shadow"
	"github.com/keywright/keywright/migrate/internal/sides"
	"github.com/keywright/keywright/migrate/internal/verify"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// Export writes the files of a part as Redis has its records into another folder. Where a
// record is the same as in the file that there is, its bytes are the same. Parts of one file are
// exported into one folder one after the other. A part that is exported there again begins with
// the sources again.
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
	report, err := verify.Run(ctx, m.sides, m.files, part, is, o, verify.Engine{Settle: m.shadow.Config.Settle, Marked: m.marked,
		Unfit: m.unfitOf, Update: m.Update, Sync: func(ctx context.Context, ids []record.ID) error {
			return m.sync(ctx, part, is.State, is.Epoch, ids, false)
		}})
	if err == nil {
		err = m.note(part, is.Epoch, func(n *noted) {
			n.Verified, n.Unread = n.Verified || report.Whole(), sides.UnreadOf(&report.Coverage)
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
	if err != nil {
		return nil, err
	}
	return open.has, nil
}
