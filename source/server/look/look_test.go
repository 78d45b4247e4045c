package look

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/internal/servertest"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/source/server"
)

// seenOf returns what there is to see of a key, by a user that may run the commands of the list and no other.
func seenOf(t *testing.T, s *kt.Server, q Request) Look {
	t.Helper()
	rules := server.ACL(true)
	for _, c := range Commands() {
		rules += " +" + c.Name
	}
	s.Do(append([]string{"ACL", "SETUSER", "u", "reset", ">pw"}, strings.Fields(rules)...)...)
	l, err := At(t.Context(), servertest.Config(t, "redis://u:pw@"+s.Addr()), q)
	if err != nil {
		t.Fatal(string(q.Key), err)
	}
	return l
}

// partsOf returns the names, scores and values of what was seen, in their order.
func partsOf(l Look) (out []string) {
	for _, e := range l.Elements {
		if e.Name.Bytes != nil {
			out = append(out, string(e.Name.Bytes))
		}
		if e.Score != "" {
			out = append(out, e.Score)
		}
		for _, f := range e.Fields {
			out = append(out, string(f.Name.Bytes)+"="+string(f.Value.Bytes))
		}
		if e.Of == 0 {
			out = append(out, string(e.Value.Bytes))
		}
	}
	return out
}

// A value of each type is seen whole where it is small, and nothing of the key is another afterwards.
func TestLook(t *testing.T) {
	t.Parallel()
	servertest.Brands(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b)
		s.Do("SET", "str", "a\x00\xff\r\n", "PX", "600000")
		s.Do("RPUSH", "list", "a", "", "b")
		s.Do("SADD", "set", "m")
		s.Do("ZADD", "zset", "-inf", "low", "1.5", "mid", "inf", "high")
		s.Do("HSET", "hash", "f", "v")
		s.Do("XADD", "stream", "1-1", "a", "1", "b", "2")
		s.Do("XADD", "stream", "2-1", "a", "3")
		s.Do("SET", "", "of the empty name")
		s.Do("SET", "nothing", "")
		for key, want := range map[string][]string{
			"str": {"a\x00\xff\r\n"}, "list": {"a", "", "b"}, "set": {"m"}, "hash": {"f", "v"}, "nothing": {""},
			"zset": {"-inf", "low", "1.5", "mid", "inf", "high"}, "stream": {"2-1", "a=3", "1-1", "a=1", "b=2"},
			"": {"of the empty name"},
		} {
			l := seenOf(t, s, Request{Key: []byte(key)})
			if got := partsOf(l); !slices.Equal(got, want) || !l.Exists {
				t.Errorf("%s: %q, not %q", key, got, want)
			}
		}
		if l := seenOf(t, s, Request{Key: []byte("none")}); l.Exists || l.Elements != nil {
			t.Errorf("a key that is not there: %+v", l)
		}
		if ttl := s.Do("PTTL", "str").(int64); ttl <= 0 {
			t.Error("the TTL is", ttl)
		}
	})
}

// What is large is seen in part, with how much there is.
func TestLookIsBounded(t *testing.T) {
	t.Parallel()
	servertest.Brands(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b)
		s.Do("SETRANGE", "str", "3000000", "x")
		s.Do("EVAL", `for i = 1, 5000 do
			redis.call('RPUSH', 'list', i) redis.call('SADD', 'set', 'm'..i) redis.call('ZADD', 'zset', i, 'm'..i)
			redis.call('HSET', 'hash', 'f'..i, 'v') redis.call('XADD', 'stream', i..'-1', 'a', i) end`, "0")
		for key, n := range map[string]int64{"list": 5000, "set": 5000, "zset": 5000, "hash": 5000, "stream": 5000} {
			if l := seenOf(t, s, Request{Key: []byte(key)}); l.Size != n || len(l.Elements) != MaxElements {
				t.Errorf("%s: %d elements of %d", key, len(l.Elements), l.Size)
			}
		}
		if l := seenOf(t, s, Request{Key: []byte("str")}); l.Size != 3000001 || !l.Elements[0].Value.Cut() ||
			len(l.Elements[0].Value.Bytes) != MaxBytes {
			t.Errorf("str: %d bytes of %d", len(l.Elements[0].Value.Bytes), l.Size)
		}
		got := seenOf(t, s, Request{Key: []byte("list")}).Elements
		if string(got[0].Value.Bytes) != "1" || string(got[99].Value.Bytes) != "100" {
			t.Error("a list does not begin at its beginning")
		}
		if got := seenOf(t, s, Request{Key: []byte("stream")}).Elements; string(got[0].Name.Bytes) != "5000-1" {
			t.Error("a stream does not begin at its end")
		}
	})
}

