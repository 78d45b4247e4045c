package declare

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/explain"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/internal/typo"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/spf13/cobra"
)

// explaining holds the flags of explain.
type explaining struct {
	key    string
	output string
	live   bool // a server was named
}

func ExplainCommand(a *cli.App) *cobra.Command {
	var o explaining
	c := &cobra.Command{
		Use:   "explain CODE | ENTRY | --key KEY",
		Short: "Explain a rule, an entry, or which entry a key belongs to",
		Long: `With a code, the rule: why, an example, the source. With the name of an entry,
every key that it declares, helper keys included, with type and TTL. With --key,
the entry a key belongs to and its policy; with -u too, the key's live type,
TTL and size.

Exit codes: 0 found, 1 the key belongs to no entry or is not as declared, 2 usage
or a bad file, 3 the server cannot be reached, 4 it refuses.`,
		Example: `  keywright explain KW204
  keywright explain tasks
  keywright explain --key cache:product:detail:42 -u redis://localhost`,
		ValidArgsFunction: a.CompleteExplain,
		RunE: func(c *cobra.Command, args []string) error {
			form, err := a.Form(c, o.output, "text", "json")
			if err != nil {
				return err
			}
			o.output, o.live = form, c.Flags().Changed("url")
			return explainAny(c.Context(), a, &o, args, c.Flags().Changed("key"))
		},
	}
	a.ServerFlags(c)
	a.NamespaceFlag(c)
	cli.Outputs(c, &o.output, "text", "json")
	c.Flags().StringVar(&o.key, "key", "", "a key; its bytes as they are")
	return c
}

func explainAny(ctx context.Context, a *cli.App, o *explaining, args []string, byKey bool) error {
	const both = "as in `keywright explain KW204` or `keywright explain --key cache:product:detail:42`"
	switch {
	case byKey && len(args) > 0:
		return cli.Usage(both, "explain takes a code or entry, or --key, not both")
	case byKey:
		return explainKey(ctx, a, o)
	case len(args) != 1:
		return cli.Usage(both, "explain takes one code or entry, or --key")
	}
	if r, ok := findRule(args[0]); ok {
		if o.output == "json" {
			rule := answerRule(r)
			return a.JSON(Explanation{Rule: &rule})
		}
		return printRule(a, r)
	}
	if rest, ok := strings.CutPrefix(strings.ToUpper(args[0]), "KW"); ok && len(rest) == 3 {
		return cli.Usage("`keywright rules` lists all", "there is no rule %s", args[0])
	}
	return explainEntry(a, o, args[0])
}

func explainEntry(a *cli.App, o *explaining, name string) error {
	d, path, err := a.LoadDeclaration()
	if err != nil {
		return err
	}
	e, _ := d.Lookup(name)
	if e == nil {
		return noEntry(a, d, path, name)
	}
	about := explain.EntryOf(d.Keyspace, e, d.Prefix)
	if o.output == "json" {
		return a.JSON(Explanation{Entry: &about})
	}
	return printEntry(a, about)
}

// noEntry proposes what may have been meant.
func noEntry(a *cli.App, d *cli.Declaration, path, name string) error {
	hint := ""
	if i := slices.IndexFunc(d.Retired, func(r keyspace.Retired) bool { return r.Name == name }); i >= 0 {
		r := d.Retired[i]
		return cli.Usage("choose another name for what is new; keywright explain KW133 says why", "%s is retired: %s%s:%d",
			name,
			d.Prefix, r.Pos.File, r.Pos.Line)
	}
	switch near := typo.Nearest(name, d.Names()); {
	case strings.ContainsAny(name, ":/{}"):
		hint = "for a key write `" + a.Corrected(name, "--key="+name) + "`"
	case near != "":
		hint = "did you mean `" + a.Corrected(name, near) + "`?"
	case len(d.Entries) > 0:
		hint = "the entries are: " + strings.Join(EntryNames(d.Keyspace), ", ")
	}
	return cli.Usage(hint, "%s declares no entry %q, and there is no such rule", path, name)
}

func EntryNames(ks *keyspace.Keyspace) []string {
	var out []string
	for _, e := range ks.Entries {
		out = append(out, e.Name)
	}
	return out
}

// Explanation describes what explain has found: one of the three.
type Explanation struct {
	Rule  *ruleAnswer      `json:"rule,omitempty"`
	Entry *explain.Entry   `json:"entry,omitempty"`
	Key   *explain.Located `json:"key,omitempty"`
}

func printEntry(a *cli.App, e explain.Entry) error {
	fmt.Fprintf(a.Out, "%s: %s, declared at %s:%d\n", a.Out.Paint(terminal.Bold, e.Name), e.Type,
		finding.Printable(e.File), e.Line)
	for _, l := range terminal.Wrap(e.Doc, 80) {
		fmt.Fprintln(a.Out, finding.Printable(l))
	}
	var rows [][]string
	for _, k := range e.Keys {
		origin := ""
		if k.Derived {
			origin = "derived"
		}
		rows = append(rows, []string{k.Name, k.Pattern, k.Type, k.TTL, origin, k.Example})
	}
	if len(rows) > 0 {
		fmt.Fprintln(a.Out)
		columns := []terminal.Column{{Title: "key", Least: 16}, {Title: "pattern", Least: 24}, {Title: "type"},
			{Title: "ttl", Least: 12}, {Title: "", Style: terminal.Faint}, {Title: "example", Least: 20, Drop: 1}}
		if err := terminal.Table(a.Out, columns, rows); err != nil {
			return err
		}
	}
	fmt.Fprintln(a.Out)
	for _, l := range []struct{ name, value string }{
		{"owner", e.Owner}, {"readers", strings.Join(e.Readers, ", ")}, {"ttl by", strings.Join(e.Lives, ", ")},
		{"stamps", strings.Join(e.Stamps, ", ")}, {"channels", strings.Join(e.Channels, ", ")},
		{"deleted by", strings.Join(e.Deletes, ", ")},
		{"was", strings.Join(e.Was, ", ")}, {"retired", strings.Join(e.Retired, ", ")}, {"script", e.Script}, {"keys",
			strings.Join(e.ScriptFor, ", ")},
	} {
		line(a, l.name, l.value)
	}
	return nil
}

// line prints one fact under the others, if there is one.
func line(a *cli.App, name, value string) {
	if value != "" {
		fmt.Fprintf(a.Out, "%-10s %s\n", name, finding.Printable(value))
	}
}

func explainKey(ctx context.Context, a *cli.App, o *explaining) error {
	d, _, err := a.LoadDeclaration()
	if err != nil {
		return err
	}
	locator, err := explain.NewLocator(d.Keyspace)
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
		err = a.JSON(Explanation{Key: l})
	} else {
		printLocated(a, l)
	}
	if err == nil && (l.Status == "undeclared" || l.Status == "owned" || len(l.Wrong) > 0) {
		err = &cli.Exit{Code: cli.ExitFindings}
	}
	return err
}

func printLocated(a *cli.App, l *explain.Located) {
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
func liveText(l *explain.Live) string {
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
