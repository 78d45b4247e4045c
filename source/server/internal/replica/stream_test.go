package replica

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
)

// mark is an end mark that does not overlap with itself; tiny is a snapshot.
const (
	mark = "f0123456789abcde0123456789abcde012345678"
	tiny = "REDIS0011\xff12345678"
)

// TestSnapshotOfHostileServers: what no server should send is an error with a
// reason, at once or as soon as the silence is long enough.
func TestSnapshotOfHostileServers(t *testing.T) {
	t.Parallel()
	full := "+FULLRESYNC " + mark + " 7\r\n"
	for _, c := range []struct {
		name, sent string
		stay       bool // instead of closing
		says       string
	}{
		{"measured", full + "\n\n$18\r\n" + tiny, true, ""},
		{"measured, and the changes", full + "$18\r\n" + tiny + "*1\r\n$4\r\nPING\r\n", true, ""},
		{"marked", "\n\n" + full + "\n$EOF:" + mark + "\r\n" + tiny + mark, true, ""},
		{"the mark begins within the data", full + "$EOF:" + mark + "\r\n" + mark[:39] + mark[:20] + mark, false, ""},
		{"nothing", "", true, "no answer in time"},
		{"closed at once", "", false, "before the snapshot began"},
		{"newlines only", strings.Repeat("\n", 100), false, "before the snapshot began"},
		{"loading", "-LOADING Redis is loading the dataset in memory\r\n", true, "try again"},
		{"no link", "-NOMASTERLINK Can't SYNC while not connected with my master\r\n", true, "lost its primary"},
		{"failed fork", full + "-ERR BGSAVE failed, replication can't continue\r\n", true, "memory for the fork"},
		{"continue", "+CONTINUE\r\n", true, "length of a snapshot"},
		{"no offset", "+FULLRESYNC x\r\n", true, "an id and an offset"},
		{"another mark", full + "$EOF:" + mark + "\r\n" + tiny + mark[1:] + "x", false, "was cut after"},
		{"no mark", full + "$EOF:" + mark + "\r\n" + tiny, false, "was cut after"},
		{"half of the mark", full + "$EOF:" + mark + "\r\n" + tiny + mark[:20], true, "fell silent"},
		{"garbage", full + "$EOF:" + mark + "\r\n" + strings.Repeat("x", 300_000), false, "was cut after"},
		{"short mark", full + "$EOF:abc\r\n" + tiny, true, "mark of 40 bytes"},
		{"beyond 64 bits", full + "$18446744073709551615\r\n" + tiny, true, "length of a snapshot"},
		{"negative", full + "$-1\r\n", true, "length of a snapshot"},
		{"no bytes", full + "$0\r\n", true, "length of a snapshot"},
		{"too short", full + "$19\r\n" + tiny, false, "was cut after"},
		{"huge", full + "$9223372036854775807\r\n" + tiny, false, "was cut after"},
		{"endless line", full + strings.Repeat("x", 300_000), false, "wanted a line"},
		{"http", "HTTP/1.1 400 Bad Request\r\n\r\n", true, "length of a snapshot"},
	} {
		silence := time.Minute
		if c.says == "no answer in time" || c.says == "fell silent" {
			silence = 200 * time.Millisecond
		}
		got, err := streamed(t, pretender(t, c.sent, c.stay), silence)
		if c.says == "" && (err != nil || len(got) == 0) ||
			c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %d bytes, %v", c.name, len(got), err)
		}
		if within := strings.HasSuffix(c.says, " after") || strings.HasPrefix(c.says, "fell"); within &&
			(!errors.Is(err, io.ErrUnexpectedEOF) || !connect.IsKind(err, connect.Broken)) {
			t.Errorf("%s: a cut that is none: %v", c.name, err)
		}
	}
}

// TestSnapshotMark: whatever the data, the pieces in which it arrives and those
// in which it is read, what is before the mark comes out, and nothing else.
func TestSnapshotMark(t *testing.T) {
	t.Parallel()
	rapid.Check(gate.Fixed(t), func(t *rapid.T) {
		piece := rapid.OneOf(rapid.Map(rapid.IntRange(0, markLength-1), func(n int) string { return mark[:n] }),
			rapid.StringN(0, 30, -1))
		data := strings.ReplaceAll(strings.Join(rapid.SliceOf(piece).Draw(t, "data"), ""), mark, "")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 100), 1, 10)
		s := &Stream{ctx: context.Background(), mark: []byte(mark)}
		s.in = bufio.NewReaderSize(&pieces{rest: data + mark, sizes: sizes.Draw(t, "arrives")}, 64)
		got, err := io.ReadAll(&pieces{in: s, sizes: sizes.Draw(t, "read")})
		if err != nil || string(got) != data {
			t.Fatalf("%q %v, want %q", got, err, data)
		}
		s = &Stream{ctx: context.Background(), mark: []byte(mark)}
		cut := rapid.IntRange(0, len(data)+markLength-1).Draw(t, "cut")
		s.in = bufio.NewReader(strings.NewReader((data + mark)[:cut]))
		if got, err := io.ReadAll(s); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasPrefix(data, string(got)) {
			t.Fatalf("cut at %d: %q %v", cut, got, err)
		}
	})
}

// pieces reads at most so many bytes at once, from in or else from rest.
type pieces struct {
	in    io.Reader
	rest  string
	sizes []int
	turn  int
}

func (p *pieces) Read(to []byte) (int, error) {
	p.turn++
	to = to[:min(len(to), p.sizes[p.turn%len(p.sizes)])]
	if p.in != nil {
		return p.in.Read(to)
	}
	n := copy(to, p.rest)
	if p.rest = p.rest[n:]; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func streamed(t *testing.T, address string, silence time.Duration) ([]byte, error) {
	stream, err := Open(t.Context(), servertest.Config(t, "redis://"+address), silence)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	return io.ReadAll(stream)
}

// pretender greets like a server and answers PSYNC with anything.
func pretender(t *testing.T, sent string, stay bool) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var workers sync.WaitGroup
	t.Cleanup(func() { l.Close(); workers.Wait() })
	workers.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			workers.Go(func() { defer c.Close(); pretend(c, sent, stay) })
		}
	})
	return l.Addr().String()
}

func pretend(c net.Conn, sent string, stay bool) {
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		reply := "+OK\r\n"
		switch lines.Text() {
		case "PSYNC":
			_, _ = io.WriteString(c, sent)
			if !stay {
				return
			}
			continue
		case "PING", "REPLCONF":
		default:
			continue
		}
		_, _ = io.WriteString(c, reply)
	}
}
