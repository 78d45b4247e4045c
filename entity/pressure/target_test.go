package pressure_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/keywrighttest"
)

// shelf represents a small entity: hashes item:<id>, a zset per priority scored by when
// an item was created, and one of expiry times, in one slot or in several.
type shelf struct {
	c      *keywright.Client
	before func() // each page
}

// What needs no memory comes first: a full server refuses the rest otherwise.
const shorten = `local n, t = 0, redis.call('TIME')
local ends = t[1] * 1000 + math.floor(t[2] / 1000) + ARGV[1]
for i = 1, #KEYS - 1 do
  if redis.call('PTTL', KEYS[i]) > tonumber(ARGV[1]) then
    redis.call('PEXPIREAT', KEYS[i], string.format('%.0f', ends))
    redis.call('ZADD', KEYS[#KEYS], string.format('%.0f', ends), ARGV[i + 1])
    n = n + 1
  end
end
return n`

func (s *shelf) Key(id string) string { return "item:" + id }

func (s *shelf) Page(ctx context.Context, value, after string, n int) (ids []string, next string, err error) {
	if s.before != nil {
		s.before()
	}
	from := "-inf"
	if after != "" {
		from = "(" + after
	}
	b := s.c.Raw().B()
	members, err := s.c.Raw().Do(ctx,
		b.Zrange().Key("priority:"+value).Min(from).Max("+inf").Byscore().Limit(0, int64(n)).Withscores().Build()).AsZScores()
	for _, m := range members {
		ids, next = append(ids, m.Member), strconv.Itoa(int(m.Score))
	}
	if len(ids) < n {
		next = ""
	}
	return ids, next, err
}

func (s *shelf) Shorten(ctx context.Context, _ string, ids []string, to time.Duration) (int, error) {
	keys, args := []string{}, []string{strconv.FormatInt(to.Milliseconds(), 10)}
	for _, id := range ids {
		keys, args = append(keys, s.Key(id)), append(args, id)
	}
	raw := s.c.Raw()
	n, err := raw.Do(ctx,
		raw.B().Eval().Script(shorten).Numkeys(int64(len(keys)+1)).Key(append(keys, "expiry")...).Arg(args...).Build()).
		AsInt64()
	return int(n), err
}

func (s *shelf) Release(ctx context.Context, _ string, ids []string) (n int, err error) {
	raw := s.c.Raw()
	for _, id := range ids {
		replies := raw.DoMulti(ctx, raw.B().Unlink().Key(s.Key(id)).Build(), raw.B().Zrem().Key("expiry").Member(id).Build(),
			raw.B().Zrem().Key("priority:"+id[:1]).Member(id).Build())
		for _, r := range replies {
			if r.Error() != nil {
				return n, r.Error()
			}
		}
		one, _ := replies[0].AsInt64()
		n += int(one)
	}
	return n, nil
}

const lifetime = 15 * time.Minute

// fill writes so many items of each priority, a KiB each, the first one the
// oldest. The id begins with the priority.
func fill(s *keywrighttest.Server, each int, priorities ...int) {
	ends := strconv.FormatInt(time.Now().Add(lifetime).UnixMilli(), 10)
	payload := strings.Repeat("x", 1000)
	var commands [][]string
	for _, p := range priorities {
		for i := range each {
			id, created := name(p, i), strconv.Itoa(1000+i)
			commands = append(commands, []string{"HSET", "item:" + id, "content", payload},
				[]string{"PEXPIREAT", "item:" + id, ends},
				[]string{"ZADD", fmt.Sprintf("priority:%d", p), created, id}, []string{"ZADD", "expiry", ends, id})
		}
	}
	s.Pipe(commands...)
}

func name(priority, i int) string { return fmt.Sprintf("%d-%05d", priority, i) }

var (
	must  = expect.NoError
	press = servertest.Press
)

func count(s *keywrighttest.Server, priority int) int {
	n, _ := s.Do("ZCARD", fmt.Sprintf("priority:%d", priority)).(int64)
	return int(n)
}

// ending reads of all items of a priority when they end, and what the expiry index
// says of that.
const ending = `local out = {}
for i, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  out[3 * i - 2], out[3 * i - 1], out[3 * i] = id, redis.call('PEXPIRETIME', 'item:' .. id), redis.call('ZSCORE', 'expiry', id)
end
return out`

// ends gives when each item ends; hash and index must agree.
func ends(t *testing.T, s *keywrighttest.Server, priority int) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	all, _ := s.Do("EVAL", ending, "1", fmt.Sprintf("priority:%d", priority)).([]any)
	for i := 0; i+2 < len(all); i += 3 {
		at, _ := all[i+1].(int64)
		if fmt.Sprint(at) != fmt.Sprint(all[i+2]) {
			t.Fatalf("%v ends at %d, by its index at %v", all[i], at, all[i+2])
		}
		out[all[i].(string)] = at
	}
	return out
}
