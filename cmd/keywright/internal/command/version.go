package command

import (
	"fmt"

	"github.com/keywright/keywright/internal/built"
	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the version of Go",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			form, err := a.form(c, output, "text", "json")
			if err != nil {
				return err
			}
			if form == "json" {
				return a.json(version())
			}
			_, err = fmt.Fprintln(a.out, built.Read().Line("keywright"))
			return err
		},
	}
	outputs(c, &output, "text", "json")
	return c
}
