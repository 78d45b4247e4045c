package demo

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/keywright/keywright/cmd/keywright/internal/sample"
)

// fill writes the keys in one pipeline and checks every answer.
func fill(ctx context.Context, addr string, keys []sample.Key) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	answers := make(chan error, 1)
	commands := 0
	for _, k := range keys {
		commands += len(k.Commands())
	}
	go func() { answers <- checkAnswers(conn, commands) }()
	if err := send(conn, keys); err != nil {
		conn.Close()
		<-answers
		return fmt.Errorf("write the demo's keys: %w", err)
	}
	if err := <-answers; err != nil {
		return fmt.Errorf("write the demo's keys: %w", err)
	}
	return ctx.Err()
}

func send(w io.Writer, keys []sample.Key) error {
	buf := bufio.NewWriterSize(w, 1<<16)
	for _, k := range keys {
		for _, cmd := range k.Commands() {
			fmt.Fprintf(buf, "*%d\r\n", len(cmd))
			for _, arg := range cmd {
				fmt.Fprintf(buf, "$%d\r\n%s\r\n", len(arg), arg)
			}
		}
	}
	return buf.Flush()
}

// checkAnswers reads n answers, each a status, a number, an error or (XADD) a
// short text: all that the commands of package sample can get.
func checkAnswers(r io.Reader, n int) error {
	buf := bufio.NewReader(r)
	for range n {
		line, err := buf.ReadSlice('\n')
		if err != nil {
			return err
		}
		switch line[0] {
		case '-':
			return fmt.Errorf("the server refuses: %s", line[1:len(line)-2])
		case '$':
			size, err := strconv.Atoi(string(line[1 : len(line)-2]))
			if err != nil {
				return fmt.Errorf("the server answers %q", line)
			}
			if _, err := buf.Discard(size + 2); err != nil {
				return err
			}
		}
	}
	return nil
}
