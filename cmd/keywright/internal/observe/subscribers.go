package observe

// most bounds the changes that wait for one subscriber.
const most = 256

// subscriber is notified of changes in its own time. Of what it has not received yet the latest change of
// each part is kept, and of each run: nothing that is final is lost.
type subscriber struct {
	waiting []Change      // with the target's lock held
	wake    chan struct{} // that there is one
	out     chan Change
	done    chan struct{}
}

// note keeps a change until it is received.
func (s *subscriber) note(c Change) {
	for i, w := range s.waiting {
		if w.What == c.What && w.Run.ID == c.Run.ID {
			s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
			break
		}
	}
	s.waiting = append(s.waiting, c)
	if len(s.waiting) > most { // too many runs: that runs have changed says as much, for who reads the state
		kept := s.waiting[:0]
		for _, w := range s.waiting {
			if w.What != Ran {
				kept = append(kept, w)
			}
		}
		s.waiting = append(kept, Change{Target: c.Target, What: Ran, At: c.At})
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// pass hands the changes on, one by one, until the subscription ends.
func (t *Target) pass(s *subscriber) {
	for {
		t.mu.Lock()
		var next Change
		there := len(s.waiting) > 0
		if there {
			next, s.waiting = s.waiting[0], s.waiting[1:]
		}
		t.mu.Unlock()
		if !there {
			select {
			case <-s.wake:
				continue
			case <-s.done:
				return
			}
		}
		select {
		case s.out <- next:
		case <-s.done:
			return
		}
	}
}

// Subscribe gives changes from now on, until stop.
func (t *Target) Subscribe() (changes <-chan Change, stop func()) {
	s := &subscriber{wake: make(chan struct{}, 1), out: make(chan Change), done: make(chan struct{})}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.subscribers[s] = true
	go t.pass(s)
	return s.out, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.subscribers[s] {
			delete(t.subscribers, s)
			close(s.done)
		}
	}
}
