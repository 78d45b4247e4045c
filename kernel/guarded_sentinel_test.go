package kernel_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright"
)

// speaking answers the commands of each connection by their names, all others by +OK. sent gets
// the name of each answer that was sent.
func speaking(t *testing.T, answers map[string]string, sent func(name string)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	serve := func(c net.Conn) {
		defer c.Close()
		for in := bufio.NewReader(c); ; {
			var words, size int
			if _, err := fmt.Fscanf(in, "*%d\r\n", &words); err != nil {
				return
			}
			name := ""
			for n := range words {
				if _, err := fmt.Fscanf(in, "$%d\r\n", &size); err != nil {
					return
				}
				word := make([]byte, size+2)
				if _, err := io.ReadFull(in, word); err != nil {
					return
				}
				if n == 0 || n == 1 && name == "SENTINEL" {
					name = strings.TrimSpace(name + " " + strings.ToUpper(string(word[:size])))
				}
			}
			reply, known := answers[name]
			if !known {
				reply = "+OK\r\n"
			}
			sent(name) // before: the client may be done with the reply before this goroutine goes on
			if _, err := io.WriteString(c, reply); err != nil {
				return
			}
		}
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return l.Addr().String()
}

// A sentinel whose messages have fewer words than the client library reads does not end
// the program: the connection is given up.
func TestASentinelCannotEndTheProgram(t *testing.T) {
	const hello = "%2\r\n$7\r\nversion\r\n$5\r\n7.0.0\r\n$5\r\nproto\r\n:3\r\n"
	primary := speaking(t,
		map[string]string{"HELLO": hello, "ROLE": "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n", "PING": "+PONG\r\n"}, func(string) {})
	host, port, err := net.SplitHostPort(primary)
	must(t, err)
	address := fmt.Sprintf("*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(host), host, len(port), port)
	const short = ">3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$1\r\nm\r\n"
	var begin, end string
	for _, channel := range []string{"+sentinel", "+slave", "-sdown", "+sdown", "+switch-master", "+reboot"} {
		begin += fmt.Sprintf(">3\r\n$9\r\nsubscribe\r\n$%d\r\n%s\r\n:1\r\n", len(channel), channel)
		end += fmt.Sprintf(">3\r\n$11\r\nunsubscribe\r\n$%d\r\n%s\r\n:0\r\n", len(channel), channel)
	}
	var sent atomic.Int64
	sentinel := speaking(t,
		map[string]string{"HELLO": hello, "SUBSCRIBE": begin + short, "UNSUBSCRIBE": end, "PING": "+PONG\r\n",
			"SENTINEL SENTINELS": "*0\r\n", "SENTINEL GET-MASTER-ADDR-BY-NAME": address + short},
		func(name string) {
			if name == "SUBSCRIBE" || name == "SENTINEL GET-MASTER-ADDR-BY-NAME" {
				sent.Add(1)
			}
		})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if c, err := keywright.Open(ctx, "redis+sentinel://"+sentinel+"/m",
		keywright.Options{Timeout: time.Second}); err == nil {
		c.Close()
	}
	if sent.Load() == 0 {
		t.Error("no such message was sent: the test tests nothing")
	}
}
