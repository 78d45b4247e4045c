package restore

import "sync"

// maxInFlight bounds the bytes of records that were read and are not written yet, whatever the number of writers and
// databases: a batch for each of four writers, and what is gathered for the next ones. A larger record goes alone.
const maxInFlight = 6 << 20

// inFlight represents the records that are on their way.
type inFlight struct {
	mu    sync.Mutex
	freed *sync.Cond
	bytes int
}

func newInFlight() *inFlight {
	f := &inFlight{}
	f.freed = sync.NewCond(&f.mu)
	return f
}

// fits reports whether there is room for so many bytes more.
func (f *inFlight) fits(n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.room(n)
}

func (f *inFlight) room(n int) bool { return f.bytes == 0 || f.bytes+n <= maxInFlight }

// take waits for room, and takes it. What was taken before must be with writers: they free it, also after an error.
func (f *inFlight) take(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.room(n) {
		f.freed.Wait()
	}
	f.bytes += n
}

// free gives room back.
func (f *inFlight) free(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes -= n
	f.freed.Signal()
}
