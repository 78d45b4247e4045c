package typed

import (
	"context"
	"errors"
	"iter"
	"strconv"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/kernel"
	"github.com/keywright/keywright/value"
)

// ZSet represents a set of members sorted by their scores.
type ZSet[M, S any] struct {
	Removable
	codec *value.Codec[M]
	score *value.Score[S]
}

// NewZSet makes a handle; generated code calls it.
func NewZSet[M, S any](b keywright.Binding, c *value.Codec[M], s *value.Score[S]) ZSet[M, S] {
	return ZSet[M, S]{Removable{NewKey(b)}, c, s}
}

// Scored represents a member with its score.
type Scored[M, S any] struct {
	Member M
	Score  S
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
func (z ZSet[M, S]) scores(r kernel.Reply) ([]Scored[M, S], error) {
	rows, err := r.AsZScores()
	if kernel.IsNil(err) {
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

func (z ZSet[M, S]) oneScore(r kernel.Reply) (s S, err error) {
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
func (z ZSet[M, S]) increased(r kernel.Reply) (s S, err error) {
	if s, err = z.oneScore(r); err == keywright.ErrNotFound {
		err = invalid(errors.New("the score would leave what it holds exactly, or is not whole; nothing was changed"))
	}
	return s, err
}
