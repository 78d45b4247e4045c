package entity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/entity/internal/scripts"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/value"
	"github.com/redis/rueidis"
)

// announced is the entity with events of all kinds in one stream.
func announcing(prefix string) *Spec[string, note] {
	spec := noteSpec(prefix)
	to := func(what string, more ...Part) []Event {
		data := append([]Part{{Name: "id", Form: value.Quoted}, {Name: "kind", Field: "kind", Form: value.Quoted}}, more...)
		return []Event{{Mode: Append, Channel: prefix + ":log",
			Data: append(data, Part{Name: what, Field: "priority", Form: value.Bare})}}
	}
	spec.OnCreate, spec.OnUpdate, spec.OnDelete = to("created", Part{Name: "version", Field: "version", Form: value.Bare}),
		to("updated", Part{Name: "version", Field: "version", Form: value.Bare}),
		to("deleted", Part{Name: "version", Field: "version", Form: value.Bare})
	spec.OnExpire = to("expired")
	return spec
}

// state is everything that is stored under a prefix.
func contents(s *keywrighttest.Server, prefix string) (out []string) {
	for _, k := range keysOf(s, prefix) {
		kind := fmt.Sprint(s.Do("TYPE", k))
		read := map[string][]string{"hash": {"HGETALL", k}, "zset": {"ZRANGE", k, "0", "-1", "WITHSCORES"},
			"stream": {"XRANGE", k, "-", "+"}, "string": {"GET", k}}[kind]
		out = append(out, fmt.Sprint(k, kind, s.Do(read...)))
	}
	slices.Sort(out)
	return out
}

// forbidden returns the URL of a user who may do everything but some.
func forbidden(s *keywrighttest.Server, rules ...string) string {
	s.Do(append([]string{"ACL", "SETUSER", "app", "reset", "on", ">pw", "~*", "&*", "+@all"}, rules...)...)
	return "redis://app:pw@" + s.Addr()
}

// TestRefusedCreate: an item that cannot be made leaves nothing, whatever
// the reason: no hash without a TTL (K1), no entry, no event, no event lost.
func TestRefusedCreate(t *testing.T) {
	t.Parallel()
	for _, brand := range gate.Pick(t, keywrighttest.Brands()) {
		t.Run(string(brand), func(t *testing.T) {
			t.Parallel()
			s := keywrighttest.Start(t, brand)
			c := open(t, s.URL())
			for _, rule := range []string{"-pexpire", "-zadd", "-hset", "-xadd"} {
				limited := open(t, forbidden(s, rule))
				refusedCreate(t, s, rule, storeOf(limited, announcing("n")))
				if rule != "-xadd" {
					refusedCreate(t, s, rule, storeOf(limited, noteSpec("n")))
				}
			}
			for _, key := range []string{"n:idx:kind:k", "n:idx:context:c1", "n:idx:priority:5", "n:idx:updated", "n:idx:due",
				"n:idx:expiry", "n:ledger", "n:log"} {
				s.Do("SET", key, "in the way")
				refusedCreate(t, s, key, storeOf(c, announcing("n")))
				if key != "n:log" {
					refusedCreate(t, s, key, storeOf(c, noteSpec("n")))
				}
				s.Do("DEL", key)
			}
		})
	}
}

func refusedCreate(t *testing.T, s *keywrighttest.Server, why string, notes *Store[string, note]) {
	t.Helper()
	v := a("k", 5)
	due := time.UnixMilli(1)
	v.Due = &due
	before := contents(s, "n:")
	for range 2 {
		_, err := notes.Put(t.Context(), "1", v)
		if class, _ := keywright.ClassOf(err); class != keywright.Refused {
			t.Errorf("%s: %v", why, err)
		}
	}
	same(t, why, contents(s, "n:"), before)
}

// obstacles say what stops an event: a key of another type, which can be seen before,
// and a stream that is at its end, which cannot.
var obstacles = [][]string{{"SET", "n:log", "in the way"},
	{"XADD", "n:log", "18446744073709551615-18446744073709551615", "a", "b"}}

// TestRefusedDelete: an item whose end cannot be announced stays as it is.
func TestRefusedDelete(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		notes := storeOf(open(t, s.URL()), announcing("n"))
		_, err := notes.Create(t.Context(), "1", a("k", 5))
		must(t, err)
		for _, obstacle := range obstacles {
			s.Do("DEL", "n:log")
			s.Do(obstacle...)
			before := contents(s, "n:")
			if _, err = notes.Delete(t.Context(), "1"); err == nil {
				t.Error("deleted without an event")
			}
			same(t, "state", contents(s, "n:"), before)
		}
		for _, w := range mortal(s, "n:ledger") {
			t.Error(w)
		}
		s.Do("DEL", "n:log")
		s.Do("DEL", "n:idx:kind:k")
		s.Do("SET", "n:idx:kind:k", "in the way")
		if ok, err := notes.Delete(t.Context(), "1"); err != nil || !ok {
			t.Errorf("an index of another type is in the way of a delete: %v", err)
		}
		same(t, "keys", keysOf(s, "n:idx"), []string{"n:idx:kind:k"})
	})
}

