package restore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keywright/keywright/apply/internal/applytest"
	"github.com/keywright/keywright/apply/restore"
	kt "github.com/keywright/keywright/keywrighttest"
)

// encoded are values in every encoding that a server has. Which one it gives a value is the server's: after a / are
// those of other releases.
var encoded = []struct{ key, encoding, script string }{
	{"int", "int", `redis.call('SET', KEYS[1], '-9223372036854775808')`},
	{"short", "embstr", `redis.call('SET', KEYS[1], 'a\0\255b')`},
	{"long", "raw", `redis.call('SET', KEYS[1], string.rep('x', 100000))`},
	{"bits", "raw", `redis.call('SETBIT', KEYS[1], 70000, 1)`},
	{"hll", "raw", `for i = 1, 2000 do redis.call('PFADD', KEYS[1], i) end`},
	{"list", "quicklist/listpack", `redis.call('RPUSH', KEYS[1], '', 'a', '-1', '4294967296', 'a\0\255')`},
	{"longlist", "quicklist", `for i = 1, 3000 do redis.call('RPUSH', KEYS[1], string.rep('e', i % 300)) end`},
	{"plainlist", "quicklist", `for i = 1, 3 do redis.call('RPUSH', KEYS[1], string.rep('e', 20000)) end`},
	{"ints", "intset", `redis.call('SADD', KEYS[1], 1, -70000, '9223372036854775807')`},
	{"set", "hashtable/listpack", `redis.call('SADD', KEYS[1], 'a', '', 'a\0\255', 5)`},
	{"longset", "hashtable", `for i = 1, 1000 do redis.call('SADD', KEYS[1], 'm'..i) end`},
	{"hash", "listpack", `redis.call('HSET', KEYS[1], 'f', 'v', '', '', 'n', '12345')`},
	{"longhash", "hashtable", `for i = 1, 1000 do redis.call('HSET', KEYS[1], 'f'..i, string.rep('v', i % 90)) end`},
	{"zset", "listpack", `redis.call('ZADD', KEYS[1], 'inf', 'a', '-inf', 'b', '0.1', 'c', '3.0000000000000004', '')`},
	{"longzset", "skiplist", `for i = 1, 1000 do redis.call('ZADD', KEYS[1], i / 7, 'm'..i) end`},
	{"geo", "listpack", `redis.call('GEOADD', KEYS[1], 13.36, 38.11, 'Palermo')`},
	{"stream", "stream", `for i = 1, 300 do redis.call('XADD', KEYS[1], i..'-1', 'f', i, 'g', string.rep('x', i % 50)) end
		redis.call('XDEL', KEYS[1], '300-1', '7-1')
		redis.call('XGROUP', 'CREATE', KEYS[1], 'g', '0') redis.call('XGROUP', 'CREATE', KEYS[1], 'idle', '$')
		redis.call('XREADGROUP', 'GROUP', 'g', 'c', 'COUNT', 5, 'STREAMS', KEYS[1], '>') redis.call('XACK', KEYS[1], 'g',
			'2-1')`},
	{"emptystream", "stream", `redis.call('XADD', KEYS[1], '7-7', 'f', 'v') redis.call('XDEL', KEYS[1], '7-7')`},
	{"deleted", "stream", `for i = 1, 300 do redis.call('XADD', KEYS[1], i..'-1', 'f', i) end ` + readByTwo + `
		for i = 1, 300, 7 do redis.call('XDEL', KEYS[1], i..'-1') end redis.call('XDEL', KEYS[1], '300-1')`},
	{"trimmed", "stream", `for i = 1, 300 do redis.call('XADD', KEYS[1], i..'-1', 'f', i) end ` + readByTwo + `
		redis.call('XTRIM', KEYS[1], 'MAXLEN', 250)`},
	{"trimmeddeleted", "stream",
		`for i = 1, 300 do redis.call('XADD', KEYS[1], '18446744073709551615-'..i, 'f', i) end ` + readByTwo + `
		redis.call('XTRIM', KEYS[1], 'MAXLEN', 270) redis.call('XDEL', KEYS[1], '18446744073709551615-77',
			'18446744073709551615-299')`},
	{"alltrimmed", "stream", `for i = 1, 300 do redis.call('XADD', KEYS[1], i..'-1', 'f', i) end ` + readByTwo + `
		redis.call('XTRIM', KEYS[1], 'MAXLEN', 0)`},
}

// readByTwo gives messages of a stream to two consumers of a group and to one of another one.
const readByTwo = `redis.call('XGROUP', 'CREATE', KEYS[1], 'g', '0') redis.call('XGROUP', 'CREATE', KEYS[1], '', '0')
		redis.call('XREADGROUP', 'GROUP', 'g', 'c', 'COUNT', 40, 'STREAMS', KEYS[1], '>')
		redis.call('XREADGROUP', 'GROUP', 'g', 'other', 'COUNT', 260, 'STREAMS', KEYS[1], '>')
		redis.call('XREADGROUP', 'GROUP', '', 'c', 'COUNT', 3, 'STREAMS', KEYS[1], '>')`

// TestEveryEncoding: a value in each encoding of each brand is saved, and restored to the other
// brand and back, whole and in parts: digests and expiries are equal.
func TestEveryEncoding(t *testing.T) {
	t.Parallel()
	servers := map[kt.Brand]*kt.Server{}
	for _, brand := range kt.Brands() {
		servers[brand] = kt.Start(t, brand)
	}
	seen := map[string]bool{}
	for i, brand := range kt.Brands() {
		from, to := servers[brand], servers[kt.Brands()[len(kt.Brands())-1-i]]
		for _, largest := range []int64{1 << 40, 1} {
			from.Do("FLUSHALL")
			for n, e := range encoded {
				from.Do("EVAL", e.script, "1", e.key)
				from.Do("PEXPIREAT", e.key, fmt.Sprint(4102444800001+n))
				got := fmt.Sprint(from.Do("OBJECT", "ENCODING", e.key))
				if seen[got] = true; !slices.Contains(strings.Split(e.encoding, "/"), got) {
					t.Errorf("%s: %s is a %v", brand, e.key, got)
				}
			}
			want := applytest.Digest(t, from.URL(), applytest.Open(t, from.URL()))
			there := applytest.Backup(t, from.URL(), largest)
			for _, target := range []*kt.Server{to, from} {
				target.Do("FLUSHALL")
				r, err := restore.Restore(t.Context(), applytest.Open(t, target.URL()), applytest.Records(there), restore.Options{})
				must(t, err)
				if applytest.Adds(t, r); r.Restored != int64(len(encoded)) {
					t.Errorf("%s, parts of %d: %+v %+v", brand, largest, r.Counts, r.Reasons)
				}
				same(t, want, applytest.Digest(t, target.URL(), applytest.Open(t, target.URL())))
				there = applytest.Backup(t, target.URL(), largest)
			}
		}
	}
	all := []string{"int", "embstr", "raw", "quicklist", "listpack", "intset", "hashtable", "skiplist", "stream"}
	for _, name := range all {
		if !seen[name] {
			t.Errorf("no value is a %s", name)
		}
	}
}
