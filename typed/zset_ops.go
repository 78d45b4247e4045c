package typed

import (
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/value"
)

// Add gives m the score s, and reports whether m is new.
func (z ZSet[M, S]) Add(m M, s S, options ...keywright.WriteOption) keywright.Op[bool] {
	return scored(z, "add", asBool, nil, []Scored[M, S]{{m, s}}, add, options)
}

// AddAll gives members their scores and gives how many are new.
func (z ZSet[M, S]) AddAll(members []Scored[M, S], options ...keywright.WriteOption) keywright.Op[int64] {
	return scored(z, "add", asInt, nil, members, add, options)
}

// AddNew adds members that are not there and leaves the scores of the others.
func (z ZSet[M, S]) AddNew(members []Scored[M, S], options ...keywright.WriteOption) keywright.Op[int64] {
	return scored(z, "add new", asInt, []string{"NX"}, members, add, options)
}

// Raise gives members their scores unless they have higher ones, and gives how
// many are new.
func (z ZSet[M, S]) Raise(members []Scored[M, S], options ...keywright.WriteOption) keywright.Op[int64] {
	return scored(z, "raise", asInt, []string{"GT"}, members, add, options)
}

// Replace writes these members and no others stay, in one step.
func (z ZSet[M, S]) Replace(members []Scored[M, S], options ...keywright.WriteOption) keywright.Act {
	return act(scored(z, "replace", nothing, nil, members, replace, options))
}

// scored returns the operation that writes members with their scores.
func scored[M, S, T any](z ZSet[M, S], name string, decode func(kernel.Reply) (T, error), heads []string,
	members []Scored[M, S], m mode, options []keywright.WriteOption) keywright.Op[T] {
	args := make([]string, 0, 2*len(members))
	var failed error
	for _, member := range members {
		text, err := encode(z.codec, member.Member)
		score, bad := z.text(member.Score)
		if failed = firstOf(failed, err, bad); failed != nil {
			break
		}
		args = append(args, score, text)
	}
	op := change(z.Key, name, decode,
		writing{command: "ZADD", heads: heads, args: args, width: 2, mode: m, options: options, err: failed})
	if m == replace {
		return op
	}
	return OrNothing(len(members), z.Key, op)
}

func (z ZSet[M, S]) text(s S) (string, error) {
	b, err := z.score.Append(nil, s)
	return string(b), invalid(err)
}

// Increase adds by to the score of m, 0 if it is not there, and gives the sum.
// The first one gives the key its TTL, in the same step. A whole score stays one:
// a sum beyond what a score holds exactly, 2^53 either way, is refused before
// anything changes (class Invalid). A score that is a time cannot be increased.
func (z ZSet[M, S]) Increase(m M, by S, options ...keywright.WriteOption) keywright.Op[S] {
	k, score := z.Key, z.score
	text, err := encode(z.codec, m)
	if score.By == nil {
		return failing(plain(k, "increase", keywright.Writes, z.oneScore, "ZINCRBY"),
			firstOf(err, invalid(value.Bad("is a time, which is set and not increased"))))
	}
	amount, bad := score.By(nil, by)
	err = firstOf(err, invalid(bad))
	if score.Most == 0 {
		return change(k, "increase", z.oneScore,
			writing{command: "ZINCRBY", args: []string{string(amount), text}, mode: add, options: options, err: err})
	}
	ms, asked, bad := k.entry.Choose(options)
	op := spec(k, "increase", keywright.Writes, z.increased)
	op.Err = firstOf(op.Err, err, bad)
	op.Script, op.Keys = increaseScript, []string{k.key}
	op.Args = []string{strconv.FormatInt(ms, 10), Rule(k.entry, asked), strconv.FormatInt(score.Most, 10),
		string(amount), text}
	return kernel.NewOp(op)
}

// Score reads the score of m; ErrNotFound if it is no member.
func (z ZSet[M, S]) Score(m M) keywright.Op[S] {
	text, err := encode(z.codec, m)
	return failing(read(z.Key, "score", z.oneScore, "ZSCORE", text), err)
}

// Rank returns how many members have a lower score than m; ErrNotFound if m is none.
func (z ZSet[M, S]) Rank(m M) keywright.Op[int64] {
	text, err := encode(z.codec, m)
	return failing(read(z.Key, "rank", asInt, "ZRANK", text), err)
}

// RankFromTop returns how many members have a higher score than m.
func (z ZSet[M, S]) RankFromTop(m M) keywright.Op[int64] {
	text, err := encode(z.codec, m)
	return failing(read(z.Key, "rank from top", asInt, "ZREVRANK", text), err)
}

// Top reads the n members with the highest scores, the highest first.
func (z ZSet[M, S]) Top(n int64) keywright.Op[[]Scored[M, S]] {
	return z.ends("top", n, "REV")
}

// Bottom reads the n members with the lowest scores, the lowest first.
func (z ZSet[M, S]) Bottom(n int64) keywright.Op[[]Scored[M, S]] { return z.ends("bottom", n) }

func (z ZSet[M, S]) ends(name string, n int64, order ...string) keywright.Op[[]Scored[M, S]] {
	args := append([]string{"0", strconv.FormatInt(n-1, 10)}, order...)
	return failing(read(z.Key, name, z.scores, "ZRANGE", append(args, "WITHSCORES")...), counted(n))
}

// Between reads at most n members with scores from low to high, both included,
// the lowest first.
func (z ZSet[M, S]) Between(low, high S, n int64) keywright.Op[[]Scored[M, S]] {
	from, err1 := z.text(low)
	to, err2 := z.text(high)
	return failing(read(z.Key, "between", z.scores, "ZRANGE", from, to, "BYSCORE", "LIMIT", "0",
		strconv.FormatInt(n, 10), "WITHSCORES"), firstOf(err1, err2, counted(n)))
}

// Count returns how many members have scores from low to high, both included.
func (z ZSet[M, S]) Count(low, high S) keywright.Op[int64] {
	from, err1 := z.text(low)
	to, err2 := z.text(high)
	return failing(read(z.Key, "count", asInt, "ZCOUNT", from, to), firstOf(err1, err2))
}

// Len returns how many members there are.
func (z ZSet[M, S]) Len() keywright.Op[int64] { return read(z.Key, "len", asInt, "ZCARD") }

// Remove removes members and gives how many were there.
func (z ZSet[M, S]) Remove(members ...M) keywright.Op[int64] {
	args, err := encodeAll(z.codec, members)
	return OrNothing(len(args), z.Key,
		failing(plain(z.Key, "remove", keywright.Idempotent, asInt, "ZREM", args...), err))
}

// RemoveBetween removes the members with scores from low to high.
func (z ZSet[M, S]) RemoveBetween(low, high S) keywright.Op[int64] {
	from, err1 := z.text(low)
	to, err2 := z.text(high)
	return failing(plain(z.Key, "remove between", keywright.Idempotent, asInt, "ZREMRANGEBYSCORE", from, to),
		firstOf(err1, err2))
}

// KeepTop removes all but the n members with the highest scores.
func (z ZSet[M, S]) KeepTop(n int64) keywright.Op[int64] {
	return failing(plain(z.Key, "keep top", keywright.Writes, asInt, "ZREMRANGEBYRANK", "0",
		strconv.FormatInt(-n-1, 10)), counted(n))
}
