package peers

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
)

// Floor keeps the server busy: SCAN of the next page goes out ahead of the
// details of this one, and both before the last page's details are read.
func Floor(ctx context.Context, l Load) (Tally, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", l.Addr)
	if err != nil {
		return Tally{}, err
	}
	defer conn.Close()
	f := &floor{Load: l, in: bufio.NewReaderSize(conn, 256<<10)}
	if _, err := conn.Write(f.appendScan(nil, []byte("0"))); err != nil {
		return f.tally, err
	}
	for before := (page{}); ; {
		this, err := f.readPage()
		if err != nil {
			return f.tally, err
		}
		if _, err := conn.Write(f.out); err != nil {
			return f.tally, err
		}
		if err := f.readDetails(before.keys); err != nil {
			return f.tally, err
		}
		if this.last {
			return f.tally, f.readDetails(this.keys)
		}
		before = this
	}
}

type floor struct {
	Load
	in    *bufio.Reader
	out   []byte // the next page's SCAN and this page's details
	key   []byte
	tally Tally
}

type page struct {
	keys int
	last bool
}

// readPage reads the answer of SCAN and prepares what to send then.
func (f *floor) readPage() (page, error) {
	if _, err := f.length('*'); err != nil {
		return page{}, err
	}
	cursor, err := f.bulk()
	if err != nil {
		return page{}, err
	}
	p := page{last: string(cursor) == "0"}
	f.out = f.out[:0]
	if !p.last {
		f.out = f.appendScan(f.out, cursor)
	}
	if p.keys, err = f.length('*'); err != nil {
		return page{}, err
	}
	for range p.keys {
		key, err := f.bulk()
		if err != nil {
			return page{}, err
		}
		f.out = f.appendDetails(f.out, key)
	}
	f.tally.Keys += int64(p.keys)
	return p, nil
}

func (f *floor) readDetails(keys int) error {
	for range keys {
		if _, err := f.length('+'); err != nil {
			return err
		}
		if _, err := f.length(':'); err != nil {
			return err
		}
		if !f.Memory {
			continue
		}
		n, err := f.length(':')
		if err != nil {
			return err
		}
		f.tally.Bytes += int64(n)
	}
	return nil
}

func (f *floor) appendScan(to, cursor []byte) []byte {
	to = append(to, "*4\r\n$4\r\nSCAN\r\n"...)
	to = appendWord(to, cursor)
	to = append(to, "$5\r\nCOUNT\r\n"...)
	return appendWord(to, strconv.AppendInt(nil, int64(f.Count), 10))
}

func (f *floor) appendDetails(to, key []byte) []byte {
	to = appendWord(append(to, "*2\r\n$4\r\nTYPE\r\n"...), key)
	to = appendWord(append(to, "*2\r\n$4\r\nPTTL\r\n"...), key)
	switch {
	case !f.Memory:
		return to
	case f.Samples < 0:
		return appendWord(append(to, "*3\r\n$6\r\nMEMORY\r\n$5\r\nUSAGE\r\n"...), key)
	}
	to = appendWord(append(to, "*5\r\n$6\r\nMEMORY\r\n$5\r\nUSAGE\r\n"...), key)
	to = append(to, "$7\r\nSAMPLES\r\n"...)
	return appendWord(to, strconv.AppendInt(nil, int64(f.Samples), 10))
}

func appendWord(to, word []byte) []byte {
	to = strconv.AppendInt(append(to, '$'), int64(len(word)), 10)
	return append(append(append(to, '\r', '\n'), word...), '\r', '\n')
}

// length reads a line that begins with mark and returns the number in it; a
// status line has none.
func (f *floor) length(mark byte) (int, error) {
	line, err := f.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != mark {
		return 0, fmt.Errorf("the server answers %q where %q was expected", bytes.TrimSpace(line), mark)
	}
	if mark == '+' {
		return 0, nil
	}
	return strconv.Atoi(string(line[1 : len(line)-2]))
}

// bulk is valid until the next call.
func (f *floor) bulk() ([]byte, error) {
	n, err := f.length('$')
	if err != nil {
		return nil, err
	}
	line, err := f.in.Peek(n + 2)
	if err != nil {
		return nil, err
	}
	f.key = append(f.key[:0], line[:n]...)
	_, err = f.in.Discard(n + 2)
	return f.key, err
}
