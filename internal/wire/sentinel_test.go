package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// short are messages of a sentinel that rueidis reads more words of than there are.
var short = []string{
	push(">", "message", "+sentinel", "sentinel x 127.0.0.1"), push(">", "message", "+switch-master", "m"),
	push(">", "message", "+switch-master", "m 127.0.0.1 1 127.0.0.1"),
	push(">", "message", "+reboot", "master m 127.0.0.1"),
	push(">", "message", "+reboot", "slave 127.0.0.1:1 127.0.0.1 1 @"), push(">", "message", "+slave", "slave x x x @"),
	push(">", "message", "-sdown", "slave "), push(">", "message", "+sdown", "slave a b"),
	">3\r\n$7\r\nmessage\r\n$9\r\n+sentinel\r\n$-1\r\n", ">3\r\n$7\r\nmessage\r\n+-sdown\r\n$1\r\nx\r\n",
	">3\r\n$7\r\nmessage\r\n$9\r\n+sentinel\r\n*1\r\n$1\r\nx\r\n", "*3\r\n$7\r\nmessage\r\n$9\r\n+sentinel\r\n$1\r\nx\r\n",
}

// whole are messages of a sentinel that it takes.
var whole = []string{
	push(">", "message", "+sentinel", "sentinel x 127.0.0.1 2 @ m 127.0.0.1 1"),
	push(">", "message", "+switch-master", "m 127.0.0.1 1 127.0.0.1 2"),
	push(">", "message", "+reboot", "master m 127.0.0.1 1"), push(">", "message", "+sdown", "master m 127.0.0.1 1"),
	push(">", "message", "+slave", "slave 127.0.0.1:2 127.0.0.1 2 @ m 127.0.0.1 1"),
	push(">", "message", "-sdown", "sentinel"),
	push(">", "message", "+tilt", ""), push(">", "message", "+sdown", strings.Repeat("x", 3*mostHeard)),
	">2\r\n$7\r\nmessage\r\n$9\r\n+sentinel\r\n", push(">", "pmessage", "*", "+sentinel", "x"),
}

// TestMessagesOfASentinel: those with too few words end the connection to a sentinel, in
// pieces of any size, and are nothing special in one to another server.
func TestMessagesOfASentinel(t *testing.T) {
	login := "%0\r\n"
	through := func(of func(net.Conn) *Guarded, hello, stream string, piece int) error {
		g := of(&replay{in: strings.NewReader(stream), n: piece})
		g.asks.look([]byte(hello + sent("SUBSCRIBE a")))
		got, err := io.ReadAll(g)
		if err == nil && string(got) != stream {
			t.Errorf("of %q came %q", stream, got)
		}
		return err
	}
	for _, piece := range []int{1, 5, 1 << 20} {
		for _, message := range short {
			hello, stream := sent("HELLO 3"), login+push(">", "subscribe", "a", "1")+message
			if message[0] == '*' {
				hello, stream = "", push("*", "subscribe", "a", "1")+message
			}
			if err := through(GuardSentinel, hello, stream, piece); !errors.As(err, new(*ProtocolError)) {
				t.Errorf("%q passed, in pieces of %d: %v", message, piece, err)
			}
			if err := through(Guard, hello, stream, piece); err != nil {
				t.Errorf("%q of another server: %v", message, err)
			}
		}
		for _, message := range whole {
			stream := login + push(">", "subscribe", "a", "1") + message + strings.Join(whole, "")
			if err := through(GuardSentinel, sent("HELLO 3"), stream, piece); err != nil {
				t.Errorf("%q, in pieces of %d: %v", message, piece, err)
			}
		}
	}
}

// TestNoSentinelEndsAProgram: rueidis panics at nothing that comes through a guard, neither
// at an address without a port, nor at a message with too few words.
func TestNoSentinelEndsAProgram(t *testing.T) {
	const master = "*2\r\n$9\r\n127.0.0.1\r\n$1\r\n1\r\n"
	say := append([]string{""}, append(short, whole...)...)
	for _, address := range []string{master, "*1\r\n$9\r\n127.0.0.1\r\n", "*0\r\n", "*-1\r\n", "-ERR no\r\n",
		"$1\r\nx\r\n", "%1\r\n+a\r\n+b\r\n"} {
		for _, message := range say {
			if address != master && message != "" {
				continue
			}
			patience := 100 * time.Millisecond
			if address == master && message == "" {
				patience = time.Minute // this one must be opened
			}
			dial := func(_ context.Context, to string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
				client, server := net.Pipe()
				go func() {
					defer server.Close()
					in := bufio.NewReader(server)
					for {
						words, err := command(in)
						if err != nil {
							return
						}
						reply := answerTo(words, true)
						switch {
						case words[0] == "ROLE":
							reply = "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
						case words[0] == "SENTINEL" && strings.EqualFold(words[1], "SENTINELS"):
							reply = "*0\r\n"
						case words[0] == "SENTINEL":
							reply = address + message
						}
						if _, err := io.WriteString(server, reply); err != nil {
							return
						}
					}
				}()
				if strings.HasSuffix(to, ":26379") {
					return GuardSentinel(client), nil
				}
				return Guard(client), nil
			}
			client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"127.0.0.1:26379"}, DialCtxFn: dial,
				DisableRetry: true,
				Sentinel:     rueidis.SentinelOption{MasterSet: "m"}, ConnWriteTimeout: patience,
				Dialer: net.Dialer{Timeout: patience, KeepAlive: -1}})
			if err == nil {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				client.Do(ctx, client.B().Get().Key("a").Build())
				cancel()
				client.Close()
			}
			if address == master && message == "" && err != nil {
				t.Errorf("a sentinel as it should be: %v", err)
			}
		}
	}
}
