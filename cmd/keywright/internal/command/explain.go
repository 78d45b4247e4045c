package command

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/keywright/keywright/slot"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/server"
	"github.com/spf13/cobra"
)

func sortRules(rules []finding.Rule) {
	slices.SortFunc(rules, func(a, b finding.Rule) int { return cmp.Compare(a.Code, b.Code) })
}

func (a *app) rulesCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "rules",
		Short: "List every rule with its code",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			form, err := a.form(output, "table", "json")
			if err != nil {
				return err
			}
			if form == "json" {
				return a.json(rulesJSON(AllRules()))
			}
			var rows [][]string
			for _, r := range AllRules() {
				rows = append(rows, []string{r.Code, r.Severity.String(), r.Name, r.Summary})
			}
			return terminal.Table(a.Out, []string{"code", "severity", "name", "what it says"}, rows)
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "form of the result: table or json")
	return c
}

func rulesJSON(rules []finding.Rule) []map[string]string {
	out := []map[string]string{}
	for _, r := range rules {
		out = append(out, map[string]string{"code": r.Code, "severity": r.Severity.String(), "name": r.Name, "summary": r.Summary, "explain": r.Explain, "fix": r.Fix})
	}
	return out
}

func (a *app) json(v any) error {
	e := json.NewEncoder(a.Out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func (a *app) explainCommand() *cobra.Command {
	var key string
	c := &cobra.Command{
		Use:   "explain [CODE | ENTRY] [--key KEY]",
		Short: "Explain a rule, an entry, or which entry a key belongs to",
		Long: `With a code, the rule: why, an example, the source. With the name of an entry,
every key it stands for, helper keys included, with type and TTL. With --key,
the entry a key belongs to and its policy; with -u too, the key's live type,
TTL and size.

Exit codes: 0 found, 1 the key belongs to no entry, 2 usage or a bad file, 3 or
4 as for audit.`,
		Example: `  keywright explain KW204
  keywright explain tasks
  keywright explain --key cache:product:detail:42 -u redis://localhost`,
		ValidArgsFunction: a.completeExplain,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case cmd.Flags().Changed("key") && len(args) == 0:
				return a.explainKey(cmd.Context(), key, cmd.Flags().Changed("url") || a.Getenv("KEYWRIGHT_URL") != "")
			case len(args) == 1 && !cmd.Flags().Changed("key"):
				return a.explain(args[0])
			}
			return usage("as in `keywright explain KW204` or `keywright explain --key cache:product:detail:42`", "explain takes one code or entry, or --key")
		},
	}
	a.serverFlags(c.Flags())
	c.Flags().StringVar(&key, "key", "", "a key, as bytes")
	return c
}

func (a *app) explain(what string) error {
	for _, r := range AllRules() {
		if strings.EqualFold(r.Code, what) || r.Name == what {
			_, err := fmt.Fprintf(a.Out, "%s %s (%s)\n%s.\n\n%s\n\nfix: %s\n", r.Code, r.Name, r.Severity, r.Summary, wrap(r.Explain, 80), r.Fix)
			return err
		}
	}
	if strings.HasPrefix(strings.ToUpper(what), "KW") {
		return usage("`keywright rules` lists all", "there is no rule %s", what)
	}
	path, err := a.find()
	if err != nil {
		return err
	}
	d, err := a.usable(path)
	if err != nil {
		return err
	}
	e, _ := d.Lookup(what)
	if e == nil {
		return usage("the entries are: "+strings.Join(entryNames(d.Keyspace), ", "), "%s declares no entry %q", path, what)
	}
	return a.explainEntry(d, e)
}

func entryNames(ks *keyspace.Keyspace) []string {
	var out []string
	for _, e := range ks.Entries {
		out = append(out, e.Name)
	}
	return out
}

func wrap(text string, width int) string {
	var out strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		n := finding.Width(word)
		switch {
		case i > 0 && column+1+n > width:
			out.WriteByte('\n')
			column = 0
		case i > 0:
			out.WriteByte(' ')
			column++
		}
		out.WriteString(word)
		column += n
	}
	return out.String()
}

