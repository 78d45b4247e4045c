//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/redis/rueidis"
)

// TestOneKindDropsNoOther: a type that others do not know loses none of its neighbours, and
// keys without a TTL arrive as such.
func TestOneKindDropsNoOther(t *testing.T) {
	t.Parallel()
	from, to := keywrighttest.Start(t, keywrighttest.Redis), keywrighttest.Start(t, keywrighttest.Valkey)
	from.Do("EVAL", `for i = 1, 300 do redis.call('SET', 'k'..i, i) end
		redis.call('XADD', 's', '1-1', 'a', 'b'); redis.call('PFADD', 'hll', 'a', 'b'); redis.call('SETBIT', 'bits', 70000, 1)
		redis.call('GEOADD', 'geo', 13.36, 38.11, 'Palermo')`, "0")
	dir := t.TempDir()
	if text := ran(t, 0, dir, "copy", from.URL(), to.URL(), "--apply"); !strings.Contains(text, "304") {
		t.Error(text)
	}
	sameKeys(t, keysOf(t, from.URL()), keysOf(t, to.URL()))
}

// TestConnectionsKilledWhileReading: a run that gets no reply, whose connection breaks, has all keys, or does
// not end well.
func TestConnectionsKilledWhileReading(t *testing.T) {
	t.Parallel()
	s, dir, halt, r := filled(t, keywrighttest.Redis), t.TempDir(), &halting{}, gate.Rand(t)
	url := "redis://" + halt.front(t, s.Addr())
	to, want, wholes := keywrighttest.Start(t, keywrighttest.Valkey), keysOf(t, s.URL()), 0
	backup := []string{"backup", "--to", "a.kwa", "--replace-file", "-u", url}
	halt.set(-1)
	ran(t, 0, dir, backup...)
	requests := halt.asked()
	for range gate.Count(t, "KEYWRIGHT_KILLS", 1, 10) {
		cmd := runProgram(t, dir, backup...)
		if halt.harmed(t, cmd, moment(r, requests), true, func() {}); !cmd.ProcessState.Success() {
			continue
		}
		wholes++
		to.Do("FLUSHALL")
		ran(t, 0, dir, "restore", "a.kwa", "-u", to.URL(), "--apply") // also where a page was read twice
		sameKeys(t, want, keysOf(t, to.URL()))
	}
	t.Logf("%d runs had all", wholes)
}

// TestKeysThatExpireWhileReading: a list that expires is saved as it is or not at all, never
// with the elements of another one, and no key lives longer than it should.
func TestKeysThatExpireWhileReading(t *testing.T) {
	t.Parallel()
	from, to, dir := keywrighttest.Start(t, keywrighttest.Redis), keywrighttest.Start(t, keywrighttest.Valkey), t.TempDir()
	from.Do("DEBUG", "SET-ACTIVE-EXPIRE", "0")
	fill := `local t = redis.call('TIME'); local now = t[1] * 1000 + math.floor(t[2] / 1000)
		for i = 1, 3000 do
			redis.call('DEL', 'l'..i); redis.call('RPUSH', 'l'..i, 'a'..i, 'b'..i)
			if i % 3 > 0 then redis.call('PEXPIREAT', 'l'..i, now + i % 400 + 1) end
		end`
	from.Do("EVAL", fill, "0")
	ran(t, 0, dir, "copy", from.URL(), to.URL(), "--apply", "--existing", "different")
	from.Do("EVAL", fill, "0")
	ran(t, 0, dir, "backup", "--to", "a.kwa", "-u", from.URL())
	ran(t, 0, dir, "restore", "a.kwa", "-u", to.URL(), "--apply", "--existing", "different")
	wrong := to.Do("EVAL", `local wrong = 0
		for i = 1, 3000 do
			local all = redis.call('LRANGE', 'l'..i, 0, -1)
			local ttl = redis.call('PTTL', 'l'..i)
			if #all > 0 and (#all ~= 2 or all[1] ~= 'a'..i or all[2] ~= 'b'..i) then wrong = wrong + 1 end
			if i % 3 > 0 and (ttl == -1 or ttl > 1000) or i % 3 == 0 and (ttl ~= -1 or #all ~= 2) then wrong = wrong + 1 end
		end
		return wrong`, "0")
	if wrong != int64(0) {
		t.Errorf("%v lists are wrong", wrong)
	}
}

