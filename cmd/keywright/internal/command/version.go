package command

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build is what the binary knows of itself.
type build struct {
	Version  string `json:"keywright"` // the version of the program
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
}

func version() build {
	b := build{Version: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version, b.Go = info.Main.Version, info.GoVersion
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Revision = s.Value
		}
	}
	return b
}

func (a *app) versionCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			form, err := a.form(c, output, "text", "json")
			if err != nil {
				return err
			}
			if form == "json" {
				return a.json(version())
			}
			_, err = fmt.Fprintf(a.out, "keywright %s %s\n", version().Version, version().Go)
			return err
		},
	}
	outputs(c, &output, "text", "json")
	return c
}
