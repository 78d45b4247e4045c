package command

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/keywright/keywright/finding"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/match"
	"github.com/spf13/cobra"
)

func (a *app) matchCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "match",
		Short: "Read keys from standard input, one a line, and name their entries",
		Long: `Reads keys, one a line, and writes a line for each: the entry's name, a tab, the
key. A key that no entry declares has - as its entry, other software's has
foreign. A key that is not printable, or that the log of a CI system would take
for a command, is quoted with escapes; -o jsonl has every byte. Good behind
redis-cli --scan.

Exit codes: 0 all keys are declared, 1 some are not, 2 usage or a bad file.`,
		Example: `  redis-cli --scan | keywright match | cut -f1 | sort | uniq -c`,
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			form, err := a.form(c, output, "text", "jsonl")
			if err != nil {
				return err
			}
			return a.match(form)
		},
	}
	outputs(c, &output, "text", "jsonl")
	return c
}

// maxKeyLine bounds a line of input; a server's keys are 512 MB at most, but no
// list of keys has such lines.
const maxKeyLine = 64 << 20

func (a *app) match(form string) error {
	d, _, err := a.usable()
	if err != nil {
		return err
	}
	items, targets := d.Items()
	m, _, err := match.Compile(items)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(a.out.Raw())
	print := a.printMatch(form, out)
	strays := false
	in := bufio.NewScanner(a.In)
	in.Buffer(make([]byte, 0, 1<<16), maxKeyLine)
	in.Split(lines)
	for in.Scan() {
		if len(in.Bytes()) == 0 {
			continue
		}
		name := targetName(targets, m.Match(in.Bytes(), nil))
		strays = strays || name == "-"
		if err := print(name, in.Bytes()); err != nil {
			return err
		}
	}
	if err := errors.Join(in.Err(), out.Flush()); err != nil {
		return err
	}
	if strays {
		return &exit{code: exitFindings}
	}
	return nil
}

// lines splits at \n only: a \r may be part of a key.
func lines(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// printMatch prints a line: a key as it is where it is printable, else quoted.
func (a *app) printMatch(form string, out io.Writer) func(name string, key []byte) error {
	if form == "text" {
		return func(name string, key []byte) error {
			_, err := fmt.Fprintf(out, "%s\t%s\n", name, finding.Key(key))
			return err
		}
	}
	type row struct {
		Entry string          `json:"entry"`
		Key   finding.JSONKey `json:"key"`
	}
	return func(name string, key []byte) error { return finding.WriteJSON(out, row{name, key}, "") }
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