// TestRefusedUpdate: an update that a key of another type stops, or whose event may
// not be sent, changes nothing.
func TestRefusedUpdate(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		s.WatchScripts()
		spec := announcing("n")
		spec.OnUpdate = append(spec.OnUpdate,
			Event{Mode: Publish, Name: []Part{{Name: "n:told:", Literal: true}, {Field: "kind"}}})
		notes := storeOf(open(t, s.URL()), spec)
		_, err := notes.Create(t.Context(), "1", a("k", 5))
		must(t, err)
		refused := func(notes *Store[string, note], why string) {
			t.Helper()
			before := contents(s, "n:")
			if _, err = notes.Update(t.Context(), "1", setKind.Set("other"), setPriority.Set(6)); err == nil {
				t.Errorf("%s: no error", why)
			}
			same(t, why, contents(s, "n:"), before)
		}
		for _, key := range []string{"n:idx:kind:other", "n:idx:priority:6", "n:idx:updated", "n:log"} {
			saved := s.Do("EXISTS", key).(int64) == 1
			if saved {
				s.Do("RENAME", key, "saved")
			}
			s.Do("SET", key, "in the way")
			refused(notes, key)
			s.Do("DEL", key)
			if saved {
				s.Do("RENAME", "saved", key)
			}
		}
		refused(storeOf(open(t, forbidden(s, "resetchannels", "&n:told:k")), spec), "a channel that is not allowed")
		sound(t, notes)
		for _, w := range mortal(s, "n:") {
			t.Error(w)
		}
		if ok, err := notes.Delete(t.Context(), "1"); err != nil || !ok || len(keysOf(s, "n:idx")) > 0 {
			t.Errorf("left: %s %v", keysOf(s, "n:"), err)
		}
	})
}

// TestOldIndexIsInTheWay: an item leaves an index that another client has replaced by
// another type.
func TestOldIndexIsInTheWay(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		for range 2 { // by put, and by update
			_, err := notes.Put(t.Context(), "1", a("k", 5))
			must(t, err)
			s.Do("DEL", "n:idx:kind:k")
			s.Do("SET", "n:idx:kind:k", "in the way")
			_, err = notes.Put(t.Context(), "1", a("else", 5))
			must(t, err)
			s.Do("DEL", "n:idx:kind:k", "n:idx:kind:else")
			s.Do("SET", "n:idx:kind:else", "in the way")
			_, err = notes.Update(t.Context(), "1", setKind.Set("k"))
			must(t, err)
			s.Do("DEL", "n:idx:kind:else")
			sound(t, notes)
		}
	})
}

// TestMayLiveForEver: an entity whose items may have a TTL and may have none.
func TestMayLiveForEver(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		for name, spec := range map[string]*Spec[string, note]{"told": announcing("n"), "plain": noteSpec("n")} {
			spec.entry = &keywright.Entry{Name: "note", Type: "hash", TTL: keywright.TTL{Policy: keywright.Undecided}}
			spec.IndexTTL = 0
			notes := storeOf(open(t, s.URL()), spec)
			_, err := notes.Create(t.Context(), "1", a("k", 5), keywright.ExpiresIn(time.Hour))
			must(t, err)
			expire(t, s, notes, "1")
			_, err = notes.Put(t.Context(), "1", a("k", 5))
			must(t, err)
			if n, _, err := notes.Count(t.Context(), notes.By("kind", "k"), "", ""); err != nil || n != 1 {
				t.Errorf("%s: %d %v", name, n, err)
			}
			_, err = notes.Create(t.Context(), "2", a("k", 5), keywright.ExpiresIn(time.Hour))
			must(t, err)
			for _, id := range []string{"1", "2"} {
				if ok, err := notes.Delete(t.Context(), id); err != nil || !ok {
					t.Errorf("%s: %v %v", name, ok, err)
				}
			}
			if done, err := notes.Sweep(t.Context(), SweepOptions{}); err != nil || done.Gone != 0 {
				t.Errorf("%s: %+v %v", name, done, err)
			}
			s.Do("DEL", "n:log")
			if left := keysOf(s, "n:"); len(left) > 0 {
				t.Errorf("%s: left %s", name, left)
			}
		}
	})
}

