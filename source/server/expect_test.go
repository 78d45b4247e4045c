package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keywright/keywright/internal/servertest"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source"
)

// TestValuesCostNoCommandMore: a key whose type its name tells is asked for its value in
// the place of its type: three commands, as many as without values. One that is of
// another type is asked for it then, and has it; of lists the length comes as well.
func TestValuesCostNoCommandMore(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, brand kt.Brand) {
		s := kt.Start(t, brand)
		const keys = 300
		for i := range keys {
			s.Do("SET", fmt.Sprintf("text:%d", i), "x")
			s.Do("HSET", fmt.Sprintf("hash:%d", i), "f", "v")
		}
		s.Do("SADD", "text:wrong", "a")
		s.Do("SET", "hash:wrong", "a")
		s.Do("XADD", "hash:stream", "*", "a", "b")
		s.Do("SET", "other", "a")
		want := map[string]source.Kind{"text:1": source.String, "hash:1": source.Hash, "text:wrong": source.Set,
			"hash:wrong": source.String, "hash:stream": source.Stream, "other": source.String}
		calls := func(name string) (n int) {
			for _, line := range strings.Split(s.Do("INFO", "commandstats").(string), "\n") {
				if rest, ok := strings.CutPrefix(line, "cmdstat_"+name+":calls="); ok {
					_, _ = fmt.Sscanf(rest, "%d", &n)
				}
			}
			return n
		}
		for _, whole := range []bool{false, true} {
			s.Do("CONFIG", "RESETSTAT")
			req := source.Request{
				Bytes:  true,
				Values: func([]byte, source.Kind) bool { return false },
				Expect: func(name []byte) source.Kind {
					switch root, _, _ := strings.Cut(string(name), ":"); root {
					case "text":
						return source.String
					case "hash":
						return source.Hash
					}
					return source.Unknown
				},
			}
			if whole {
				req.Part = func(*source.Key) {}
			}
			got := map[string]source.Key{}
			sum, err := New(servertest.Config(t, s.URL()), Options{OnlyDB: -1}).Scan(t.Context(), req,
				func(batch []source.Key) error {
					for _, k := range batch {
						got[string(k.Name)] = k
					}
					return nil
				})
			if err != nil || len(sum.Incomplete) > 0 || len(got) != 2*keys+4 {
				t.Fatal(len(got), sum, err)
			}
			for name, kind := range want {
				k := got[name]
				if valued := name == "text:1" || name == "hash:1"; k.Kind != kind || k.TTL != source.NoTTL || k.Bytes <= 0 ||
					(k.Value != nil) != valued {
					t.Errorf("%s: %+v, want a %s", name, k, kind)
				}
			}
			if n := calls("type"); n != 4 {
				t.Errorf("whole %t: TYPE was asked of %d keys, not of the three of another type and the one without a "+
					"name that tells", whole, n)
			}
			read := "hrandfield"
			if whole {
				read = "hscan"
			}
			if facts, texts, hashes := calls("pttl"), calls("getrange"),
				calls(read); facts != 2*keys+4 || texts != keys+1 || hashes != keys+2 || calls("hlen") != 0 {
				t.Errorf("whole %t: %d PTTL, %d GETRANGE, %d %s", whole, facts, texts, hashes, read)
			}
		}
	})
}

// TestPagesOfValuesAreSmall: keys whose values are read come in pages of a few, so that a
// server asks its memory once for a key's facts and its value; others in large ones.
func TestPagesOfValuesAreSmall(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, brand kt.Brand) {
		s := kt.Start(t, brand)
		fill(s, 6000)
		for _, values := range []bool{false, true} {
			var req source.Request
			if values {
				req.Values = func([]byte, source.Kind) bool { return true }
			}
			largest := 0
			_, err := New(servertest.Config(t, s.URL()), Options{OnlyDB: -1}).Scan(t.Context(), req,
				func(batch []source.Key) error {
					largest = max(largest, len(batch))
					return nil
				})
			if err != nil || (largest < 400) != values {
				t.Errorf("values %t: a page has %d keys: %v", values, largest, err)
			}
		}
	})
}
