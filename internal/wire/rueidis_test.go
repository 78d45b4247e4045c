package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/gate"
	"github.com/redis/rueidis"
)

// nasty are replies at which rueidis panics at some place, and some that it takes.
var nasty = []string{
	"+OK\r\n", "+PONG\r\n", "+QUEUED\r\n", "-QUEUED\r\n", "-ERR no\r\n", "-NOSUB x\r\n", "-BUSY x\r\n", "-LOADING x\r\n",
	"-NOPERM 'ping'\r\n", "-MISCONF x\r\n",
	":1\r\n", "$1\r\nx\r\n", "$-1\r\n", "*-1\r\n", "_\r\n", "*0\r\n", "*1\r\n:1\r\n", "*2\r\n:1\r\n$1\r\nx\r\n",
	"*2\r\n:1\r\n*3\r\n:1\r\n:1\r\n:1\r\n",
	"%1\r\n$1\r\na\r\n:1\r\n", "~2\r\n:1\r\n:2\r\n", ">-1\r\n", ">1\r\n$9\r\nsubscribe\r\n", "|1\r\n+a\r\n+b\r\n",
	push(">", "subscribe", "a", "1"), push(">", "ssubscribe", "b", "1"), push(">", "unsubscribe", "a", "0"),
	push(">", "sunsubscribe", "b", "0"),
	push(">", "message", "a", "x"), push(">", "invalidate", "a"), push("*", "subscribe", "a", "1"),
	push("*", "unsubscribe", "a", "0"), push("*", "pong", ""),
	"*3\r\n:1\r\n:1\r\n*3\r\n:1\r\n:1\r\n:1\r\n", "*2\r\n>2\r\n$1\r\na\r\n:1\r\n:2\r\n",
}

// adversary answers some commands as a server does, and others by anything, and goes away
// after as many.
func adversary(c net.Conn, r *rand.Rand, resp3 bool) {
	defer c.Close()
	in, fair := bufio.NewReader(c), r.Float64()
	for left := 4 + r.IntN(60); left > 0; left-- {
		words, err := command(in)
		if err != nil {
			return
		}
		reply := answerTo(words, resp3)
		if words[0] != "HELLO" && words[0] != "CLIENT" && r.Float64() > fair || r.IntN(40) == 0 {
			for reply = ""; r.IntN(3) > 0; {
				reply += nasty[r.IntN(len(nasty))]
			}
		}
		if _, err := io.WriteString(c, reply); err != nil {
			return
		}
	}
}

func command(in *bufio.Reader) (words []string, err error) {
	number := func() int {
		line, _ := in.ReadString('\n')
		n, _ := strconv.Atoi(strings.Trim(line, "*$\r\n"))
		return n
	}
	for n := number(); n > 0; n-- {
		word := make([]byte, number()+2)
		if _, err = io.ReadFull(in, word); err != nil {
			return nil, err
		}
		words = append(words, string(word[:len(word)-2]))
	}
	if words == nil {
		return nil, io.EOF
	}
	return words, nil
}

func answerTo(words []string, resp3 bool) string {
	mark := "*"
	if resp3 {
		mark = ">"
	}
	switch words[0] {
	case "HELLO":
		if !resp3 {
			return "-ERR unknown command 'HELLO'\r\n"
		}
		return "%2\r\n$7\r\nversion\r\n$5\r\n7.0.0\r\n$5\r\nproto\r\n:3\r\n"
	case "SUBSCRIBE", "UNSUBSCRIBE":
		all := ""
		for _, name := range words[1:] {
			all += push(mark, strings.ToLower(words[0]), name, "1")
		}
		return all
	case "PING":
		return "+PONG\r\n"
	case "PTTL", "GET", "MGET":
		return "+QUEUED\r\n"
	case "EXEC":
		return "*2\r\n:100\r\n$1\r\nx\r\n"
	}
	return "+OK\r\n"
}

// TestNoServerEndsAProgram: whatever a server answers, rueidis panics at nothing that
// comes through a guard: neither where it reads, nor where a caller uses a reply.
// KEYWRIGHT_ADVERSARIES is how many servers are tried.
func TestNoServerEndsAProgram(t *testing.T) {
	const workers = 64
	servers := gate.Count(t, "KEYWRIGHT_ADVERSARIES", workers, 256)
	var tried sync.WaitGroup
	for worker := range workers {
		tried.Go(func() {
			for seed := worker; seed < servers; seed += workers {
				tryAdversary(seed)
			}
		})
	}
	tried.Wait()
}

func tryAdversary(seed int) {
	var dials atomic.Uint64
	dial := func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
		client, server := net.Pipe()
		dial := dials.Add(1)
		if dial > 6 {
			return nil, io.EOF
		}
		go adversary(server, rand.New(rand.NewPCG(uint64(seed), dial)), seed%4 != 0)
		return Guard(client), nil
	}
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{fmt.Sprintf("127.0.0.1:%d", 1+seed)}, DialCtxFn: dial, ForceSingleClient: true,
		DisableRetry: true,
		DisableCache: seed%4 == 0, ConnWriteTimeout: 100 * time.Millisecond,
		Dialer: net.Dialer{Timeout: 100 * time.Millisecond, KeepAlive: -1},
	})
	if err != nil {
		return
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	b := client.B()
	var all sync.WaitGroup
	if seed%2 == 0 {
		all.Go(func() {
			conn, free := client.Dedicate()
			defer free()
			conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(rueidis.PubSubMessage) {}})
			conn.Do(ctx, conn.B().Subscribe().Channel("a", "b").Build())
			conn.DoMulti(ctx, conn.B().Ssubscribe().Channel("b").Build(), conn.B().Unsubscribe().Channel("a").Build())
			conn.Do(ctx, conn.B().Get().Key("a").Build())
		})
	}
	client.DoMultiCache(ctx, rueidis.CT(b.Get().Key("a").Cache(), time.Minute),
		rueidis.CT(b.Get().Key("b").Cache(), time.Minute))
	client.DoCache(ctx, b.Mget().Key("c", "d").Cache(), time.Minute)
	client.DoCache(ctx, b.Get().Key("e").Cache(), time.Minute)
	client.DoMulti(ctx, b.Multi().Build(), b.Get().Key("a").Build(), b.Exec().Build())
	client.Do(ctx, b.Get().Key("a").Build())
	all.Wait()
}
