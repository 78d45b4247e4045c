package command

import (
	"fmt"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/internal/built"
	"github.com/spf13/cobra"
)

func versionCommand(a *cli.App) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the version of Go",
		Args:  cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			form, err := a.Form(c, output, "text", "json")
			if err != nil {
				return err
			}
			if form == "json" {
				return a.JSON(cli.Version())
			}
			_, err = fmt.Fprintln(a.Out, built.Read().Line("keywright"))
			return err
		},
	}
	cli.Outputs(c, &output, "text", "json")
	return c
}
