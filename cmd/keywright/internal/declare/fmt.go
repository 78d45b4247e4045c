package declare

import (
	"bytes"
	"fmt"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/keyspace/format"
	"github.com/spf13/cobra"
)

// formatting holds the flags of fmt.
type formatting struct{ write, check bool }

func FmtCommand(a *cli.App) *cobra.Command {
	var o formatting
	c := &cobra.Command{
		Use:   "fmt [file or folder…]",
		Short: "Lay declarations out in the canonical way, comments kept",
		Long: `Prints the declaration in its canonical layout; comments and blank lines stay.
A folder means every keyspace.yaml below it; - is standard input. Texts that
differ in indentation, blanks, repeated empty lines, quotes or line ends get one text,
and formatting that changes nothing. Whether a mapping is on lines of its own or in
{…}, where a long {…} breaks, and how far in the dashes of a list are, stays as it is
written.

Exit codes: 0 done, 1 with --check: a file would change, 2 usage or a file that
is not YAML.`,
		Example: `  keywright fmt -w
  keywright fmt --check examples/
  keywright fmt - < draft.yaml`,
		RunE: func(_ *cobra.Command, args []string) error { return formatFiles(a, args, o) },
	}
	c.Flags().BoolVarP(&o.write, "write", "w", false, "write the result back to the file")
	c.Flags().BoolVar(&o.check, "check", false, "print the names of files that would change, and change nothing")
	return c
}

func formatFiles(a *cli.App, args []string, o formatting) error {
	stdin := len(args) == 1 && args[0] == "-"
	switch {
	case o.write && o.check:
		return cli.Usage("use one of them", "--write and --check exclude each other")
	case stdin && o.write:
		return cli.Usage("write `keywright fmt -` for the result on standard output", "standard input cannot be written to")
	}
	paths := args
	if !stdin {
		var err error
		if paths, err = a.Declarations(args); err != nil {
			return err
		}
	}
	changed := 0
	for _, p := range paths {
		differs, err := formatOne(a, p, o)
		if err != nil {
			return err
		}
		if differs {
			changed++
		}
	}
	if o.check && changed > 0 {
		return &cli.Exit{Code: cli.ExitFindings, Hint: "run `keywright fmt -w`"}
	}
	return nil
}

// formatOne formats one file and reports whether that changes it.
func formatOne(a *cli.App, path string, o formatting) (bool, error) {
	var text []byte
	var err error
	if path == "-" {
		text, err = cli.ReadAll(a.In, "standard input")
	} else {
		text, err = cli.ReadText(path)
	}
	if err != nil {
		return false, err
	}
	out, err := format.Format(text)
	if err != nil {
		return false, cli.Usage("`keywright lint` shows where", "%s: %v", path, err)
	}
	differs := !bytes.Equal(out, text)
	switch {
	case o.check:
		if differs {
			_, err = fmt.Fprintln(a.Out, path)
		}
	case o.write:
		if differs {
			err = cli.ReplaceText(path, out)
			a.Say("formatted %s", path)
		}
	default:
		err = a.WriteFile(out)
	}
	return differs, err
}
