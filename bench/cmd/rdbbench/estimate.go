package main

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
)

// tally describes what one kind of value costs, as estimated and as the server says.
type tally struct {
	keys, exact     int64
	estimated, real int64
}

// estimate holds the estimate of every key against MEMORY USAGE … SAMPLES 0 of
// a fresh server that has loaded the file.
func estimate(ctx context.Context, out *report.Report, binary, file string) error {
	dir, err := os.MkdirTemp("", "keywright-estimate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Link(file, filepath.Join(dir, "dump.rdb")); err != nil {
		return err
	}
	server, err := live.Start(ctx, binary, "--dir", dir)
	if err != nil {
		return err
	}
	defer server.Stop()
	usage, err := dial(server.Addr)
	if err != nil {
		return err
	}
	defer usage.conn.Close()
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	tallies := map[string]*tally{}
	_, err = rdb.New(in, rdb.Options{OnlyDB: -1}).Scan(ctx, source.Request{Bytes: true}, func(keys []source.Key) error {
		real, err := usage.of(keys)
		if err != nil {
			return err
		}
		for i, k := range keys {
			if real[i] < 0 {
				continue // it has expired meanwhile
			}
			for _, name := range []string{k.Kind.String() + " " + k.Facts.Encoding, "all"} {
				if tallies[name] == nil {
					tallies[name] = &tally{}
				}
				tallies[name].add(k.Bytes, real[i])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	tabulate(out, binary, tallies)
	return nil
}

func (t *tally) add(estimated, real int64) {
	t.keys++
	t.estimated += estimated
	t.real += real
	if estimated == real {
		t.exact++
	}
}

func (t *tally) ratio() float64 { return float64(t.estimated) / float64(t.real) }

// exactKinds lists the encodings whose estimate is to be right for every key.
var exactKinds = []string{"string int", "string embstr", "string raw", "hash listpack", "zset listpack", "set listpack",
	"set intset", "list listpack"}

// errorBounds say how far sums of estimates may be from the truth.
var errorBounds = []struct {
	name  string
	bound float64
}{{"all", 0.02}, {"stream stream", 0.10}}

func tabulate(out *report.Report, binary string, tallies map[string]*tally) {
	table := report.Table{Title: "Estimated memory ÷ MEMORY USAGE SAMPLES 0 of a freshly loaded " + binary,
		Columns: []string{"type and encoding", "keys", "MB", "ratio of sums", "exact keys %"}}
	for _, name := range slices.Sorted(maps.Keys(tallies)) {
		t := tallies[name]
		exact := 100 * float64(t.exact) / float64(t.keys)
		table.Add(name, t.keys, fmt.Sprintf("%.1f", float64(t.real)/1e6), fmt.Sprintf("%.4f", t.ratio()),
			fmt.Sprintf("%.2f", exact))
		if slices.Contains(exactKinds, name) {
			out.Goals = append(out.Goals,
				report.Goal{What: binary + ": exact estimates of " + name + ", %", Value: exact, Bound: 100, AtLeast: true})
		}
	}
	out.Tables = append(out.Tables, table)
	for _, e := range errorBounds {
		if t := tallies[e.name]; t != nil {
			out.Goals = append(out.Goals, report.Goal{What: binary + ": error of the estimate, " + e.name,
				Value: max(t.ratio()-1, 1-t.ratio()), Bound: e.bound})
		}
	}
}

// usage asks for MEMORY USAGE of many keys at once.
type usage struct {
	conn net.Conn
	in   *bufio.Reader
	out  *bufio.Writer
}

func dial(addr string) (*usage, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &usage{conn, bufio.NewReaderSize(conn, 64<<10), bufio.NewWriterSize(conn, 64<<10)}, nil
}

// of returns the bytes of the keys; -1 for one that is gone.
func (u *usage) of(keys []source.Key) ([]int64, error) {
	for _, k := range keys {
		fmt.Fprintf(u.out, "*5\r\n$6\r\nMEMORY\r\n$5\r\nUSAGE\r\n$%d\r\n%s\r\n$7\r\nSAMPLES\r\n$1\r\n0\r\n", len(k.Name),
			k.Name)
	}
	if err := u.out.Flush(); err != nil {
		return nil, err
	}
	all := make([]int64, len(keys))
	for i := range keys {
		line, err := u.in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		line = strings.TrimSpace(line)
		switch {
		case line == "$-1":
			all[i] = -1
		case strings.HasPrefix(line, ":"):
			if all[i], err = strconv.ParseInt(line[1:], 10, 64); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("MEMORY USAGE answers %q", line)
		}
	}
	return all, nil
}
