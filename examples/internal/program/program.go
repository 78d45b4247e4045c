// Package program has what the programs of the examples share: options from variables, URLs
// of Redis that show no password, and HTTP until they are asked to stop.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// Parse reads options, of variables where no flag is given: -review-delay is
// PREFIX_REVIEW_DELAY. A flag that is a URL of Redis with a password is refused, since any
// user of the machine sees flags; urls names those flags.
func Parse(f *flag.FlagSet, args []string, prefix string, urls ...string) error {
	variable := func(name string) string {
		return prefix + "_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	}
	var wrong error
	f.VisitAll(func(f *flag.Flag) {
		if value := os.Getenv(variable(f.Name)); value != "" && f.Value.Set(value) != nil {
			wrong = errors.Join(wrong, fmt.Errorf("%s cannot be read", variable(f.Name)))
		}
	})
	if err := errors.Join(wrong, f.Parse(args)); err != nil {
		return err
	}
	f.Visit(func(f *flag.Flag) { // those of args only
		for _, name := range urls {
			if f.Name == name && HasPassword(f.Value.String()) {
				wrong = fmt.Errorf("-%s has a password, which any user of the machine can see: put the URL into %s", name,
					variable(name))
			}
		}
	})
	return wrong
}

// HasPassword reports whether a URL of Redis has a password, also one that is not well formed:
// in its login, or as a setting.
func HasPassword(text string) bool {
	if _, rest, ok := strings.Cut(text, "://"); ok {
		text = rest
	}
	if at := strings.LastIndex(text, "@"); at >= 0 && strings.Contains(text[:at], ":") {
		return true
	}
	_, settings, _ := strings.Cut(text, "?")
	return strings.Contains(strings.ToLower(settings), "password")
}

// Listen answers on an address until ctx ends; what is under way then is answered, for as long
// as last. It says where it listens.
func Listen(ctx context.Context, address string, h http.Handler, last time.Duration) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println("listening on", l.Addr())
	return Serve(ctx, l, h, last)
}

// Serve answers on a listener until ctx ends; what is under way then is answered, for as long
// as last.
func Serve(ctx context.Context, l net.Listener, h http.Handler, last time.Duration) error {
	// ReadTimeout ends a request that is sent slowly, and also one whose answer takes longer.
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
	}
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), last)
		defer stop()
		ended <- s.Shutdown(ctx)
	}()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}
