package declare

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/terminal"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/finding"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/spf13/cobra"
)

func MatchCommand(a *cli.App) *cobra.Command {
	var output string
	var null bool
	c := &cobra.Command{
		Use:   "match",
		Short: "Read keys from standard input, one a line, and name their entries",
		Long: `Reads keys, one a line, and writes a line for each: the entry's name, a tab, the
key. A key that no entry declares has - as its entry, and, where it is near a declared
pattern, a third column with what may have been meant; other software's has foreign. A key that is not printable, or that the log of a CI system would take
for a command, is quoted with escapes; -o jsonl has every byte. Good after
redis-cli --scan. Where the first line ends with CR LF, a CR at the end of a line is
no part of its key.

Exit codes: 0 all keys are declared, 1 some are not, 2 usage or a bad file.`,
		Example: `  redis-cli --scan | keywright match | cut -f1 | sort | uniq -c`,
		Args:    cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			form, err := a.Form(c, output, "text", "jsonl")
			if err != nil {
				return err
			}
			return matchKeys(a, form, null)
		},
	}
	cli.Outputs(c, &output, "text", "jsonl")
	a.NamespaceFlag(c)
	c.Flags().BoolVarP(&null, "null", "0", false, "keys end with a zero byte, as audit --keys-of --null prints them")
	return c
}

// maxKeyLine bounds a line of input; a server's keys are 512 MB at most, but no
// list of keys has such lines.
const maxKeyLine = 64 << 20

func matchKeys(a *cli.App, form string, null bool) error {
	d, _, err := a.LoadDeclaration()
	if err != nil {
		return err
	}
	items, targets := d.Items()
	m, _, err := match.Compile(items)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(a.Out.Raw())
	print := printMatch(a, form, out)
	near := keyspace.NewNear(d.Keyspace)
	unnamed := 0 // keys that were not compared
	strays := false
	in := bufio.NewScanner(a.In)
	in.Buffer(make([]byte, 0, 1<<16), maxKeyLine)
	in.Split(until('\n'))
	if null {
		in.Split(until(0))
	}
	windows := false // lines end with CR LF
	for first := true; in.Scan(); first = false {
		key := in.Bytes()
		if first && !null && bytes.HasSuffix(key, []byte("\r")) {
			windows = true
			a.Say("note: lines end with CR LF; the CR is not taken for a part of the keys")
		}
		if windows {
			key = bytes.TrimSuffix(key, []byte("\r"))
		}
		if len(key) == 0 {
			continue
		}
		name := targetName(targets, m.Match(key, nil))
		line := Matched{Entry: name, Key: key}
		switch {
		case name != "-":
		case near.Work() < maxProposing:
			line.propose(near)
		default:
			unnamed++
		}
		strays = strays || name == "-"
		if err := print(line); err != nil {
			return err
		}
	}
	if unnamed > 0 {
		a.Say("note: the last %s that no entry declares were not compared with what is declared: there are too many",
			terminal.Plural(int64(unnamed), "key"))
	}
	if err := errors.Join(in.Err(), out.Flush()); err != nil {
		return err
	}
	if strays {
		return &cli.Exit{Code: cli.ExitFindings}
	}
	return nil
}

// until splits at one byte and nothing else: any other may be part of a key.
func until(end byte) bufio.SplitFunc {
	return func(data []byte, atEOF bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, end); i >= 0 {
			return i + 1, data[:i], nil
		}
		if atEOF && len(data) > 0 {
			return len(data), data, nil
		}
		return 0, nil, nil
	}
}

// Matched represents a key of the input; its JSON names are stable.
type Matched struct {
	Entry string          `json:"entry"` // "-": no entry declares the key; "foreign": it is other software's
	Key   finding.JSONKey `json:"key"`
	Near  *audit.Near     `json:"near,omitempty"` // what an undeclared key may be a misspelling of
}

// maxProposing bounds the work for names that may be meant: some seconds.
const maxProposing = 5_000_000

func (m *Matched) propose(near *keyspace.Near) {
	if found := near.To(m.Key, 1); len(found) > 0 {
		m.Near = &audit.Near{Entry: found[0].Name, Pattern: found[0].Pattern.String()}
	}
}

// printMatch prints a line: a key as it is where it is printable, else quoted.
func printMatch(a *cli.App, form string, out io.Writer) func(Matched) error {
	if form == "text" {
		return func(m Matched) error {
			meant := ""
			if m.Near != nil {
				meant = fmt.Sprintf("\tmeant %s (%s)?", m.Near.Pattern, m.Near.Entry)
			}
			_, err := fmt.Fprintf(out, "%s\t%s%s\n", m.Entry, finding.Key(m.Key), meant)
			return err
		}
	}
	return func(m Matched) error {
		text, err := a.WithVersion(m)
		if err != nil {
			return err
		}
		return finding.WriteJSON(out, json.RawMessage(text), "")
	}
}

func targetName(targets []keyspace.Target, id int) string {
	if id == match.None {
		return "-"
	}
	switch t := targets[id]; {
	case t.Key != nil:
		return t.Key.Name
	case t.Legacy != nil:
		return t.Was.Name
	case t.Foreign != nil:
		return "foreign"
	}
	return "-"
}
