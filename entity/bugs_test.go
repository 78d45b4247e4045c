package entity

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/itemkeys"
	"github.com/keywright/keywright/entity/internal/scripts"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value"
)

// runAsOneScript sends writes as one script, as those of many goroutines travel.
func (s *Store[I, T]) runAsOneScript(t *testing.T, calls ...*itemkeys.Call) []string {
	t.Helper()
	var keys []string
	args := []string{strconv.Itoa(len(calls))}
	for _, c := range calls {
		k, a := s.writer.Encode(c)
		keys, args = append(keys, k...), append(args, a...)
	}
	raw := s.core.Client.Raw()
	replies, err := raw.Do(t.Context(),
		raw.B().Eval().Script(scripts.Parts.Script("write")).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build()).ToArray()
	must(t, err)
	var out []string
	for _, r := range replies {
		texts, err := r.AsStrSlice()
		if err != nil {
			texts = []string{"", ""} // this one has failed
		}
		out = append(out, texts[1])
	}
	return out
}

// creating and removing are calls for an item that is a fact.
func creating(t *testing.T, s *Store[string, note], id string, v note) *itemkeys.Call {
	t.Helper()
	c := &itemkeys.Call{ID: id, Condition: itemkeys.Absent}
	in, err := s.fill(s.core.Key(id), &v, c, nil)
	must(t, err)
	c.Record = s.core.RecordOf(in, "", true)
	c.Expected = c.Record
	return c
}

func removing(s *Store[string, note], id string, v note) *itemkeys.Call {
	record := s.core.RecordOf(map[string]string{"kind": v.Kind, "context": v.Context,
		"priority+created": fmt.Sprint(v.Priority),
		"due":              "", "updated": ""}, "", true)
	return &itemkeys.Call{ID: id, Condition: itemkeys.Present, Stamps: itemkeys.Stamps{Version: s.core.Spec.Version},
		Expected: record,
		Drops:    s.core.AllEntries(record)}
}

// TestVersionsInOneScript: the server's time does not change in a script, and many
// writes travel in one.
func TestVersionsInOneScript(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, _ *keywrighttest.Server, notes *Store[string, note]) {
		v := a("fact", 1)
		got := notes.runAsOneScript(t, creating(t, notes, "1", v), removing(notes, "1", v), creating(t, notes, "1", v),
			removing(notes, "1", v), creating(t, notes, "1", v))
		if got[0] == "" || got[0] != got[1] || got[2] <= got[1] || got[4] <= got[3] {
			t.Errorf("versions %s", got)
		}
	})
}

// TestDeleteItem: an item that was read, made or saved is deleted if it is still
// that one.
func TestDeleteItem(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		for _, how := range []string{"made", "read", "saved", "changed"} {
			item, err := notes.Create(t.Context(), "1", a("fact", 1))
			must(t, err)
			if how != "made" {
				item, err = notes.Get(t.Context(), "1")
				must(t, err)
			}
			if how == "saved" {
				item.Value.Kind = "task"
				item, err = notes.Save(t.Context(), item)
				must(t, err)
			}
			if how == "changed" {
				_, err = notes.Update(t.Context(), "1", setKind.Set("task"))
				must(t, err)
			}
			switch ok, err := notes.DeleteItem(t.Context(), item); {
			case how == "changed" && (ok || !errors.Is(err, ErrVersion)):
				t.Errorf("%s: %v %v", how, ok, err)
			case how != "changed" && (!ok || err != nil || len(keysOf(s, "n:")) > 0):
				t.Errorf("%s: %v %v %s", how, ok, err, keysOf(s, "n:"))
			}
		}
	})
}

// TestDeleteSame: an item is deleted if it has all the texts that were read of it, and no others.
func TestDeleteSame(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		deletesTheSame(t, notes, func(string) *keywrighttest.Server { return s })
		if left := keysOf(s, "n:"); len(left) > 0 {
			t.Errorf("%q are left", left)
		}
	})
}

// apartSame is the same where an item and its indexes are in several slots.
func apartSame(t *testing.T, c *keywrighttest.Cluster) {
	notes := spread(t, c.URL(), "same")
	deletesTheSame(t, notes, func(key string) *keywrighttest.Server { return serverOf(c, key) })
	sound(t, notes)
	if n := keysLeft(c, "same"); n > 0 {
		t.Errorf("%d keys are left", n)
	}
}

