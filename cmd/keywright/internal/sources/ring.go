package sources

import (
	"context"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/value/seal"
	"github.com/spf13/cobra"
)

// Ringing holds the flags that say where the key ring is.
type Ringing struct {
	KeysFile string
	KeysExec []string
	KeysEnv  []string
}

func (o *Ringing) Flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.KeysFile, "keys-file", "", "the file with the key ring")
	f.StringArrayVar(&o.KeysExec, "keys-exec", nil,
		"a program that prints the key ring; repeat the flag for each of its arguments")
	f.StringArrayVar(&o.KeysEnv, "keys-env", nil,
		"a variable that this program needs beside PATH, HOME and the like, as VAULT_TOKEN or AWS_*; repeat the "+
			"flag for each")
}

// Given tells whether a flag says where the ring is.
func (o *Ringing) Given() bool { return o.KeysFile != "" || len(o.KeysExec) > 0 }

func (o *Ringing) Check() error {
	if o.KeysFile != "" && len(o.KeysExec) > 0 {
		return cli.Usage("name one of them", "--keys-file and --keys-exec exclude each other")
	}
	return nil
}

// RingHelp explains where the ring comes from.
const RingHelp = `The key ring is read from the file that --keys-file names (its owner alone may use
it), or is what the program of --keys-exec prints, or is in KEYWRIGHT_KEY_RING.
No flag takes a key.`

// KeyRing reads the ring.
func KeyRing(ctx context.Context, a *cli.App, o *Ringing) (*seal.Ring, error) {
	from := seal.Environment(cli.RingVariable, a.Getenv)
	switch {
	case o.KeysFile != "":
		from = seal.File(o.KeysFile)
	case len(o.KeysExec) > 0:
		from = seal.ExecOptions{Env: o.KeysEnv}.Exec(o.KeysExec[0], o.KeysExec[1:]...)
	}
	r, err := seal.Open(ctx, from)
	if err != nil {
		return nil, cli.Usage("name one with --keys-file or --keys-exec, or set "+cli.RingVariable+"; `keywright seal key` makes one",
			"%v", err)
	}
	return r, nil
}
