package entity

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/redis/rueidis"
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

// IndexState is one index on the server.
type IndexState struct {
	Name     string
	Pattern  string // of its keys, {…} is the value
	Declared bool   // this program knows it
	Complete bool   // all items are in it
	Items    int    // that are in it; of one that is declared also those that belong in no key of it
	Missing  int    // items that may not be where they belong: still to be looked at
	Done     int    // items that were put right, or taken out, by this call
}

// IndexReport is what Indexes has found, and done.
type IndexReport struct {
	Items   int // in the ledger
	Indexes []IndexState
	// Interrupted is whether a program that does not know an index has written while it
	// was built: there are gaps again. Go on when no such program writes any more.
	Interrupted bool
}

// Indexes looks how complete the indexes are, and with Apply completes them while
// programs of any version write: it goes through the ledger, looks at each item of
// which it does not say where it is in every index, and puts that right in one step.
// What is done is done: after a process was killed the next one goes on. It is complete
// when nothing was left to do and no writer was there meanwhile that does not know the
// index. With Remove it takes items out of indexes that are no longer declared. O(items).
func (s *Store[I, T]) Indexes(ctx context.Context, o IndexOptions) (IndexReport, error) {
	if s.err != nil {
		return IndexReport{}, s.err
	}
	b := &indexing[I, T]{store: s, options: o, builder: rand.Text()[:builderSize]}
	err := b.run(ctx)
	return b.report, err
}

// indexing is one call of Indexes at work.
type indexing[I, T any] struct {
	store   *Store[I, T]
	options IndexOptions
	builder string
	report  IndexReport
	rows    map[string]int // tag → place in the report
	left    int            // items that the last pass could not settle
	waiting []string       // items that were being written when they were looked at
	began   int64          // ms by the clock of the ledger
	said    string         // what the ledger says of indexes
}

// mostPasses bounds how often the ledger is gone through for items that are being
// written whenever they are looked at.
const mostPasses = 20