// deletesTheSame deletes an item that was changed after it was read, or was not.
func deletesTheSame(t *testing.T, notes *Store[string, note], of func(key string) *keywrighttest.Server) {
	key, err := notes.Texts().Key("1")
	must(t, err)
	s := of(key)
	for _, c := range []struct {
		then []string
		same bool
	}{
		{nil, true}, {[]string{"HSET", key, "kind", "task"}, false}, {[]string{"HSET", key, "other", "x"}, false},
		{[]string{"HDEL", key, "kind"}, false}, {[]string{"DEL", key}, false},
	} {
		_, err := notes.Create(t.Context(), "1", a("fact", 1))
		must(t, err)
		all := s.Do("HGETALL", key).([]any)
		texts, sums := []string{"HSET", key}, map[string]string{}
		for i := 0; i < len(all); i += 2 {
			name, text := all[i].(string), all[i+1].(string)
			texts, sums[name] = append(texts, name, text), fmt.Sprintf("%x", sha1.Sum([]byte(text)))
		}
		ttl := fmt.Sprint(s.Do("PEXPIRETIME", key))
		if len(c.then) > 0 {
			s.Do(c.then...)
		}
		ok, err := notes.Texts().DeleteSame(t.Context(), key, sums)
		gone := len(c.then) > 0 && c.then[0] == "DEL"
		if ok != c.same || errors.Is(err, ErrVersion) != (!c.same && !gone) {
			t.Errorf("%q: %v %v", c.then, ok, err)
		}
		if !c.same { // what was read is there again
			s.Do("DEL", key)
			s.Do(texts...)
			s.Do("PEXPIREAT", key, ttl)
			if ok, err := notes.Texts().DeleteSame(t.Context(), key, sums); !ok || err != nil {
				t.Errorf("%q, and as it was again: %v %v", c.then, ok, err)
			}
		}
		if list := notes.listed(t, Query[note]{Of: notes.By("kind", "fact")}); len(list) > 0 {
			t.Errorf("%q: an index still has %q", c.then, list)
		}
	}
}

// TestTTLInOneScript: an index that loses its last id in the middle of a script,
// and gets another one in the same, has a TTL.
func TestTTLInOneScript(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		v := a("fact", 1)
		notes.runAsOneScript(t, creating(t, notes, "1", v), removing(notes, "1", v), creating(t, notes, "2", v))
		for _, w := range mortal(s, "n:") {
			t.Error(w)
		}
		sound(t, notes)
	})
}

// keysOf returns the keys with a prefix.
func keysOf(s asked, prefix string) (out []string) {
	for cursor := "0"; ; {
		reply := s.Do("SCAN", cursor, "COUNT", "1000").([]any)
		for _, k := range reply[1].([]any) {
			if name := fmt.Sprint(k); strings.HasPrefix(name, prefix) {
				out = append(out, name)
			}
		}
		if cursor = fmt.Sprint(reply[0]); cursor == "0" {
			return out
		}
	}
}

// mortal says which keys have no TTL, but for streams.
func mortal(s asked, prefix string) (wrong []string) {
	for _, k := range keysOf(s, prefix) {
		if s.Do("PTTL", k).(int64) == -1 && fmt.Sprint(s.Do("TYPE", k)) != "stream" {
			wrong = append(wrong, k+" has no TTL")
		}
	}
	return wrong
}

// TestIndexOutlivesUpdate: a call that prolongs an item prolongs its indexes.
func TestIndexOutlivesUpdate(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		other := storeOf(open(t, s.URL()), noteSpec("n")) // a process that has renewed nothing yet
		for id, prolong := range map[string]func() error{
			"1": func() error { return other.Touch(t.Context(), "1", keywright.ExpiresIn(20*time.Hour)) },
			"2": func() error {
				_, err := other.UpdateWith(t.Context(), "2", []keywright.WriteOption{keywright.ExpiresIn(20 * time.Hour)},
					setText.Set("x"))
				return err
			},
		} {
			_, err := notes.Create(t.Context(), id, a("k"+id, 5))
			must(t, err)
			index := "n:idx:kind:k" + id
			for _, k := range []string{index, "n:ledger", "n:idx:expiry"} {
				s.Do("PEXPIRE", k, "3600000") // as if most of its time had passed
			}
			must(t, prolong())
			for _, k := range []string{index, "n:ledger", "n:idx:expiry"} {
				if left := s.Do("PTTL", k).(int64); left < 40*3600*1000 {
					t.Errorf("%s ends in %v, and its item lives for 20h", k, time.Duration(left)*time.Millisecond)
				}
			}
			due, err := strconv.ParseInt(s.Do("ZSCORE", "n:idx:expiry", id).(string), 10, 64)
			must(t, err)
			if early := s.Do("PEXPIRETIME", "n:item:"+id).(int64) - due; early > 1000 {
				t.Errorf("item %s is due %d ms before it ends: the sweep would look at it for nothing", id, early)
			}
			sound(t, notes)
		}
	})
}

