package migrate

import (
	"cmp"
	"context"

	"github.com/keywright/keywright/migrate/internal/sides"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// Import brings every record of the files to Redis, in the phases dual-write, backfill and
// shadow. The gate of backfill asks for an import in that phase.
// What processes write meanwhile is not undone. It may be stopped, killed and run again: a
// run that finds all there changes nothing. Only a run that comes to its end without a
// reject opens the gate.
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
		return importFile(ctx, m.sides, part, is.Epoch, file, report, o, pace)
	})
	if err == nil && report.Rejected == 0 {
		err = m.note(part, is.Epoch, func(n *noted) { n.Imported, n.Loaded = true, true })
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
			n.RoundTrip, n.Planned, n.Unread = p.RoundTrip, memory, sides.UnreadOf(&p.Coverage)
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
