package upkeep

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/keywright/keywright/entity/indexrecord"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/entity/maintenance"
)

// Indexes looks how complete the indexes are, and builds them: see entity.Store.Indexes.
func Indexes(ctx context.Context, s *itemkeys.Keys, o maintenance.IndexOptions) (maintenance.IndexReport, error) {
	if s.Err != nil {
		return maintenance.IndexReport{}, s.Err
	}
	b := &Indexing{Store: s, Options: o, Builder: rand.Text()[:indexrecord.BuilderSize]}
	err := b.Run(ctx)
	return b.Report, err
}

// Indexing represents one call of Indexes at work.
type Indexing struct {
	Store   *itemkeys.Keys
	Options maintenance.IndexOptions
	Builder string
	Report  maintenance.IndexReport
	rows    map[string]int // tag → place in the report
	Left    int            // items that the last pass could not settle
	Waiting []string       // items to look at again: they were being written, or were put right
	Builds  bool           // the marks say that this call builds indexes
	said    string         // the marks of the indexes
}

// mostPasses bounds how often the index records are gone through for items that are being
// written whenever they are looked at.
const mostPasses = 20

// Run looks, and builds and removes.
func (b *Indexing) Run(ctx context.Context) error {
	if err := b.Begin(ctx); err != nil {
		return err
	}
	for pass := 1; ; pass++ {
		b.Again()
		if err := b.Pass(ctx); err != nil {
			return err
		}
		if err := b.wait(ctx); err != nil {
			return err
		}
		if b.Left == 0 || pass == mostPasses || !b.changes() {
			break
		}
		itemkeys.Pause(ctx, 50*time.Millisecond)
	}
	b.judge()
	if b.Report.Interrupted = b.changes() && b.Left > 0; b.Report.Interrupted || !b.changes() {
		return ctx.Err()
	}
	return b.End(ctx)
}

func (b *Indexing) changes() bool { return b.Options.Apply || len(b.Options.Remove) > 0 }

// Begin reads what is said of the indexes, and says that those which are not complete
// are being built, and that those to be removed are not complete.
func (b *Indexing) Begin(ctx context.Context) (err error) {
	if b.said, err = b.Store.MarksText(ctx); err != nil {
		return err
	}
	if m := indexrecord.ReadMarks(b.said); m.Newer {
		return b.Store.NewerForm("")
	}
	err = b.say(ctx, b.start)
	b.Builds = slices.ContainsFunc(indexrecord.ReadMarks(b.said).Lines,
		func(l indexrecord.Mark) bool { return l.Builder == b.Builder })
	return err
}

// say changes what is said of the indexes.
func (b *Indexing) say(ctx context.Context, change func(*indexrecord.Marks) bool) error {
	for range mostPasses {
		m := indexrecord.ReadMarks(b.said)
		if m.Newer {
			return b.Store.NewerForm("")
		}
		if !change(&m) {
			return nil
		}
		next, ok, err := b.Store.ChangeMarks(ctx, b.said, &m)
		if err != nil {
			return err
		}
		if ok || next == b.said { // the latter: there is no index record, so no mark to change
			b.said = next
			return nil
		}
		b.said = next
	}
	return fmt.Errorf("the marks of the indexes were changed %d times meanwhile", mostPasses)
}

func (b *Indexing) start(m *indexrecord.Marks) (changed bool) {
	for _, tag := range b.Store.Tags {
		if b.Options.Apply && m.Of(tag) != indexrecord.StateComplete {
			m.Set(tag, indexrecord.StateBuilding)
			m.Builds(tag, b.Builder) // another that began before does not end it
			changed = true
		}
	}
	for i, l := range m.Lines {
		if b.removes(l.Tag) && l.State != indexrecord.StateGaps {
			m.Lines[i].State, changed = indexrecord.StateGaps, true
		}
	}
	return changed
}