// TestOpenBounds: a count with bounds that are outside themselves, while expired
// items are not yet swept.
func TestOpenBounds(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		for i := range 6 {
			v := a("fact", 5)
			due := time.UnixMilli(int64(i / 2)).UTC()
			v.Due = &due
			_, err := notes.Create(t.Context(), fmt.Sprint(i), v)
			must(t, err)
		}
		for i := 0; i < 6; i += 2 {
			expire(t, s, notes, fmt.Sprint(i))
		}
		for _, tt := range []struct {
			from, to string
			want     int64
		}{{"", "", 3}, {"(0", "", 2}, {"(0", "(2", 1}, {"0", "(2", 2}, {"1", "2", 2}, {"(0", "1", 1}, {"-inf", "(0", 0},
			{"(1.5", "+inf", 1}} {
			n, exact, err := notes.Count(t.Context(), notes.By("due", ""), tt.from, tt.to)
			if must(t, err); n != tt.want || !exact {
				t.Errorf("%s to %s: %d, exact %v", tt.from, tt.to, n, exact)
			}
		}
	})
}

// expire makes the time of an item be over, by the server's own means: no test
// waits for a clock.
func expire(t *testing.T, s *keywrighttest.Server, notes *Store[string, note], id string) {
	t.Helper()
	s.Do("EVAL",
		"redis.call('ZCARD', KEYS[2]) redis.call('PEXPIREAT', KEYS[1], 1) redis.call('ZADD', KEYS[2], 'XX', "+
			"1, ARGV[1]) return 1", "2", notes.core.Key(id), notes.core.Spec.Expires, id)
}

// full fills a server up to its maxmemory.
func full(s *keywrighttest.Server) { s.Do("CONFIG", "SET", "maxmemory", "1000000") }

// TestFullServer: what makes room works on a server at its maxmemory: delete,
// shorten and sweep, events included; what needs room is refused and changes nothing.
func TestFullServer(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		spec := noteSpec("n")
		spec.OnDelete, spec.OnExpire = log("gone"), log("expired")
		notes := storeOf(open(t, s.URL()), spec)
		for i := range 4 {
			_, err := notes.Create(t.Context(), fmt.Sprint(i), a("fact", 5))
			must(t, err)
		}
		expire(t, s, notes, "0")
		s.Do("PEXPIREAT", notes.core.Key("1"), "99999999999999")
		s.Do("ZADD", notes.core.Spec.Expires, "1", "1") // prolonged by hand
		s.Do("PERSIST", notes.core.Key("2"))
		full(s)
		_, err := notes.Create(t.Context(), "5", a("fact", 5))
		if class, _ := keywright.ClassOf(err); class != keywright.NotApplied {
			t.Errorf("create: %v", err)
		}
		if done, err := notes.Sweep(t.Context(), SweepOptions{}); err != nil || done.Gone != 1 || done.Lives != 1 {
			t.Errorf("sweep: %+v %v", done, err)
		}
		if did, err := notes.Shorten(t.Context(), "2", time.Minute); err != nil || !did {
			t.Errorf("shorten: %v %v", did, err)
		}
		if did, err := notes.Shorten(t.Context(), "2", time.Minute+time.Second); err != nil || did {
			t.Errorf("shorten again: %v %v", did, err)
		}
		if ok, err := notes.Delete(t.Context(), "3"); err != nil || !ok {
			t.Errorf("delete: %v %v", ok, err)
		}
		s.Do("CONFIG", "SET", "maxmemory", "0")
		same(t, "events", logged(s, "n:log"), []string{`{"expired":"0"}`, `{"gone":"3"}`})
		if c := sound(t, notes); c.Items != 2 {
			t.Errorf("%+v", c)
		}
	})
}

