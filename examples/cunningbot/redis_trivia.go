package cunningbot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/cunningbot/cunningkeys"
)

type redisTrivia struct{ k *cunningkeys.Keyspace }

func (r redisTrivia) Registrations(ctx context.Context, guild string) (map[string]Registration, error) {
	return decoded[Registration](r.k.TriviaRegistrations(guild).All().Do(ctx))
}

func (r redisTrivia) PutRegistration(ctx context.Context, guild, id string, reg Registration) error {
	text, err := encode(reg)
	if err == nil {
		_, err = r.k.TriviaRegistrations(guild).Set(id, text).Do(ctx)
	}
	return err
}

func (r redisTrivia) Open(ctx context.Context, guild, id string, g NewGame) (bool, error) {
	text, err := encode(g.Options)
	if err != nil {
		return false, err
	}
	n, err := r.k.TriviaOpen(guild, id, id, g.Question, text, g.Answer, g.ChannelID, int64(g.Lasts/time.Second)).Do(ctx)
	return n == 1, err
}

func (r redisTrivia) Game(ctx context.Context, guild, id string) (g Game, err error) {
	v, err := r.k.TriviaGame(guild, id).Get().Do(ctx)
	if err != nil {
		return g, none(err)
	}
	g = Game{NewGame: NewGame{Question: v.Question, Answer: v.Answer, ChannelID: v.ChannelID,
		Lasts: v.EndsAt.Sub(v.StartedAt)},
		StartedAt: v.StartedAt, EndsAt: v.EndsAt, Closed: v.Status == cunningkeys.TriviaGameValueStatusClosed}
	if v.SubmissionCount != nil {
		g.Submissions = int(*v.SubmissionCount)
	}
	if v.MessageID != nil {
		g.Message = *v.MessageID
	}
	if err := json.Unmarshal(v.Options, &g.Options); err != nil {
		return g, fmt.Errorf("the options of a game cannot be read: %w", err)
	}
	return g, nil
}

func (r redisTrivia) Played(ctx context.Context, guild, id string) (bool, error) {
	_, err := r.k.TriviaHistory(guild).Score(id).Do(ctx)
	if errors.Is(err, keywright.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (r redisTrivia) Posted(ctx context.Context, guild, id, message string) error {
	_, err := r.k.TriviaPosted(guild, id, message).Do(ctx)
	return err
}

func (r redisTrivia) Submit(ctx context.Context, guild, id, user string, a Answer) (int, error) {
	text, err := encode(a)
	if err != nil {
		return 0, err
	}
	n, err := r.k.TriviaSubmit(guild, id, user, text).Do(ctx)
	switch {
	case err != nil:
		return 0, err
	case n == -1:
		return 0, ErrNone
	case n == -2:
		return 0, ErrClosed
	}
	return int(n), nil
}

func (r redisTrivia) Due(ctx context.Context, guild string) ([]string, error) {
	// By this machine's clock; Close asks the server's.
	due, err := r.k.TriviaActive(guild).Between(time.Unix(0, 0), time.Now(), 1000).Do(ctx)
	out := make([]string, len(due))
	for i, d := range due {
		out[i] = d.Member
	}
	return out, err
}

func (r redisTrivia) Close(ctx context.Context, guild, id string, early bool) error {
	at := int64(0)
	if early {
		at = 1
	}
	n, err := r.k.TriviaClose(guild, id, id, at).Do(ctx)
	switch {
	case err != nil:
		return err
	case n == -1:
		return ErrNone
	case n == -2:
		return ErrEarly
	}
	return nil
}

func (r redisTrivia) Submissions(ctx context.Context, guild, id string) (map[string]Answer, error) {
	out := map[string]Answer{}
	for pair, err := range r.k.TriviaSubmissions(guild, id).Each(ctx, piece) {
		var a Answer
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(pair.Value, &a); err != nil {
			return nil, fmt.Errorf("an answer cannot be read: %w", err)
		}
		out[pair.Field] = a
	}
	return out, nil
}

func (r redisTrivia) Finish(ctx context.Context, guild, id string, result Result) error {
	text, err := encode(result)
	if err == nil {
		_, err = r.k.TriviaFinish(guild, id, id, result.EndedAt, text).Do(ctx)
	}
	return err
}

func (r redisTrivia) Result(ctx context.Context, guild, id string) (out Result, err error) {
	text, err := r.k.TriviaResult(guild, id).Get().Do(ctx)
	if err != nil {
		return out, none(err)
	}
	return out, json.Unmarshal(text, &out)
}
