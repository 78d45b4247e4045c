// Command harcad serves the short-term memory over HTTP until it is interrupted.
//
//	harcad -redis redis://localhost:3710 -ring ring.json -backup harcad.db
//	harcad -redis redis+sentinel://a:26379,b:26379,c:26379/mymaster …
//	harcad -redis redis+cluster://a:6379,b:6379,c:6379 …
//	harcad -redis rediss://short_term_memory@redis.example:6379 -ca ca.crt …
//
// Without -redis the server is REDIS_HOST and REDIS_PORT, over TLS unless REDIS_TLS is off.
// The login is in REDIS_USERNAME and REDIS_PASSWORD, the key ring in a file or in
// HARCA_RING; a password is never a flag.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/keywright/keywright/examples/harca/memory"
	"github.com/keywright/keywright/value/seal"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "harcad:", err)
		os.Exit(1)
	}
}

func run() error {
	o, listen, ring, patience := flags()
	var err error
	if o.URL, err = address(o.URL, os.Getenv); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	source := seal.Environment("HARCA_RING", os.Getenv)
	if ring != "" {
		source = seal.File(ring)
	}
	keys, err := seal.Open(ctx, source)
	if err != nil {
		return err
	}
	o.Client.Sealer = keys
	stopReloading := reload(ctx, keys)
	defer stopReloading()
	m, err := open(ctx, o, patience)
	if err != nil {
		return err
	}
	return errors.Join(serve(ctx, m, listen, o.Client.Timeout), m.Close())
}

// reload reads the key ring again at every SIGHUP.
func reload(ctx context.Context, keys *seal.Ring) (stop func()) {
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-again:
				err := keys.Reload(ctx)
				slog.Info("key ring", "active", keys.Active(), "error", err)
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(again); close(done) }
}

func flags() (o memory.Options, listen, ring string, patience time.Duration) {
	flag.StringVar(&listen, "listen", "127.0.0.1:8080", "where to listen for HTTP")
	flag.StringVar(&ring, "ring", "", "file of the key ring (else HARCA_RING holds it)")
	flag.DurationVar(&patience, "patience", 30*time.Second, "how long to try to reach Redis at the start")
	flag.StringVar(&o.URL, "redis", "",
		"URL of Redis, without a password (else KEYWRIGHT_URL, REDIS_URL, or REDIS_HOST and REDIS_PORT)")
	flag.StringVar(&o.Backup, "backup", "", "file for when Redis is away, one per process (else in memory)")
	flag.StringVar(&o.Client.Name, "name", "harcad", "name of the connections")
	flag.StringVar(&o.Client.CAFile, "ca", "", "certificates that sign the server's, with TLS (else REDIS_CA)")
	flag.StringVar(&o.Client.CertFile, "cert", "", "certificate of this client")
	flag.StringVar(&o.Client.KeyFile, "key", "", "its key")
	flag.DurationVar(&o.Client.Timeout, "timeout", 5*time.Second, "of a command, and of a request")
	flag.IntVar(&o.Client.Connections, "connections", 0, "per server, as a power of two; 0: the client's choice")
	flag.DurationVar(&o.Sweep.Every, "sweep", time.Second, "between two sweeps, at most")
	flag.DurationVar(&o.Sweep.Lease, "sweep-lease", 5*time.Second, "how long after a sweeper died another one takes over")
	flag.Parse()
	if o.Client.CAFile == "" {
		o.Client.CAFile = os.Getenv("REDIS_CA")
	}
	o.Client.Getenv = os.Getenv
	o.Logger = slog.Default()
	return o, listen, ring, patience
}

// open tries to reach Redis for a while, ever more slowly.
func open(ctx context.Context, o memory.Options, patience time.Duration) (*memory.Memory, error) {
	deadline := time.Now().Add(patience)
	for wait, attempt := 100*time.Millisecond, 1; ; wait, attempt = min(2*wait, 3*time.Second), attempt+1 {
		m, err := memory.Open(ctx, o)
		if err == nil {
			slog.Info("Redis connection ready")
		}
		if err == nil || ctx.Err() != nil || time.Now().Add(wait).After(deadline) {
			return m, err
		}
		slog.Warn("connecting to Redis", "attempt", attempt, "error", err, "again in", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// serve answers until ctx ends, and then what it has begun to answer.
func serve(ctx context.Context, m *memory.Memory, listen string, timeout time.Duration) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Println("listening on", l.Addr()) // a test, or a script, reads the port
	server := &http.Server{Handler: m.Handler(ctx, timeout), ReadTimeout: timeout, WriteTimeout: 2 * timeout,
		IdleTimeout: time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	work, end := context.WithCancel(ctx)
	defer end()
	serving := make(chan error, 1)
	go func() { serving <- m.Serve(work) }()
	select {
	case <-ctx.Done():
	case err = <-failed:
	case err = <-serving:
		serving <- nil
	}
	end()
	// a connection that has asked nothing yet takes 5 s
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout+10*time.Second)
	defer cancel()
	if bad := <-serving; ctx.Err() == nil {
		err = errors.Join(err, bad) // else it was asked to end
	}
	if bad := server.Shutdown(last); bad != nil {
		err = errors.Join(err, fmt.Errorf("requests under way: %w", bad))
	}
	return err
}
