package archive

// idSet represents a set of the hashes of keys or elements: 21 to 43 bytes for each.
type idSet struct {
	slots [][2]uint64 // a power of two of them; zero: empty
	used  int
}

const leastSlots = 1 << 8

// find returns where an ID is, or would be.
func (s *idSet) find(id [2]uint64) (at int, there bool) {
	mask := len(s.slots) - 1
	for at = int(id[1]) & mask; ; at = (at + 1) & mask {
		switch s.slots[at] {
		case id:
			return at, true
		case [2]uint64{}:
			return at, false
		}
	}
}

// has reports whether an ID was added.
func (s *idSet) has(id [2]uint64) bool {
	if len(s.slots) == 0 {
		return false
	}
	_, there := s.find(never0(id))
	return there
}

// add adds an ID, and reports whether it is new.
func (s *idSet) add(id [2]uint64) bool {
	if s.used >= len(s.slots)/4*3 {
		s.grow()
	}
	id = never0(id)
	at, there := s.find(id)
	if !there {
		s.slots[at] = id
		s.used++
	}
	return !there
}

// never0 returns an ID that is no empty slot.
func never0(id [2]uint64) [2]uint64 { return [2]uint64{id[0] | 1, id[1]} }

func (s *idSet) grow() {
	old := s.slots
	s.slots = make([][2]uint64, max(2*len(old), leastSlots))
	for _, id := range old {
		if id != ([2]uint64{}) {
			at, _ := s.find(id)
			s.slots[at] = id
		}
	}
}

// clear makes it empty, and keeps its memory.
func (s *idSet) clear() {
	clear(s.slots)
	s.used = 0
}
