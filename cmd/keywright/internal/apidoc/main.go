// Command apidoc writes the OpenAPI description of keywright serve from its routes and
// the Go types that they answer with. It is run by go generate and is not part of what
// users install.
package main

import (
	"fmt"
	"os"

	"github.com/keywright/keywright/cmd/keywright/internal/serve"
)

func main() {
	text, err := serve.Describe(os.DirFS(os.Args[1]), "github.com/keywright/keywright")
	if err == nil {
		err = os.WriteFile(os.Args[2], text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
