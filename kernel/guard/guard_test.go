package guard_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/declared"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/internal/servertest"
	"github.com/keywright/keywright/kernel/guard"
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/redis/rueidis"
)

const declaration = `keywright: 1
owner: o
foreign: ["bull:*"]
vars: {id: int 1.., lane: high|low}
keys:
  session: {key: "session:{id}", type: string, ttl: 30m in 1m..1h, was: ["sess:{id}"]}
  profile: {key: "profile:{id}", type: hash, ttl: 1d}
  flag: {key: "flag:{name}", type: string, ttl: none}
  tags: {key: "tags:{id}", type: set, ttl: any}
  rank: {key: "rank:{day}", type: ranking, ttl: 7d}
  log: {key: "log:{id}", type: stream, ttl: 1d}
  list: {key: "list:{id}", type: list, ttl: 1h}
  lock: {key: "lock:{id}", type: lock, ttl: 1m}
  jobs: {key: "jobs:{lane}", type: queue, order: lane, ttl: none}
  item: {key: "item:{id}", type: entity, ttl: 1h, fields: {n: int}, index: {n: "items:n"}}
  page: {key: "page:{id}", type: cache, ttl: 1h}
channels:
  told: {channel: "told:{id}", sharded: true}
  news: {channel: "news:{id}"}
  kept: {channel: kept, durable: {maxlen: 9}}
`

func loaded(t testing.TB) *keyspace.Keyspace { return declared.Keyspace(t, declaration) }

// open returns a guarded client of a server of its own; seen gathers what is
// reported, if it is asked for.
func open(t *testing.T, brand keywrighttest.Brand, o guard.Options) (*keywrighttest.Server, rueidis.Client) {
	t.Helper()
	s := keywrighttest.Start(t, brand)
	g, err := guard.New(loaded(t), o)
	if err != nil {
		t.Fatal(err)
	}
	c := servertest.Open(t, s.URL(), keywright.Options{Wrap: g.Wrap})
	return s, c.Raw()
}

func do(c rueidis.Client, line string) error {
	words := strings.Fields(line)
	err := c.Do(context.Background(), c.B().Arbitrary(words...).Build()).Error()
	if rueidis.IsRedisNil(err) {
		return nil
	}
	return err
}

