package lock

import (
	"context"
	"crypto/rand"
	"embed"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/lua"
	"github.com/keywright/keywright/kernel"
)

// scripts describes what a lock does on the server; those of the common case, a lock
// that none waits for, are shared by the goroutines of a client.
type scripts struct {
	acquire, release, renew, share, gate, holder *keywright.Script
	free, leave                                  string
}

func newScripts(parts *lua.Set) *scripts {
	return &scripts{
		acquire: keywright.NewScript("lock acquire", parts.Later("acquire")),
		release: keywright.NewScript("lock release", parts.Later("release")),
		renew:   keywright.NewScript("lock renew", parts.Later("renew")),
		share:   keywright.NewScript("lock share", parts.Later("share")),
		gate:    keywright.NewScript("lock gate", parts.Later("gate")),
		holder:  keywright.NewReadOnlyScript("lock holder", parts.Later("holder")),
		free:    parts.Script("free"),
		leave:   parts.Script("leave"),
	}
}

// script is a variable so that a test can take a guard out and see that it is
// missed.
var script = newScripts(parts)

// kind describes whether a lock is held alone or together with others.
type kind string

const (
	alone    kind = "x"
	together kind = "s"
)

var modes = [...]string{Fair: "fair", Fast: "fast"}

// reply describes what the server says of a lock.
type reply struct {
	held   bool
	rare   bool // of a release: nothing has changed, it is to be asked for in the way of rare cases
	busy   bool // it was only asked whether it is free, and it is not
	fence  int64
	left   time.Duration // of my lease, or of the holder's; negative: there is none
	server int64         // server time in µs, 0: not in the reply
	sent   time.Time     // when it was asked, by the local clock
}

func (l Lock) list() []string {
	return []string{l.keys.Main, l.keys.Fence, l.keys.Waiters, l.keys.Shared}
}

// call runs a script. All of them may be repeated: the token says whose step it
// was.
func (l Lock) call(ctx context.Context, name string, s *keywright.Script, keys []string, args ...string) (reply,
	error) {
	out := reply{sent: time.Now()}
	op := kernel.NewOp(kernel.Spec[reply]{
		Action: kernel.Action{Client: l.client, Name: name, Entry: l.entry, Effect: keywright.Idempotent, Key: l.keys.Main},
		Script: s, Keys: keys, Args: args, Decode: out.decode,
	})
	if l.o.Replicas > 0 && name != "release" {
		return l.confirmed(ctx, op)
	}
	return op.Do(ctx)
}

// confirmed runs a step and waits for replicas on the connection that wrote it:
// on another one WAIT would answer for that one's own writes, which are none.
func (l Lock) confirmed(ctx context.Context, op keywright.Op[reply]) (reply, error) {
	timeout := l.o.ReplicaTimeout
	if timeout == 0 {
		timeout = time.Second
	}
	r, replicas, err := op.DoAndWait(ctx, l.o.Replicas, timeout)
	if err == nil && r.held && replicas < l.o.Replicas {
		return r, &keywright.Error{Class: keywright.UnknownOutcome, Op: "lock", Entry: l.entry.Name,
			Err: fmt.Errorf("%w: %d of %d within %v", ErrReplicas, replicas, l.o.Replicas, timeout),
			Hint: "the primary has it and gives it back; INFO replication says who follows; lock.Options.Replicas asks for " +
				"fewer, ReplicaTimeout waits for longer"}
	}
	return r, err
}

// decode reads {held, fence, left, server time}, as acquire gives it. The time
// of sending is that of the first attempt: the lease can only be longer.
func (r reply) decode(result kernel.Reply) (reply, error) {
	all, err := result.ToArray()
	if err != nil {
		return r, err
	}
	var numbers [4]int64
	for i, m := range all[:min(4, len(all))] {
		if numbers[i], err = readInteger(m); err != nil {
			return r, err
		}
	}
	if len(all) < 4 {
		return r, fmt.Errorf("the script answered %d numbers", len(all))
	}
	r.held, r.rare, r.fence, r.left, r.server = numbers[0] == 1, numbers[0] == 2, numbers[1],
		time.Duration(numbers[2])*time.Millisecond, numbers[3]
	return r, nil
}

