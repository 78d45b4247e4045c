// Command keywright checks a Redis or Valkey keyspace against its declaration.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/keywright/keywright/cmd/keywright/internal/cli"
	"github.com/keywright/keywright/cmd/keywright/internal/command"
	"github.com/keywright/keywright/internal/wire"
)

// patience says how long a command may take to end by itself when it is interrupted:
// what reads files and computes does not look for it.
const patience = 700 * time.Millisecond

func main() {
	wire.Frugal(wire.MaxItems)
	if os.Getenv("GOMEMLIMIT") == "" { // which is another limit
		cli.Frugal()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // a second ctrl-C ends the program at once
		time.AfterFunc(patience, func() { os.Exit(cli.Interrupted(os.Stderr)) })
	})
	os.Exit(command.Main(ctx, os.Args[1:],
		cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Environ: os.Environ}))
}
