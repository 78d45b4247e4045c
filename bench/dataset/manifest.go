package dataset

// Violation represents a way in which a planted key breaks its declaration.
type Violation string

// What is planted. A key has at most one of them.
const (
	WrongType     Violation = "wrong-type"
	MissingTTL    Violation = "missing-ttl"
	TTLTooLong    Violation = "ttl-too-long"
	UnexpectedTTL Violation = "unexpected-ttl"
)

// Manifest represents the ground truth of one dataset.
type Manifest struct {
	Keys            int          `json:"keys"` // DBSIZE after loading
	Seed            uint64       `json:"seed"`
	Commands        int64        `json:"commands"` // that load it
	WithTTL         int64        `json:"with_ttl"`
	Undeclared      int64        `json:"undeclared"`       // match no entry and no foreign glob
	UndeclaredOwned int64        `json:"undeclared_owned"` // of these, under an `owns` glob
	Foreign         int64        `json:"foreign"`
	Entries         []EntryTruth `json:"entries"` // in the order of keyspace.yaml
}

// EntryTruth describes what is true of one entry.
type EntryTruth struct {
	Name       string              `json:"name"`
	Keys       int64               `json:"keys"`
	Violations map[Violation]int64 `json:"violations"` // only those above zero
}

func newManifest(o Options) *Manifest {
	m := &Manifest{Keys: o.Keys, Seed: o.Seed, Entries: make([]EntryTruth, len(families))}
	for i, f := range families {
		m.Entries[i] = EntryTruth{Name: f.name, Violations: map[Violation]int64{}}
	}
	return m
}

// Total returns the number of keys planted with the violation.
func (m *Manifest) Total(v Violation) int64 {
	var n int64
	for _, e := range m.Entries {
		n += e.Violations[v]
	}
	return n
}