// lines are commands and what the guard says of them; before runs first,
// unguarded.
var lines = []struct {
	before, line string
	want         guard.Problem // 0: nothing
}{
	{"", "SET session:1 x EX 60", 0}, {"", "SET session:1 x PX 3600000", 0}, {"", "SETEX session:1 60 x", 0},
	{"", "SET session:1 x EX 60 NX", 0},
	{"", "SET session:1 x", guard.NoTTL}, {"", "SET session:1 x EX 7200", guard.TTLTooLong},
	{"", "SETEX session:1 7200 x", guard.TTLTooLong}, {"", "GETSET session:1 x", guard.NoTTL},
	{"", "SET session:1 x NX", guard.NoTTL}, {"SET session:1 x EX 60", "SET session:1 y NX", 0},
	{"SET session:1 x EX 60", "SET session:1 y KEEPTTL", 0}, {"SET session:1 x", "SET session:1 y KEEPTTL", guard.NoTTL},
	{"", "SET session:1 x EXAT 99999999999", guard.TTLTooLong}, {"", "MSET session:1 x", guard.NoTTL},
	{"", "APPEND session:1 x", guard.NoTTL}, {"SET session:1 x EX 60", "APPEND session:1 x", 0},
	{"SET session:1 x EX 60", "PERSIST session:1", guard.NoTTL},
	{"SET session:1 x EX 60", "EXPIRE session:1 7200", guard.TTLTooLong},
	{"SET session:1 x EX 60", "EXPIRE session:1 60", 0},
	{"SET session:1 x EX 60", "EXPIRE session:1 9999 GT", guard.TTLTooLong},
	{"SET session:1 x EX 60", "EXPIRE session:1 0", 0},
	{"", "GET session:1", 0}, {"", "HGET session:1 f", guard.WrongType}, {"", "GET session:x", guard.Undeclared},
	{"", "SET other 1", guard.Undeclared}, {"", "GET other", guard.Undeclared},
	{"", "MGET session:1 other", guard.Undeclared},
	{"", "SET bull:x 1", 0}, {"", "HSET bull:x f 1", 0}, {"", "SET sess:1 x EX 60", guard.FormerName},
	{"", "GET sess:1", 0}, {"", "DEL sess:1", 0}, {"SET sess:1 x EX 60", "RENAME sess:1 session:1", 0},
	{"SET sess:1 x", "RENAME sess:1 session:1", guard.NoTTL},
	{"", "HSET profile:1 f v", guard.NoTTL}, {"HSET profile:1 f v", "HDEL profile:1 f", 0},
	{"", "HINCRBY profile:1 n 1", guard.NoTTL}, {"", "ZADD rank:x 1 m", guard.NoTTL},
	{"", "SADD rank:x m", guard.WrongType},
	{"", "SET flag:x 1", 0}, {"", "SET flag:x 1 EX 5", guard.TTLForbidden},
	{"SET flag:x 1", "EXPIRE flag:x 5", guard.TTLForbidden}, {"", "SADD tags:1 a", 0},
	{"SADD tags:1 a", "EXPIRE tags:1 5", 0},
	{"", "XADD log:1 * f v", guard.NoTTL}, {"", "XGROUP CREATE log:1 g $ MKSTREAM", guard.NoTTL},
	{"", "LPUSH list:1 a", guard.NoTTL}, {"RPUSH list:1 a b", "LPOP list:1", 0},
	{"", "SET lock:1 token PX 60000 NX", guard.ByHand}, {"", "DEL lock:1", guard.ByHand},
	{"", "PEXPIRE lock:1 1", guard.ByHand}, {"", "GET lock:1", 0},
	{"", "EVAL return(redis.call('SET',KEYS[1],'x','EX','60')) 1 lock:1", guard.ByHand},
	{"", "EVAL return(redis.call('LPUSH',KEYS[1],'7')) 1 jobs:high", guard.ByHand},
	{"", "EVALSHA 0123 1 item:1", guard.ByHand}, {"", "FCALL f 1 {jobs}:job:7", guard.ByHand},
	{"", "EVAL_RO return(redis.call('GET',KEYS[1])) 1 lock:1", 0},
	{"", "LPUSH jobs:high 7", guard.ByHand}, {"", "LPUSH {jobs}:dead 7", guard.ByHand},
	{"", "SET {jobs}:job:7 x", guard.ByHand}, {"", "LLEN jobs:high", 0}, {"", "ZREM {jobs}:workers me", 0},
	{"", "HSET item:1 n 2", guard.ByHand}, {"", "UNLINK item:1", guard.ByHand}, {"", "ZADD items:n 1 1", guard.ByHand},
	{"", "HGETALL item:1", 0},
	{"", "SET {page:1}:fill x EX 5", guard.ByHand}, {"", "UNLINK page:1 {page:1}:fill", guard.ByHand},
	{"", "SET page:1 x EX 60", 0},
	{"", "XADD kept * f v", guard.ByHand}, {"", "XTRIM kept MAXLEN 1", guard.ByHand}, {"", "DEL kept", guard.ByHand},
	{"", "XGROUP CREATE kept g $ MKSTREAM", 0}, {"", "XACK kept g 1-1", 0}, {"", "XLEN kept", 0},
	{"", "XGROUP DESTROY kept g", guard.ByHand}, {"", "XGROUP SETID kept g 0", guard.ByHand},
	{"", "XDEL {kept}:dead 1-1", guard.ByHand},
	{"", "PUBLISH news:1 x", 0}, {"", "PUBLISH nows:1 x", guard.UndeclaredChannel}, {"", "SPUBLISH told:1 x", 0},
	{"", "SPUBLISH news:1 x", guard.UndeclaredChannel}, {"", "PUBLISH told:1 x", guard.UndeclaredChannel},
	{"", "PUBLISH {lock:1}:released x", guard.ByHand},
	{"", "FLUSHALL", guard.Dangerous}, {"", "FLUSHDB ASYNC", guard.Dangerous}, {"", "SWAPDB 0 1", guard.Dangerous},
	{"", "MOVE session:1 1", guard.Dangerous}, {"", "SELECT 1", guard.Dangerous},
	{"", "COPY session:1 session:2 DB 1", guard.Dangerous}, {"", "CONFIG SET maxmemory 1", guard.Dangerous},
	{"", "CONFIG GET maxmemory", 0},
	{"SET session:1 x EX 60", "GETEX session:1 PERSIST", guard.NoTTL},
	{"SET session:1 x EX 60", "GETEX session:1 EX 7200", guard.TTLTooLong},
	{"SET session:1 x EX 60", "GETEX session:1 EX 60", 0}, {"SET session:1 x EX 60", "GETEX session:1", 0},
	{"SADD tags:1 a", "ZUNIONSTORE rank:x 1 tags:1", guard.NoTTL},
	{"SADD tags:1 a", "SUNIONSTORE rank:x tags:1", guard.WrongType},
	{"RPUSH list:1 3 1", "SORT list:1 STORE list:2", guard.NoTTL},
	{"SADD tags:1 3", "SORT tags:1 STORE tags:2", guard.WrongType},
	{"RPUSH list:1 3 1", "SORT list:1 BY other_* GET #", guard.Undeclared},
	{"RPUSH list:1 3 1", "SORT_RO list:1 GET profile:*->name", 0},
	{"RPUSH list:1 3 1", "SORT list:1 BY nosort GET secret:*", guard.Undeclared},
	{"RPUSH list:1 3", "SORT list:1 STORE lock:1", guard.ByHand},
	{"", "FUNCTION LOAD x", guard.Dangerous}, {"", "MODULE LOAD x", guard.Dangerous},
	{"", "CLIENT UNBLOCK 1", guard.Dangerous}, {"", "CLUSTER FORGET x", guard.Dangerous},
	{"", "EVAL return(1) 0", 0}, {"", "EVAL return(redis.call('SET',KEYS[1],'x','EX','60')) 1 session:1", 0},
	{"", "EVAL return(redis.call('SET',KEYS[1],'x')) 1 session:1", guard.NoTTL},
	{"", "EVAL return(redis.call('SADD',KEYS[1],'x')) 1 session:1", guard.WrongType},
	{"", "EVAL return(1) 1 other", guard.Undeclared}, {"", "EVAL return(redis.call('SET',KEYS[1],'x','EX',9)) 1 flag:x",
		guard.TTLForbidden}, {"", "EVAL_RO return(1) 1 session:1", 0},
	{"SET session:1 x EX 60", "COPY session:1 session:2", 0}, {"SET session:1 x EX 60", "COPY session:1 flag:x",
		guard.TTLForbidden}, {"SADD tags:1 a", "COPY tags:1 session:9", guard.WrongType},
	{"", "keys *", guard.Dangerous}, {"", "PING", 0}, {"", "SCAN 0", 0}, {"", "TIME", 0},
	{"", "JSON.SET session:1 $ 1", guard.UnknownCommand}, {"", "OBJECT ENCODING session:1", 0},
	{"", "OBJECT ENCODING other", guard.Undeclared},
}