func (b *indexing[I, T]) run(ctx context.Context) error {
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

func (b *indexing[I, T]) changes() bool { return b.options.Apply || len(b.options.Remove) > 0 }

// begin reads what is said of the indexes, and says that those which are not complete
// are being built, and that those to be removed are not complete.
func (b *indexing[I, T]) begin(ctx context.Context) (err error) {
	if b.said, err = b.store.marksText(ctx); err != nil {
		return err
	}
	if m := readMarks(b.said); m.newer {
		return b.store.newer("")
	}
	if err = b.say(ctx, b.start); err == nil && b.store.apart {
		b.began, err = ask(ctx, b.store, b.store.spec.Ledger, []string{"TIME"}, clock)
	}
	return err
}

// say changes what is said of the indexes.
func (b *indexing[I, T]) say(ctx context.Context, change func(*marks) bool) error {
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

func (b *indexing[I, T]) start(m *marks) (changed bool) {
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
func (b *indexing[I, T]) end(ctx context.Context) error {
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

// removes is whether an index is to be taken off the server.
func (b *indexing[I, T]) removes(tag string) bool {
	p, ok := placeOf(tag)
	return ok && !slices.Contains(b.store.tags, tag) && slices.Contains(b.options.Remove, p.Index)
}

// again begins a pass: it counts again what there is, and goes on counting what was done.
func (b *indexing[I, T]) again() {
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

// row is an index in the report; nil if there are too many.
func (b *indexing[I, T]) row(tag string) *IndexState {
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
		b.report.Indexes = append(b.report.Indexes, IndexState{Name: p.Index, Pattern: p.Prefix + p.Suffix, Declared: slices.Contains(b.store.tags, tag)})
	}
	return &b.report.Indexes[i]
}

// judge notes which indexes are complete.
func (b *indexing[I, T]) judge() {
	m := readMarks(b.said)
	for tag, i := range b.rows {
		b.report.Indexes[i].Complete = m.of(tag) == complete || b.said == "" && b.report.Items == 0
	}
}

// wait looks again at items that were being written, and at no others, until each was
// seen when it was not. Programs that write all the time are always at some item, and
// mostly at another one.
func (b *indexing[I, T]) wait(ctx context.Context) error {
	for round := 1; len(b.waiting) > 0 && round <= mostPasses; round++ {
		pause(ctx, 5*time.Millisecond)
		ids := b.waiting
		b.waiting = nil
		for some := range slices.Chunk(ids, defaultLimit) {
			page, err := b.store.entries(ctx, some)
			if err == nil {
				b.report.Items -= len(some) // they were counted
				err = b.some(ctx, page)
			}
			if err != nil {
				return err
			}
		}
	}
	b.left, b.waiting = b.left+len(b.waiting), nil
	return ctx.Err()
}

// entries reads what the ledger says of some items. One that is gone is passed over.
func (s *Store[I, T]) entries(ctx context.Context, ids []string) (page []registration, err error) {
	all, err := ask(ctx, s, s.spec.Ledger, append([]string{"HMGET"}, ids...), func(r rueidis.RedisResult) ([]rueidis.RedisMessage, error) { return r.ToArray() })
	for i := range all {
		if record, missing := all[i].ToString(); missing == nil {
			page = append(page, registration{ids[i], record})
		}
	}
	return page, err
}

// pass goes through the ledger once.
func (b *indexing[I, T]) pass(ctx context.Context) error {
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
func (b *indexing[I, T]) some(ctx context.Context, page []registration) error {
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
func (b *indexing[I, T]) change(ctx context.Context, build, remove []registration) error {
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

// isWritten is whether an item is being written by a program that may not know an index,
// or is not yet where it belongs. An intent that was opened since this call has begun is
// of a program that knows all indexes, or takes back that they are complete.
func (b *indexing[I, T]) isWritten(record string) bool {
	opened, open := firstIntent(record)
	return open && (opened <= b.began || len(b.options.Remove) > 0 || len(b.store.lacking(record)) > 0)
}

// look counts an item, and says whether there is something to do.
func (b *indexing[I, T]) look(r registration) (lacks, removes bool) {
	s := b.store
	if b.report.Items++; s.apart && b.changes() && b.isWritten(r.record) {
		b.waiting = append(b.waiting, r.id)
		return false, false
	}
	for t := range s.traces(r.record) {
		if t.index >= 0 && t.doubted {
			continue
		}
		if row := b.row(t.tag); row != nil {
			row.Items++
		}
		removes = removes || b.removes(t.tag)
	}
	for _, i := range s.lacking(r.record) {
		b.row(s.tags[i]).Missing++
		lacks = true
	}
	return lacks, removes
}

// firstIntent is whether an entry of the ledger has an open intent, and when the first
// of them was opened.
func firstIntent(record string) (opened int64, open bool) {
	for name, intent := range pairs(strings.TrimPrefix(record, "=")) {
		if name != "!" {
			continue
		}
		for name, text := range pairs(intent) {
			if ms, err := strconv.ParseInt(text, 10, 64); name == "o" && (err != nil || !open || ms < opened) {
				opened, open = ms, true
			}
		}
	}
	return opened, open
}

// build puts right where items are, many at a time.
func (b *indexing[I, T]) build(ctx context.Context, all []registration) error {
	var mu sync.Mutex
	return atOnce(len(all), func(n int) error {
		c := &check[I, T]{store: b.store, options: CheckOptions{Apply: true}}
		err := c.judge(ctx, all[n].id)
		mu.Lock()
		defer mu.Unlock()
		if b.store.apart && c.checked.Problems > 0 {
			b.left++ // seen again: an intent may be open still
		}
		for _, i := range b.store.lacking(all[n].record) {
			if err == nil {
				row := b.row(b.store.tags[i])
				row.Done, row.Missing, row.Items = row.Done+1, row.Missing-1, row.Items+1
			}
		}
		return err
	})
}

// remove takes items out of indexes that are no longer declared, and from the ledger
// that they are there.
func (b *indexing[I, T]) remove(ctx context.Context, all []registration) error {
	for some := range slices.Chunk(all, mostUnindexed) {
		if err := b.removeSome(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// mostUnindexed is how many items one script takes out of indexes.
const mostUnindexed = 100

func (b *indexing[I, T]) removeSome(ctx context.Context, all []registration) error {
	s := b.store
	keys, args := []string{s.spec.Ledger}, []string{strconv.Itoa(len(all))}
	gone, removed := map[string][]string{}, map[string]int{}
	for _, r := range all {
		var numbers []string
		for t := range s.traces(r.record) {
			if !b.removes(t.tag) {
				continue
			}
			removed[t.tag]++
			key := t.key()
			if key == "" || s.indexOf(key) != nil { // an index of now has this key
				continue
			}
			if s.apart {
				gone[key] = append(gone[key], r.id)
			} else {
				keys = append(keys, key)
				numbers = append(numbers, strconv.Itoa(len(keys)))
			}
		}
		args = append(append(args, r.id, r.record, b.without(r.record), strconv.Itoa(len(numbers))), numbers...)
	}
	if err := b.takeOut(ctx, gone); err != nil {
		return err
	}
	changed, err := s.sweepCall(ctx, s.scripts.unindex, keys, args)
	if err != nil {
		return err
	}
	b.left += len(all) - int(changed[0])
	for tag, n := range removed {
		if row := b.row(tag); row != nil {
			row.Done, row.Items = row.Done+n, max(row.Items-n, 0)
		}
	}
	return nil
}

// indexOf is the index of this program that has a key, nil if none does.
func (s *Store[I, T]) indexOf(key string) *Index[T] {
	for i := range s.spec.Indexes {
		if s.spec.Indexes[i].has(key) {
			return &s.spec.Indexes[i]
		}
	}
	return nil
}

// takeOut takes ids out of keys that are in other slots than the ledger.
func (b *indexing[I, T]) takeOut(ctx context.Context, gone map[string][]string) error {
	ops := make([]keywright.Op[int64], 0, len(gone))
	for key, ids := range gone {
		ops = append(ops, keywright.NewOp(keywright.Spec[int64]{
			Action: b.store.action("unindex", keywright.Idempotent, key, nil),
			Build:  func(b rueidis.Builder) rueidis.Completed { return b.Zrem().Key(key).Member(ids...).Build() },
			Decode: func(r rueidis.RedisResult) (int64, error) {
				if reply, ok := rueidis.IsRedisErr(r.Error()); ok && strings.HasPrefix(reply.Error(), "WRONGTYPE") {
					return 0, nil // it is no index
				}
				return r.AsInt64()
			},
		}))
	}
	if len(ops) == 0 {
		return nil
	}
	return keywright.DoAll(ctx, b.store.client, ops...)
}

// without is an entry of the ledger without the indexes that are removed.
func (b *indexing[I, T]) without(record string) string {
	out := []byte{'='}
	for name, value := range pairs(strings.TrimPrefix(record, "=")) {
		if !b.removes(strings.TrimPrefix(name, doubt)) {
			out = appendRecord(out, name, value)
		}
	}
	return string(out)
}
