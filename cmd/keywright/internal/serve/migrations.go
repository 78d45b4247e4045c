package serve

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/finding"
)

// MigrationList describes where each part of each migration is.
type MigrationList struct {
	Measured
	Items []MigrationRow `json:"items"`
	Page
}

// MigrationRow represents a part of a migration: without a phase where nothing of the migration is on this machine.
type MigrationRow struct {
	Migration string `json:"migration"`
	answer.MigrationPart
	Unfit []string `json:"unfit,omitempty"` // what the server lacks to be the only place of the records
}

var migrationRoutes = []route{
	{method: "GET", path: "/api/v1/t/{target}/migrations", what: "The parts of migrations, their phases and gates",
		params: listParams,
		answer: reflect.TypeFor[MigrationList](), handle: migrations},
}

func migrations(q *request) (any, error) {
	out := MigrationList{Measured: q.of(q.state.Moves.Mark)}
	var rows []MigrationRow
	var why []string
	if all := q.state.Moves.Value; all != nil {
		for _, m := range *all {
			if m.Away != "" {
				why = append(why, m.Name+": "+m.Away)
			}
			for _, p := range m.Parts {
				rows = append(rows, MigrationRow{m.Name, p, m.Unfit})
			}
		}
	}
	out.Partial = cmp.Or(finding.Printable(strings.Join(why, "; ")), out.Partial)
	var err error
	out.Items, out.Page, err = page(q, rows)
	return out, err
}