// TestCommands: on both servers, refusing and reporting, alone and in a
// transaction, the same things are found.
func TestCommands(t *testing.T) {
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s, c := open(t, brand, guard.Options{})
			for _, l := range lines {
				s.Do("FLUSHALL")
				if l.before != "" {
					s.Do(strings.Fields(l.before)...)
				}
				err := do(c, l.line)
				v, found := errors.AsType[*guard.Violation](err)
				switch {
				case l.want == 0 && found:
					t.Errorf("%s: %v", l.line, v)
				case l.want != 0 && !found:
					t.Errorf("%s after %q: %v, want: %s", l.line, l.before, err, l.want)
				case found && v.Problem != l.want:
					t.Errorf("%s: %v, want: %s", l.line, v, l.want)
				case found && !strings.Contains(v.Caller, "guard_test.go:"):
					t.Errorf("%s: sent by %s", l.line, v.Caller)
				}
			}
		})
	}
}

// TestWhatIsRefusedIsNotSent.
func TestWhatIsRefusedIsNotSent(t *testing.T) {
	s, c := open(t, keywrighttest.Redis, guard.Options{})
	stop := s.Monitor()
	_ = do(c, "SET session:1 x")
	_ = do(c, "SET other x")
	ctx := context.Background()
	for _, r := range c.DoMulti(ctx, c.B().Set().Key("session:1").Value("x").ExSeconds(60).Build(),
		c.B().Get().Key("other").Build()) {
		if r.Error() == nil {
			t.Error("part of a pipeline with a violation passed")
		}
	}
	if err := c.DoCache(ctx, c.B().Get().Key("other").Cache(), time.Minute).Error(); err == nil {
		t.Error("DoCache passed")
	}
	if r := c.DoMultiCache(ctx, rueidis.CT(c.B().Get().Key("other").Cache(), time.Minute)); r[0].Error() == nil {
		t.Error("DoMultiCache passed")
	}
	if r := c.DoStream(ctx, c.B().Get().Key("other").Build()); r.Error() == nil {
		t.Error("DoStream passed")
	}
	if r := c.DoMultiStream(ctx, c.B().Get().Key("other").Build()); r.Error() == nil {
		t.Error("DoMultiStream passed")
	}
	for address, node := range c.Nodes() {
		if do(node, "GET other") == nil {
			t.Errorf("a command to %s passed", address)
		}
	}
	if sent := stop(); len(sent) > 0 {
		t.Errorf("%q", sent)
	}
}

