package peers

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/keywright/keywright/source"
)

// Floor keeps the server busy: SCAN of the next page goes out ahead of the
// details of this one, and both before the last page's details are read. With Values the
// first step of each value of the page before goes with them: its type is known by then.
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
	var asked, typed, valued page // whose details are on their way, whose types are known, whose values are on their way
	for last := false; !last || len(asked.keys)+len(typed.keys)+len(valued.keys) > 0; {
		var this page
		if f.out = f.out[:0]; !last {
			if this, err = f.readPage(); err != nil {
				return f.tally, err
			}
		}
		for i := range typed.kinds {
			f.out = appendValue(f.out, typed.kinds[i], typed.keys[i])
		}
		if _, err := conn.Write(f.out); err != nil {
			return f.tally, err
		}
		if err := f.readDetails(&asked); err != nil {
			return f.tally, err
		}
		for range valued.kinds {
			if err := f.skip(); err != nil {
				return f.tally, err
			}
			f.tally.Values++
		}
		last = last || this.last
		asked, typed, valued = this, asked, typed
	}
	return f.tally, nil
}

type floor struct {
	Load
	in    *bufio.Reader
	out   []byte // the next page's SCAN, this page's details, the values of the page before
	key   []byte
	tally Tally
}

type page struct {
	keys  [][]byte
	kinds []byte // with Values: the first letters of their types that tell them apart
	last  bool
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
	if !p.last {
		f.out = f.appendScan(f.out, cursor)
	}
	n, err := f.length('*')
	if err != nil {
		return page{}, err
	}
	for range n {
		key, err := f.bulk()
		if err != nil {
			return page{}, err
		}
		f.out = f.appendDetails(f.out, key)
		if p.keys = append(p.keys, nil); f.Values {
			p.keys[len(p.keys)-1] = bytes.Clone(key)
		}
	}
	f.tally.Keys += int64(n)
	return p, nil
}

func (f *floor) readDetails(p *page) error {
	for range p.keys {
		kind, err := f.kind()
		if err != nil {
			return err
		}
		if f.Values {
			p.kinds = append(p.kinds, kind)
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

// kind reads the reply to TYPE: the second letter, or the third of a string.
func (f *floor) kind() (byte, error) {
	line, err := f.in.ReadSlice('\n')
	if err != nil || line[0] != '+' || len(line) < 6 {
		return 0, fmt.Errorf("the server answers %q where a type was expected: %w", bytes.TrimSpace(line), err)
	}
	if bytes.HasPrefix(line, []byte("+string")) {
		return 'r', nil
	}
	return line[2], nil
}

// values lists the first steps of an audit with values, by kind.
var values = map[byte][]string{
	'r': {"GETRANGE", "0", strconv.Itoa(source.SampleString - 1)},
	'i': {"LRANGE", "0", strconv.Itoa(source.SampleMembers/2 - 1)},
	'e': {"SRANDMEMBER", strconv.Itoa(source.SampleMembers)},
	's': {"ZRANDMEMBER", strconv.Itoa(source.SampleMembers), "WITHSCORES"},
	'a': {"HRANDFIELD", strconv.Itoa(source.SampleMembers), "WITHVALUES"},
	't': {"XRANGE", "-", "+", "COUNT", strconv.Itoa(source.SampleEntries / 2)},
}

func appendValue(to []byte, kind byte, key []byte) []byte {
	command := values[kind]
	to = append(strconv.AppendInt(append(to, '*'), int64(len(command)+1), 10), '\r', '\n')
	to = appendWord(appendWord(to, []byte(command[0])), key)
	for _, word := range command[1:] {
		to = appendWord(to, []byte(word))
	}
	return to
}

// skip reads a reply of any form.
func (f *floor) skip() error {
	line, err := f.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	mark := line[0]
	if mark != '$' && mark != '*' {
		if mark == '-' {
			return fmt.Errorf("the server answers %q", bytes.TrimSpace(line))
		}
		return nil
	}
	n, err := strconv.Atoi(string(line[1 : len(line)-2]))
	if err != nil {
		return err
	}
	if mark == '$' && n >= 0 {
		_, err = f.in.Discard(n + 2)
		return err
	}
	for range n {
		if err := f.skip(); err != nil {
			return err
		}
	}
	return nil
}

// bulk returns valid until the next call.
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
