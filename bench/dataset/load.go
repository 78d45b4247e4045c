package dataset

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/keywright/keywright/bench/wire"
)

// Load fills the server at addr with the dataset: commands go out on one
// connection without waiting while their replies are read beside. Any error
// reply fails the load. The database must be empty.
func Load(ctx context.Context, addr string, o Options) (*Manifest, error) {
	conn, err := wire.Dial(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("load dataset: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	var m *Manifest
	size, err := conn.Do("DBSIZE")
	if err == nil && size != "0" {
		err = fmt.Errorf("DBSIZE answers %q: the benchmark needs an empty database", size)
	}
	if err == nil {
		m, err = send(conn, o)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("load dataset into %s: %w", addr, err)
	}
	return m, nil
}

// send writes while a second goroutine reads; a bad reply closes the
// connection so that the writer stops too. A final PING marks the end.
func send(conn *wire.Conn, o Options) (*Manifest, error) {
	var count int64
	read := make(chan error, 1)
	go func() {
		for ; ; count++ {
			reply, err := conn.Value()
			if err != nil {
				conn.Close()
				err = fmt.Errorf("reply %d: %w", count+1, err)
			}
			if err != nil || reply == "PONG" {
				read <- err
				return
			}
		}
	}()
	m, err := Write(conn, o)
	if err == nil {
		_, err = io.WriteString(conn, "*1\r\n$4\r\nPING\r\n")
	}
	if err != nil {
		conn.Close()
	}
	if bad := <-read; bad != nil {
		return nil, bad // the reply says more than the writer's broken pipe
	}
	if err == nil && count != m.Commands {
		err = fmt.Errorf("%d commands sent, %d replies received", m.Commands, count)
	}
	return m, err
}
