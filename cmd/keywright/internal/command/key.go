package command

import (
	"cmp"
	"context"
	"strconv"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/answer"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
)

func (a *app) explainKey(ctx context.Context, o *explaining) error {
	d, _, err := a.usable()
	if err != nil {
		return err
	}
	locator, err := answer.NewLocator(d.Keyspace)
	if err != nil {
		return err
	}
	l := locator.Find([]byte(o.key))
	if o.live {
		config, err := a.server()
		if err != nil {
			return err
		}
		if err := l.Inspect(ctx, config); err != nil {
			return err
		}
	}
	if o.output == "json" {
		err = a.json(explanation{Key: l})
	} else {
		a.printLocated(l)
	}
	if err == nil && (l.Status == "undeclared" || l.Status == "owned" || len(l.Wrong) > 0) {
		err = &exit{code: exitFindings}
	}
	return err
}

func (a *app) printLocated(l *answer.Located) {
	a.line("key", finding.Key(l.Key))
	switch l.Status {
	case "foreign":
		a.line("entry", "other software's, by foreign "+l.Glob+": counted, not judged")
	case "owned":
		a.line("entry", "none declares it, although owns has "+l.Glob)
	case "legacy":
		a.line("entry", l.Entry+", by an old name (was)")
	case "undeclared":
		a.line("entry", "none declares it")
	default:
		a.line("entry", l.Entry+" ("+l.Declared.Entry.Type+")")
	}
	a.line("pattern", l.Pattern)
	for _, c := range l.Captures {
		a.line("  "+c.Name, finding.Key(c.Value)+" ("+c.Type+")")
	}
	for _, n := range l.Near {
		a.line("meant?", n.Entry+": "+n.Pattern)
	}
	a.line("type", l.Type)
	a.line("ttl", l.TTL)
	a.line("owner", l.Owner)
	a.line("doc", l.Doc)
	a.line("slot", strconv.Itoa(int(l.Slot)))
	if l.Live != nil {
		a.line("live", liveText(l.Live))
	}
	for _, w := range l.Wrong {
		a.line("wrong", w)
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
