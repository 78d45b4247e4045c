// Command keywright checks a Redis or Valkey keyspace against its declaration.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/keywright/keywright/cmd/keywright/internal/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second ctrl-C ends the program at once
	os.Exit(command.Main(ctx, os.Args[1:], command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv}))
}
