package queue

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/lua"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/queue/internal/stored"
)

//go:embed *.lua
var files embed.FS

// parts lists the scripts of this package and what they share.
var parts = lua.New(files)

// standard lists the scripts of all queues; a variable so that a test can take a guard out
// and see that it is missed.
var standard = newScripts(parts)

// scripts describes what a queue does on the server.
type scripts struct {
	enqueue, plain, fetch, begin, beat, job, pause, reconcile, durable *keywright.Script
	lost, stats, state                                                 *keywright.Script // these only read
}

func newScripts(parts *lua.Set) scripts {
	return scripts{
		enqueue:   keywright.NewScript("queue enqueue", parts.Later("enqueue")),
		plain:     keywright.NewScript("queue plain", parts.Later("plain")),
		fetch:     keywright.NewScript("queue fetch", parts.Later("fetch")),
		begin:     keywright.NewScript("queue begin", parts.Later("begin")),
		beat:      keywright.NewScript("queue beat", parts.Later("beat")),
		job:       keywright.NewScript("queue job", parts.Later("job")),
		pause:     keywright.NewScript("queue pause", parts.Later("pause")),
		reconcile: keywright.NewScript("queue reconcile", parts.Later("reconcile")),
		durable:   keywright.NewScript("queue durable", parts.Later("durable")),

		lost:  keywright.NewReadOnlyScript("queue lost", parts.Later("lost")),
		stats: keywright.NewReadOnlyScript("queue stats", parts.Later("stats")),
		state: keywright.NewReadOnlyScript("queue state", parts.Later("state")),
	}
}

// run runs a script that answers with a list.
func (q Queue[T]) run(ctx context.Context, name string, s *keywright.Script, effect keywright.Effect, keys,
	args []string) ([]kernel.Value, error) {
	out, err := kernel.NewOp(kernel.Spec[[]kernel.Value]{
		Action: kernel.Action{Client: q.client, Name: name, Entry: q.entry, Effect: effect, Key: keys[0]},
		Script: s, Keys: keys, Args: args, Decode: list,
	}).Do(ctx)
	return out, q.named(ctx, keys, err)
}

// list returns a reply that is one. An error that names a key says so in Go's words.
func list(r kernel.Reply) ([]kernel.Value, error) {
	out, err := r.ToArray()
	return out, keyed(err)
}

func readInteger(r kernel.Reply) (int64, error) {
	n, err := r.ToInt64()
	return n, keyed(err)
}

// ErrNewer reports a job, or something else of a queue, in a form that only a newer
// program can read. It was left as it is.
var ErrNewer = stored.ErrNewer

// keyError describes what a server says about a key. What it says decides the class.
type keyError struct {
	key, text string
	err       error
}

func (e *keyError) Error() string { return fmt.Sprintf("the key %q: %s", e.key, e.text) }

func (e *keyError) Unwrap() error { return e.err }

// keyed returns an error of a script that names a key, as look.lua writes it.
func keyed(err error) error {
	reply, ok := errors.AsType[*kernel.ServerError](err)
	if !ok {
		return err
	}
	code, rest, ok := strings.Cut(reply.Error(), " the key ")
	name, text, found := strings.Cut(rest, ": ")
	key, bad := url.PathUnescape(name)
	if !ok || !found || bad != nil {
		return err
	}
	if code == "NEWER" {
		return newer(key)
	}
	text, _, _ = strings.Cut(text, " script: ")
	return &keyError{key, code + " " + text, err}
}

func newer(key string) *keywright.Error {
	return &keywright.Error{Class: keywright.Refused, Err: fmt.Errorf("the key %q: %w", key, ErrNewer),
		Hint: "nothing of it was changed; a program of today's version works on it"}
}

// faulty returns what was wrong with a key that only some jobs need, as a script
// gives it: a code and the key.
func (q Queue[T]) faulty(op, fault string) error {
	code, name, _ := strings.Cut(fault, " ")
	key, _ := url.PathUnescape(name)
	e := &keywright.Error{Class: keywright.Refused,
		Err: fmt.Errorf("the key %q has another type than the queue gives it (%s)", key,
			code), Hint: "`keywright audit` finds all keys of a wrong type"}
	if code == "NEWER" {
		e = newer(key)
	}
	e.Op, e.Entry = op, q.entry.Name
	return e
}

// clustered tells a script that a slot may move under it.
func (q Queue[T]) clustered() string {
	if q.client.Clustered() {
		return "cluster"
	}
	return ""
}

// database returns the number of the database for messages, since a server delivers a message in all of its
// databases.
func (q Queue[T]) database() string { return strconv.Itoa(q.client.Database()) }

// named returns the error of a call, with the name of the key that has a wrong type if
// that is what is wrong. The server does not say which one it is.
func (q Queue[T]) named(ctx context.Context, keys []string, err error) error {
	e, ok := errors.AsType[*keywright.Error](err)
	reply, refused := errors.AsType[*kernel.ServerError](err)
	if _, said := errors.AsType[*keyError](err); said || !ok || !refused || !strings.HasPrefix(reply.Error(),
		"WRONGTYPE") {
		return err
	}
	told := *e
	raw := q.client.Raw()
	for some := range slices.Chunk(keys, maxBatch) {
		all := make(kernel.Commands, len(some))
		for i, key := range some {
			all[i] = raw.B().Type().Key(key).Build()
		}
		for i, r := range raw.DoMulti(ctx, all...) {
			is, failed := r.ToString()
			if want := q.typeOf(some[i]); failed == nil && is != "none" && is != want {
				told.Err = fmt.Errorf("the key %q is a %s, not a %s: %w", some[i], is, want, e.Err)
				return &told
			}
		}
	}
	return err
}

// typeOf returns the type of one of the queue's keys.
func (q Queue[T]) typeOf(key string) string {
	switch key {
	case q.keys.Leases, q.keys.Delayed, q.keys.Dead, q.keys.Workers:
		return "zset"
	case q.keys.State, q.keys.Runs:
		return "hash"
	}
	if slices.Contains(q.laneKeys(), key) {
		return "list"
	}
	return "string"
}
