package entity

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"
)

// IndexOptions say what Indexes does. The zero value looks and changes nothing.
type IndexOptions struct {
	Apply  bool            // build the indexes that are not complete
	Remove []string        // and take these off the server: names of indexes that are not declared
	Rate   int             // items per second, at most; 0: 20,000
	Passed func(items int) // told of progress; nil: nothing is

	// Before is asked before items are put right or taken out. An error ends the
	// building, and they are left as they are. nil: it is not asked.
	Before func(ctx context.Context, items int) error
	After  func(items int) // told of them when that is done; nil: nothing is
}

func (o IndexOptions) rate() int { return cmp.Or(o.Rate, 20_000) }

// IndexState represents one index on the server.
type IndexState struct {
	Name     string
	Pattern  string // of its keys, {…} is the value
	Declared bool   // this program knows it
	Complete bool   // all items are in it
	Items    int    // that are in it; of one that is declared also those that belong in no key of it
	Missing  int    // items that may not be where they belong: still to be looked at
	Done     int    // items that were put right, or taken out, by this call
}

// IndexReport describes what Indexes has found, and done.
type IndexReport struct {
	Items   int // in the ledger
	Indexes []IndexState
	// Interrupted is whether a program that does not know an index has written while it
	// was built: there are gaps again. Go on when no such program writes any more.
	Interrupted bool
}

// Indexes looks how complete the indexes are, and builds them: see entity.Store.Indexes.
func (s *core) Indexes(ctx context.Context, o IndexOptions) (IndexReport, error) {
	if s.err != nil {
		return IndexReport{}, s.err
	}
	b := &indexing{store: s, options: o, builder: rand.Text()[:builderSize]}
	err := b.run(ctx)
	return b.report, err
}

// indexing represents one call of Indexes at work.
type indexing struct {
	store   *core
	options IndexOptions
	builder string
	report  IndexReport
	rows    map[string]int // tag → place in the report
	left    int            // items that the last pass could not settle
	waiting []string       // items to look at again: they were being written, or were put right
	builds  bool           // the ledger says that this call builds indexes
	said    string         // what the ledger says of indexes
}

// mostPasses bounds how often the ledger is gone through for items that are being
// written whenever they are looked at.
const mostPasses = 20

func (b *indexing) run(ctx context.Context) error {
	if err := b.begin(ctx); err != nil {
		return err
	}
	for pass := 1; ; pass++ {
		b.again()
		if err := b.pass(ctx); err != nil {
			return err
		}
		if err := b.wait(ctx); err != nil {
			return err
		}
		if b.left == 0 || pass == mostPasses || !b.changes() {
			break
		}
		pause(ctx, 50*time.Millisecond)
	}
	b.judge()
	if b.report.Interrupted = b.changes() && b.left > 0; b.report.Interrupted || !b.changes() {
		return ctx.Err()
	}
	return b.end(ctx)
}

func (b *indexing) changes() bool { return b.options.Apply || len(b.options.Remove) > 0 }

// begin reads what is said of the indexes, and says that those which are not complete
// are being built, and that those to be removed are not complete.
func (b *indexing) begin(ctx context.Context) (err error) {
	if b.said, err = b.store.marksText(ctx); err != nil {
		return err
	}
	if m := readMarks(b.said); m.newer {
		return b.store.newer("")
	}
	err = b.say(ctx, b.start)
	b.builds = slices.ContainsFunc(readMarks(b.said).lines, func(l mark) bool { return l.builder == b.builder })
	return err
}

// say changes what is said of the indexes.
func (b *indexing) say(ctx context.Context, change func(*marks) bool) error {
	for range mostPasses {
		m := readMarks(b.said)
		if m.newer {
			return b.store.newer("")
		}
		if !change(&m) {
			return nil
		}
		next, ok, err := b.store.changeMarks(ctx, b.said, &m)
		if err != nil {
			return err
		}
		if ok || next == b.said { // the latter: there is no ledger, so nothing to say
			b.said = next
			return nil
		}
		b.said = next
	}
	return fmt.Errorf("what the ledger says of the indexes was changed %d times meanwhile", mostPasses)
}

