package restore

import "sync"

// maxFlight bounds the bytes of records that were read and are not written yet, whatever the number of writers and
// databases: a batch for each of four writers, and what is gathered for the next ones. A larger record goes alone.
const maxFlight = 6 << 20

// flight represents the records that are on their way.
type flight struct {
	mu    sync.Mutex
	freed *sync.Cond
	bytes int
}

func newFlight() *flight {
	f := &flight{}
	f.freed = sync.NewCond(&f.mu)
	return f
}

// fits reports whether there is room for so many bytes more.
func (f *flight) fits(n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.room(n)
}

func (f *flight) room(n int) bool { return f.bytes == 0 || f.bytes+n <= maxFlight }

// take waits for room, and takes it. What was taken before must be with writers: they free it, also after an error.
func (f *flight) take(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.room(n) {
		f.freed.Wait()
	}
	f.bytes += n
}

// free gives room back.
func (f *flight) free(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes -= n
	f.freed.Signal()
}
