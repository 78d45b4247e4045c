package access

import (
	"context"
	"errors"
	"io/fs"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/value/seal"
	"github.com/spf13/cobra"
)

// keying holds the flags of seal key.
type keying struct {
	activate string
	remove   string
}

func sealKeyCommand(a *cli.App) *cobra.Command {
	var o keying
	c := &cobra.Command{
		Use:   "key [file]",
		Short: "Make a key ring, add a key to one, make one active, remove one",
		Long: `Without a file it prints a new key ring with one key, to be put where secrets are
kept. With a file it makes the ring there, readable by its owner only, or adds a
key to the ring that is there: the new key opens, but does not seal before
--activate says so. Of a ring in a file only ids are printed, never a key.

Exit codes: 0 done, 2 usage or a bad ring.`,
		Example: `  keywright seal key | vault kv put secret/shop ring=-
  keywright seal key ring.json
  keywright seal key ring.json --activate 9f3c21d0
  keywright seal key ring.json --remove 1b0c9d77`,
		RunE: func(c *cobra.Command, args []string) error { return sealKey(c.Context(), a, args, &o) },
	}
	c.Flags().StringVar(&o.activate, "activate", "", "let the key of this id seal")
	c.Flags().StringVar(&o.remove, "remove", "", "remove the key of this id, when seal status counts nothing under it")
	return c
}

func sealKey(ctx context.Context, a *cli.App, args []string, o *keying) error {
	switch {
	case len(args) > 1:
		return cli.Usage("name one file", "seal key takes one file, but got %d", len(args))
	case o.activate != "" && o.remove != "":
		return cli.Usage("do one after the other", "--activate and --remove exclude each other")
	case len(args) == 0 && o.activate+o.remove != "":
		return cli.Usage("name the file with the ring", "--activate and --remove change a ring in a file")
	case len(args) == 0:
		text, _, err := seal.Generate()
		if err == nil {
			_, err = a.Out.Raw().Write(text)
		}
		return err
	}
	return changeRing(ctx, a, args[0], o)
}

// changeRing changes the ring in a file.
func changeRing(ctx context.Context, a *cli.App, path string, o *keying) error {
	old, err := seal.File(path)(ctx)
	var text []byte
	var id, did string
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.activate+o.remove == "":
		text, id, err = seal.Generate()
		did = "a new ring; its key is active: "
	case err != nil:
		return cli.Usage("the ring must be a file that only its owner may use", "%v", err)
	case o.activate != "":
		text, err = seal.Activate(old, o.activate)
		id, did = o.activate, "this key seals now, in every process that reads the ring again: "
	case o.remove != "":
		text, err = seal.Remove(old, o.remove)
		id, did = o.remove, "removed: "
	default:
		text, id, err = seal.Add(old, false)
		did = "a new key, which opens and does not seal yet: "
	}
	if err == nil {
		err = seal.Store(path, text)
	}
	if err != nil {
		return cli.Usage("`keywright seal key --help` says what is possible", "%v", err)
	}
	a.Print("%s%s", did, id)
	return nil
}
