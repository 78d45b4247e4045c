package server

// unsized is the size of a value that the server does not tell: few of such are asked for at a time.
const unsized = bytesOfAStep

// unsized goes on without sizes.
func (w *contentWalk) unsized() {
	w.sh.unsized = true
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = appendNew(w.notes,
		"large values were read twice: the server has no MEMORY USAGE, or does not permit it, and tells no sizes")
}
