package inspect

import (
	"strconv"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
)

// topCSV prints the groups as CSV. Its rows add up to all keys and bytes; the last,
// "other", is what no row has. Without sizes the cells of bytes are empty.
func topCSV(a *cli.App, t *TopReport, _ *topping) error {
	rows := [][]string{{"group", "pattern", "software", "type", "keys", "bytes", "share", "no_ttl"}}
	for _, g := range append(t.Groups,
		topGroup{Entry: "other", Pattern: t.others(), Keys: t.OtherKeys, Bytes: t.OtherBytes, NoTTL: t.OtherNoTTL}) {
		g.of(t)
		size := strconv.FormatInt(g.Bytes, 10)
		if t.NoBytes {
			size = ""
		}
		rows = append(rows, []string{g.Entry, g.Pattern, g.Product, g.Type, strconv.FormatInt(g.Keys, 10), size,
			strconv.FormatFloat(g.Share, 'f', 4, 64), strconv.FormatInt(g.NoTTL, 10)})
	}
	return cli.WriteCSV(a.Out.Raw(), rows)
}
