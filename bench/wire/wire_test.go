package wire

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// Commands are sent as they were appended, and replies of every form are read.
func TestConn(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	const commands = "*2\r\n$3\r\nGET\r\n$1\r\na\r\n*1\r\n$4\r\nPING\r\n"
	sent := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		got := make([]byte, len(commands))
		_, _ = io.ReadFull(conn, got)
		sent <- string(got)
		_, _ = io.WriteString(conn, "+OK\r\n:12\r\n$-1\r\n$3\r\na\nb\r\n*2\r\n$1\r\nx\r\n*-1\r\n-ERR no\r\n!\r\n")
		conn.Close()
	}()
	c, err := Dial(t.Context(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Command("GET", "a")
	first, err := c.Do("PING")
	if got := <-sent; err != nil || first != "OK" || got != commands {
		t.Errorf("%q, %v, sent %q", first, err, got)
	}
	third, err := c.Values(2)
	if err != nil || third != "" {
		t.Errorf("nothing: %q, %v", third, err)
	}
	var rest []any
	for range 2 {
		v, err := c.Value()
		if err != nil {
			t.Fatal(err)
		}
		rest = append(rest, v)
	}
	if got := fmt.Sprintf("%q", rest); got != `["a\nb" ["x" []]]` {
		t.Error(got)
	}
	if _, err := c.Value(); err == nil || !strings.Contains(err.Error(), "ERR no") {
		t.Errorf("an error reply: %v", err)
	}
	if _, err := c.Values(1); err == nil {
		t.Error("what is no reply is read")
	}
}
