package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/keywright/keywright/bench/report"
	"github.com/keywright/keywright/bench/wire"
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
func (t *track) estimate(ctx context.Context, out *report.Report) error {
	dir, err := os.MkdirTemp(t.Tools.Dir, "estimate-")
	if err != nil {
		return err
	}
	if err := os.Link(t.file, filepath.Join(dir, "dump.rdb")); err != nil {
		return err
	}
	server, err := t.Start(ctx, t.binary, "--dir", dir)
	if err != nil {
		return err
	}
	conn, err := wire.Dial(ctx, server.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	in, err := os.Open(t.file)
	if err != nil {
		return err
	}
	defer in.Close()
	tallies := map[string]*tally{}
	_, err = rdb.New(in, rdb.Options{OnlyDB: -1}).Scan(ctx, source.Request{Bytes: true}, func(keys []source.Key) error {
		real, err := usage(conn, keys)
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
	if err == nil {
		tabulate(out, t.binary, tallies)
	}
	return err
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
	table := out.Table("Estimated memory ÷ MEMORY USAGE SAMPLES 0 of a freshly loaded "+binary,
		"type and encoding", "keys", "MB", "ratio of sums", "exact keys %")
	for _, name := range slices.Sorted(maps.Keys(tallies)) {
		t := tallies[name]
		exact := 100 * float64(t.exact) / float64(t.keys)
		table.Add(name, t.keys, fmt.Sprintf("%.1f", float64(t.real)/1e6), fmt.Sprintf("%.4f", t.ratio()),
			fmt.Sprintf("%.2f", exact))
		if slices.Contains(exactKinds, name) {
			out.AtLeast(100, exact, "%s: exact estimates of %s, %%", binary, name)
		}
	}
	for _, e := range errorBounds {
		if t := tallies[e.name]; t != nil {
			out.AtMost(e.bound, max(t.ratio()-1, 1-t.ratio()), "%s: error of the estimate, %s", binary, e.name)
		}
	}
}

// usage returns the bytes of the keys by MEMORY USAGE; -1 for one that is gone.
func usage(conn *wire.Conn, keys []source.Key) ([]int64, error) {
	for _, k := range keys {
		conn.Command("MEMORY", "USAGE", string(k.Name), "SAMPLES", "0")
	}
	if err := conn.Flush(); err != nil {
		return nil, err
	}
	all := make([]int64, len(keys))
	for i := range keys {
		reply, err := conn.Value()
		if err != nil {
			return nil, err
		}
		if all[i] = -1; reply != "" {
			if all[i], err = strconv.ParseInt(fmt.Sprint(reply), 10, 64); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}
