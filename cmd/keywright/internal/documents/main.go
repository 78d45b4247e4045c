// Command documents writes what is made of the program itself, from the root of the project: the pages of rules and
// commands, the JSON Schemas of what commands print, and the OpenAPI description of keywright serve. It is run by go
// generate and is not part of what users install.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/keywright/keywright/cmd/keywright/internal/serve"
)

// Where the documents are, below the root.
const (
	rulesFile   = "docs/rules.md"
	commandFile = "docs/cli.md"
	apiFile     = "cmd/keywright/internal/serve/openapi.json"
	schemasDir  = "cmd/keywright/internal/command/schemas"
)

func main() {
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(root string) error {
	api, err := describeAPI(root)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{rulesFile: rulePage(), commandFile: commandPage(), apiFile: api} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return writeSchemas(root, filepath.Join(root, schemasDir))
}

func describeAPI(root string) (string, error) {
	text, err := serve.Describe(os.DirFS(root), "github.com/keywright/keywright")
	return string(text), err
}
