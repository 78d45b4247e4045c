package server

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
)

// sizedCollections writes one key of each kind of collection with n elements, 0 to n-1.
func sizedCollections(s *kt.Server, n int) {
	var commands [][]string
	for i := range n {
		e := strconv.Itoa(i)
		commands = append(commands, []string{"RPUSH", fmt.Sprintf("list:%d", n), e},
			[]string{"SADD", fmt.Sprintf("set:%d", n), e},
			[]string{"ZADD", fmt.Sprintf("zset:%d", n), e, e}, []string{"HSET", fmt.Sprintf("hash:%d", n), e, e},
			[]string{"XADD", fmt.Sprintf("stream:%d", n), fmt.Sprintf("%d-1", i+1), "n", e})
	}
	s.Pipe(commands...)
}

// looked returns the elements of each key that a scan with values yields, as numbers.
func looked(t *testing.T, s *kt.Server) map[string][]int {
	t.Helper()
	out := map[string][]int{}
	req := source.Request{Values: func([]byte, source.Kind) bool { return true }}
	_, err := New(servertest.Config(t, s.URL()), Options{OnlyDB: -1}).Scan(t.Context(), req,
		func(batch []source.Key) error {
			for _, k := range batch {
				step, from := 1, 0
				switch k.Kind {
				case source.Hash:
					step = 2
				case source.Stream:
					step, from = 2, 1
				}
				for i := from; i < len(k.Value.Elements); i += step {
					n, err := strconv.Atoi(string(k.Value.Elements[i]))
					if err != nil {
						return err
					}
					out[string(k.Name)] = append(out[string(k.Name)], n)
				}
				_, digits, _ := strings.Cut(string(k.Name), ":")
				of := number(digits)
				seen := k.Value.Looked(k.Kind)
				if k.Value.Of != int64(of) || k.Value.Partial != (seen < int64(of)) || seen != int64(len(out[string(k.Name)])) {
					t.Errorf("%s: %d looked at, of %d, partial %t", k.Name, seen, k.Value.Of, k.Value.Partial)
				}
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSamples: a collection at the bound of a sample is read whole and each element once;
// of a larger one both ends of lists and streams are read, and other members each time.
func TestSamples(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b)
		for _, n := range []int{1, 9, 10, 11, 19, 20, 21, 39, 40, 41, 1000} {
			sizedCollections(s, n)
		}
		all := looked(t, s)
		if len(all) != 55 {
			t.Fatalf("%d keys", len(all))
		}
		for name, got := range all {
			kind, digits, _ := strings.Cut(name, ":")
			of := number(digits)
			most := source.SampleMembers
			if kind == "stream" {
				most = source.SampleEntries
			}
			slices.Sort(got)
			if len(got) != min(most, of) || len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Errorf("%s: %v", name, got)
				continue
			}
			if kind == "list" || kind == "stream" {
				for i := range got {
					want := i
					if i >= len(got)/2 {
						want = of - len(got) + i
					}
					if got[i] != want {
						t.Errorf("%s is not of both ends: %v", name, got)
						break
					}
				}
			}
		}
		for _, kind := range []string{"set", "zset", "hash"} {
			seen := map[int]bool{}
			for range 10 {
				for _, n := range looked(t, s)[kind+":1000"] {
					seen[n] = true
				}
			}
			if len(seen) < 3*source.SampleMembers {
				t.Errorf("ten samples of a %s of 1000 have %d different members: they are not random", kind, len(seen))
			}
		}
	})
}

// TestWholeStringsEndAtTheirBound: a string that is read whole is whole below the bound,
// and is said to be partial from there on.
func TestWholeStringsEndAtTheirBound(t *testing.T) {
	gate.Skip(t, "strings of many MB, a second of CPU")
	s := kt.Start(t, kt.Redis)
	for _, n := range []int{source.SampleString - 1, source.SampleString, source.SampleString + 1, source.WholeString - 1,
		source.WholeString + 1} {
		s.Do("SETRANGE", fmt.Sprintf("string:%d", n), strconv.Itoa(n-1), "x")
	}
	req := source.Request{Values: func([]byte, source.Kind) bool { return true }, Part: func(*source.Key) {}}
	keys := 0
	_, err := New(servertest.Config(t, s.URL()), Options{OnlyDB: -1}).Scan(t.Context(), req,
		func(batch []source.Key) error {
			for _, k := range batch {
				keys++
				n := number(string(k.Name[len("string:"):]))
				whole := n < source.WholeString
				if k.Value.Partial == whole || whole && len(k.Value.Str) != n || len(k.Value.Str) > source.WholeString ||
					k.Value.Looked(k.Kind) != map[bool]int64{true: 1}[whole] {
					t.Errorf("%s: %d bytes, partial %t", k.Name, len(k.Value.Str), k.Value.Partial)
				}
			}
			return nil
		})
	if err != nil || keys != 5 {
		t.Fatalf("%d keys, %v", keys, err)
	}
}

// number returns the number that digits are.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
