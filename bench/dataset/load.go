package dataset

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// Load fills the server at addr with the dataset: commands go out on one
// connection without waiting while their replies are read beside. Any error
// reply fails the load. The database must be empty.
func Load(ctx context.Context, addr string, o Options) (*Manifest, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("load dataset: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	replies := bufio.NewReaderSize(conn, 64<<10)
	if err := empty(conn, replies); err != nil {
		return nil, fmt.Errorf("load dataset into %s: %w", addr, err)
	}
	m, err := send(conn, replies, o)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("load dataset into %s: %w", addr, err)
	}
	return m, nil
}

func empty(conn net.Conn, replies *bufio.Reader) error {
	if _, err := conn.Write([]byte("*1\r\n$6\r\nDBSIZE\r\n")); err != nil {
		return err
	}
	line, err := replies.ReadSlice('\n')
	if err != nil {
		return err
	}
	if got := string(bytes.TrimSpace(line)); got != ":0" {
		return fmt.Errorf("DBSIZE answers %q: the benchmark needs an empty database", got)
	}
	return nil
}

// send writes while a second goroutine reads; a bad reply closes the
// connection so that the writer stops too. A final PING marks the end.
func send(conn net.Conn, replies *bufio.Reader, o Options) (*Manifest, error) {
	var count int64
	read := make(chan error, 1)
	go func() {
		var err error
		if count, err = readUntilPong(replies); err != nil {
			conn.Close()
		}
		read <- err
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

func readUntilPong(replies *bufio.Reader) (count int64, err error) {
	for ; ; count++ {
		if next, err := replies.Peek(5); err == nil && string(next) == "+PONG" {
			return count, nil
		}
		if err := readReply(replies); err != nil {
			return count, fmt.Errorf("reply %d: %w", count+1, err)
		}
	}
}

// readReply reads one reply of the loading commands, arrays included.
func readReply(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	switch line[0] {
	case '+', ':':
		return nil
	case '-':
		return fmt.Errorf("the server refused a command: %s", bytes.TrimSpace(line[1:]))
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(line[1:])))
	if err != nil {
		return fmt.Errorf("not a RESP reply: %q", line)
	}
	if line[0] == '$' {
		_, err = r.Discard(n + 2)
		return err
	}
	for range n {
		if err := readReply(r); err != nil {
			return err
		}
	}
	return nil
}
