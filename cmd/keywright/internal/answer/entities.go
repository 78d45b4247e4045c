package answer

import (
	"context"

	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
)

// Entities holds the entities and what waits to be swept; its JSON names are stable.
type Entities struct {
	Entities []Entity `json:"entities"`
	Gaps
}

// Entity represents one entity, or one part of it.
type Entity struct {
	Entry   string           `json:"entry"`
	Of      *finding.JSONKey `json:"of,omitempty"` // what its keys share
	Items   int64            `json:"items"`
	Expired int64            `json:"expired"`                // of the items, those that wait to be swept
	Late    float64          `json:"late_seconds,omitempty"` // for how long the first of them has waited
	Sweeper *finding.JSONKey `json:"sweeper,omitempty"`      // the process that sweeps
}

// Entities reads how many items entities hold.
func (r *Reader) Entities(ctx context.Context, entries []*keyspace.Entry) (Entities, error) {
	report := Entities{Entities: []Entity{}}
	err := r.EachEntity(ctx, entries, &report.Gaps, func(e *keyspace.Entry, of *finding.JSONKey, s *bind.Items) error {
		st, err := s.Stats(ctx)
		if err == nil {
			report.Entities = append(report.Entities,
				Entity{e.Name, of, st.Items, st.Expired, st.Late.Seconds(), KeyOf(st.Sweeper)})
		}
		return err
	})
	return report, err
}
