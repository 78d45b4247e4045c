package command

import (
	"fmt"

	"github.com/keywright/keywright/internal/built"
	"github.com/spf13/cobra"
)

// build describes what the binary knows of itself.
type build struct {
	Version  string `json:"keywright"`          // the version of the program
	Revision string `json:"revision,omitempty"` // the commit; of a release the one that it was cut from
	Go       string `json:"go"`
}

func version() build {
	b := built.Read()
	return build{Version: b.Version, Revision: b.Commit, Go: b.Go}
}

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
