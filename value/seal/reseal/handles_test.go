package reseal_test

import (
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/queue"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
)

type letter struct{ To string }

var (
	plain  = value.Text(0)
	hidden = value.Encrypt(plain)
	object = value.SealedObject(
		[]value.ObjectColumn[letter]{
			value.EncryptedMember(value.Member("to", value.Quoted, plain, func(m *letter) *string { return &m.To }))})
	phone = value.SealedObject(
		[]value.ObjectColumn[letter]{
			value.EncryptedMember(value.Member("phone", value.Quoted, plain, func(m *letter) *string { return &m.To }))})
	fields = value.Fields[letter]{
		Columns: []value.Column[letter]{
			value.Encrypted(value.Required("phone", plain, func(m *letter) *string { return &m.To }))}}
	log = value.Fields[letter]{
		Columns: []value.Column[letter]{value.Encrypted(value.Required("what", plain, func(m *letter) *string { return &m.To }))}}
)

// TestWhatHandlesSeal: a walk looks for texts at the places that handles seal them
// for, and what it has sealed again, handles open.
func TestWhatHandlesSeal(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	w := newWorld(t, s.URL())
	both := ring(t, "new", "old")
	for active, r := range map[string]keywright.Sealer{"old": ring(t, "old"), "new": both} {
		c, err := keywright.Open(t.Context(), s.URL(), keywright.Options{Sealer: r})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		handles(t, c, active)
	}
	w.equal("found", w.status(both).Total().Keys, map[string]int64{"old": 7, "new": 7})
	if r, err := w.walk(both).Rotate(t.Context()); err != nil || r.Resealed != 6 {
		t.Fatal(r, err)
	}
	c, err := keywright.Open(t.Context(), s.URL(), keywright.Options{Sealer: ring(t, "new")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	one, err := typed.NewString(at(c, "text", "t:old").Binding(), &hidden).Get().Do(t.Context())
	w.equal("string", one+problem(err), "secret")
	two, err := typed.NewString(at(c, "object", "o:old").Binding(), &phone).Get().Do(t.Context())
	w.equal("object", two.To+problem(err), "secret")
	three, err := typed.NewHash(at(c, "fixed", "h:old").Binding(), &fields).Get().Do(t.Context())
	w.equal("hash", three.To+problem(err), "secret")
	four, err := typed.NewMap(at(c, "open", "m:old").Binding(), &plain, &hidden).Get("f").Do(t.Context())
	w.equal("open hash", four+problem(err), "secret")
	five, err := typed.NewList(at(c, "line", "l:old").Binding(), &hidden).At(0).Do(t.Context())
	w.equal("list", five+problem(err), "secret")
}

func problem(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func at(c *keywright.Client, name, key string) typed.Key {
	return typed.NewKey(keywright.Binding{Client: c, Entry: &keywright.Entry{Name: name, Schema: "shop",
		TTL: keywright.TTL{Policy: keywright.Expires, Default: time.Hour, Min: time.Hour, Max: time.Hour,
			Text: "1h"}}, Key: key})
}

// handles writes one of everything.
func handles(t *testing.T, c *keywright.Client, id string) {
	t.Helper()
	ctx := t.Context()
	_, pushed := typed.NewList(at(c, "line", "l:"+id).Binding(), &hidden).PushRight("secret").Do(ctx)
	_, added := typed.NewStream(at(c, "log", "x:"+id).Binding(), &log, 0).Add(letter{"secret"}).Do(ctx)
	_, mapped := typed.NewMap(at(c, "open", "m:"+id).Binding(), &plain, &hidden).Set("f", "secret").Do(ctx)
	jobs := queue.New(keywright.Binding{Client: c, Entry: at(c, "jobs", "jobs").Entry()},
		queue.Keys{Lanes: []queue.Lane{{Key: "jobs"}}, Leases: "{jobs}:leases", Delayed: "{jobs}:delayed",
			Dead: "{jobs}:dead", State: "{jobs}:state", Workers: "{jobs}:workers", Runs: "{jobs}:runs", Channel: "{jobs}:ready",
			Job: queue.Name{Before: "{jobs}:job:"}, Result: queue.Name{Before: "{jobs}:result:"},
			Unique: queue.Name{Before: "{jobs}:unique:"}}, &object, &queue.Options{})
	_, queued := jobs.Enqueue(ctx, queue.Task[letter]{Payload: letter{"secret"}})
	for _, err := range []error{pushed, added, mapped, queued,
		typed.NewString(at(c, "text", "t:"+id).Binding(), &hidden).Set("secret").Do(ctx),
		typed.NewString(at(c, "object", "o:"+id).Binding(), &phone).Set(letter{"secret"}).Do(ctx),
		typed.NewHash(at(c, "fixed", "h:"+id).Binding(), &fields).Set(letter{"secret"}).Do(ctx)} {
		if err != nil {
			t.Fatal(err)
		}
	}
}
