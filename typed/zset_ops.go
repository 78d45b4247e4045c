package typed

import (
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/value"
)

// ZSetOps are the operations of a ZSet, to be queued.
type ZSetOps[M, S any] struct{ z ZSet[M, S] }

// AddAll is ZSet.AddAll.
func (o ZSetOps[M, S]) AddAll(members []Scored[M, S], options ...keywright.WriteOption) keywright.Op[int64] {
	return o.add("add", nil, members, add, options)
}

// AddNew is ZSet.AddNew.
func (o ZSetOps[M, S]) AddNew(members []Scored[M, S], options ...keywright.WriteOption) keywright.Op[int64] {
	return o.add("add new", []string{"NX"}, members, add, options)
}

// Raise is ZSet.Raise.
func (o ZSetOps[M, S]) Raise(members []Scored[M, S], options ...keywright.WriteOption) keywright.Op[int64] {
	return o.add("raise", []string{"GT"}, members, add, options)
}

// Replace is ZSet.Replace.
func (o ZSetOps[M, S]) Replace(members []Scored[M, S], options ...keywright.WriteOption) keywright.Op[int64] {
	return o.add("replace", nil, members, replace, options)
}

func (o ZSetOps[M, S]) add(name string, heads []string, members []Scored[M, S], m mode, options []keywright.WriteOption) keywright.Op[int64] {
	args := make([]string, 0, 2*len(members))
	var failed error
	for _, member := range members {
		text, err := encode(o.z.codec, member.Member)
		score, bad := o.score(member.Score)
		if failed = firstOf(failed, err, bad); failed != nil {
			break
		}
		args = append(args, score, text)
	}
	op := change(o.z.Key, name, asInt, writing{command: "ZADD", heads: heads, args: args, width: 2, mode: m, options: options, err: failed})
	if m == replace {
		return op
	}
	return OrNothing(len(members), o.z.Key, op)
}

func (o ZSetOps[M, S]) score(s S) (string, error) {
	b, err := o.z.score.Append(nil, s)
	return string(b), invalid(err)
}

// Increase is ZSet.Increase.
func (o ZSetOps[M, S]) Increase(m M, by S, options ...keywright.WriteOption) keywright.Op[S] {
	k, score := o.z.Key, o.z.score
	text, err := encode(o.z.codec, m)
	if score.By == nil {
		return failing(plain(k, "increase", keywright.Writes, o.z.oneScore, "ZINCRBY"), firstOf(err, invalid(value.Bad("is a time, which is set and not increased"))))
	}
	amount, bad := score.By(nil, by)
	err = firstOf(err, invalid(bad))
	if score.Most == 0 {
		return change(k, "increase", o.z.oneScore, writing{command: "ZINCRBY", args: []string{string(amount), text}, mode: add, options: options, err: err})
	}
	ms, asked, bad := k.entry.Choose(options)
	op := spec(k, "increase", keywright.Writes, o.z.increased)
	op.Err = firstOf(op.Err, err, bad)
	op.Script, op.Keys = increaseScript, []string{k.key}
	op.Args = []string{strconv.FormatInt(ms, 10), Rule(k.entry, asked), strconv.FormatInt(score.Most, 10), string(amount), text}
	return keywright.NewOp(op)
}

// Score is ZSet.Score.
func (o ZSetOps[M, S]) Score(m M) keywright.Op[S] {
	text, err := encode(o.z.codec, m)
	return failing(read(o.z.Key, "score", o.z.oneScore, "ZSCORE", text), err)
}

// Rank is ZSet.Rank.
func (o ZSetOps[M, S]) Rank(m M) keywright.Op[int64] {
	text, err := encode(o.z.codec, m)
	return failing(read(o.z.Key, "rank", asInt, "ZRANK", text), err)
}

// RankFromTop is ZSet.RankFromTop.
func (o ZSetOps[M, S]) RankFromTop(m M) keywright.Op[int64] {
	text, err := encode(o.z.codec, m)
	return failing(read(o.z.Key, "rank from top", asInt, "ZREVRANK", text), err)
}

// Top is ZSet.Top.
func (o ZSetOps[M, S]) Top(n int64) keywright.Op[[]Scored[M, S]] {
	return o.ends("top", n, "REV")
}

// Bottom is ZSet.Bottom.
func (o ZSetOps[M, S]) Bottom(n int64) keywright.Op[[]Scored[M, S]] { return o.ends("bottom", n) }

func (o ZSetOps[M, S]) ends(name string, n int64, order ...string) keywright.Op[[]Scored[M, S]] {
	args := append([]string{"0", strconv.FormatInt(n-1, 10)}, order...)
	return failing(read(o.z.Key, name, o.z.scores, "ZRANGE", append(args, "WITHSCORES")...), counted(n))
}

// Between is ZSet.Between.
func (o ZSetOps[M, S]) Between(low, high S, n int64) keywright.Op[[]Scored[M, S]] {
	from, err1 := o.score(low)
	to, err2 := o.score(high)
	return failing(read(o.z.Key, "between", o.z.scores, "ZRANGE", from, to, "BYSCORE", "LIMIT", "0", strconv.FormatInt(n, 10), "WITHSCORES"), firstOf(err1, err2, counted(n)))
}

// Count is ZSet.Count.
func (o ZSetOps[M, S]) Count(low, high S) keywright.Op[int64] {
	from, err1 := o.score(low)
	to, err2 := o.score(high)
	return failing(read(o.z.Key, "count", asInt, "ZCOUNT", from, to), firstOf(err1, err2))
}

// Len is ZSet.Len.
func (o ZSetOps[M, S]) Len() keywright.Op[int64] { return read(o.z.Key, "len", asInt, "ZCARD") }

// Remove is ZSet.Remove.
func (o ZSetOps[M, S]) Remove(members ...M) keywright.Op[int64] {
	args, err := encodeAll(o.z.codec, members)
	return OrNothing(len(args), o.z.Key, failing(plain(o.z.Key, "remove", keywright.Idempotent, asInt, "ZREM", args...), err))
}

// RemoveBetween is ZSet.RemoveBetween.
func (o ZSetOps[M, S]) RemoveBetween(low, high S) keywright.Op[int64] {
	from, err1 := o.score(low)
	to, err2 := o.score(high)
	return failing(plain(o.z.Key, "remove between", keywright.Idempotent, asInt, "ZREMRANGEBYSCORE", from, to), firstOf(err1, err2))
}

// KeepTop is ZSet.KeepTop.
func (o ZSetOps[M, S]) KeepTop(n int64) keywright.Op[int64] {
	return failing(plain(o.z.Key, "keep top", keywright.Writes, asInt, "ZREMRANGEBYRANK", "0", strconv.FormatInt(-n-1, 10)), counted(n))
}
