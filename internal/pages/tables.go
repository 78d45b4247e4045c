package pages

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/keywright/keywright/internal/arch"
)

const (
	tableBegin = "<!-- table: "
	tableEnd   = "<!-- end of table -->\n"
)

// fillTables returns the text with the tables that its marks name: "<!-- table: layers -->" or
// "<!-- table: packages -->", up to "<!-- end of table -->".
func fillTables(root fs.FS, text string) (string, error) {
	before, rest, found := strings.Cut(text, "\n"+tableBegin)
	if !found {
		return text, nil
	}
	line, rest, _ := strings.Cut(rest, "\n")
	_, rest, ended := strings.Cut(rest, tableEnd)
	if !ended {
		return "", fmt.Errorf("the table %s has no end", line)
	}
	var table string
	switch name := strings.TrimSuffix(line, " -->"); name {
	case "layers":
		table = arch.Table()
	case "packages":
		files, err := arch.Parse(root)
		if err != nil {
			return "", err
		}
		table = arch.Map(files)
	default:
		return "", fmt.Errorf("there is no table %q", name)
	}
	rest, err := fillTables(root, rest)
	return before + "\n" + tableBegin + line + "\n\n" + table + "\n" + tableEnd + rest, err
}
