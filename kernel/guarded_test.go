package kernel_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
)

// hostileServer answers every command with the same bytes.
func hostileServer(t *testing.T, reply string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for {
					if _, err := in.ReadByte(); err != nil {
						return
					}
					_, _ = in.Discard(in.Buffered())
					if _, err := io.WriteString(c, reply); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// A server that sends what would exhaust the stack or the memory of the client
// library, or what makes it panic, is an error of Open.
func TestRepliesCannotEndTheProgram(t *testing.T) {
	for name, reply := range map[string]string{
		"levels":         strings.Repeat("*1\r\n", 6_000_000),
		"elements":       strings.Repeat("*1000000\r\n", 2000),
		"negative array": "*-9\r\n",
		"negative bulk":  "$-9\r\n",
		"negative map":   "%-9\r\n",
	} {
		for _, cached := range []bool{false, true} {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			c, err := keywright.Open(ctx, "redis://"+hostileServer(t, reply),
				keywright.Options{NoCache: !cached, Timeout: time.Second})
			cancel()
			if err == nil {
				c.Close()
				t.Errorf("%s: a client was opened", name)
			}
		}
	}
}