// TestDeadCannotBeAnnounced: an item that has expired and is made again, while its
// end cannot be announced: it is not made, and later its end is announced once.
func TestDeadCannotBeAnnounced(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		notes := storeOf(open(t, s.URL()), announcing("n"))
		_, err := notes.Create(t.Context(), "1", a("k", 5))
		must(t, err)
		expire(t, s, notes, "1")
		for i, obstacle := range obstacles {
			s.Do("DEL", "n:log")
			s.Do(obstacle...)
			for range 2 {
				if _, err = notes.Create(t.Context(), "1", a("other", 6)); err == nil ||
					i == 0 && (!strings.Contains(err.Error(), ": WRONGTYPE") || strings.Contains(err.Error(), "user_script:")) {
					t.Error(err)
				}
			}
		}
		s.Do("DEL", "n:log")
		_, err = notes.Create(t.Context(), "1", a("other", 6))
		must(t, err)
		sound(t, notes)
		_, err = notes.Sweep(t.Context(), SweepOptions{})
		must(t, err)
		log := logged(s, "n:log")
		if len(log) != 2 || log[0] != `{"id":"1","kind":"k","expired":5}` || !strings.Contains(log[1], `"created":6`) {
			t.Errorf("%s", log)
		}
	})
}

// collectPublished returns everything that is published on channels of a pattern.
func collectPublished(t *testing.T, c *keywright.Client, pattern string) (heard func() []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	messages, ready, over := make(chan rueidis.PubSubMessage, 1000), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		ctx := rueidis.WithOnSubscriptionHook(ctx, func(rueidis.PubSubSubscription) { close(ready) })
		_ = c.Raw().Receive(ctx, c.Raw().B().Psubscribe().Pattern(pattern).Build(),
			func(m rueidis.PubSubMessage) { messages <- m })
	}()
	t.Cleanup(func() { cancel(); <-over })
	<-ready
	end := strings.TrimSuffix(pattern, "*") + "end"
	return func() (out []string) {
		must(t, c.Raw().Do(t.Context(), c.Raw().B().Publish().Channel(end).Message("").Build()).Error())
		for m := range messages {
			if m.Channel == end {
				cancel()
				<-over
				return out
			}
			out = append(out, m.Channel+" "+m.Message)
		}
		return out
	}
}

// TestDeadOnFullServer: on a server at its maxmemory an expired item is not made
// again, and its end not announced a second time with every try.
func TestDeadOnFullServer(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		spec := noteSpec("n")
		spec.OnExpire = []Event{{Mode: Publish, Channel: "n.gone", Plain: true,
			Data: []Part{{Name: "id", Form: value.Quoted}}}}
		c := open(t, s.URL())
		notes := storeOf(c, spec)
		heard := collectPublished(t, c, "n.*")
		_, err := notes.Create(t.Context(), "1", a("k", 5))
		must(t, err)
		expire(t, s, notes, "1")
		full(s)
		for range 3 {
			if _, err = notes.Create(t.Context(), "1", a("k", 5)); err == nil {
				t.Error("no error")
			}
		}
		s.Do("CONFIG", "SET", "maxmemory", "0")
		_, err = notes.Create(t.Context(), "1", a("k", 5))
		must(t, err)
		if _, err = notes.Create(t.Context(), "1", a("k", 5)); !errors.Is(err, ErrExists) {
			t.Error(err)
		}
		same(t, "heard", heard(), []string{`n.gone {"id":"1"}`})
	})
}

// TestHalfWay: an update that fails half way leaves nothing that a delete does not
// find, without a check.
func TestHalfWay(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, notes *Store[string, note]) {
		_, err := notes.Create(t.Context(), "1", a("k", 5))
		must(t, err)
		notes = storeOf(open(t, s.URL()), announcing("n"))
		s.Do(obstacles[1]...)
		if _, err = notes.Update(t.Context(), "1", setKind.Set("other"), setPriority.Set(6)); err == nil {
			t.Error("no error")
		}
		s.Do("DEL", "n:log")
		notes = storeOf(open(t, s.URL()), noteSpec("n"))
		if ok, err := notes.Delete(t.Context(), "1"); err != nil || !ok || len(keysOf(s, "n:")) > 0 {
			t.Errorf("left: %s %v", keysOf(s, "n:"), err)
		}
	})
}

// TestStall: a server that is frozen in the middle of a script, longer than an
// item lives, tells of it all the same.
func TestStall(t *testing.T) {
	t.Parallel()
	brands(t, func(t *testing.T, s *keywrighttest.Server, _ *Store[string, note]) {
		notes := storeOf(open(t, s.URL()), announcing("n"))
		own, slow := *notes.core.Scripts, "for _ = 1, 3e7 do end\nlocal renewed = {}\n"
		mutant, _ := scripts.Parts.Mutant("write", "local renewed = {}\n", slow)
		own.Write = kernel.NewShared(notes.core.Client, "slow", mutant.Script("write"))
		notes.core.Scripts = &own
		_, err := notes.Create(t.Context(), "1", a("k", 5), keywright.ExpiresIn(10*time.Millisecond))
		must(t, err)
		if _, line, err := modelMessage(logged(s, "n:log")[0]); err != nil || !strings.HasPrefix(line, "created 1 k 5") {
			t.Errorf("%s: %v", logged(s, "n:log"), err)
		}
		eventually(t, "it ends", func() bool {
			done, err := notes.Sweep(t.Context(), SweepOptions{})
			return err == nil && done.Gone == 1
		})
		sound(t, notes)
	})
}