// TestMeant: what is near a declared name is proposed, for a bounded number of keys.
func TestMeant(t *testing.T) {
	g, err := guard.New(loaded(t), guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "did you mean profile:{id} (profile)?"
	if v := g.Check("HSET", "profil:7", "f", "x"); len(v) != 1 || v[0].Detail != want ||
		!strings.Contains(v[0].Error(), want) {
		t.Errorf("%v", v)
	}
	if v := g.Check("GET", "entirely:other"); len(v) != 1 || v[0].Detail != "" {
		t.Errorf("%v", v)
	}
	for i := 0; ; i++ {
		if v := g.Check("GET", "profil:7"); v[0].Detail == "" {
			return
		} else if i > 1_000_000 {
			t.Fatal("it is compared for ever")
		}
	}
}

// TestReport lets everything pass and tells it.
func TestReport(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	s, c := open(t, keywrighttest.Valkey, guard.Options{Report: func(v *guard.Violation) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf("%s %s %t", v.Command, v.Problem, v.Done))
	}})
	for _, line := range []string{"SET other x", "HSET profile:1 f secret", "SET session:1 x"} {
		if err := do(c, line); err != nil {
			t.Error(err)
		}
	}
	if fmt.Sprint(seen) != "[SET undeclared key false HSET key without a TTL true SET key without a TTL false]" {
		t.Errorf("%q", seen)
	}
	if s.Do("EXISTS", "other", "profile:1", "session:1") != int64(3) {
		t.Error("what is reported was not carried out")
	}
}

// TestPipelinesAndTransactions are judged by what they leave.
func TestPipelinesAndTransactions(t *testing.T) {
	_, c := open(t, keywrighttest.Redis, guard.Options{})
	ctx := context.Background()
	hset := func() rueidis.Completed {
		return c.B().Hset().Key("profile:1").FieldValue().FieldValue("f", "v").Build()
	}
	expire := func() rueidis.Completed { return c.B().Expire().Key("profile:1").Seconds(60).Build() }
	for _, r := range c.DoMulti(ctx, hset(), expire()) {
		if r.Error() != nil {
			t.Error(r.Error())
		}
	}
	_ = do(c, "DEL profile:1")
	err := c.Dedicated(func(d rueidis.DedicatedClient) error {
		for _, r := range d.DoMulti(ctx, d.B().Multi().Build(), hset(), expire(), d.B().Exec().Build()) {
			if r.Error() != nil {
				return r.Error()
			}
		}
		return nil
	})
	if err != nil {
		t.Errorf("a transaction that gives the TTL: %v", err)
	}
	_ = do(c, "DEL profile:1")
	d, cancel := c.Dedicate()
	defer cancel()
	for _, cmd := range []rueidis.Completed{d.B().Multi().Build(), hset()} {
		if err := d.Do(ctx, cmd).Error(); err != nil {
			t.Errorf("inside of a transaction: %v", err)
		}
	}
	if v, ok := errors.AsType[*guard.Violation](d.Do(ctx, d.B().Exec().Build()).Error()); !ok ||
		v.Problem != guard.NoTTL || !v.Done {
		t.Errorf("a transaction that leaves a key without its TTL: %v", v)
	}
}

