package declare

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/sources"
	"github.com/keywright/keywright/keyspace/schema"
	"github.com/spf13/cobra"
)

// schemaFile says where editors find the JSON Schema of the language.
const schemaFile = ".keywright/keyspace.schema.json"

// schemaLines are for editors: yaml-language-server and JetBrains read different
// ones.
const schemaLines = "# yaml-language-server: $schema=./" + schemaFile + "\n# $schema: ./" + schemaFile + "\n"

// starter is the declaration that init writes.
const starter = schemaLines + `keywright: 1
package: shopkeys                    # the name of the generated package
owner: shop                          # the service that writes these keys
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

func InitCommand(a *cli.App) *cobra.Command {
	var o sources.Sourcing
	var from string
	c := &cobra.Command{
		Use:   "init [folder]",
		Short: "Write a first declaration, and the JSON Schema beside it for editors",
		Long: `Writes keyspace.yaml with two entries to start from, and
` + schemaFile + `, with which editors complete and check it. A keyspace.yaml
that is there already is left alone; the schema is brought up to date.

With --from the entries are drawn from the keys of a server or a snapshot, as
keywright infer draws them.

Exit codes: 0 written, 2 usage or a folder that cannot be written to, 3 the
server cannot be reached, 4 it refuses, or there is a keyspace.yaml already, 5
written, but not everything was seen.`,
		Example: `  keywright init
  keywright init services/shop
  keywright init --from dump.rdb
  keywright init --from redis://localhost:6379`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usage("name one folder", "init takes one folder, but got %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			dir := append(args, ".")[0]
			if from == "" && !c.Flags().Changed("from") {
				return initialise(a, dir, starter)
			}
			if _, err := os.Lstat(filepath.Join(dir, cli.DeclarationName)); err == nil {
				return exists(filepath.Join(dir, cli.DeclarationName))
			}
			if o.Name = from; from == "" {
				return cli.Usage("name a file or a server: --from dump.rdb", "--from takes no empty text")
			}
			if err := cli.WritableFolder(existing(dir)); err != nil {
				return cli.Usage("name a folder that you may write to", "the declaration cannot be written: %v", err)
			}
			draft, err := draft(c.Context(), a, &inferring{Sourcing: o})
			if draft == nil {
				return err
			}
			return cmp.Or(initialise(a, dir, schemaLines+string(draft)), err)
		},
	}
	a.ServerFlags(c)
	o.Flags(c)
	c.Flags().StringVar(&from, "from", "", "draw the entries from the keys of this snapshot file, - or URL")
	return c
}

// existing returns a folder, or the nearest above it that exists.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// exists returns the refusal to overwrite a declaration.
func exists(path string) error {
	return &cli.Exit{Code: cli.ExitRefused, Message: path + " exists already and is left as it is",
		Hint: "edit it, add to it with `keywright infer --merge " + path + "`, or remove it first"}
}

func initialise(a *cli.App, dir, text string) error {
	if err := writeSchema(a, filepath.Join(dir, schemaFile)); err != nil {
		return err
	}
	path := filepath.Join(dir, cli.DeclarationName)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return exists(path)
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	a.Say("wrote %s; next: edit it, then `keywright lint` and `keywright audit -u redis://…`", path)
	return nil
}

func writeSchema(a *cli.App, path string) error {
	if old, err := cli.ReadText(path); err == nil && bytes.Equal(old, schema.JSON) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := cli.ReplaceText(path, schema.JSON); err != nil {
		return err
	}
	a.Say("wrote %s", path)
	return nil
}
