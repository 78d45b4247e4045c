// Command keywrightd keeps the history of keywright serve in SQLite or PostgreSQL. `keywright serve --store
// postgres://…` starts it, and speaks to it over its standard input and output; it is no service of its own.
//
// It is a program of its own so that keywright is without the drivers of the databases.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/keywright/keywright/cmd/keywrightd/internal/sqlstore"
	"github.com/keywright/keywright/internal/built"
	"github.com/keywright/keywright/internal/history"
	"github.com/keywright/keywright/internal/history/link"
)

const about = `keywrightd keeps the history of keywright serve in SQLite or PostgreSQL. It is started by
    keywright serve --store postgres://user@host:5432/database
    keywright serve --store sqlite:FILE
and not by hand.
    keywrightd version
prints its version, the commit and the version of Go.
`

// pipe represents the standard input and output.
type pipe struct {
	io.Reader
	io.Writer
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "version" {
		fmt.Println(built.Read().Line("keywrightd"))
		return
	}
	if len(os.Args) != 2 || os.Args[1] != "store" {
		fmt.Fprint(os.Stderr, about)
		os.Exit(2)
	}
	// The program that has started it closes its input when it ends, and an interrupt of the terminal is for that one.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	err := link.Serve(context.Background(), pipe{os.Stdin, os.Stdout},
		func(ctx context.Context, name string) (history.Store, error) {
			s, err := sqlstore.Open(ctx, name)
			if err != nil { // no store, and not a store that is nil
				return nil, err
			}
			return s, nil
		})
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		fmt.Fprintln(os.Stderr, "keywrightd:", err)
		os.Exit(1)
	}
}
