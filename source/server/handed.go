package server

// gave notes which keys are handed over with the batch: if the connection breaks before the
// page ends, they are not to be given again.
func (w *contentWalk) gave() {
	if w.handed == nil {
		w.handed = map[string]bool{}
	}
	for i := range w.batch {
		if w.batch[i].Payload != nil {
			w.handed[string(w.batch[i].Name)] = true
		}
	}
	for _, name := range w.parted {
		w.handed[string(name)] = true
	}
}
