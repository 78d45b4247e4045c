package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bind"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
)

// indexReport is one index; its JSON names are stable.
type indexReport struct {
	Entry    string           `json:"entry"`
	Of       *finding.JSONKey `json:"of,omitempty"` // what its keys share
	Index    finding.JSONKey  `json:"index"`
	Keys     finding.JSONKey  `json:"keys"` // the pattern of its keys
	Declared bool             `json:"declared"`
	Complete bool             `json:"complete"`
	Items    int              `json:"items"`
	Missing  int              `json:"missing"` // items that are not in it yet
	Done     int              `json:"done"`    // items that were put into it, or taken out
}

// indexesReport is what `entities index` has found; its JSON names are stable.
type indexesReport struct {
	Items       int           `json:"items"`
	Applied     bool          `json:"applied"`
	Interrupted bool          `json:"interrupted"` // a program that does not know an index has written meanwhile
	Indexes     []indexReport `json:"indexes"`
	gaps
}

func (a *app) indexEntities(ctx context.Context, c *keywright.Client, entries []*keyspace.Entry, o *entities) error {
	report := indexesReport{Applied: o.apply, Indexes: []indexReport{}}
	options := entity.IndexOptions{Apply: o.apply, Rate: o.rate}
	if o.apply {
		options.Remove = o.remove
	}
	err := a.eachEntity(ctx, c, entries, &report.gaps, func(e *keyspace.Entry, of *finding.JSONKey, s *bind.Items) error {
		r, err := s.Indexes(ctx, options)
		report.Items += r.Items
		report.Interrupted = report.Interrupted || r.Interrupted
		for _, ix := range r.Indexes {
			report.Indexes = append(report.Indexes, indexReport{e.Name, of, finding.JSONKey(ix.Name), finding.JSONKey(ix.Pattern), ix.Declared, ix.Complete, ix.Items, ix.Missing, ix.Done})
		}
		return err
	})
	if err != nil {
		return err
	}
	if name := report.unknown(o.remove); name != "" {
		return usage("take it out of the declaration first, and deploy that; keywright entities index lists what is there", "the server has no index %s that is not declared", name)
	}
	if o.output == "json" {
		err = a.json(report)
	} else {
		err = a.printIndexes(&report)
	}
	if err != nil {
		return err
	}
	return cmp.Or(report.verdict(o), report.gaps.verdict("entities"))
}

// unknown is the first name of an index to be removed that is none, or only a declared
// one.
func (r *indexesReport) unknown(names []string) string {
	for _, name := range names {
		if !slices.ContainsFunc(r.Indexes, func(ix indexReport) bool { return string(ix.Index) == name && !ix.Declared }) {
			return name
		}
	}
	return ""
}

// verdict is exit code 1 where something is left to do.
func (r *indexesReport) verdict(o *entities) error {
	incomplete, left := 0, 0
	for _, ix := range r.Indexes {
		if ix.Declared && !ix.Complete {
			incomplete++
		}
		for _, name := range o.remove {
			if !ix.Declared && string(ix.Index) == name {
				left += ix.Items
			}
		}
	}
	switch {
	case o.apply && (r.Interrupted || incomplete > 0):
		return &exit{exitFindings, "a program that does not know an index has written meanwhile: it is not complete", "run it again when no process of an older version writes any more"}
	case o.apply && left > 0:
		return &exit{exitFindings, "a program that still knows a removed index has written meanwhile: it is not gone", "run it again when no process of an older version writes any more"}
	case incomplete > 0:
		return &exit{exitFindings, fmt.Sprintf("not complete: %d of %d indexes; nothing was changed", incomplete, len(r.Indexes)), "--apply builds them"}
	case left > 0:
		return &exit{exitFindings, terminal.Plural(int64(left), "id") + " to be taken out; nothing was changed", "--apply removes them"}
	}
	return nil
}

func (a *app) printIndexes(r *indexesReport) error {
	rows := make([][]string, len(r.Indexes))
	others := false
	for i, ix := range r.Indexes {
		state := "complete"
		switch {
		case !ix.Declared:
			state, others = "not declared", true
		case !ix.Complete:
			state = "not complete"
		}
		rows[i] = []string{ix.Entry, shownOf(ix.Of), finding.Key(ix.Index), finding.Key(ix.Keys), state, terminal.Count(int64(ix.Items)), countOrNone(int64(ix.Missing)), countOrNone(int64(ix.Done))}
	}
	columns := []terminal.Column{{Title: "entity"}, {Title: "of", Drop: 1}, {Title: "index"}, {Title: "keys", Drop: 2}, {Title: "state"}, {Title: "items", Right: true}, {Title: "to do", Right: true}, {Title: "done", Right: true}}
	if err := terminal.Table(a.out, columns, rows); err != nil {
		return err
	}
	r.tell(a)
	if others && !r.Applied {
		a.tell("an index that is not declared is removed with --remove NAME --apply, when no program knows it any more")
	}
	return nil
}