func (b *indexing) start(m *marks) (changed bool) {
	for _, tag := range b.store.tags {
		if b.options.Apply && m.of(tag) != complete {
			m.set(tag, building)
			m.builds(tag, b.builder) // another that began before does not end it
			changed = true
		}
	}
	for i, l := range m.lines {
		if b.removes(l.tag) && l.state != gaps {
			m.lines[i].state, changed = gaps, true
		}
	}
	return changed
}

// end says that what was built is complete, where no writer has left a gap since the
// building began; and no more of indexes that are removed.
func (b *indexing) end(ctx context.Context) error {
	err := b.say(ctx, func(m *marks) (changed bool) {
		for i, l := range m.lines {
			if l.state == building && l.builder == b.builder {
				m.lines[i].state, changed = complete, true
			}
		}
		had := len(m.lines)
		m.lines = slices.DeleteFunc(m.lines, func(l mark) bool { return b.removes(l.tag) })
		return changed || len(m.lines) < had
	})
	b.judge()
	for _, ix := range b.report.Indexes {
		b.report.Interrupted = b.report.Interrupted || b.options.Apply && ix.Declared && !ix.Complete
	}
	return err
}

// removes reports whether an index is to be taken off the server.
func (b *indexing) removes(tag string) bool {
	p, ok := placeOf(tag)
	return ok && !slices.Contains(b.store.tags, tag) && slices.Contains(b.options.Remove, p.Index)
}

// again begins a pass: it counts again what there is, and goes on counting what was done.
func (b *indexing) again() {
	done := map[string]int{}
	for tag, i := range b.rows {
		done[tag] = b.report.Indexes[i].Done
	}
	b.rows, b.report, b.left, b.waiting = map[string]int{}, IndexReport{}, 0, nil
	for _, tag := range b.store.tags {
		b.row(tag)
	}
	for _, l := range readMarks(b.said).lines {
		b.row(l.tag)
	}
	for tag, n := range done {
		if row := b.row(tag); row != nil {
			row.Done = n
		}
	}
}

// mostRows bounds how many indexes are told apart that are not declared.
const mostRows = 100

// row returns an index in the report; nil if there are too many.
func (b *indexing) row(tag string) *IndexState {
	i, known := b.rows[tag]
	if !known {
		p, ok := placeOf(tag)
		if !ok || len(b.rows) == mostRows+len(b.store.tags) {
			return nil
		}
		if i = len(b.report.Indexes); !p.All {
			p.Prefix += "{…}"
		}
		b.rows[tag] = i
		b.report.Indexes = append(b.report.Indexes,
			IndexState{Name: p.Index, Pattern: p.Prefix + p.Suffix, Declared: slices.Contains(b.store.tags, tag)})
	}
	return &b.report.Indexes[i]
}

// judge notes which indexes are complete.
func (b *indexing) judge() {
	m := readMarks(b.said)
	for tag, i := range b.rows {
		b.report.Indexes[i].Complete = m.of(tag) == complete || b.said == "" && b.report.Items == 0
	}
}

// pass goes through the ledger once.
func (b *indexing) pass(ctx context.Context) error {
	for page, err := range b.store.ledger(ctx) {
		if err != nil {
			return err
		}
		began := time.Now()
		if err := b.some(ctx, page); err != nil {
			return err
		}
		if b.options.Passed != nil {
			b.options.Passed(len(page))
		}
		pause(ctx, time.Duration(len(page))*time.Second/time.Duration(b.options.rate())-time.Since(began))
	}
	return ctx.Err()
}

// some looks at some items, and does what is to be done with them.
func (b *indexing) some(ctx context.Context, page []registration) error {
	var build, remove []registration
	for _, r := range page {
		if !formed(r.record) {
			return b.store.newer(r.id)
		}
		lacks, removes := b.look(r)
		if b.options.Apply && lacks {
			build = append(build, r)
		}
		if removes {
			remove = append(remove, r)
		}
	}
	return b.change(ctx, build, remove)
}

// change puts items into indexes and takes others out.
func (b *indexing) change(ctx context.Context, build, remove []registration) error {
	n := len(build) + len(remove)
	if n == 0 {
		return nil
	}
	if b.options.Before != nil {
		if err := b.options.Before(ctx, n); err != nil {
			return err
		}
	}
	if err := b.build(ctx, build); err != nil {
		return err
	}
	if err := b.remove(ctx, remove); err != nil {
		return err
	}
	if b.options.After != nil {
		b.options.After(n)
	}
	return nil
}
