package kernel_test

import (
	"context"
	"errors"
	"reflect"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/cache"
	"github.com/keywright/keywright/connect"
	"github.com/keywright/keywright/counter"
	"github.com/keywright/keywright/internal/everykeys"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/lock"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/source/server"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
	"github.com/keywright/keywright/value/seal"
	"github.com/keywright/keywright/value/seal/reseal"
)

// hourly returns an entry of keys that are in no declaration.
func hourly(kind string) *keywright.Entry {
	return &keywright.Entry{Name: "more", Pattern: "{every:more}:" + kind, Type: kind,
		TTL: keywright.TTL{Policy: keywright.Expires, Default: time.Hour, Min: time.Hour, Max: time.Hour, Text: "1h"}}
}

// undeclared are the calls of handles that no declaration gives.
func undeclared(c *keywright.Client, k *everykeys.Keyspace, seen map[reflect.Type]bool, out table) {
	text := value.Text(0)
	key := func(name string) string { return "{every:more}:" + name }
	q, _ := lock.NewQuorum(k.Lk(11), k.Lk(12), k.Lk(13))
	version := cache.NewVersion(c,
		typed.NewKey(keywright.Binding{Client: c, Entry: hourly("string"), Key: key("version")}))
	uniques := counter.NewUniques(keywright.Binding{Client: c, Entry: hourly("hyperloglog"), Key: key("uniques")}, &text)
	actives := counter.NewActives(keywright.Binding{Client: c, Entry: hourly("string")},
		counter.ActivesConfig{Scratch: key("scratch")})
	counted := counter.New(keywright.Binding{Client: c, Entry: hourly("string"), Key: key("count")})
	lanes := queue.Open(c, "{every:lanes}", text, queue.Options{Rate: 1000, Per: time.Second, Weights: []int{2, 1}},
		"high", "low")
	for name, handle := range map[string]any{
		"Quorum": q, "Version": version, "Uniques": uniques,
		"Exact": counted.Exactly(keywright.Binding{Entry: hourly("zset"), Key: key("ids")}),
		"Day":   actives.Of(key("day"), nil),
	} {
		calls(name, reflect.ValueOf(handle), seen, out)
	}
	delete(seen, reflect.TypeOf(lanes))
	calls("Lanes", reflect.ValueOf(lanes), seen, out)
	gate := lock.NewGate(c, key("gate"), time.Hour)
	days := []counter.Day{actives.Of(key("day"), nil), actives.Of(key("day:2"), nil)}
	for name, call := range map[string]func(context.Context) error{
		"Gate.Do":       func(ctx context.Context) error { _, err := gate.Do(ctx, 1, "SET", "x"); return err },
		"Actives.Any":   func(ctx context.Context) error { _, err := actives.Any(ctx, days...); return err },
		"Actives.Every": func(ctx context.Context) error { _, err := actives.Every(ctx, days...); return err },
		"Uniques.Count": func(ctx context.Context) error { _, err := uniques.Count(ctx, uniques); return err },
	} {
		out.calls[name] = call
	}
	if walk := walked(c); walk != nil {
		calls("Walk", reflect.ValueOf(walk), seen, out)
		out.calls["Open"] = func(ctx context.Context) error { return opened(ctx, "redis://"+c.Server()) }
	}
}

// opened opens a client, and closes it.
func opened(ctx context.Context, url string) error {
	c, err := keywright.Open(ctx, url, keywright.Options{Timeout: patience, Connections: -1})
	if err == nil {
		c.Close()
	}
	return err
}

// walked returns a walk over strings that are declared encrypted; nil if the address of the
// client is no server's.
func walked(c *keywright.Client) *reseal.Walk {
	ks, _ := load.File(fstest.MapFS{"k.yaml": {Data: []byte("keywright: 1\npackage: every\nowner: o\nkeys:\n  str: {key: \"every:str:{id}\", type: string, value: text encrypted, ttl: any}\n")}}, "k.yaml")
	ring, err := seal.Parse(
		[]byte(`{"ring": 1, "active": "a", "keys": {"a": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}}`))
	config, err2 := connect.New(connect.Options{URL: "redis://" + c.Server(), Getenv: func(string) string { return "" }})
	if errors.Join(err, err2) != nil {
		return nil
	}
	return &reseal.Walk{Keyspace: ks, Client: c, Ring: ring,
		Source: server.New(config, server.Options{Role: server.Primary})}
}
