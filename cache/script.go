package cache

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/lease"
	"github.com/keywright/keywright/internal/lua"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/typed"
)

// scripts describes what a cache runs.
type scripts struct{ claim, fill, invalidate, tagAdd, tagRead, tagDrop *keywright.Script }

// standard lists the scripts of every cache that is made.
var standard = newScripts(parts)

func newScripts(parts *lua.Set) scripts {
	return scripts{
		claim:      keywright.NewScript("cache claim", parts.Later("claim")),
		fill:       keywright.NewScript("cache fill", parts.Later("fill")),
		invalidate: keywright.NewScript("cache invalidate", parts.Later("invalidate")),
		tagAdd:     keywright.NewScript("cache tag add", parts.Later("tag_add")),
		tagRead:    keywright.NewScript("cache tag read", parts.Later("tag_read")),
		tagDrop:    keywright.NewScript("cache tag drop", parts.Later("tag_drop")),
	}
}

// state represents the answer to a claim.
type state string

const (
	hit    state = "hit"
	absent state = "absent"
	busy   state = "busy" // another one is loading
	mine   state = "mine"
)

type claimed[V any] struct {
	state state
	value V
	left  time.Duration // of the other's lease
}

// claiming describes why a lease is asked for; see claim.lua.
type claiming struct {
	mode string
	seen int64 // PTTL
}

var (
	onMiss  = claiming{mode: "miss"}
	byForce = claiming{mode: "force"}
	again   = claiming{mode: "stale", seen: 1 << 53} // whatever is there, but after who is loading
)

// claim asks for the value or the lease: one round trip, sent again after a lost
// reply.
func (i Item[V]) claim(token string, why claiming) keywright.Op[claimed[V]] {
	keys, _ := i.keys()
	return kernel.NewOp(kernel.Spec[claimed[V]]{Action: i.action("claim", keywright.Idempotent), Script: i.c.scripts.claim,
		Keys: keys,
		Args: []string{token, milliseconds(i.c.o.Lease), why.mode, strconv.FormatInt(why.seen, 10), i.c.span(0)},
		Decode: func(r kernel.Reply) (out claimed[V], err error) {
			parts, err := r.ToArray()
			if err != nil || len(parts) == 0 {
				return out, formed(err)
			}
			word, err := parts[0].ToString()
			out.state = state(word)
			switch {
			case err != nil || len(parts) < 2:
			case out.state == busy:
				ms, _ := parts[1].AsInt64()
				out.left = time.Duration(ms) * time.Millisecond
			case why.mode == "miss":
				text, _ := parts[1].ToString()
				out.value, err = decodeText(i.codec(), text)
			}
			return out, err
		}})
}

// keys returns those of the item's scripts, and the tags that lie in other slots.
func (i Item[V]) keys() (together, apart []string) {
	together = []string{i.main, i.c.fillKey(i.main)}
	if !i.c.client.Clustered() {
		return append(together, i.tags()...), nil
	}
	for _, t := range i.tags() {
		if !i.c.client.CrossSlot(i.main, t) {
			together = append(together, t)
		} else {
			apart = append(apart, t)
		}
	}
	return together, apart
}

// span returns how long a tag remembers a key, in µs: longer than it can live, by what
// a load and the servers' clocks may need.
func (c *Cache[V]) span(ms int64) string {
	const forever = 1 << 52
	if ms == 0 {
		ms = max(c.entry.TTL.Max, time.Duration(float64(c.ttl())*(1+c.entry.TTL.Jitter))).Milliseconds()
	}
	if c.entry.TTL.Policy == keywright.Forever {
		return strconv.FormatInt(forever, 10)
	}
	return strconv.FormatInt((ms+(c.o.Limit+c.o.Lease+10*time.Second).Milliseconds())*1000, 10)
}

// announce adds the item to those of its tags that no script of the item can
// reach: one round trip per server. It comes before the load and before the fill.
func (i Item[V]) announce(ctx context.Context) error {
	_, apart := i.keys()
	ops := make([]keywright.Op[int64], len(apart))
	for n, tag := range apart {
		a := i.action("tag", keywright.Idempotent)
		a.Key = tag
		ops[n] = kernel.NewOp(kernel.Spec[int64]{Action: a, Script: i.c.scripts.tagAdd, Keys: []string{tag},
			Args: []string{i.main, i.c.span(0)}, Decode: kernel.Reply.AsInt64})
	}
	if len(ops) == 0 {
		return nil
	}
	return kernel.DoAll(ctx, ops...)
}

