package command

import (
	"context"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/seal"
	"github.com/spf13/cobra"
)

// ringing holds the flags that say where the key ring is.
type ringing struct {
	keysFile string
	keysExec []string
	keysEnv  []string
}

func (o *ringing) Flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.keysFile, "keys-file", "", "the file with the key ring")
	f.StringArrayVar(&o.keysExec, "keys-exec", nil,
		"a program that prints the key ring; repeat the flag for each of its arguments")
	f.StringArrayVar(&o.keysEnv, "keys-env", nil,
		"a variable that this program needs beside PATH, HOME and the like, as VAULT_TOKEN or AWS_*; repeat the "+
			"flag for each")
}

// Given tells whether a flag says where the ring is.
func (o *ringing) Given() bool { return o.keysFile != "" || len(o.keysExec) > 0 }

func (o *ringing) check() error {
	if o.keysFile != "" && len(o.keysExec) > 0 {
		return cli.Usage("name one of them", "--keys-file and --keys-exec exclude each other")
	}
	return nil
}

// ringHelp explains where the ring comes from.
const ringHelp = `The key ring is read from the file that --keys-file names (its owner alone may use
it), or is what the program of --keys-exec prints, or is in KEYWRIGHT_KEY_RING.
No flag takes a key.`

// keyRing reads the ring.
func keyRing(ctx context.Context, a *cli.App, o *ringing) (*seal.Ring, error) {
	from := seal.Environment(cli.RingVariable, a.Getenv)
	switch {
	case o.keysFile != "":
		from = seal.File(o.keysFile)
	case len(o.keysExec) > 0:
		from = seal.ExecOptions{Env: o.keysEnv}.Exec(o.keysExec[0], o.keysExec[1:]...)
	}
	r, err := seal.Open(ctx, from)
	if err != nil {
		return nil, cli.Usage("name one with --keys-file or --keys-exec, or set "+cli.RingVariable+"; `keywright seal key` makes one",
			"%v", err)
	}
	return r, nil
}
