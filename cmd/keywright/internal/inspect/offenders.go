package inspect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/source"
)

// offending holds the flags that ask for the keys of findings instead of a report.
type offending struct {
	codes []string
	null  bool

	form   string // "lines", "null" or "jsonl"
	db     int    // the database whose keys are printed; -1: all, where the form says which
	counts map[int]int64
	failed error
}

// Check checks the flags, and says in which form keys are printed. What was not looked
// at has no key to print.
func (o *offending) Check(form string, formGiven, values bool) error {
	if len(o.codes) == 0 {
		if o.null {
			return cli.Usage("write --keys-of KW505 --null", "--null needs --keys-of")
		}
		return nil
	}
	for i, code := range o.codes {
		o.codes[i] = strings.ToUpper(code)
		if o.codes[i] == "KW516" {
			return cli.Usage("--keys-of KW502 prints all keys that are undeclared, those of its groups too",
				"--keys-of KW516: it is about groups of keys, and their single keys are not kept")
		}
		if !audit.OfKeys(o.codes[i]) {
			return cli.Usage("as in --keys-of KW505; `keywright rules` lists them, KW5xx",
				"--keys-of %q is no code of an audit with keys", code)
		}
	}
	unseen := slices.IndexFunc(o.codes, func(code string) bool { return audit.NeedsValues(code) && !values })
	switch {
	case unseen >= 0:
		return cli.Usage("add --values=all, or --values for a sample",
			"--keys-of %s is about values, which are not looked at",
			o.codes[unseen])
	case form == "jsonl" && o.null:
		return cli.Usage("leave out one of them", "--null and -o jsonl exclude each other")
	case form == "jsonl":
		o.form = "jsonl"
	case formGiven && form != "table":
		return cli.Usage("leave out -o, or write -o jsonl", "--keys-of prints keys, in the form of lines or jsonl")
	case o.null:
		o.form = "null"
	default:
		o.form = "lines"
	}
	return nil
}

// printer prints keys as the audit meets them: each once, as JSON Lines once for each
// of its codes.
func (o *offending) printer(a *cli.App, out *bufio.Writer, chosenDB int) func(codes []string, entry string,
	k *source.Key) {
	o.counts, o.db = map[int]int64{}, max(chosenDB, 0)
	if o.form == "jsonl" {
		o.db = chosenDB
	}
	return func(codes []string, entry string, k *source.Key) {
		if o.failed != nil || !slices.ContainsFunc(codes, func(code string) bool { return slices.Contains(o.codes, code) }) {
			return
		}
		if o.counts[k.DB]++; o.db >= 0 && k.DB != o.db {
			return
		}
		switch o.form {
		case "jsonl":
			o.failed = o.lines(a, out, codes, entry, k)
		case "null":
			_, o.failed = fmt.Fprintf(out, "%s\x00", k.Name)
		default:
			_, o.failed = fmt.Fprintln(out, finding.FullKey(k.Name))
		}
	}
}

// lines prints a key as JSON Lines, one for each code that is asked for.
func (o *offending) lines(a *cli.App, out *bufio.Writer, codes []string, entry string, k *source.Key) error {
	for _, code := range codes {
		if !slices.Contains(o.codes, code) {
			continue
		}
		text, err := a.WithVersion(audit.Line{Kind: "offender",
			Offender: &audit.Offender{Code: code, DB: k.DB, Key: k.Name, Entry: entry}})
		if err != nil {
			return err
		}
		if _, err = out.Write(finding.EscapeJSON(text)); err != nil {
			return err
		}
	}
	return nil
}

// looked says how much was looked at, where that was not everything or is asked for.
func (o *offending) looked(r *audit.Report) string {
	t := reportTable{r: r}
	out := t.seen()
	if slices.ContainsFunc(o.codes, audit.NeedsValues) {
		out += "; " + t.values()
	}
	return out
}

// conclude says on standard error what was printed and what was not.
func (o *offending) conclude(ctx context.Context, a *cli.App, out *bufio.Writer, r *audit.Report, scanErr error,
	again string) error {
	if err := errors.Join(o.failed, out.Flush()); err != nil {
		return err
	}
	var total int64
	for _, db := range slices.Sorted(maps.Keys(o.counts)) {
		total += o.counts[db]
		if o.db >= 0 && db != o.db {
			a.Say("%s in database %d not printed: run it with --db %d", terminal.Plural(o.counts[db], "key"), db, db)
		}
	}
	a.Say("%s of %s have %s%s", terminal.Count(total), terminal.Plural(r.Total.Keys, "key"), strings.Join(o.codes, ", "),
		o.looked(r))
	switch {
	case errors.Is(scanErr, context.Canceled) || ctx.Err() != nil:
		return &cli.Exit{Code: cli.ExitInterrupted, Message: "interrupted: the keys were seen until then", Hint: ""}
	case scanErr != nil:
		return scanErr
	case !r.Complete:
		return &cli.Exit{Code: cli.ExitPartial,
			Message: "the audit is incomplete, and so are the keys: " + r.Incomplete.String(), Hint: again}
	case total > 0:
		return &cli.Exit{Code: cli.ExitFindings}
	}
	return nil
}
