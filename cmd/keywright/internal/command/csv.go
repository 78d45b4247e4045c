package command

import (
	"encoding/csv"
	"io"

	"github.com/keywright/keywright/finding"
)

// writeCSV writes the rows of a table. A cell that a spreadsheet would take for a formula begins with an
// apostrophe.
func writeCSV(w io.Writer, rows [][]string) error {
	out := csv.NewWriter(w)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = finding.Cell(cell)
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