// TestSubscriptions: a channel that is not declared is not listened to.
func TestSubscriptions(t *testing.T) {
	_, c := open(t, keywrighttest.Redis, guard.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d, free := c.Dedicate()
	defer free()
	hear := func(rueidis.PubSubMessage) {}
	for what, err := range map[string]error{
		"Receive":             c.Receive(ctx, c.B().Subscribe().Channel("nows:1").Build(), hear),
		"a pattern":           c.Receive(ctx, c.B().Psubscribe().Pattern("nows:*").Build(), hear),
		"on a connection":     d.Receive(ctx, d.B().Subscribe().Channel("nows:1").Build(), hear),
		"sent as a command":   d.Do(ctx, d.B().Subscribe().Channel("nows:1").Build()).Error(),
		"sharded, and is not": c.Receive(ctx, c.B().Ssubscribe().Channel("news:1").Build(), hear),
		"one of two":          c.Receive(ctx, c.B().Subscribe().Channel("news:1", "nows:1").Build(), hear),
	} {
		if v, ok := errors.AsType[*guard.Violation](err); !ok || v.Problem != guard.UndeclaredChannel {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, err := range map[string]error{
		"Receive":    c.Receive(ctx, c.B().Subscribe().Channel("news:1").Build(), hear),
		"a pattern":  c.Receive(ctx, c.B().Psubscribe().Pattern("news:*").Build(), hear),
		"the server": c.Receive(ctx, c.B().Psubscribe().Pattern("__keyspace@0__:*").Build(), hear),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestCheckWithoutAServer(t *testing.T) {
	g, err := guard.New(loaded(t), guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v := g.Check("SET", "session:1", "hunter2"); len(v) != 1 || v[0].Problem != guard.NoTTL ||
		strings.Contains(v[0].Error(), "hunter2") {
		t.Errorf("%v", v)
	}
	if v := g.Check("GETEX", "session:1", "PERSIST"); len(v) != 1 || v[0].Problem != guard.NoTTL {
		t.Errorf("%v", v)
	}
	if v := g.Check("SET", "session:1", "x", "EX", "60"); len(v) != 0 {
		t.Errorf("%v", v[0])
	}
	if v := g.Check("EVALSHA", "x", "1", "told:7", "x"); len(v) != 0 { // it publishes
		t.Errorf("%v", v[0])
	}
	for _, args := range [][]string{{"HSET", "profile:1", "f", "v"}, {"EVAL", "return 1", "1", "session:1"}} {
		if v := g.Check(args...); len(v) != 1 || v[0].Problem != guard.Unsettled {
			t.Errorf("%q: %v", args, v)
		}
	}
	for _, args := range [][]string{{"EVALSHA", "x", "1", "told:x"}, {"SET", "told:7", "x"}} {
		if v := g.Check(args...); len(v) != 1 || v[0].Problem != guard.Undeclared {
			t.Errorf("%q: %v", args, v)
		}
	}
	for _, args := range [][]string{nil, {""}, {"SET"}, {"EVAL"}, {"EVAL", "x", "99", "a"}, {"EVAL", "x", "-1"},
		{"XREAD", "STREAMS"}, {"ZUNIONSTORE", "d", "9999999999999999999"}, {"KEYS"}, {"MSET", "a"}} {
		g.Check(args...)
	}
}

func FuzzCheck(f *testing.F) {
	g, err := guard.New(loaded(f), guard.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("SET a b EX 5")
	f.Add("XREADGROUP GROUP g c STREAMS a >")
	f.Fuzz(func(t *testing.T, line string) { g.Check(strings.Split(line, " ")...) })
}

func BenchmarkCheckSet(b *testing.B) {
	g, err := guard.New(loaded(b), guard.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if g.Check("SET", "session:12345", "value", "EX", "60") != nil {
			b.Fatal("found")
		}
	}
}
