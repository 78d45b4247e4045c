package ranking

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/connect/slot"
	"github.com/keywright/keywright/internal/lua"
	"github.com/keywright/keywright/kernel"
)

const (
	// AtOnce says how many members the periods of a window have together at most for
	// one script to add them up.
	AtOnce = 1000
	// lease says how long a builder may be silent before another one takes over.
	lease = 5 * time.Second
	// marker is the member of a sum that has the builder's token as its score.
	marker = "\x00keywright:builder"
)

// builder holds the scripts that make a window in bounded steps.
type builder struct{ begin, build, finish *keywright.Script }

func newBuilder(parts *lua.Set) builder {
	return builder{
		begin:  keywright.NewScript("ranking begin", parts.Later("begin")),
		build:  keywright.NewScript("ranking build", parts.Later("build")),
		finish: keywright.NewScript("ranking finish", parts.Later("finish")),
	}
}

// partial returns the key of the sum while it is made.
func partial(key string) string { return slot.Sibling(key) + "-sum" }

// pageSize returns how many members a step reads: it looks at each of them in every
// period that is left, some 2000 in all.
func pageSize(periods int) int { return min(max(2000/(periods+2), 2), 500) }

// built answers from a window whose periods are large: it builds the window, or
// waits until another client has.
func (v View[M, S]) built(ctx context.Context, q query) ([]Row[M, S], error) {
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		mine, err := v.build(ctx, rand.Int64N(1<<50)+1)
		if err != nil {
			return nil, err
		}
		if got, err := v.ask(ctx, q); err != nil || !got.absent {
			return got.rows, err
		}
		if !mine && !pause(ctx, wait) {
			return nil, v.ended(ctx, q.what)
		}
	}
}

// ended returns the error of a wait that was cut short.
func (v View[M, S]) ended(ctx context.Context, what string) error {
	return &keywright.Error{Class: keywright.NotApplied, Op: what, Entry: v.entry.Name, Err: ctx.Err(),
		Hint: "another client builds the window: ask again"}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d/2 + rand.N(d/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// build makes the window under a token, in steps of which each checks it; false
// if another client is at work. One that is killed leaves a sum whose TTL is the
// lease.
func (v View[M, S]) build(ctx context.Context, number int64) (bool, error) {
	token, ms := strconv.FormatInt(number, 10), strconv.FormatInt(v.window.lease.Milliseconds(), 10)
	sum := partial(v.key)
	mine, err := step(ctx, v, v.script.builder.begin, []string{v.key, sum}, []string{token, ms, marker}, asBool)
	if err != nil || !mine {
		return false, err
	}
	for i := range v.window.keys {
		keys := slices.Concat([]string{sum}, v.window.keys[i:])
		page := strconv.Itoa(pageSize(len(v.window.keys) - i))
		for cursor := "0"; ; {
			args := slices.Concat([]string{token, ms, marker, cursor, page}, v.window.args[2+i:])
			cursor, err = step(ctx, v, v.script.builder.build, keys, args, next)
			if err != nil || cursor == "" {
				return false, err
			}
			if cursor == "0" {
				break
			}
		}
	}
	return step(ctx, v, v.script.builder.finish, []string{v.key, sum}, []string{token, v.window.args[0], marker}, asBool)
}

// next decodes a cursor, "" if the sum has another builder.
func next(r kernel.Reply) (string, error) {
	cursor, err := r.ToString()
	if kernel.IsNil(err) {
		return "", nil
	}
	return cursor, err
}

// step runs one script of a builder. Each may be repeated.
func step[T any, M any, S Number](ctx context.Context, v View[M, S], s *keywright.Script, keys, args []string,
	decode func(kernel.Reply) (T, error)) (T, error) {
	return kernel.NewOp(kernel.Spec[T]{
		Action: kernel.Action{Client: v.client, Name: "window", Entry: v.entry, Effect: keywright.Idempotent, Key: v.key},
		Script: s, Keys: keys, Args: args, Decode: decode,
	}).Do(ctx)
}

func asBool(r kernel.Reply) (bool, error) { return r.AsBool() }
