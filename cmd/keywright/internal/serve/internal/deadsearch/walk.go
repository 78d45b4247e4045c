package deadsearch

import (
	"cmp"

	"github.com/keywright/keywright/queue"
)

// walk goes through dead jobs, the latest first, in pages that begin with the last job of the page before. Jobs die and
// are taken away meanwhile, which moves the others: each one that is there all the time is met once.
type walk struct {
	offset int64       // of the next page
	last   *queue.Dead // the earliest job that was met
}

// step takes a page of so many jobs, and returns those that were not met before. Where the page begins after the last
// one that was met, jobs before it may have been missed, and the page before is asked for again.
func (w *walk) step(page []queue.Dead, size int) (fresh []queue.Dead, ended bool) {
	if w.offset > 0 && (len(page) == 0 || w.isAfter(&page[0])) {
		w.offset = max(w.offset-int64(size), 0)
		return nil, false
	}
	for i := range page {
		if w.last == nil || w.isAfter(&page[i]) {
			fresh = append(fresh, page[i])
		}
	}
	if len(fresh) > 0 {
		w.last = &fresh[len(fresh)-1]
	}
	w.offset += max(int64(len(page))-1, 0)
	return fresh, len(page) < size
}

// isAfter reports whether a job comes after the last one that was met: it died earlier, or at the same time with a
// lower id.
func (w *walk) isAfter(d *queue.Dead) bool {
	return cmp.Or(d.Since.Compare(w.last.Since), cmp.Compare(d.ID, w.last.ID)) < 0
}
