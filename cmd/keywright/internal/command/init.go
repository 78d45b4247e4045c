package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/keywright/keywright/keyspace/format"
	"github.com/keywright/keywright/keyspace/schema"
	"github.com/spf13/cobra"
)

// schemaFile is where editors find the JSON Schema of the language.
const schemaFile = ".keywright/keyspace.schema.json"

// starter is the declaration that init writes. The first two lines are for
// editors: yaml-language-server and JetBrains read different ones.
const starter = `# yaml-language-server: $schema=./` + schemaFile + `
# $schema: ./` + schemaFile + `
keywright: 1
package: shopkeys                    # the name of the generated package
owner: shop                          # who writes these keys
owns: ["shop:*"]                     # an undeclared key under these is an error in an audit

vars:                                # what a placeholder means, everywhere in this file
  user_id: int 1..

keys:
  session:
    doc: A signed-in user's session, renewed while it is used.
    key: shop:session:{session_id}
    type: string
    value: json
    ttl: 30m sliding

  cart:
    doc: What a user is about to buy, by product.
    key: shop:cart:{user_id}
    type: hash
    field: slug
    value: int 1..
    ttl: 7d
`

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [folder]",
		Short: "Write a first declaration, and the JSON Schema beside it for editors",
		Long: `Writes keyspace.yaml with two entries to start from, and
` + schemaFile + `, with which editors complete and check it. A keyspace.yaml
that is there already is left alone; the schema is brought up to date.`,
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 1 {
				return usage("", "init takes one folder")
			}
			if len(args) == 1 {
				dir = args[0]
			}
			return a.initialise(dir)
		},
	}
}

func (a *app) initialise(dir string) error {
	target := filepath.Join(dir, schemaFile)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(target, schema.JSON, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "wrote %s\n", target)
	path := filepath.Join(dir, declarationName)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return &exit{exitRefused, path + " exists already and is left as it is", "remove it first, or edit it"}
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.WriteString(f, starter); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "wrote %s; next: edit it, then `keywright lint` and `keywright audit -u redis://…`\n", path)
	return f.Close()
}

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the language",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := a.Out.Write(schema.JSON)
			return err
		},
	}
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			version, goVersion := "unknown", ""
			if info, ok := debug.ReadBuildInfo(); ok {
				version, goVersion = info.Main.Version, info.GoVersion
			}
			_, err := fmt.Fprintf(a.Out, "keywright %s %s\n", version, goVersion)
			return err
		},
	}
}

func (a *app) fmtCommand() *cobra.Command {
	var write, check bool
	c := &cobra.Command{
		Use:   "fmt [file or folder…]",
		Short: "Lay declarations out in the canonical way, comments kept",
		Long: `Prints the declaration in its canonical layout; comments and blank lines stay.
With - it reads standard input.

Exit codes: 0 done, 1 with --check: a file would change, 2 usage or a file that
is not YAML.`,
		Example: `  keywright fmt -w
  keywright fmt --check examples/`,
		RunE: func(_ *cobra.Command, args []string) error { return a.format(args, write, check) },
	}
	c.Flags().BoolVarP(&write, "write", "w", false, "write the result back to the file")
	c.Flags().BoolVar(&check, "check", false, "print the names of files that would change")
	return c
}

func (a *app) format(args []string, write, check bool) error {
	if write && check {
		return usage("use one of them", "--write and --check exclude each other")
	}
	if len(args) == 1 && args[0] == "-" {
		text, err := io.ReadAll(io.LimitReader(a.In, 1<<20+1))
		if err != nil {
			return err
		}
		out, err := format.Format(text)
		if err != nil {
			return usage("`keywright lint` shows where", "standard input: %v", err)
		}
		_, err = a.Out.Write(out)
		return err
	}
	paths, err := a.declarations(args)
	if err != nil {
		return err
	}
	changed := 0
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			return usage("", "%v", err)
		}
		out, err := format.Format(text)
		if err != nil {
			return usage("`keywright lint` shows where", "%s: %v", p, err)
		}
		same := string(out) == string(text)
		switch {
		case check && !same:
			changed++
			fmt.Fprintln(a.Out, p)
		case write && !same:
			if err := os.WriteFile(p, out, 0o644); err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "formatted %s\n", p)
		case !write && !check:
			if _, err := a.Out.Write(out); err != nil {
				return err
			}
		}
	}
	if changed > 0 {
		return &exit{code: exitFindings, hint: "run `keywright fmt -w`"}
	}
	return nil
}
