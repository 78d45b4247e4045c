package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
)

// replay represents a connection that gives these bytes in pieces of a size, and then its
// end.
type replay struct {
	net.Conn
	in io.Reader
	n  int
}

func (r *replay) RemoteAddr() net.Addr { return &net.UnixAddr{Name: "there", Net: "unix"} }

func (r *replay) Read(p []byte) (int, error) { return r.in.Read(p[:min(len(p), r.n)]) }

// asking returns a guard of a connection over which very many commands were sent.
func asking(c net.Conn) *Guarded {
	g := Guard(c)
	g.answers.asked.Store(1 << 40)
	return g
}

// passed returns what of a stream comes through a guard, and the error that ends it.
func passed(stream string, piece int) (string, *ProtocolError) {
	g := asking(&replay{in: strings.NewReader(stream), n: piece})
	out, err := io.ReadAll(g)
	var refused *ProtocolError
	errors.As(err, &refused)
	return string(out), refused
}

// replies lists all that servers send, in RESP2 and RESP3.
var replies = []string{
	"+OK\r\n", "-ERR no\r\n", ":-42\r\n", "$3\r\na\n*\r\n", "$0\r\n\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n",
	"*2\r\n:1\r\n*1\r\n$1\r\nx\r\n",
	"_\r\n", "#t\r\n", "#f\r\n", ",1.5\r\n", "(123456789012345678901234567890\r\n", "!5\r\nERR x\r\n", "=7\r\ntxt:abc\r\n",
	"~2\r\n+a\r\n+b\r\n",
	"%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n", "%0\r\n", "|1\r\n+ttl\r\n:5\r\n$1\r\nx\r\n", "|0\r\n+x\r\n",
	"*2\r\n|1\r\n+a\r\n+b\r\n:1\r\n:2\r\n",
	">3\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n:1\r\n", "$5\r\n*1\r\n*\r\n", strings.Repeat("*1\r\n", 100) + ":1\r\n",
}

func TestAGuardPassesWhatServersSend(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var all strings.Builder
	for range 2000 {
		all.WriteString(replies[r.IntN(len(replies))])
	}
	for _, piece := range []int{1, 2, 3, 7, 64, 1 << 20} {
		g := asking(&replay{in: strings.NewReader(all.String()), n: piece})
		got, err := io.ReadAll(g)
		if err != nil || string(got) != all.String() {
			t.Fatalf("pieces of %d: %d bytes of %d, %v", piece, len(got), all.Len(), err)
		}
		if len(g.open) != 0 || g.total != 0 || g.skip != 0 || g.size != 0 {
			t.Errorf("pieces of %d: %+v is left of complete replies", piece, g)
		}
	}
}

// discard takes what is written.
type discard struct{ *replay }

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func TestAGuardRefusesWhatExhaustsItsReader(t *testing.T) {
	hostile := map[string]string{
		"levels":                   strings.Repeat("*1\r\n", 1_000_000),
		"levels of maps":           strings.Repeat("%1\r\n+k\r\n", 1_000_000),
		"levels of attributes":     strings.Repeat("|1\r\n", 1_000_000),
		"elements":                 "*4194305\r\n",
		"elements, level by level": strings.Repeat("*1048576\r\n", 6),
		"pairs":                    "%4194304\r\n",
		"pairs that overflow":      "%9223372036854775807\r\n",
		"a bulk string":            "$536870913\r\n",
		"a negative bulk":          "$-2\r\n",
		"a negative array":         "*-2\r\n",
		"a negative map":           "%-1\r\n",
		"a least number":           "$-9223372036854775808\r\n",
		"an endless line":          "+" + strings.Repeat("x", guardLine+1),
		"an endless number":        ":" + strings.Repeat("1", 100),
		"a stream":                 "$?\r\n;4\r\nabcd\r\n;0\r\n",
		"an array without end":     "*?\r\n",
		"another protocol":         "HTTP/1.1 400 Bad Request\r\n",
		"an empty line":            "\r\n",
		"a null with a tail":       "_*1\r\n",
		"a boolean with a tail":    "#t*1\r\n",
		"no carriage return":       "*12\n",
		"a push that is null":      ">-1\r\n",
		"a push of no kind":        ">2\r\n:1\r\n:2\r\n",
		"a push in a reply":        "*2\r\n>2\r\n$1\r\na\r\n:1\r\n:2\r\n",
	}
	for name, stream := range hostile {
		for _, piece := range []int{1, 5, 1 << 16} {
			before, refused := passed("+OK\r\n"+stream, piece)
			if refused == nil {
				t.Errorf("%s in pieces of %d passes", name, piece)
			}
			if n := strings.Count(before, "*") + strings.Count(before, "%") + strings.Count(before, "|"); n > guardDepth+1 {
				t.Errorf("%s in pieces of %d: %d levels came through", name, piece, n)
			}
			if again := asking(&replay{in: strings.NewReader(stream), n: piece}); true {
				_, _ = io.ReadAll(again)
				if n, err := again.Read(make([]byte, 10)); n != 0 || err == nil {
					t.Errorf("%s: %d bytes behind the refusal", name, n)
				}
			}
		}
	}
}