// TestListsAreNotDoubled: what is restored twice, or onto a list that is there, is not appended
// to it, and a field that the archive does not have is gone with --existing replace.
func TestListsAreNotDoubled(t *testing.T) {
	t.Parallel()
	s, dir := keywrighttest.Start(t, keywrighttest.Redis), t.TempDir()
	fill := `redis.call('RPUSH', 'small', 'a', 'b', 'c'); redis.call('HSET', 'hash', 'f', 'v')
		for i = 1, 2500 do redis.call('RPUSH', 'large', string.rep('x', 300) .. i); redis.call('HSET', 'wide', 'f' .. i, string.rep('x', 300) .. i) end`
	s.Do("EVAL", fill, "0")
	ran(t, 0, dir, "backup", "--to", "a.kwa", "-u", s.URL())
	want := keysOf(t, s.URL())
	s.Do("HSET", "hash", "stale", "x")
	s.Do("HSET", "wide", "stale", "x")
	s.Do("RPUSH", "large", "more")
	changed := keysOf(t, s.URL())
	for range 2 {
		ran(t, 1, dir, "restore", "a.kwa", "-u", s.URL(), "--apply")
		ran(t, 0, dir, "restore", "a.kwa", "-u", s.URL(), "--apply", "--existing", "skip")
		sameKeys(t, changed, keysOf(t, s.URL()))
	}
	for _, mode := range []string{"replace", "replace", "different"} {
		ran(t, 0, dir, "restore", "a.kwa", "-u", s.URL(), "--apply", "--existing", mode)
		sameKeys(t, want, keysOf(t, s.URL()))
	}
}

// TestFlippedByteOfASnapshot: an RDB file in which a byte was flipped is refused.
func TestFlippedByteOfASnapshot(t *testing.T) {
	t.Parallel()
	s, dir := keywrighttest.Start(t, keywrighttest.Redis), t.TempDir()
	s.Do("EVAL", `for i = 1, 500 do redis.call('SET', 'key'..i, 'a value that is plain to see '..i) end`, "0")
	s.Do("SAVE")
	text, err := os.ReadFile(filepath.Join(s.Dir, "dump.rdb"))
	must(t, err)
	at := strings.Index(string(text), "plain to see")
	text[at] ^= 1
	must(t, os.WriteFile(filepath.Join(dir, "dump.rdb"), text, 0o600))
	ran(t, 5, dir, "backup", "--to", "a.kwa", "dump.rdb")
	if _, err := os.Stat(filepath.Join(dir, "a.kwa")); err == nil {
		t.Error("there is an archive")
	}
}

// TestVerifySeesWhatOthersDoNot: a lost TTL, a key that only the other side has, one changed
// field, and no difference where only the order of a set is another one.
func TestVerifySeesWhatOthersDoNot(t *testing.T) {
	t.Parallel()
	a, b, dir := keywrighttest.Start(t, keywrighttest.Redis), keywrighttest.Start(t, keywrighttest.Valkey), t.TempDir()
	for i, s := range []*keywrighttest.Server{a, b} {
		s.Do("EVAL",
			`for i = 1, 2500 do local n = i; if ARGV[1] == '1' then n = 2501 - i end; redis.call('SADD', 'set', 'member' .. n) end
			redis.call('SET', 'session', 'x', 'PXAT', 4102444800000); redis.call('HSET', 'hash', 'f', 'v')`, "0",
			strconv.Itoa(i))
	}
	ran(t, 0, dir, "verify", a.URL(), b.URL())
	for _, c := range [][2][]string{
		{{"PERSIST", "session"}, {"PEXPIREAT", "session", "4102444800000"}},
		{{"PEXPIREAT", "session", "4102444800001"}, {"PEXPIREAT", "session", "4102444800000"}},
		{{"SET", "extra", "x"}, {"DEL", "extra"}},
		{{"HSET", "hash", "f", "w"}, {"HSET", "hash", "f", "v"}},
		{{"SREM", "set", "member9"}, {"SADD", "set", "member9"}},
	} {
		b.Do(c[0]...)
		ran(t, 1, dir, "verify", a.URL(), b.URL())
		ran(t, 1, dir, "verify", b.URL(), a.URL())
		b.Do(c[1]...)
	}
	ran(t, 0, dir, "verify", a.URL(), b.URL())
}