// log returns events that go to the stream n:log.
func log(what string, fields ...Part) []Event {
	return []Event{{Mode: Append, Channel: "n:log", Data: append([]Part{{Name: what, Form: value.Quoted}}, fields...)}}
}

// TestPoison: an index or a stream that another client has replaced by another type
// holds up nothing else, and no event is lost.
func TestPoison(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		spec := noteSpec("n")
		spec.OnExpire = log("expired")
		notes := storeOf(open(t, s.URL()), spec)
		for i := range 4 {
			_, err := notes.Create(t.Context(), fmt.Sprint(i), a(fmt.Sprint("k", i%2), 5))
			must(t, err)
			expire(t, s, notes, fmt.Sprint(i))
		}
		s.Do("DEL", "n:idx:kind:k0")
		s.Do("SET", "n:idx:kind:k0", "in the way")
		s.Do("SET", "n:log", "in the way")
		if _, err := notes.Sweep(t.Context(), SweepOptions{}); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
			t.Errorf("a sweep that cannot announce: %v", err)
		}
		s.Do("DEL", "n:log")
		if done, err := notes.Sweep(t.Context(), SweepOptions{}); err != nil || done.Gone != 4 {
			t.Errorf("sweep: %+v %v", done, err)
		}
		s.Do("DEL", "n:idx:kind:k0")
		same(t, "events", logged(s, "n:log"),
			[]string{`{"expired":"0"}`, `{"expired":"1"}`, `{"expired":"2"}`, `{"expired":"3"}`})
		sound(t, notes)
		same(t, "keys", keysOf(s, "n:"), []string{"n:log"})
	})
}

// task represents an item with an index over two fields that it may lack.
type task struct {
	Kind  *string
	Score *int64
	Level int64

	Version int64
}

var stampedVersion = value.Required("version", value.Int(1, 1<<62), func(n *task) *int64 { return &n.Version })

func taskSpec(sliding bool) *Spec[string, task] {
	by := func(n *task) (string, error) {
		if n.Kind == nil {
			return part("t:by:", "")
		}
		return part("t:by:", *n.Kind)
	}
	return &Spec[string, task]{
		entry: &keywright.Entry{Name: "task", Pattern: "t:item:{id}", Type: "hash",
			TTL: keywright.TTL{Policy: keywright.Expires, Default: time.Hour, Min: time.Second, Max: 24 * time.Hour,
				Sliding: sliding}},
		Prefix: "t:item:",
		Key:    func(id string) (string, error) { return part("t:item:", id) },
		Parse:  func(key string) (string, bool) { return strings.CutPrefix(key, "t:item:") },
		Fields: &value.Fields[task]{Columns: []value.Column[task]{
			value.Optional("kind", value.Text(0), func(n *task) **string { return &n.Kind }),
			value.Optional("score", value.Int(-1<<62, 1<<62), func(n *task) **int64 { return &n.Score }),
			value.Required("level", value.Int(0, 9), func(n *task) *int64 { return &n.Level }),
		}},
		Indexes: []Index[task]{{Name: "kind+score", Field: "kind", Score: "score", Prefix: "t:by:", Key: by}},
		Expires: "t:expiry", Records: "t:ledger", Lease: "t:lease", IndexTTL: 48 * time.Hour,
	}
}

// TestOptionalScore: an index of two fields has those items that have both,
// whichever came or went last.
func TestOptionalScore(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		tasks := storeOf(open(t, s.URL()), taskSpec(false))
		setKind := OptionalField[task, string]{"kind", func(n *task) **string { return &n.Kind }}
		setScore := OptionalField[task, int64]{"score", func(n *task) **int64 { return &n.Score }}
		kind, score := "k", int64(7)
		for _, first := range []task{{}, {Kind: &kind}, {Score: &score}, {Kind: &kind, Score: &score}} {
			for i, changes := range [][]Change[task]{{setScore.Set(8)}, {setKind.Set("k")}, {setKind.Set("other")},
				{setScore.Unset()}, {setKind.Unset()}, {setKind.Set("k"), setScore.Set(3)}, {setKind.Unset(), setScore.Set(3)}} {
				_, err := tasks.Put(t.Context(), "1", first)
				must(t, err)
				_, err = tasks.Update(t.Context(), "1", changes...)
				must(t, err)
				got, err := tasks.Get(t.Context(), "1")
				must(t, err)
				_, err = tasks.Check(t.Context(),
					CheckOptions{Found: func(p Problem) { t.Errorf("%d: %+v of %+v", i, p, got.Value) }})
				must(t, err)
				v := got.Value
				both := v.Kind != nil && *v.Kind == "k" && v.Score != nil
				if n, _, err := tasks.Count(t.Context(), tasks.By("kind+score", "k"), "", ""); err != nil || both != (n == 1) {
					t.Errorf("%d: %d with %+v, %v", i, n, v, err)
				}
			}
		}
		if _, err := tasks.Delete(t.Context(), "1"); err != nil || len(keysOf(s, "t:")) > 0 {
			t.Errorf("left: %s %v", keysOf(s, "t:"), err)
		}
	})
}

