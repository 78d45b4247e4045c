// Command hubd replaces GitHub, for trying the broker without a token: one repository,
// in memory, that answers as GitHub's REST API does.
//
//	hubd -http localhost:8089 -repo demo/demo
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/keywright/keywright/examples/githubbroker/hub"
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
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Println("listening on", l.Addr())
	server := &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