// TestNoTornPairs: a writer sets value and expiry together, so that one tells the other. No
// pair that is saved or copied is of two writes. KEYWRIGHT_SOAK is how many are looked at.
func TestNoTornPairs(t *testing.T) {
	t.Parallel()
	from, to, dir := keywrighttest.Start(t, keywrighttest.Redis), keywrighttest.Start(t, keywrighttest.Valkey), t.TempDir()
	const keys = 2000
	c := clientOf(t, from.URL(), 0).Raw()
	write := func(ctx context.Context, n int64) (err error) {
		list := make(rueidis.Commands, 0, 100)
		for i := range int64(100) {
			value := 4102444800000 + n*100 + i
			list = append(list,
				c.B().Set().Key(fmt.Sprint("k", (n*100+i)%keys)).Value(fmt.Sprint(value)).PxatMillisecondsTimestamp(value).Build())
		}
		for _, reply := range c.DoMulti(ctx, list...) {
			err = errors.Join(err, reply.Error())
		}
		return err
	}
	for n := range int64(keys / 100) {
		must(t, write(t.Context(), n))
	}
	ctx, stop := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := int64(keys); ctx.Err() == nil; n++ {
			if err := write(t.Context(), n); err != nil {
				t.Error(err)
				return
			}
		}
	})
	pairs, torn := 0, int64(0)
	for pairs < gate.Count(t, "KEYWRIGHT_SOAK", 1, 4*keys) {
		to.Do("FLUSHALL")
		if pairs%(2*keys) == 0 {
			_ = os.Remove(filepath.Join(dir, "a.kwa"))
			ran(t, 0, dir, "backup", "--to", "a.kwa", "-u", from.URL())
			ran(t, 0, dir, "restore", "a.kwa", "-u", to.URL(), "--apply")
		} else { // under writers that write all keys all the time it may not settle, and says so
			text, err := runProgram(t, dir, "copy", from.URL(), to.URL(), "--apply", "--rounds", "1").CombinedOutput()
			if err != nil && !strings.Contains(string(text), "differ") {
				t.Fatalf("%v: %s", err, text)
			}
		}
		torn += to.Do("EVAL", `local torn = 0
			for i = 0, tonumber(ARGV[1]) - 1 do
				if redis.call('GET', 'k'..i) ~= string.format('%.0f', redis.call('PEXPIRETIME', 'k'..i)) then torn = torn + 1 end
			end
			return torn`, "0", strconv.Itoa(keys)).(int64)
		pairs += keys
	}
	stop()
	writer.Wait()
	if torn > 0 {
		t.Errorf("%d of %d pairs are of two writes", torn, pairs)
	}
	t.Logf("%d pairs", pairs)
}

// TestServerStartedAgainWhileReading: a cursor of SCAN means nothing to a server that was
// started again, so its archive is never called complete.
func TestServerStartedAgainWhileReading(t *testing.T) {
	t.Parallel()
	s, dir := keywrighttest.Start(t, keywrighttest.Redis, keywrighttest.Config("appendonly", "yes")), t.TempDir()
	s.Do("EVAL", `for i = 1, 20000 do redis.call('SET', 'key'..i, i) end`, "0")
	cmd := runProgram(t, dir, "backup", "--to", "a.kwa", "--rate", "500", "-u", s.URL())
	must(t, cmd.Start())
	someWritten(t, dir)
	s.Restart()
	_ = cmd.Wait() // the code is looked at
	if code := cmd.ProcessState.ExitCode(); code != 5 && code != 3 {
		t.Errorf("exit code %d", code)
	}
	ran(t, 2, dir, "backup", "--to", "a.kwa", "--resume", "-u", s.URL())
	must(t, os.Remove(filepath.Join(dir, "a.kwa.part")))
	ran(t, 0, dir, "backup", "--to", "a.kwa", "--resume", "-u", s.URL())
	if text := ran(t, 0, dir, "archive", "ls", "a.kwa", "-o", "names"); strings.Count(text, "\x00") != 20_000 {
		t.Errorf("%d keys", strings.Count(text, "\x00"))
	}
}

// TestRenamedOnce: a new name that the old pattern matches too is not renamed again.
func TestRenamedOnce(t *testing.T) {
	t.Parallel()
	s, dir := keywrighttest.Start(t, keywrighttest.Redis), t.TempDir()
	s.Do("EVAL", `for i = 1, 20000 do redis.call('SET', 'a:'..i, i) end`, "0")
	ran(t, 0, dir, "rename", "--map", "a:{id}=a:x:{id}", "--apply", "-u", s.URL())
	wrong := s.Do("EVAL", `local wrong = 0
		for i = 1, 20000 do if redis.call('GET', 'a:x:'..i) ~= tostring(i) then wrong = wrong + 1 end end
		return wrong + math.abs(20000 - redis.call('DBSIZE'))`, "0")
	if wrong != int64(0) {
		t.Errorf("%v keys are not renamed once", wrong)
	}
}

// TestIdleTimesAreKept: reading whole values does not make them recently used, where the
// server can leave idle times alone, and is said where it cannot.
func TestIdleTimesAreKept(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		s, dir := keywrighttest.Start(t, brand), t.TempDir()
		s.Do("SET", "key", "v")
		dump := s.Do("DUMP", "key").(string)
		s.Do("RESTORE", "key", "0", dump, "REPLACE", "IDLETIME", "1000")
		text := ran(t, 0, dir, "backup", "--to", "a.kwa", "-u", s.URL())
		kept := s.Do("OBJECT", "IDLETIME", "key").(int64) >= 1000
		if said := strings.Contains(text, "idle times"); kept == said {
			t.Errorf("%s: kept %v, said %v", brand, kept, said)
		}
	}
}
