package main

import (
	"context"
	_ "embed"
	"crypto/sha1"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/bench/costs"
	"github.com/keywright/keywright/bench/live"
	"github.com/keywright/keywright/bench/turns"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

//go:embed put.lua
var putText string

//go:embed list.lua
var listText string

var server *live.Server
var ctx = context.Background()

type proto struct {
	*keywright.Client
	put  *keywright.Shared
	one  *keywright.Script
	list *keywright.Script
	seen map[string][]string
}

var entry = keywright.Entry{Name: "item", Pattern: "mem:item:{id}", Type: "hash", TTL: keywright.TTL{Policy: keywright.Expires, Default: time.Hour, Min: time.Hour, Max: time.Hour, Text: "1h"}}

func (p *proto) create(ctx context.Context, t item) error {
	v := t.values()
	a := keywright.Action{Client: p.Client, Name: "put", Entry: &entry, Effect: keywright.Idempotent, Key: t.hash()}
	n, _, err := keywright.RunShared(ctx, &a, p.put, []string{t.hash(), byExpiry, "mem:ledger", t.byKind(), t.byContext(), t.byPriority()},
		[]string{t.id, "", t.kind + "\x00" + t.context + "\x00" + v[4], "900000", v[1], v[2], v[3], v[4], v[5]}, func(r rueidis.RedisResult) (string, error) { return r.ToString() })
	if err == nil && len(n) < 16 {
		return errors.New("not put: " + n)
	}
	return err
}

func (p *proto) createAlone(ctx context.Context, t item) error {
	v := t.values()
	op := keywright.NewOp(keywright.Spec[string]{Action: keywright.Action{Client: p.Client, Name: "put", Entry: &entry, Effect: keywright.Idempotent, Key: t.hash()},
		Script: p.one, Keys: []string{t.hash(), byExpiry, "mem:ledger", t.byKind(), t.byContext(), t.byPriority()},
		Args: []string{"1", t.id, "", t.kind + "\x00" + t.context + "\x00" + v[4], "900000", v[1], v[2], v[3], v[4], v[5]},
		Decode: func(r rueidis.RedisResult) (string, error) { _, err := r.ToArray(); return "", err }})
	_, err := op.Do(ctx)
	return err
}

func (p *proto) createBare(ctx context.Context, raw rueidis.Client, t item) error {
	v := t.values()
	return raw.Do(ctx, raw.B().Evalsha().Sha1(sha).Numkeys(6).Key(t.hash(), byExpiry, "mem:ledger", t.byKind(), t.byContext(), t.byPriority()).
		Arg("1", t.id, "", t.kind+"\x00"+t.context+"\x00"+v[4], "900000", v[1], v[2], v[3], v[4], v[5]).Build()).Error()
}

var sha = fmt.Sprintf("%x", sha1.Sum([]byte(putText)))

func (p *proto) lists(ctx context.Context, index string) ([]item, error) {
	op := keywright.NewOp(keywright.Spec[[]item]{Action: keywright.Action{Client: p.Client, Name: "list", Entry: &entry, Effect: keywright.Idempotent, Key: index},
		Script: p.list, Keys: []string{index}, Args: []string{prefix},
		Decode: func(r rueidis.RedisResult) ([]item, error) {
			all, err := r.ToArray()
			if err != nil {
				return nil, err
			}
			out := make([]item, 0, len(all)/6)
			for i := 0; i+5 < len(all); i += 6 {
				out = append(out, itemFlat(all[i:]))
			}
			return out, nil
		}})
	return op.Do(ctx)
}

func itemFlat(m []rueidis.RedisMessage) (t item) {
	t.id, _ = m[0].ToString()
	t.kind, _ = m[1].ToString()
	t.content, _ = m[2].ToString()
	t.context, _ = m[3].ToString()
	s, _ := m[4].ToString()
	t.priority, _ = strconv.Atoi(s)
	s, _ = m[5].ToString()
	ms, _ := strconv.ParseInt(s, 10, 64)
	t.created = time.UnixMilli(ms)
	return t
}

// predicted: index and the hashes it had last time, in one pipeline.
func (p *proto) predicted(ctx context.Context, raw rueidis.Client, index string, guess []string, hm bool) ([]item, error) {
	commands := make([]rueidis.Completed, 1, 1+len(guess))
	commands[0] = raw.B().Smembers().Key(index).Build()
	for _, id := range guess {
		if hm {
			commands = append(commands, raw.B().Hmget().Key(prefix+id).Field(names[:]...).Build())
		} else {
			commands = append(commands, raw.B().Hgetall().Key(prefix+id).Build())
		}
	}
	rs := raw.DoMulti(ctx, commands...)
	ids, err := rs[0].ToArray()
	if err != nil {
		return nil, err
	}
	if len(ids) != len(guess) {
		return nil, errors.New("guess is wrong")
	}
	out := make([]item, 0, len(ids))
	for i, m := range ids {
		id, _ := m.ToString()
		if id != guess[i] {
			return nil, errors.New("guess is wrong")
		}
		if hm {
			a, err := rs[i+1].ToArray()
			if err != nil {
				return nil, err
			}
			out = append(out, itemFlat(a))
			continue
		}
		a, err := rs[i+1].ToMap()
		if err != nil {
			return nil, err
		}
		var t item
		f := func(n string) string { m := a[n]; s, _ := m.ToString(); return s }
		t.id, t.kind, t.content, t.context = f("id"), f("type"), f("content"), f("contextId")
		t.priority, _ = strconv.Atoi(f("priority"))
		ms, _ := strconv.ParseInt(f("createdAt"), 10, 64)
		t.created = time.UnixMilli(ms)
		out = append(out, t)
	}
	return out, nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func costed(name string, do func(ctx context.Context, g, n int) error, used map[string]*costs.Costs) turns.Contestant {
	return turns.Contestant{Name: name, Do: do, Ready: func(ctx context.Context, gs int) (func(), error) {
		if name[0] != 'l' {
			server.Do("FLUSHALL", "SYNC")
		}
		before, err := costs.Read(server)
		return func() {
			after, _ := costs.Read(server)
			k := fmt.Sprint(name, gs)
			if used[k] == nil {
				used[k] = &costs.Costs{}
			}
			used[k].Add(before, after)
		}, err
	}}
}

func race(title string, to int, rounds int, all []turns.Contestant, used map[string]*costs.Costs) {
	callers := []int{1, 16, 128}
	r := must(turns.Race(ctx, all, callers, rounds, 200*time.Millisecond))
	t := r.Table(title, to)
	fmt.Println(t.Title, t.Columns)
	for i, row := range t.Rows {
		fmt.Println(row, used[all[i].Name+"1"].Cells(r.Done(i, 1)), used[all[i].Name+"16"].Cells(r.Done(i, 16)), used[all[i].Name+"128"].Cells(r.Done(i, 128)))
	}
}

func main() {
	server = must(live.Start(ctx, "redis-server"))
	defer server.Stop()
	raw := must(rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr}, DisableRetry: true}))
	b := bare{raw}
	c := must(keywright.Open(ctx, "redis://"+server.Addr, keywright.Options{}))
	p := &proto{Client: c, put: keywright.NewShared(c, "put", putText), one: keywright.NewScript("put", putText), list: keywright.NewScript("list", listText)}
	g := piped{redis.NewClient(&redis.Options{Addr: server.Addr, PoolSize: 128, MaxRetries: -1})}
	rounds := must(strconv.Atoi(os.Args[2]))
	used := map[string]*costs.Costs{}
	if os.Args[1] != "list" {
		seq := 0
		_ = seq
		race("create", 0, rounds, []turns.Contestant{
			costed("naive MULTI", func(ctx context.Context, g, n int) error { return b.create(ctx, itemOf(g, n, 0), ttl) }, used),
			costed("go-redis pipeline", func(ctx context.Context, gg, n int) error { return g.create(ctx, itemOf(gg, n, 0), ttl) }, used),
			costed("proto shared", func(ctx context.Context, g, n int) error { return p.create(ctx, itemOf(g, n, 0)) }, used),
			costed("proto bare EVALSHA", func(ctx context.Context, g, n int) error { return p.createBare(ctx, raw, itemOf(g, n, 0)) }, used),
			costed("proto alone", func(ctx context.Context, g, n int) error { return p.createAlone(ctx, itemOf(g, n, 0)) }, used),
		}, used)
		if os.Args[1] == "create" {
			return
		}
	}
	server.Do("FLUSHALL", "SYNC")
	for i := range 10000 {
		t := itemOf(0, i, 0)
		if err := b.create(ctx, t, ttl); err != nil {
			panic(err)
		}
		raw.Do(ctx, raw.B().Sadd().Key("ten:"+strconv.Itoa(i%1000)).Member(t.id).Build())
		raw.Do(ctx, raw.B().Sadd().Key("hundred:"+strconv.Itoa(i%100)).Member(t.id).Build())
	}
	guesses := map[string][]string{}
	for _, s := range []struct {
		name string
		mod  int
	}{{"ten:", 1000}, {"hundred:", 100}} {
		for i := range s.mod {
			guesses[s.name+strconv.Itoa(i)] = must(raw.Do(ctx, raw.B().Smembers().Key(s.name+strconv.Itoa(i)).Build()).AsStrSlice())
		}
		key := func(g, n int) string { return s.name + strconv.Itoa((g*31+n)%s.mod) }
		check := func(l []item, err error) error {
			if err == nil && (len(l) != 10000/s.mod || l[3].context == "" || l[3].created.IsZero()) {
				return fmt.Errorf("a list of %d %v", len(l), l)
			}
			return err
		}
		race("list "+s.name, 0, rounds, []turns.Contestant{
			costed("l naive", func(ctx context.Context, g, n int) error { return check(b.list(ctx, key(g, n))) }, used),
			costed("l script flat", func(ctx context.Context, g, n int) error { return check(p.lists(ctx, key(g, n))) }, used),
			costed("l predicted HGETALL", func(ctx context.Context, g, n int) error {
				return check(p.predicted(ctx, raw, key(g, n), guesses[key(g, n)], false))
			}, used),
			costed("l predicted HMGET", func(ctx context.Context, g, n int) error {
				return check(p.predicted(ctx, raw, key(g, n), guesses[key(g, n)], true))
			}, used),
		}, used)
	}
}