func (a *app) explainEntry(d *declaration, e *keyspace.Entry) error {
	fmt.Fprintf(a.Out, "%s: %s, declared at %s:%d\n", e.Name, e.Type, d.prefix+e.Pos.File, e.Pos.Line)
	if e.Doc != "" {
		fmt.Fprintf(a.Out, "%s\n", wrap(e.Doc, 80))
	}
	fmt.Fprintln(a.Out)
	var rows [][]string
	for _, k := range e.Keys {
		origin := ""
		if k.Derived {
			origin = "derived"
		}
		rows = append(rows, []string{k.Name, k.Pattern.String(), string(k.Kind), k.TTL.String(), origin, string(k.Pattern.Example())})
	}
	if len(rows) > 0 {
		if err := terminal.Table(a.Out, []string{"key", "pattern", "type", "ttl", "", "example"}, rows); err != nil {
			return err
		}
	}
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(a.Out, "%-10s %s\n", name, finding.Printable(value))
		}
	}
	fmt.Fprintln(a.Out)
	line("owner", e.Owner)
	line("readers", strings.Join(e.Readers, ", "))
	if e.Notify != nil {
		line("channel", e.Notify.Pattern.String())
	}
	for _, ev := range d.Events {
		if slices.Contains(ev.Deletes, e.Name) {
			line("deleted by", ev.Name)
		}
	}
	for _, w := range e.Was {
		line("was", w.String())
	}
	if e.Script != nil {
		line("script", e.Script.File)
		line("keys", strings.Join(e.Script.Keys, ", "))
	}
	return nil
}

func (a *app) explainKey(ctx context.Context, key string, live bool) error {
	path, err := a.find()
	if err != nil {
		return err
	}
	d, err := a.usable(path)
	if err != nil {
		return err
	}
	items, targets := d.Items()
	m, _, err := match.Compile(items)
	if err != nil {
		return err
	}
	var c match.Captures
	id := m.Match([]byte(key), &c)
	fmt.Fprintf(a.Out, "%-10s %s\n", "key", finding.Key([]byte(key)))
	if id == match.None {
		fmt.Fprintf(a.Out, "%-10s none declares it\n", "entry")
		if near := nearPattern(d.Keyspace, key); near != "" {
			fmt.Fprintf(a.Out, "%-10s %s\n", "meant?", near)
		}
	} else {
		a.explainTarget(targets[id], key, &c)
	}
	fmt.Fprintf(a.Out, "%-10s %d\n", "slot", slot.Of([]byte(key)))
	if live {
		if err := a.explainLive(ctx, key, id, targets); err != nil {
			return err
		}
	}
	if id == match.None || targets[id].Owned != nil {
		return &exit{code: exitFindings}
	}
	return nil
}

func (a *app) explainTarget(t keyspace.Target, key string, c *match.Captures) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(a.Out, "%-10s %s\n", name, finding.Printable(fmt.Sprintf(format, args...)))
	}
	switch {
	case t.Foreign != nil:
		line("entry", "other software's, by foreign %s: counted, not judged", t.Foreign.Text)
	case t.Owned != nil:
		line("entry", "none declares it, although owns has %s", t.Owned.Text)
	case t.Legacy != nil:
		line("entry", "%s, by an old name (was)", t.Legacy.Name)
	default:
		k := t.Key
		line("entry", "%s (%s)", k.Name, k.Entry.Type)
		line("pattern", "%s", k.Pattern)
		for i, place := range k.Pattern.Placeholders() {
			line("  "+place.Name, "%s (%s)", finding.Key(c.Of([]byte(key), i)), place.Type.Definition())
		}
		line("type", "%s", k.Kind)
		line("ttl", "%s", k.TTL)
		line("owner", "%s", cmp.Or(k.Entry.Owner, "nobody"))
		if k.Doc != "" {
			line("doc", "%s", k.Doc)
		}
	}
}