// TestAGuardCountsWhatHasCome: elements that are there are part of the reply, and its
// reader keeps them until it is complete. The next reply has a count of its own.
func TestAGuardCountsWhatHasCome(t *testing.T) {
	part := "*65535\r\n" + strings.Repeat(":1\r\n", 65535)
	defer fewer.Store(0)
	Frugal(guardItems + 1) // nothing makes it more
	largest := "*64\r\n" + strings.Repeat(part, 64)
	for _, stream := range []string{largest + largest, strings.Repeat("|1\r\n+a\r\n+b\r\n+OK\r\n", 1<<21)} {
		if got, refused := passed(stream, 1<<20); refused != nil || len(got) != len(stream) {
			t.Errorf("%d bytes of %d, %v", len(got), len(stream), refused)
		}
	}
	for name, stream := range map[string]string{
		"arrays":     "*65\r\n" + strings.Repeat(part, 65),
		"attributes": strings.Repeat("|1\r\n+a\r\n+b\r\n", 1<<21+1) + "+OK\r\n",
	} {
		if _, refused := passed(stream, 1<<20); refused == nil || !strings.Contains(refused.Want, "elements") {
			t.Errorf("%s: %v", name, refused)
		}
	}
	Frugal(3)
	if _, refused := passed("*2\r\n*2\r\n:1\r\n", 1<<20); refused == nil || refused.From != "there" {
		t.Errorf("four elements of three: %v", refused)
	}
}

// What is in a bulk string is not looked at: of a megabyte only the header and the
// end.
func TestAGuardPassesBulkStringsByTheirLength(t *testing.T) {
	body := strings.Repeat("*999999999\r\n", 1<<16)
	stream := fmt.Sprintf("$%d\r\n%s\r\n:1\r\n", len(body), body)
	if got, refused := passed(stream, 1000); refused != nil || got != stream {
		t.Error(refused)
	}
}

// The parsers of this package hold nesting and size within bounds by themselves.
func TestAnyIsBoundedInDepth(t *testing.T) {
	for depth, ok := range map[int]bool{MaxDepth: true, MaxDepth + 1: false, 5000: false} {
		c := served(t, strings.Repeat("*1\r\n", depth)+":1\r\n", true)
		_, err := c.Any()
		var refused *ProtocolError
		if ok != (err == nil) || !ok && (!errors.As(err, &refused) || !strings.Contains(refused.Want, "depth")) {
			t.Errorf("%d levels: %v", depth, err)
		}
	}
}

func FuzzGuard(f *testing.F) {
	for _, r := range replies {
		f.Add([]byte(r), 3)
	}
	f.Add([]byte("*1\r\n*-1\r\n$-5\r\n"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, piece int) {
		one, refused := passed(string(stream), 1+int(uint(piece)%64))
		whole, other := passed(string(stream), 1<<20)
		if (refused == nil) != (other == nil) || !strings.HasPrefix(string(stream), one) || !strings.HasPrefix(one, whole) {
			t.Fatalf("%q: %q %v, and in one piece %q %v", stream, one, refused, whole, other)
		}
	})
}

func BenchmarkGuard(b *testing.B) {
	for name, reply := range map[string]string{"small": "$5\r\nhello\r\n",
		"1 KB":        "$1024\r\n" + strings.Repeat("x", 1024) + "\r\n",
		"list of 100": "*100\r\n" + strings.Repeat("$5\r\nhello\r\n", 100)} {
		b.Run(name, func(b *testing.B) {
			stream := bytes.Repeat([]byte(reply), 1+4096/len(reply))
			g := asking(nil)
			b.SetBytes(int64(len(reply)))
			b.ReportAllocs()
			for i := 0; i < b.N; i += len(stream) / len(reply) {
				if err := g.look(stream); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	cached := [][]string{{"CLIENT", "CACHING", "YES"}, {"MULTI"}, {"PTTL", "user:42"}, {"GET", "user:42"}, {"EXEC"}}
	for name, commands := range map[string][][]string{
		"write GET": {{"GET", "user:42"}}, "write SET of 1 KB": {{"SET", "user:42", strings.Repeat("x", 1024)}},
		"write and read of a cache": cached,
	} {
		b.Run(name, func(b *testing.B) {
			stream := []byte(strings.Repeat(written(commands...), 64))
			replies := []byte(strings.Repeat("+OK\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:5\r\n$1\r\nx\r\n", 64))
			g := Guard(discard{&replay{}})
			b.SetBytes(int64(len(stream) / 64))
			b.ReportAllocs()
			for i := 0; i < b.N; i += 64 {
				_, _ = g.Write(stream)
				if len(commands) > 1 {
					if err := g.look(replies); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
