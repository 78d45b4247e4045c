// Command jsondoc writes the JSON Schema of every output of a command from the Go
// types that are printed, and their comments. It is run by go generate and is not
// part of what users install.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/keywright/keywright/cmd/keywright/internal/command"
)

func main() {
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write writes the schemas into dir, in the place of those that are there.
func write(root, dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, "*.schema.json"))
	if err != nil {
		return err
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	for _, d := range command.Documents {
		text, err := d.Schema(os.DirFS(root))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, d.File()), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
