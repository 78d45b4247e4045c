package rdb_test

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/rdb"
)

// valueOf is the value of a key.
func valueOf(s *kt.Server, key string) []byte {
	text := s.Do("DUMP", key).(string)
	return []byte(text[:len(text)-10])
}

// What Decode reads of a value is what the server has, in every encoding; and values
// are the same whatever their encodings and the order of their members.
func TestDecode(t *testing.T) {
	for _, brand := range kt.Brands() {
		t.Run(string(brand), func(t *testing.T) {
			small, large := kt.Start(t, brand), kt.Start(t, brand,
				kt.Config("hash-max-listpack-entries", "0"), kt.Config("set-max-intset-entries", "0"), kt.Config("zset-max-listpack-entries", "0"), kt.Config("list-max-listpack-size", "2"))
			var hash, list, ints, members, scores []string
			for i := range 300 {
				hash = append(hash, fmt.Sprint("f", i), strings.Repeat("v", i))
				list = append(list, strings.Repeat("e", i*40))
				ints = append(ints, strconv.Itoa(i*i*i-1000))
				members = append(members, fmt.Sprintf("m\xff%d", i))
				scores = append(scores, strconv.FormatFloat(float64(i)/7-20, 'g', -1, 64), fmt.Sprint("m", i))
			}
			for _, n := range []int{3, 100, 300} {
				for i, s := range []*kt.Server{small, large} {
					order := func(all []string, per int) []string {
						all = slices.Clone(all[:n*per])
						if i == 1 && per == 1 {
							slices.Reverse(all)
						}
						return all
					}
					s.Do("FLUSHALL")
					s.Do("SET", "string", strings.Repeat("abc", n))
					s.Do("SET", "int", strconv.Itoa(n))
					s.Do(append([]string{"HSET", "hash"}, order(hash, 2)...)...)
					s.Do(append([]string{"RPUSH", "list"}, list[:n]...)...)
					s.Do(append([]string{"SADD", "ints"}, order(ints, 1)...)...)
					s.Do(append([]string{"SADD", "set"}, order(members, 1)...)...)
					s.Do(append([]string{"ZADD", "zset"}, order(scores, 2)...)...)
					s.Do("ZADD", "inf", "inf", "a", "-inf", "b", "0.1", "c")
				}
				for _, key := range []string{"string", "int", "hash", "list", "ints", "set", "zset", "inf"} {
					a, b := valueOf(small, key), valueOf(large, key)
					if !rdb.Same(a, b) {
						t.Errorf("%d: %s is not the same in two encodings (%d, %d)", n, key, a[0], b[0])
					}
					for _, other := range []string{"string", "hash", "set"} {
						if other != key && rdb.Same(a, valueOf(large, other)) {
							t.Errorf("%s is the same as %s", key, other)
						}
					}
					kind, got, err := rdb.Decode(b)
					if err != nil || kind.String() != large.Do("TYPE", key) {
						t.Errorf("%s: %v %v", key, kind, err)
					}
					if kind == source.List && !slices.EqualFunc(got, list[:n], func(a []byte, b string) bool { return string(a) == b }) {
						t.Errorf("%d: the list has %d elements", n, len(got))
					}
				}
				large.Do("SADD", "set", "another")
				large.Do("HSET", "hash", "f1", "another")
				large.Do("ZADD", "zset", "99.5", "m1")
				large.Do("LSET", "list", "0", "another")
				large.Do("APPEND", "string", "x")
				for _, key := range []string{"string", "hash", "list", "set", "zset"} {
					if rdb.Same(valueOf(small, key), valueOf(large, key)) {
						t.Errorf("%d: %s differs, and is said to be the same", n, key)
					}
				}
			}
		})
	}
}

// FuzzDecode: no bytes make Decode, Rewrite or Same panic, or take memory beyond what
// the bytes can expand to.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{"\x00\x03abc", "\x02\x02\x01a\x01b", "\x14\x07\x07\x00\x00\x00\x00\x00\xff", "\x0b\x0a\x02\x00\x00\x00\x01\x00\x00\x00\x05\x00", "\x05\x01\x01a\x00\x00\x00\x00\x00\x00\xf0\x3f"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		if _, elements, err := rdb.Decode(value); err == nil && len(elements) > 0 && !rdb.Same(value, bytes.Clone(value)) {
			t.Error("a value is not the same as itself")
		}
		_, _, _ = rdb.Rewrite(value, 11, 10)
	})
}