// TestRule: a TTL by rule is that of what the item is, whichever call begins it again.
func TestRule(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		spec := taskSpec(true)
		spec.TTLFields = []string{"level"}
		spec.TTL = func(v *task) time.Duration { return time.Duration(v.Level) * 2 * time.Hour }
		tasks := storeOf(open(t, s.URL()), spec)
		setLevel := Field[task, int64]{"level", func(n *task) *int64 { return &n.Level }}
		setScore := OptionalField[task, int64]{"score", func(n *task) **int64 { return &n.Score }}
		hours := func(what string, want int64) {
			t.Helper()
			if left := s.Do("PTTL", "t:item:1").(int64); left > want*3600_000 || left < want*3600_000-600_000 {
				t.Errorf("%s: %v left, not %dh", what, time.Duration(left)*time.Millisecond, want)
			}
			s.Do("PEXPIRE", "t:item:1", "5000000")
		}
		_, err := tasks.Create(t.Context(), "1", task{Level: 3})
		must(t, err)
		hours("create", 6)
		_, err = tasks.Get(t.Context(), "1")
		must(t, err)
		hours("a get that slides", 6)
		_, err = tasks.Update(t.Context(), "1", setScore.Set(1))
		must(t, err)
		hours("an update that slides", 6)
		must(t, tasks.Touch(t.Context(), "1"))
		hours("touch", 6)
		_, err = tasks.Update(t.Context(), "1", setLevel.Set(5))
		must(t, err)
		hours("an update of what the rule looks at", 10)
		must(t, tasks.Touch(t.Context(), "1", keywright.ExpiresIn(4*time.Hour)))
		hours("what was asked for", 4)
		s.Do("PERSIST", "t:item:1")
		_, err = tasks.Check(t.Context(), CheckOptions{Apply: true})
		must(t, err)
		hours("a check that finds it without", 10)
		if err := tasks.Touch(t.Context(), "2"); !errors.Is(err, keywright.ErrNotFound) {
			t.Errorf("a missing one: %v", err)
		}
	})
}

// TestImmortal: an item that lost its TTL by hand is found, and gets one.
func TestImmortal(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		_, err := notes.Create(t.Context(), "1", a("fact", 5))
		must(t, err)
		s.Do("PERSIST", notes.core.Key("1"))
		var found []string
		c, err := notes.Check(t.Context(),
			CheckOptions{Apply: true, Found: func(p Problem) { found = append(found, p.What) }})
		must(t, err)
		same(t, "problems", found, []string{"ttl"})
		if c.Items != 1 || len(mortal(s, "n:")) > 0 {
			t.Errorf("%+v %s", c, mortal(s, "n:"))
		}
		sound(t, notes)
	})
}

// TestSharedInTheMiddle: what all keys share may be between the parts of an id, and Parse may
// look at the shape alone: a key of another store is no item.
func TestSharedInTheMiddle(t *testing.T) {
	t.Parallel()
	s := offline(&Spec[string, note]{Prefix: "m:",
		Key: func(id string) (string, error) {
			box, rest, _ := strings.Cut(id, ":")
			return "m:" + box + ":x:" + rest, nil
		},
		Parse: func(key string) (string, bool) {
			parts := strings.Split(key, ":")
			return parts[1] + ":" + parts[3], len(parts) == 4
		}, Fields: &noteFields})
	for key, want := range map[string]bool{"m:a:x:7": true, "m:a:y:7": false, "m:x:y:7": false} {
		if id, ok := s.parsed(key); ok != want || ok && id != "a:7" {
			t.Errorf("%s: %q, %v", key, id, ok)
		}
	}
}
