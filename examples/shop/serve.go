package shop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Serve answers on an address until ctx ends; what is under way then is answered.
func Serve(ctx context.Context, listen string, h http.Handler) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Println("listening on", l.Addr())
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute}
	done := make(chan error, 1)
	go func() {
		<-ctx.Done()
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), Wait+2*time.Second)
		defer stop()
		done <- s.Shutdown(ctx)
	}()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-done
}
