// Command hubd replaces GitHub, for trying the broker without a token: one repository,
// in memory, that answers as GitHub's REST API does.
//
//	hubd -http localhost:8089 -repo demo/demo
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/keywright/keywright/examples/githubbroker/hub"
	"github.com/keywright/keywright/examples/internal/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "hubd:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	listen := flag.String("http", "127.0.0.1:8089", "address to listen on")
	repo := flag.String("repo", "demo/demo", "the repository, as owner/name")
	flag.Parse()
	s := hub.New(*repo, os.Getenv("GITHUB_TOKEN"))
	s.Open("Fix the login")
	s.Open("Translate the error messages", "needs-review")
	pull := s.OpenPull("Faster search", "agent-1")
	s.Comment(pull, "reviewer", "This name is too short")
	return program.Listen(ctx, *listen, s, 5*time.Second)
}