// storing describes what a fill writes.
type storing struct {
	token  string
	effect keywright.Effect
	name   string
	text   string
	absent bool
	ms     int64
	err    error
}

// fill stores, and says whether the lease was still held.
func (i Item[V]) fill(s storing) keywright.Op[bool] {
	a := i.action(s.name, s.effect)
	if a.Err == nil {
		a.Err = s.err
	}
	keys, _ := i.keys()
	what := "value"
	if s.absent {
		what = "absent"
	}
	return kernel.NewOp(kernel.Spec[bool]{Action: a, Script: i.c.scripts.fill, Keys: keys,
		Args:   []string{s.token, what, strconv.FormatInt(s.ms, 10), s.text, i.c.span(s.ms)},
		Decode: i.forgetting(yes)})
}

// loaded returns the fill of what a loader gave that ran for so long.
func (i Item[V]) loaded(token string, v V, found bool, spent time.Duration) keywright.Op[bool] {
	s := storing{token: token, name: "fill", effect: keywright.Idempotent, absent: !found, ms: i.c.o.Absent.Milliseconds()}
	if found {
		s = i.encoded(s, v, i.c.costing(spent))
	}
	return i.fill(s)
}

func (i Item[V]) encoded(s storing, v V, options []keywright.WriteOption) storing {
	var bad error
	s.text, s.err = i.codec().Encode(v)
	if _, told := s.err.(*keywright.Error); s.err != nil && !told {
		s.err = &keywright.Error{Class: keywright.Invalid, Entry: i.c.entry.Name, Err: s.err}
	}
	if s.ms, _, bad = i.c.entry.Choose(options); s.err == nil {
		s.err = bad
	}
	return s
}

// lease renews a lease, or gives it up for d = 0; false if it is gone.
func (i Item[V]) lease(token string, d time.Duration) keywright.Op[bool] {
	return lease.Keep(i.action("lease", keywright.Idempotent), i.c.fillKey(i.main), token, d)
}

// LaterInvalidate deletes the value of a key and makes a load of it that is under
// way void, in one step, sent again after a lost reply. It says
// whether there was anything, and is what the function of an event queues.
func LaterInvalidate(c *keywright.Client, k typed.Key) keywright.Op[bool] {
	return invalidation(kernel.Action{Client: c, Name: "invalidate", Entry: k.Entry(), Effect: keywright.Idempotent,
		Err: k.Err(), Key: k.Name()}, FillKey(k.Name()), yes)
}

func invalidation(a kernel.Action, fill string, decode func(kernel.Reply) (bool, error)) keywright.Op[bool] {
	main := a.Key
	if a.Err == nil && a.Client.CrossSlot(main, fill) {
		a.Err = &keywright.Error{Class: keywright.Invalid,
			Err:  errors.New("the key has braces and no hash tag, so that nothing can share its slot"),
			Hint: "give the pattern a hash tag, {#…}"}
	}
	return kernel.NewOp(kernel.Spec[bool]{Action: a, Script: standard.invalidate, Keys: []string{main, fill},
		Decode: decode})
}

func yes(r kernel.Reply) (bool, error) {
	n, err := r.AsInt64()
	return n > 0, err
}

// ErrForm is in the *keywright.DecodeError of a key that coordinates a cache, or of
// a version, and holds what this program never writes. It stays as it is.
var ErrForm = errors.New("the key holds what this program never writes; a newer one may")

// formed returns err, or ErrForm if a script said so.
func formed(err error) error {
	if reply, ok := kernel.IsServerError(err); ok && strings.HasPrefix(reply.Error(), "FORM ") {
		return &keywright.DecodeError{Err: fmt.Errorf("%w: %s", ErrForm, strings.TrimPrefix(reply.Error(), "FORM "))}
	}
	return err
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

//go:embed *.lua
var files embed.FS

// parts lists the scripts of this package and what they share.
var parts = lua.New(files)
