package compare_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
	"github.com/keywright/keywright/source/compare"
)

// valueOf returns the value of a key.
func valueOf(s *kt.Server, key string) *source.Content {
	text := s.Do("DUMP", key).(string)
	footer := text[len(text)-10:]
	return &source.Content{Payload: []byte(text[:len(text)-10]), RDB: int(footer[0]) | int(footer[1])<<8}
}

// Values are equal whatever their encodings and the order of their members.
func TestEncodings(t *testing.T) {
	t.Parallel()
	for _, brand := range kt.Brands() {
		t.Run(string(brand), func(t *testing.T) {
			small, large := kt.Start(t, brand), kt.Start(t, brand,
				kt.Config("hash-max-listpack-entries", "0"), kt.Config("set-max-intset-entries", "0"),
				kt.Config("zset-max-listpack-entries", "0"), kt.Config("list-max-listpack-size", "2"))
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
					if !compare.Equal(a, b) {
						t.Errorf("%d: %s is not the same in two encodings (%d, %d)", n, key, a.Payload[0], b.Payload[0])
					}
					for _, other := range []string{"string", "hash", "set"} {
						if other != key && compare.Equal(a, valueOf(large, other)) {
							t.Errorf("%s is the same as %s", key, other)
						}
					}
				}
				large.Do("SADD", "set", "another")
				large.Do("HSET", "hash", "f1", "another")
				large.Do("ZADD", "zset", "99.5", "m1")
				large.Do("LSET", "list", "0", "another")
				large.Do("APPEND", "string", "x")
				for _, key := range []string{"string", "hash", "list", "set", "zset"} {
					if compare.Equal(valueOf(small, key), valueOf(large, key)) {
						t.Errorf("%d: %s differs, and is said to be the same", n, key)
					}
				}
			}
		})
	}
}
