package wirecount

import (
	"io"
	"net"
	"strings"
	"testing"
)

const requests = "*1\r\n$4\r\nPING\r\n" +
	"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$9\r\n*1\r\n$0\r\n\n\r\n" + // a value that looks like a request
	"*2\r\n$3\r\nGET\r\n$0\r\n\r\n" +
	"*2\r\n$4\r\nECHO\r\n$12\r\nabcdefghijkl\r\n"

// The count does not depend on where the writes end.
func TestCountAtEverySplit(t *testing.T) {
	for size := 1; size <= len(requests); size++ {
		var s scanner
		var n int64
		for rest := requests; rest != ""; {
			part := rest[:min(size, len(rest))]
			n += s.scan([]byte(part))
			rest = rest[len(part):]
		}
		if n != 4 {
			t.Errorf("writes of %d bytes: %d requests, want 4", size, n)
		}
	}
}

func TestConnectionsAreSummed(t *testing.T) {
	var c Counter
	for range 2 {
		ours, theirs := net.Pipe()
		go io.Copy(io.Discard, theirs)
		conn, err := c.Wrap(ours, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(conn, strings.NewReader(requests)); err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	if c.Calls() != 8 {
		t.Errorf("%d calls, want 8", c.Calls())
	}
	var none *Counter
	for _, counter := range []*Counter{none, &c} {
		if conn, err := counter.Wrap(nil, io.EOF); conn != nil || err != io.EOF {
			t.Errorf("what was not dialled: %v, %v", conn, err)
		}
	}
}
