// Package ranking is leaderboards over periods: one sorted set per hour, day,
// week, month or year, which gets its TTL with its first increment; top, rank and
// neighbours under a declared rule for ties; and windows over the last periods,
// added up on the server and cached under a declared key.
//
// Every read is one script and one round trip, built or cached; the one
// exception is a window whose periods lie in different slots of a cluster, which
// is added up by the client. See docs/rankings-counters-limits.md.
//
// It stores members and scores as the declaration has them, so that an audit and
// typed.ZSet read them too, except under FirstToReach, whose scores have a
// fraction. It is not a search: a member has one score per period, and rows come
// by score.
//
// API: may change until 1.0.
package ranking

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/typed"
	"github.com/keywright/keywright/value"
)

// Number describes what scores are made of.
type Number interface{ ~int64 | ~float64 }

// Ties says which of several members with one score comes first.
type Ties uint8

// The rules for ties. They hold for top, rank, neighbours and pages alike.
const (
	// ByMember: the lower member first, by the bytes of what is stored, as the
	// server has them in order: 10 before 9. So it costs the same for two with one
	// score and for a million.
	ByMember Ties = iota
	// FirstToReach: the member that reached the score earlier, by the server's clock in seconds; within a second,
	// ByMember. The time is the fraction of the stored score, so scores are whole and smaller: up to 2^40 in an hour,
	// 2^36 in a day, 2^33 in a week, 2^31 in a month, 2^28 in a year. A write after the period counts as in its last
	// second. There are no windows over such periods.
	FirstToReach
)

// Config describes what a ranking is made of.
type Config[M any, S Number] struct {
	Key    func(time.Time) (string, error) // returns the key of the period that a time is in
	Step   Step                            // how long a period is
	Member *value.Codec[M]                 // how members are encoded
	Score  *value.Score[S]                 // how scores are encoded
	Ties   Ties                            // which of two members with one score is first; 0: ByMember
}

// Board represents a ranking: a sorted set per period. It is safe for concurrent use.
type Board[M any, S Number] struct {
	Config[M, S]
	bound keywright.Binding
	bits  int   // of a score that hold the time
	most  int64 // greatest whole score, 0 for any number

	script scripts
}

// maxScore is the largest whole number that a score holds exactly and that no
// other sum is rounded to.
const maxScore = 1<<53 - 1

// New makes a ranking. The entry of its binding is that of the sorted sets, one per
// period; it has no key.
func New[M any, S Number](to keywright.Binding, c Config[M, S]) (*Board[M, S], error) {
	b := &Board[M, S]{Config: c, bound: to, script: standard}
	if isWhole[S]() {
		b.most = maxScore
	}
	if c.Ties == FirstToReach {
		b.bits = bits.Len64(uint64(c.Step.Longest / time.Second))
		b.most = 1<<(53-b.bits) - 1
		if !isWhole[S]() || c.Step.Longest <= 0 || b.bits > 40 {
			return nil, &keywright.Error{Class: keywright.Invalid, Op: "ranking", Entry: to.Entry.Name,
				Err:  errors.New("first to reach needs whole scores and a step with a longest period of at most 34,000 years"),
				Hint: "use an int score, or ranking.ByMember"}
		}
	}
	return b, nil
}

func isWhole[S Number]() bool { return S(1)/S(2) == 0 }

// ZSet returns the sorted set of a period, for what is not here: Remove, Each, TTL,
// Delete. Under FirstToReach its scores have the time in them and do not read.
func (b *Board[M, S]) ZSet(t time.Time) typed.ZSet[M, S] {
	key, err := b.Key(t)
	return typed.NewZSet(b.bound.To(key, err), b.Member, b.Score)
}

// Increase adds by to the score of m in the period of t and gives the sum; the
// first increase gives the period its TTL, in the same step. A sum beyond the
// greatest exact whole number, or of floats one that is not finite, is refused before
// anything changes (class Invalid). Not repeated when its reply is lost: UnknownOutcome. One round trip.
func (b *Board[M, S]) Increase(ctx context.Context, t time.Time, m M, by S, options ...keywright.WriteOption) (S,
	error) {
	return first(b.LaterIncrease(t, []Change[M, S]{{m, by}}, options...).Do(ctx))
}

// Set gives m a score, which must be within its declared bounds. One round trip.
func (b *Board[M, S]) Set(ctx context.Context, t time.Time, m M, s S, options ...keywright.WriteOption) error {
	_, err := b.change("set", keywright.Writes, t, []Change[M, S]{{m, s}}, options).Do(ctx)
	return err
}

// Raise gives m a score unless it has a higher one, and gives what it has then.
// It is sent again when its reply was lost. One round trip.
func (b *Board[M, S]) Raise(ctx context.Context, t time.Time, m M, s S, options ...keywright.WriteOption) (S, error) {
	return first(b.change("raise", keywright.Idempotent, t, []Change[M, S]{{m, s}}, options).Do(ctx))
}

