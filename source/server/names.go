package server

// nameOnly gives the names of a page to a consumer that wants no values.
func (w *contentWalk) nameOnly(p *page) error {
	if w.wanted.Names == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names = w.names[:0]
	for i := range p.ends {
		w.names = append(w.names, p.name(i))
	}
	w.run.keys += int64(len(w.names))
	if len(w.names) > 0 {
		if err := w.wanted.Names(w.db, w.names); err != nil {
			return &consumerError{err}
		}
	}
	p.slab, p.ends = p.slab[:0], p.ends[:0]
	w.progress(false)
	return nil
}