func (a *app) explainLive(ctx context.Context, key string, id int, targets []keyspace.Target) error {
	config, err := a.server()
	if err != nil {
		return err
	}
	f, err := server.Inspect(ctx, config, []byte(key))
	if err != nil {
		return err
	}
	if !f.Exists {
		fmt.Fprintf(a.Out, "%-10s does not exist at %s\n", "live", f.Node)
		return nil
	}
	ttl := "none"
	if f.TTL != source.NoTTL {
		ttl = terminal.Duration(f.TTL)
	}
	size := "size unknown"
	if f.Bytes >= 0 {
		size = terminal.Bytes(f.Bytes)
	}
	fmt.Fprintf(a.Out, "%-10s %s (%s), ttl %s, %s, at %s\n", "live", f.Type, cmp.Or(f.Encoding, "encoding unknown"), ttl, size, f.Node)
	if id != match.None && targets[id].Key != nil {
		for _, fault := range liveFaults(targets[id].Key, f) {
			fmt.Fprintf(a.Out, "%-10s %s\n", "wrong", fault)
		}
	}
	return nil
}

// liveFaults compares one live key with its declaration.
func liveFaults(k *keyspace.Key, f server.Facts) []string {
	var out []string
	if f.Type != string(k.Kind) {
		out = append(out, "KW504: it is a "+f.Type+", not a "+string(k.Kind))
	}
	switch {
	case k.TTL.Policy == keyspace.TTLExpires && f.TTL == source.NoTTL:
		out = append(out, "KW505: it has no TTL")
	case k.TTL.Policy == keyspace.TTLExpires && f.TTL > k.TTL.LiveMax():
		out = append(out, "KW506: its TTL is above "+keyspace.FormatDuration(k.TTL.LiveMax()))
	case k.TTL.Policy == keyspace.TTLNone && f.TTL != source.NoTTL:
		out = append(out, "KW507: it has a TTL")
	}
	return out
}

// nearPattern is the declared pattern with the longest literal beginning in
// common with key.
func nearPattern(ks *keyspace.Keyspace, key string) string {
	best, most := "", 3
	for _, k := range ks.Keys {
		text := k.Pattern.String()
		n := 0
		for n < len(text) && n < len(key) && text[n] == key[n] {
			n++
		}
		if n > most {
			best, most = k.Name+": "+text, n
		}
	}
	return best
}

func (a *app) matchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "match",
		Short: "Read keys from standard input, one a line, and name their entries",
		Long: `Reads keys, one a line, and writes a line for each: the entry's name, a tab, the
key. A key no entry declares has - as its entry. Good behind redis-cli --scan.

Exit codes: 0 all keys are declared, 1 some are not, 2 usage or a bad file.`,
		Example: `  redis-cli --scan | keywright match | cut -f1 | sort | uniq -c`,
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return a.match() },
	}
}

func (a *app) match() error {
	path, err := a.find()
	if err != nil {
		return err
	}
	d, err := a.usable(path)
	if err != nil {
		return err
	}
	items, targets := d.Items()
	m, _, err := match.Compile(items)
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(a.In, 1<<16)
	out := bufio.NewWriter(a.Out)
	strays := 0
	for {
		key, err := in.ReadBytes('\n')
		key = []byte(strings.TrimSuffix(string(key), "\n"))
		if len(key) > 0 {
			name := targetName(targets, m.Match(key, nil))
			if name == "-" {
				strays++
			}
			fmt.Fprintf(out, "%s\t%s\n", name, key)
		}
		if err != nil {
			break
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if strays > 0 {
		return &exit{code: exitFindings}
	}
	return nil
}

func targetName(targets []keyspace.Target, id int) string {
	if id == match.None {
		return "-"
	}
	switch t := targets[id]; {
	case t.Key != nil:
		return t.Key.Name
	case t.Legacy != nil:
		return t.Legacy.Name
	case t.Foreign != nil:
		return "foreign"
	}
	return "-"
}

// completeEntries offers the names of entries from the declaration.
func (a *app) completeEntries(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	path, err := a.find()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	d, err := load(path)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return d.Names(), cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeExplain(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	names, directive := a.completeEntries(cmd, args, word)
	for _, r := range AllRules() {
		names = append(names, r.Code+"\t"+r.Summary)
	}
	return names, directive
}
