package typed

import (
	"context"
	"errors"
	"iter"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/value"
	"github.com/redis/rueidis"
)

// ZSet is a set of members sorted by their scores.
type ZSet[M, S any] struct {
	Removable
	codec *value.Codec[M]
	score *value.Score[S]
}

// NewZSet makes a handle; generated code calls it.
func NewZSet[M, S any](k Key, c *value.Codec[M], s *value.Score[S]) ZSet[M, S] {
	return ZSet[M, S]{Removable{k}, c, s}
}

// Scored is a member with its score.
type Scored[M, S any] struct {
	Member M
	Score  S
}

// Later is the operations to queue in a Batch or a transaction.
func (z ZSet[M, S]) Later() ZSetOps[M, S] { return ZSetOps[M, S]{z} }

// Add gives m the score s, and reports whether m is new.
func (z ZSet[M, S]) Add(ctx context.Context, m M, s S, options ...keywright.WriteOption) (bool, error) {
	n, err := z.Later().AddAll([]Scored[M, S]{{m, s}}, options...).Do(ctx)
	return n > 0, err
}

// AddAll gives members their scores and gives how many are new.
func (z ZSet[M, S]) AddAll(ctx context.Context, members []Scored[M, S], options ...keywright.WriteOption) (int64, error) {
	return z.Later().AddAll(members, options...).Do(ctx)
}

// AddNew adds members that are not there and leaves the scores of the others.
func (z ZSet[M, S]) AddNew(ctx context.Context, members []Scored[M, S], options ...keywright.WriteOption) (int64, error) {
	return z.Later().AddNew(members, options...).Do(ctx)
}

// Raise gives members their scores unless they have higher ones, and gives how
// many are new.
func (z ZSet[M, S]) Raise(ctx context.Context, members []Scored[M, S], options ...keywright.WriteOption) (int64, error) {
	return z.Later().Raise(members, options...).Do(ctx)
}

// Replace writes these members and no others stay, in one step.
func (z ZSet[M, S]) Replace(ctx context.Context, members []Scored[M, S], options ...keywright.WriteOption) error {
	_, err := z.Later().Replace(members, options...).Do(ctx)
	return err
}

// Increase adds by to the score of m, 0 if it is not there, and gives the sum.
// The first one gives the key its TTL, in the same step. A whole score stays one:
// a sum beyond what a score holds exactly, 2^53 either way, is refused before
// anything changes (class Invalid). A score that is a time cannot be increased.
func (z ZSet[M, S]) Increase(ctx context.Context, m M, by S, options ...keywright.WriteOption) (S, error) {
	return z.Later().Increase(m, by, options...).Do(ctx)
}

// Score reads the score of m; ErrNotFound if it is no member.
func (z ZSet[M, S]) Score(ctx context.Context, m M) (S, error) { return z.Later().Score(m).Do(ctx) }

// Rank is how many members have a lower score than m; ErrNotFound if m is none.
func (z ZSet[M, S]) Rank(ctx context.Context, m M) (int64, error) { return z.Later().Rank(m).Do(ctx) }

// RankFromTop is how many members have a higher score than m.
func (z ZSet[M, S]) RankFromTop(ctx context.Context, m M) (int64, error) {
	return z.Later().RankFromTop(m).Do(ctx)
}

// Top reads the n members with the highest scores, the highest first.
func (z ZSet[M, S]) Top(ctx context.Context, n int64) ([]Scored[M, S], error) {
	return z.Later().Top(n).Do(ctx)
}

// Bottom reads the n members with the lowest scores, the lowest first.
func (z ZSet[M, S]) Bottom(ctx context.Context, n int64) ([]Scored[M, S], error) {
	return z.Later().Bottom(n).Do(ctx)
}

// Between reads at most n members with scores from low to high, both included,
// the lowest first.
func (z ZSet[M, S]) Between(ctx context.Context, low, high S, n int64) ([]Scored[M, S], error) {
	return z.Later().Between(low, high, n).Do(ctx)
}

// Count is how many members have scores from low to high, both included.
func (z ZSet[M, S]) Count(ctx context.Context, low, high S) (int64, error) {
	return z.Later().Count(low, high).Do(ctx)
}

// Len is how many members there are.
func (z ZSet[M, S]) Len(ctx context.Context) (int64, error) { return z.Later().Len().Do(ctx) }

// Remove removes members and gives how many were there.
func (z ZSet[M, S]) Remove(ctx context.Context, members ...M) (int64, error) {
	return z.Later().Remove(members...).Do(ctx)
}

// RemoveBetween removes the members with scores from low to high.
func (z ZSet[M, S]) RemoveBetween(ctx context.Context, low, high S) (int64, error) {
	return z.Later().RemoveBetween(low, high).Do(ctx)
}

// KeepTop removes all but the n members with the highest scores.
func (z ZSet[M, S]) KeepTop(ctx context.Context, n int64) (int64, error) {
	return z.Later().KeepTop(n).Do(ctx)
}

// Each walks over the members in portions of about batch, a round trip each, in
// no order (ZSCAN).
func (z ZSet[M, S]) Each(ctx context.Context, batch int) iter.Seq2[Scored[M, S], error] {
	return scan(ctx, z.Key, "ZSCAN", 2, batch, func(texts []string) (out Scored[M, S], err error) {
		f, err := strconv.ParseFloat(texts[1], 64)
		if err != nil {
			return out, decodeError(value.Bad("has a score that is no number"))
		}
		return z.scored(texts[0], f)
	})
}

func (z ZSet[M, S]) scored(text string, f float64) (out Scored[M, S], err error) {
	if out.Member, err = decoded(z.codec, text); err != nil {
		return out, err
	}
	if out.Score, err = z.score.From(f); err != nil {
		return out, decodeError(err)
	}
	return out, nil
}

// scores decodes members with scores.
func (z ZSet[M, S]) scores(r rueidis.RedisResult) ([]Scored[M, S], error) {
	rows, err := r.AsZScores()
	if rueidis.IsRedisNil(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := make([]Scored[M, S], len(rows))
	for i, row := range rows {
		if out[i], err = z.scored(row.Member, row.Score); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (z ZSet[M, S]) oneScore(r rueidis.RedisResult) (s S, err error) {
	f, err := r.AsFloat64()
	if err != nil {
		return s, missing(err)
	}
	if s, err = z.score.From(f); err != nil {
		return s, decodeError(err)
	}
	return s, nil
}

// increased decodes what increase.lua returns: nil says that the sum was refused.
func (z ZSet[M, S]) increased(r rueidis.RedisResult) (s S, err error) {
	if s, err = z.oneScore(r); err == keywright.ErrNotFound {
		err = invalid(errors.New("the score would leave what it holds exactly, or is not whole; nothing was changed"))
	}
	return s, err
}
