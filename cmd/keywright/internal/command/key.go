package command

import (
	"cmp"
	"context"
	"strconv"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
)

func explainKey(ctx context.Context, a *cli.App, o *explaining) error {
	d, _, err := a.LoadDeclaration()
	if err != nil {
		return err
	}
	locator, err := answer.NewLocator(d.Keyspace)
	if err != nil {
		return err
	}
	l := locator.Find([]byte(o.key))
	if o.live {
		config, err := a.Server()
		if err != nil {
			return err
		}
		if err := l.Inspect(ctx, config); err != nil {
			return err
		}
	}
	if o.output == "json" {
		err = a.JSON(explanation{Key: l})
	} else {
		printLocated(a, l)
	}
	if err == nil && (l.Status == "undeclared" || l.Status == "owned" || len(l.Wrong) > 0) {
		err = &cli.Exit{Code: cli.ExitFindings}
	}
	return err
}

func printLocated(a *cli.App, l *answer.Located) {
	line(a, "key", finding.Key(l.Key))
	switch l.Status {
	case "foreign":
		line(a, "entry", "other software's, by foreign "+l.Glob+": counted, not judged")
	case "owned":
		line(a, "entry", "none declares it, although owns has "+l.Glob)
	case "legacy":
		line(a, "entry", l.Entry+", by an old name (was)")
	case "undeclared":
		line(a, "entry", "none declares it")
	default:
		line(a, "entry", l.Entry+" ("+l.Declared.Entry.Type+")")
	}
	line(a, "pattern", l.Pattern)
	for _, c := range l.Captures {
		line(a, "  "+c.Name, finding.Key(c.Value)+" ("+c.Type+")")
	}
	for _, n := range l.Near {
		line(a, "meant?", n.Entry+": "+n.Pattern)
	}
	line(a, "type", l.Type)
	line(a, "ttl", l.TTL)
	line(a, "owner", l.Owner)
	line(a, "doc", l.Doc)
	line(a, "slot", strconv.Itoa(int(l.Slot)))
	if l.Live != nil {
		line(a, "live", liveText(l.Live))
	}
	for _, w := range l.Wrong {
		line(a, "wrong", w)
	}
}

// liveText returns what the server says, in a line.
func liveText(l *answer.Live) string {
	if !l.Exists {
		return "does not exist at " + l.Node
	}
	ttl, size := "no ttl", "size unknown"
	if l.TTL != nil {
		ttl = "ttl " + terminal.Duration(audit.Duration(*l.TTL))
	}
	if l.Bytes != nil {
		size = terminal.Bytes(*l.Bytes)
	}
	return l.Type + " (" + cmp.Or(l.Encoding, "encoding unknown") + "), " + ttl + ", " + size + ", at " + l.Node
}
