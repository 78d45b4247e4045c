// Command write fills the code into the project's documents: see package pages.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/keywright/keywright/internal/pages"
)

func main() {
	if err := run("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root string) error {
	if _, err := os.Stat(filepath.Join(root, "internal/pages/write")); err != nil {
		return fmt.Errorf("run it by go generate ./internal/pages: %w", err)
	}
	all, err := pages.Read(os.DirFS(root))
	if err != nil {
		return err
	}
	for _, p := range all {
		text, err := pages.Fill(os.DirFS(root), p)
		if err != nil {
			return err
		}
		if text == p.Text {
			continue
		}
		if err := os.WriteFile(filepath.Join(root, p.Path), []byte(text), 0o644); err != nil {
			return err
		}
		fmt.Println("written", p.Path)
	}
	return nil
}