// End says that what was built is complete, where no writer has left a gap since the
// building began; and no more of indexes that are removed.
func (b *Indexing) End(ctx context.Context) error {
	err := b.say(ctx, func(m *indexrecord.Marks) (changed bool) {
		for i, l := range m.Lines {
			if l.State == indexrecord.StateBuilding && l.Builder == b.Builder {
				m.Lines[i].State, changed = indexrecord.StateComplete, true
			}
		}
		had := len(m.Lines)
		m.Lines = slices.DeleteFunc(m.Lines, func(l indexrecord.Mark) bool { return b.removes(l.Tag) })
		return changed || len(m.Lines) < had
	})
	b.judge()
	for _, ix := range b.Report.Indexes {
		b.Report.Interrupted = b.Report.Interrupted || b.Options.Apply && ix.Declared && !ix.Complete
	}
	return err
}

// removes reports whether an index is to be taken off the server.
func (b *Indexing) removes(tag string) bool {
	p, ok := indexrecord.PlaceOf(tag)
	return ok && !slices.Contains(b.Store.Tags, tag) && slices.Contains(b.Options.Remove, p.Index)
}

// Again begins a pass: it counts again what there is, and goes on counting what was done.
func (b *Indexing) Again() {
	done := map[string]int{}
	for tag, i := range b.rows {
		done[tag] = b.Report.Indexes[i].Done
	}
	b.rows, b.Report, b.Left, b.Waiting = map[string]int{}, maintenance.IndexReport{}, 0, nil
	for _, tag := range b.Store.Tags {
		b.row(tag)
	}
	for _, l := range indexrecord.ReadMarks(b.said).Lines {
		b.row(l.Tag)
	}
	for tag, n := range done {
		if row := b.row(tag); row != nil {
			row.Done = n
		}
	}
}

// mostRows bounds how many indexes that are not declared get rows of their own.
const mostRows = 100

// row returns an index in the report; nil if there are too many.
func (b *Indexing) row(tag string) *maintenance.IndexState {
	i, known := b.rows[tag]
	if !known {
		p, ok := indexrecord.PlaceOf(tag)
		if !ok || len(b.rows) == mostRows+len(b.Store.Tags) {
			return nil
		}
		if i = len(b.Report.Indexes); !p.All {
			p.Prefix += "{…}"
		}
		b.rows[tag] = i
		b.Report.Indexes = append(b.Report.Indexes,
			maintenance.IndexState{Name: p.Index, Pattern: p.Prefix + p.Suffix,
				Declared: slices.Contains(b.Store.Tags, tag)})
	}
	return &b.Report.Indexes[i]
}

// judge notes which indexes are complete.
func (b *Indexing) judge() {
	m := indexrecord.ReadMarks(b.said)
	for tag, i := range b.rows {
		b.Report.Indexes[i].Complete = m.Of(tag) == indexrecord.StateComplete || b.said == "" && b.Report.Items == 0
	}
}

// Pass goes through the index records once.
func (b *Indexing) Pass(ctx context.Context) error {
	for page, err := range b.Store.ScanRecords(ctx) {
		if err != nil {
			return err
		}
		began := time.Now()
		if err := b.some(ctx, page); err != nil {
			return err
		}
		if b.Options.Passed != nil {
			b.Options.Passed(len(page))
		}
		itemkeys.Pause(ctx, time.Duration(len(page))*time.Second/time.Duration(rate(b.Options.Rate))-time.Since(began))
	}
	return ctx.Err()
}

// some looks at some items, and does what is to be done with them.
func (b *Indexing) some(ctx context.Context, page []itemkeys.Registration) error {
	var build, remove []itemkeys.Registration
	for _, r := range page {
		if !indexrecord.Formed(r.Record) {
			return b.Store.NewerForm(r.ID)
		}
		lacks, removes := b.Look(r)
		if b.Options.Apply && lacks {
			build = append(build, r)
		}
		if removes {
			remove = append(remove, r)
		}
	}
	return b.change(ctx, build, remove)
}

// change puts items into indexes and takes others out.
func (b *Indexing) change(ctx context.Context, build, remove []itemkeys.Registration) error {
	n := len(build) + len(remove)
	if n == 0 {
		return nil
	}
	if b.Options.Before != nil {
		if err := b.Options.Before(ctx, n); err != nil {
			return err
		}
	}
	if err := b.build(ctx, build); err != nil {
		return err
	}
	if err := b.remove(ctx, remove); err != nil {
		return err
	}
	if b.Options.After != nil {
		b.Options.After(n)
	}
	return nil
}
