package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/cunningbot/cunningkeys"
	"github.com/keywright/keywright/examples/cunningbot/state"
)

type trivia struct{ k *cunningkeys.Keyspace }

func (r trivia) Registrations(ctx context.Context, guild string) (map[string]state.Registration, error) {
	return state.Decoded[state.Registration](r.k.TriviaRegistrations(guild).All().Do(ctx))
}

func (r trivia) PutRegistration(ctx context.Context, guild, id string, reg state.Registration) error {
	text, err := state.Encode(reg)
	if err == nil {
		_, err = r.k.TriviaRegistrations(guild).Set(id, text).Do(ctx)
	}
	return err
}

func (r trivia) Open(ctx context.Context, guild, id string, g state.NewGame) (bool, error) {
	text, err := state.Encode(g.Options)
	if err != nil {
		return false, err
	}
	n, err := r.k.TriviaOpen(guild, id, id, g.Question, text, g.Answer, g.ChannelID, int64(g.Lasts/time.Second)).Do(ctx)
	return n == 1, err
}

func (r trivia) Game(ctx context.Context, guild, id string) (g state.Game, err error) {
	v, err := r.k.TriviaGame(guild, id).Get().Do(ctx)
	if err != nil {
		return g, none(err)
	}
	g = state.Game{NewGame: state.NewGame{Question: v.Question, Answer: v.Answer, ChannelID: v.ChannelID,
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

func (r trivia) Played(ctx context.Context, guild, id string) (bool, error) {
	_, err := r.k.TriviaHistory(guild).Score(id).Do(ctx)
	if errors.Is(err, keywright.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (r trivia) Posted(ctx context.Context, guild, id, message string) error {
	_, err := r.k.TriviaPosted(guild, id, message).Do(ctx)
	return err
}

func (r trivia) Submit(ctx context.Context, guild, id, user string, a state.Answer) (int, error) {
	text, err := state.Encode(a)
	if err != nil {
		return 0, err
	}
	n, err := r.k.TriviaSubmit(guild, id, user, text).Do(ctx)
	switch {
	case err != nil:
		return 0, err
	case n == -1:
		return 0, state.ErrNone
	case n == -2:
		return 0, state.ErrClosed
	}
	return int(n), nil
}

func (r trivia) Due(ctx context.Context, guild string) ([]string, error) {
	// By this machine's clock; Close asks the server's.
	due, err := r.k.TriviaActive(guild).Between(time.Unix(0, 0), time.Now(), 1000).Do(ctx)
	out := make([]string, len(due))
	for i, d := range due {
		out[i] = d.Member
	}
	return out, err
}

func (r trivia) Close(ctx context.Context, guild, id string, early bool) error {
	at := int64(0)
	if early {
		at = 1
	}
	n, err := r.k.TriviaClose(guild, id, id, at).Do(ctx)
	switch {
	case err != nil:
		return err
	case n == -1:
		return state.ErrNone
	case n == -2:
		return state.ErrEarly
	}
	return nil
}

func (r trivia) Submissions(ctx context.Context, guild, id string) (map[string]state.Answer, error) {
	out := map[string]state.Answer{}
	for pair, err := range r.k.TriviaSubmissions(guild, id).Each(ctx, piece) {
		var a state.Answer
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

func (r trivia) Finish(ctx context.Context, guild, id string, result state.Result) error {
	text, err := state.Encode(result)
	if err == nil {
		_, err = r.k.TriviaFinish(guild, id, id, result.EndedAt, text).Do(ctx)
	}
	return err
}

func (r trivia) Result(ctx context.Context, guild, id string) (out state.Result, err error) {
	text, err := r.k.TriviaResult(guild, id).Get().Do(ctx)
	if err != nil {
		return out, none(err)
	}
	return out, json.Unmarshal(text, &out)
}