// Elements that are large take little memory, and what is too large ends the look and not the program.
func TestLookAtLargeElements(t *testing.T) {
	t.Parallel()
	servertest.Brands(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b)
		large := strings.Repeat("x", 1<<20)
		for i := range 8 {
			s.Do("RPUSH", "list", large)
			s.Do("HSET", "hash", "f"+strconv.Itoa(i), large)
			s.Do("XADD", "stream", strconv.Itoa(i+1)+"-1", "a", large)
		}
		for range 2 * MaxElements {
			s.Do("RPUSH", "middle", large[:2000])
		}
		s.Do("RPUSH", "mixed", "small")
		s.Do("RPUSH", "mixed", strings.Repeat("x", 9<<20))
		for i := range 2000 {
			s.Do("RPUSH", "mixed", strconv.Itoa(i))
		}
		many := []string{"XADD", "wide", "1-1"}
		for i := range 20000 {
			many = append(many, "f"+strconv.Itoa(i), "")
		}
		s.Do(many...)
		for _, key := range []string{"list", "middle", "hash", "stream", "mixed", "wide"} {
			l := seenOf(t, s, Request{Key: []byte(key)})
			kept := 0
			for _, e := range l.Elements {
				kept += len(e.Name.Bytes) + len(e.Value.Bytes)
				if key == "middle" && len(e.Value.Bytes) == 0 {
					t.Error("an element of which nothing is kept is listed")
				}
				for _, f := range e.Fields {
					kept += len(f.Name.Bytes) + len(f.Value.Bytes)
				}
			}
			if len(l.Elements) == 0 || kept > MaxBytes || l.TooLong != (key == "mixed") {
				t.Errorf("%s: %d elements with %d bytes, too long: %t", key, len(l.Elements), kept, l.TooLong)
			}
		}
		if e := seenOf(t, s, Request{Key: []byte("wide")}).Elements[0]; e.Of != 20000 ||
			len(e.Fields) > MaxBytes/eachText {
			t.Errorf("%d fields of %d", len(e.Fields), e.Of)
		}
	})
}

// What is closed is not asked for, and what is hidden is not kept.
func TestLookHides(t *testing.T) {
	t.Parallel()
	servertest.Brands(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b)
		s.Do("HSET", "hash", "phone", "s3cret", "name", "x")
		s.Do("HSET", "long", strings.Repeat("n", MaxBytes+1), "s3cret") // a name of which not all is known
		s.Do("XADD", "stream", "1-1", "phone", "s3cret", "name", "x")
		s.Do("SET", "str", "s3cret")
		hides := func(field []byte) bool { return string(field) == "phone" }
		for _, key := range []string{"hash", "stream"} {
			l := seenOf(t, s, Request{Key: []byte(key), Hides: hides})
			if text := fmt.Sprintf("%q", partsOf(l)); strings.Contains(text, "s3cret") || !strings.Contains(text, "phone") {
				t.Errorf("%s: %s", key, text[:min(len(text), 200)])
			}
		}
		if l := seenOf(t, s, Request{Key: []byte("long"), Hides: hides}); !l.Elements[0].Value.Hidden {
			t.Error("the value of a field whose name was cut is shown")
		}
		stop := s.Monitor()
		l := seenOf(t, s, Request{Key: []byte("str"), Closed: func(kind string) bool { return kind == "string" }})
		for _, line := range stop() {
			if strings.Contains(line, `"GETRANGE"`) || strings.Contains(line, `"STRLEN"`) {
				t.Error("a closed value is read:", line)
			}
		}
		if !l.Closed || !l.Exists || l.Elements != nil {
			t.Errorf("%+v", l)
		}
	})
}

// A server that has CLIENT NO-TOUCH keeps the idle time of a key that is looked at.
func TestLookTouchesNothing(t *testing.T) {
	t.Parallel()
	servertest.Brands(t, func(t *testing.T, b kt.Brand) {
		s := kt.Start(t, b, kt.MovableClock())
		s.Do("SET", "key", "v")
		idle := func() int64 { return s.Do("OBJECT", "IDLETIME", "key").(int64) }
		s.MoveClock(time.Minute)
		expect.Eventually(t, "the key is idle", func() bool { return idle() >= 50 }) // the server looks at its clock ten times a second
		l, err := At(t.Context(), servertest.Config(t, s.URL()), Request{Key: []byte("key")})
		if err != nil || !bytes.Equal(l.Elements[0].Value.Bytes, []byte("v")) {
			t.Fatal(l, err)
		}
		if after := idle(); (after < 50) != l.Touched {
			t.Errorf("idle for %d s after the look, and it says touched: %t", after, l.Touched)
		}
	})
}

// In a cluster the node that holds the key is asked.
func TestLookInACluster(t *testing.T) {
	t.Parallel()
	servertest.Brands(t, func(t *testing.T, b kt.Brand) {
		c := kt.StartCluster(t, b, 3, 0)
		for i := range 20 {
			key := "key:" + strconv.Itoa(i)
			for _, n := range c.Nodes {
				_, _ = n.Try("SET", key, "v"+strconv.Itoa(i)) // those that do not hold it refuse
			}
			l, err := At(t.Context(), servertest.Config(t, c.URL()), Request{Key: []byte(key)})
			if err != nil || string(l.Elements[0].Value.Bytes) != "v"+strconv.Itoa(i) {
				t.Fatal(key, l, err)
			}
		}
	})
}