func readInteger(m kernel.Value) (int64, error) {
	if m.IsInt64() {
		return m.ToInt64()
	}
	text, err := m.ToString()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }

var helpersText = milliseconds(helpers)

// acquire asks for the lock: how is "try", "wait" or "again".
func (w *waiter) acquire(ctx context.Context, how string) (reply, error) {
	l := w.lock
	return l.call(ctx, "acquire", script.acquire, l.list(), w.token, milliseconds(l.lease()), string(w.kind), how,
		modes[l.o.Mode], l.keys.Channel, w.claims(), helpersText)
}

// giveBack releases a held lock, with the cheaper script if no waiter is known.
func (l Lock) giveBack(ctx context.Context, k kind, token string, next *waiter, queued bool) (reply, error) {
	if k == alone && next == nil && !queued && !l.o.Announce {
		n, _, err := l.short(ctx, "release", l.localWaiters().leave, []string{l.keys.Main, l.keys.Waiters}, token)
		if err != nil || n >= 0 {
			return reply{held: n == 1}, err
		}
	}
	return l.release(ctx, k, token, next.member(), "hold", "0")
}

// release gives back what is held, or a place among the waiters ("wait", with its
// claim). next is the place that joins them instead, "" for none.
func (l Lock) release(ctx context.Context, k kind, token, next, what, claim string) (reply, error) {
	announce := ""
	if l.o.Announce {
		announce = "announce"
	}
	args := []string{token, next, string(k), what, modes[l.o.Mode], l.keys.Channel, claim, helpersText, announce}
	r, err := l.call(ctx, "release", script.release, l.list(), args...)
	if err == nil && r.rare {
		r, err = l.call(ctx, "release", script.release, l.list(), append(args, "rare")...)
	}
	return r, err
}

// renew makes a lease last as long again. It touches the key of the holder only, which it
// finds also while a cluster moves the slot; the fence's TTL, a day, now and then.
func (l Lock) renew(ctx context.Context, k kind, token string, fence bool) (reply, error) {
	keys := []string{l.keys.Main}
	if k == together {
		keys[0] = l.keys.Shared
	}
	if fence {
		keys = append(keys, l.keys.Fence)
	}
	return l.call(ctx, "renew", script.renew, keys, token, milliseconds(l.lease()), string(k), helpersText)
}

var process = sync.OnceValue(func() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return host + "-" + strconv.Itoa(os.Getpid())
})

// token returns a unique name: the owner, for people, and 130 random bits. It is compared as a whole. It has no
// blank, since blanks separate the words of messages.
func (l Lock) token() string {
	owner := l.o.Owner
	if owner == "" {
		return own() + rand.Text()
	}
	return strings.Map(visible, owner) + "/" + rand.Text()
}

var own = sync.OnceValue(func() string { return strings.Map(visible, process()) + "/" })

// takeFree asks for the lock in the way that is cheap when it is free: with what
// other goroutines ask. late can be received from, once, when a call is over that
// ctx has not waited for.
func (l Lock) takeFree(ctx context.Context, token string) (r reply, late <-chan struct{}, err error) {
	sent := time.Now()
	n, late, err := l.short(ctx, "acquire", l.localWaiters().free, l.list(), token, milliseconds(l.lease()), helpersText)
	return reply{held: n > 0, fence: n, sent: sent}, late, err
}

func (l Lock) short(ctx context.Context, name string, s *kernel.Shared, keys []string, args ...string) (int64,
	<-chan struct{}, error) {
	a := kernel.Action{Client: l.client, Name: name, Entry: l.entry, Effect: keywright.Idempotent, Key: l.keys.Main}
	return kernel.RunShared(ctx, &a, s, keys, args, integer)
}

func integer(r kernel.Reply) (int64, error) { return r.AsInt64() }

func visible(r rune) rune {
	if r <= ' ' || r == 0x7f {
		return '_'
	}
	return r
}

// OwnerOf returns the part of a token that is for people: who holds the lock. It is not unique.
func OwnerOf(token string) string {
	if i := strings.LastIndexByte(token, '/'); i >= 0 {
		return token[:i]
	}
	return token
}

//go:embed *.lua
var files embed.FS

// parts lists the scripts of this package and what they share.
var parts = lua.New(files)
