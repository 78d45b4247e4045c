package main

import (
	"os"
	"path/filepath"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/command"
)

// writeSchemas writes the JSON Schema of every output of a command into dir, in the place of those that are there.
func writeSchemas(root, dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, "*.schema.json"))
	if err != nil {
		return err
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	files, err := cli.Schemas(command.Documents, os.DirFS(root))
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