// MaxChanges says how many members one call changes: a script looks at each of them
// before it writes any, which is some 3 ms of the server.
const MaxChanges = 1000

// Change represents a member and by how much its score changes.
type Change[M any, S Number] struct {
	Member M
	By     S
}

// LaterIncrease queues Increase of several at once: all of them
// or none, at most MaxChanges. It gives the new scores in their order.
func (b *Board[M, S]) LaterIncrease(t time.Time, changes []Change[M, S],
	options ...keywright.WriteOption) keywright.Op[[]S] {
	return b.change("add", keywright.Writes, t, changes, options)
}

func (b *Board[M, S]) change(what string, effect keywright.Effect, t time.Time, changes []Change[M, S],
	options []keywright.WriteOption) keywright.Op[[]S] {
	key, err := b.Key(t)
	ms, asked, bad := b.bound.Entry.Choose(options)
	began := int64(0)
	if b.bits > 0 {
		began = b.Step.Begin(t).Unix()
	}
	args := append(make([]string, 0, 6+2*len(changes)), strconv.FormatInt(ms, 10), typed.Rule(b.bound.Entry, asked), what,
		strconv.FormatInt(b.most, 10), strconv.Itoa(b.bits), strconv.FormatInt(began, 10))
	args, wrong := b.pairs(what, args, changes)
	op := kernel.NewOp(kernel.Spec[[]S]{
		Action: kernel.Action{Client: b.bound.Client, Name: what, Entry: b.bound.Entry, Effect: effect, Key: key,
			Err: invalid(b.bound.Entry, err, bad, wrong)},
		Script: b.script.write, Keys: []string{key}, Args: args,
		Decode: func(r kernel.Reply) ([]S, error) { return b.sums(r) },
	})
	return typed.OrNothing(len(changes), typed.NewKey(b.bound.To(key, nil)), op)
}

func (b *Board[M, S]) pairs(what string, args []string, changes []Change[M, S]) ([]string, error) {
	if len(changes) > MaxChanges {
		return nil, fmt.Errorf("%d members at once; at most %d are changed in one step", len(changes), MaxChanges)
	}
	for _, c := range changes {
		member, err := b.Member.Encode(c.Member)
		if err != nil {
			return nil, err
		}
		by, err := formatScore(c.By)
		if err != nil {
			return nil, err
		}
		if what != "add" { // it is a score, and has the declared bounds
			if _, err = b.Score.Append(nil, c.By); err != nil {
				return nil, err
			}
		}
		args = append(args, by, member)
	}
	return args, nil
}

// formatScore returns a score as text, exactly.
func formatScore[S Number](s S) (string, error) {
	if isWhole[S]() {
		if n := int64(s); n > maxScore || n < -maxScore {
			return "", fmt.Errorf("%d is more than a score holds exactly, 2^53-1", n)
		}
		return strconv.FormatInt(int64(s), 10), nil
	}
	if f := float64(s); math.IsNaN(f) || math.IsInf(f, 0) {
		return "", fmt.Errorf("%v is no score", f)
	}
	return strconv.FormatFloat(float64(s), 'g', -1, 64), nil
}

// sums decodes what write.lua returns.
func (b *Board[M, S]) sums(r kernel.Reply) ([]S, error) {
	texts, err := r.AsStrSlice()
	if err != nil {
		return nil, err
	}
	if texts[0] != "0" && b.most == 0 {
		return nil, &keywright.Error{Class: keywright.Invalid, Entry: b.bound.Entry.Name,
			Err: fmt.Errorf("the score of member %s of this call would not be finite; nothing was changed", texts[0])}
	}
	if texts[0] != "0" {
		return nil, &keywright.Error{Class: keywright.Invalid, Entry: b.bound.Entry.Name,
			Err: fmt.Errorf(
				"the score of member %s of this call would leave what a score holds exactly, %d either way; nothing was changed",
				texts[0], b.most)}
	}
	out := make([]S, len(texts)-1)
	for i, text := range texts[1:] {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, &keywright.DecodeError{Err: err}
		}
		out[i] = S(f)
	}
	return out, nil
}

func first[S any](all []S, err error) (one S, _ error) {
	if err != nil {
		return one, err
	}
	return all[0], nil
}

// invalid returns the first of some errors, as one of class Invalid.
func invalid(e *keywright.Entry, errs ...error) error {
	for _, err := range errs {
		if err == nil {
			continue
		}
		if _, ours := err.(*keywright.Error); ours {
			return err
		}
		return &keywright.Error{Class: keywright.Invalid, Entry: e.Name, Err: err}
	}
	return nil
}

// Of returns what the ranking of the period of t holds.
func (b *Board[M, S]) Of(t time.Time) View[M, S] {
	key, err := b.Key(t)
	return View[M, S]{client: b.bound.Client, entry: b.bound.Entry, member: b.Member, score: b.Score, packed: b.bits > 0,
		script: b.script, key: key, err: invalid(b.bound.Entry, err)}
}
