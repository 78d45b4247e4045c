package wire

import (
	"errors"
	"io"
	"math"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// served returns a connection to a peer that has sent reply and then stays silent,
// or closes.
func served(t testing.TB, reply string, stay bool) *Conn {
	t.Helper()
	client, server := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = server.Write([]byte(reply))
		if !stay {
			server.Close()
		}
	}()
	t.Cleanup(func() { client.Close(); server.Close(); <-done })
	return New(client, time.Hour)
}

func TestAny(t *testing.T) {
	c := served(t,
		"+OK\r\n:42\r\n:-7\r\n$3\r\na\r\n\r\n$0\r\n\r\n$-1\r\n*-1\r\n*2\r\n:1\r\n*1\r\n$1\r\nx\r\n-ERR "+
			"no\r\n*1\r\n-NOPERM x\r\n", true)
	want := []any{"OK", int64(42), int64(-7), "a\r\n"[:3], "", nil, nil}
	for i, w := range want {
		got, err := c.Any()
		if err != nil || got != w {
			t.Errorf("%d: %v %v, want %v", i, got, err, w)
		}
	}
	if got, err := c.Any(); err != nil || len(got.([]any)) != 2 {
		t.Errorf("%v %v", got, err)
	}
	var answer *ServerError
	if _, err := c.Any(); !errors.As(err, &answer) || answer.Code != "ERR" || answer.Message != "ERR no" {
		t.Errorf("%v", err)
	}
	if got, err := c.Any(); err != nil || got.([]any)[0].(*ServerError).Code != "NOPERM" {
		t.Errorf("%v %v", got, err)
	}
}

func TestCommandsOnTheWire(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	c := New(client, time.Second)
	c.Command("SET", "k\r\n", "")
	c.Header(1)
	c.ArgBytes([]byte{0xff})
	go func() { _ = c.Flush() }()
	want := "*3\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$0\r\n\r\n*1\r\n$1\r\n\xff\r\n"
	got := make([]byte, len(want))
	if _, err := server.Read(got); err != nil || string(got) != want {
		t.Errorf("%q %v", got, err)
	}
}

// hostile says what a broken or evil server may send, by the call that meets it.
var hostile = map[string]string{
	"negative bulk":        "$-5\r\n",
	"negative array":       "*-2\r\n",
	"huge bulk":            "$2147483647\r\nx",
	"beyond 64 bits":       "$99999999999999999999\r\n",
	"huge array":           "*500000000\r\n",
	"map":                  "%1000000\r\n",
	"set":                  "~1000000\r\n",
	"push":                 ">3\r\n",
	"attribute":            "|100000\r\n",
	"streamed string":      "$?\r\n;4\r\n",
	"big number":           "(" + strings.Repeat("9", 1000) + "\r\n",
	"http":                 "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\n\r\n",
	"tls alert":            "\x15\x03\x03\x00\x02\x02\x28\r\n",
	"no CR":                "+OK\n",
	"empty line":           "\r\n",
	"not a number":         ":4x2\r\n",
	"empty number":         ":\r\n",
	"missing end of bulk":  "$2\r\nabcd\r\n",
	"endless line":         "+" + strings.Repeat("x", 3*MaxLine),
	"nested beyond reason": strings.Repeat("*1\r\n", 100_000),
	"many small":           "*1000000\r\n" + strings.Repeat("*1000000\r\n", 40),
	"cut in a line":        "+OK",
	"cut in a bulk":        "$10\r\nabc",
	"cut in an array":      "*2\r\n:1\r\n",
	"nothing":              "",
}

func TestHostileServers(t *testing.T) {
	calls := map[string]func(*Conn) error{
		"Any":    func(c *Conn) error { _, err := c.Any(); return err },
		"Int":    func(c *Conn) error { _, _, err := c.Int(); return err },
		"Status": func(c *Conn) error { _, err := c.Status(); return err },
		"Bulk":   func(c *Conn) error { _, _, err := c.Bulk(); return err },
		"Array":  func(c *Conn) error { _, err := c.Array(); return err },
	}
	for name, reply := range hostile {
		for call, f := range calls {
			if call == "Array" && (name == "cut in an array" || strings.HasPrefix(name, "nested") || name == "many small") ||
				call == "Status" && name == "cut in a line" {
				continue // the header alone is in order, or the pipe's close decides
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			c := served(t, reply, false)
			err := f(c)
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Errorf("%s, %s: no error", name, call)
				continue
			}
			if again := c.Flush(); again == nil && errors.As(err, new(*ProtocolError)) {
				t.Errorf("%s, %s: the connection is still used after %v", name, call, err)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
				t.Errorf("%s, %s: %d MiB were allocated", name, call, grown>>20)
			}
		}
	}
}

