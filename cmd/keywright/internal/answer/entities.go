package answer

import (
	"context"

	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
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
	found, err := r.found(ctx, entries, &report.Gaps)
	if err != nil {
		return report, err
	}
	err = readInOrder(ctx, r, found, costs[instance](entityCost), func(i instance) (st entity.Stats, err error) {
		s, err := bind.Entity(r.Client, r.Keyspace, i.entry, i.values)
		if err == nil {
			st, err = s.Stats(ctx)
		}
		return st, err
	}, func(i instance, st entity.Stats, err error) error {
		title := TitleOf(i.entry, i.values)
		if err != nil {
			return report.Pass(ctx, i.entry.Name, title, err)
		}
		report.Entities = append(report.Entities,
			Entity{i.entry.Name, KeyOf(title), st.Items, st.Expired, st.Late.Seconds(), KeyOf(st.Sweeper)})
		return nil
	})
	return report, err
}