func TestSilenceEnds(t *testing.T) {
	c := served(t, "+O", true)
	c.timeout = 50 * time.Millisecond
	var timeout net.Error
	if _, err := c.Any(); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("%v", err)
	}
}

// TestReplyAsAWholeIsBounded: many strings within the limit are not.
func TestReplyAsAWholeIsBounded(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		piece := []byte("$16777216\r\n" + strings.Repeat("x", 16<<20) + "\r\n")
		_, err := server.Write([]byte("*1000\r\n"))
		for err == nil {
			_, err = server.Write(piece)
		}
	}()
	c := New(client, time.Hour)
	if _, err := c.Any(); !errors.As(err, new(*ProtocolError)) {
		t.Errorf("%v", err)
	}
	server.Close()
	<-done
}

func TestLimitBulk(t *testing.T) {
	c := served(t, "$5\r\nabcde\r\n", true)
	c.LimitBulk(4)
	if _, _, err := c.Bulk(); !errors.As(err, new(*ProtocolError)) {
		t.Errorf("%v", err)
	}
}

func TestStreamTakesOver(t *testing.T) {
	c := served(t, "+OK\r\nanything\n$", true)
	if got, err := c.Any(); got != "OK" || err != nil {
		t.Fatalf("%v %v", got, err)
	}
	got := make([]byte, 10)
	if _, err := io.ReadFull(c.Stream(time.Hour), got); string(got) != "anything\n$" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	if _, err := c.Stream(50 * time.Millisecond).Read(got); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestLargeBulkArrives(t *testing.T) {
	want := strings.Repeat("y", 5<<20)
	c := served(t, "$5242880\r\n"+want+"\r\n:1\r\n", true)
	if b, ok, err := c.Bulk(); err != nil || !ok || string(b) != want {
		t.Fatalf("%d bytes %v %v", len(b), ok, err)
	}
	if n, ok, err := c.Int(); n != 1 || !ok || err != nil {
		t.Errorf("%d %v %v", n, ok, err)
	}
}

func TestReadsWithoutAllocating(t *testing.T) {
	c := &Conn{in: []byte(strings.Repeat("+string\r\n:-1\r\n:72\r\n", 2000)), bulk: MaxBulk, now: time.Now}
	c.w = len(c.in)
	if n := testing.AllocsPerRun(1000, func() {
		_, _ = c.Status()
		_, _, _ = c.Int()
		_, _, _ = c.Int()
	}); n != 0 {
		t.Errorf("%v allocations per key", n)
	}
}

func FuzzAny(f *testing.F) {
	for _, reply := range hostile {
		if len(reply) < 10_000 {
			f.Add([]byte(reply))
		}
	}
	f.Add([]byte("*2\r\n$1\r\na\r\n:1\r\n"))
	f.Fuzz(func(t *testing.T, reply []byte) {
		c := served(t, string(reply), false)
		for range 100 {
			if _, err := c.Any(); err != nil && !errors.As(err, new(*ServerError)) {
				return
			}
		}
	})
}

// TestNumbersOf64Bits: every number that a server may send is read as it is.
func TestNumbersOf64Bits(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-1": -1, "7": 7, "999999999999999999": 999999999999999999, "-99999999999999999": -99999999999999999,
		"-999999999999999999": -999999999999999999,
		"9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64,
		"-1000000000000000000": -1000000000000000000,
	} {
		if got, err := parseInt([]byte(text)); err != nil || got != want {
			t.Errorf("%s is read as %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-", "--1", "1-", "9223372036854775808", "-9223372036854775809", "+", " 1", "1 "} {
		if got, err := parseInt([]byte(text)); err == nil {
			t.Errorf("%q is read as %d", text, got)
		}
	}
}
