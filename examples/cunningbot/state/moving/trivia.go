package moving

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/state"
	"github.com/keywright/keywright/examples/cunningbot/state/files"
	"github.com/keywright/keywright/migrate/record"
)

type trivia struct{ *Migration }

func (t trivia) Registrations(ctx context.Context, guild string) (map[string]state.Registration, error) {
	return decodedAll[state.Registration](ctx, t.at("trivia.trivia_registrations", guild))
}

func (t trivia) PutRegistration(ctx context.Context, guild, id string, r state.Registration) error {
	return t.write(ctx, t.at("trivia.trivia_registrations", guild).json(id, r))
}

// withLock does something of a game, one process at a time.
func (t trivia) withLock(ctx context.Context, guild, id string, fn func() error) error {
	return t.under(ctx, "game."+guild+"."+id, fn)
}

// game reads a game that is not gone; ErrNone.
func (t trivia) game(ctx context.Context, guild, id string) (g files.Game, err error) {
	r, err := t.at("trivia.trivia_game", guild, id).get(ctx, "")
	if err != nil {
		return g, err
	}
	if r == nil {
		return g, state.ErrNone
	}
	for _, f := range r.Fields {
		switch f.Name {
		case "question":
			g.Question = f.Value
		case "options":
			err = json.Unmarshal([]byte(f.Value), &g.Options)
		case "answer":
			g.Answer = f.Value
		case "channel_id":
			g.ChannelID = state.ID(f.Value)
		case "started_at":
			g.StartedAt, err = strconv.ParseInt(f.Value, 10, 64)
		case "ends_at":
			g.EndsAt, err = strconv.ParseInt(f.Value, 10, 64)
		case "status":
			g.Status = f.Value
		case "message_id":
			g.Message = f.Value
		}
		if err != nil {
			return g, fmt.Errorf("the field %s of a game cannot be read: %w", f.Name, err)
		}
	}
	if g.Expired() {
		return g, state.ErrNone
	}
	return g, nil
}

// put returns a game and its place in the index, which are one thing in the file.
func (t trivia) put(ctx context.Context, guild, id string, g files.Game) error {
	options, err := state.Encode(g.Options)
	if err != nil {
		return err
	}
	fields := []record.Field{{Name: "question", Value: g.Question}, {Name: "options", Value: string(options)},
		{Name: "answer", Value: g.Answer}, {Name: "channel_id", Value: string(g.ChannelID)},
		{Name: "started_at", Value: fmt.Sprint(g.StartedAt)}, {Name: "ends_at", Value: fmt.Sprint(g.EndsAt)},
		{Name: "status", Value: g.Status}}
	if g.Message != "" {
		fields = append(fields, record.Field{Name: "message_id", Value: g.Message})
	}
	return t.write(ctx, t.at("trivia.trivia_game", guild, id).is("", func(r *record.Record) {
		r.Fields, r.Ends = fields, time.Unix(g.StartedAt, 0).Add(24*time.Hour)
	}), t.at("trivia.trivia_active", guild).score(id, g.EndsAt))
}

func (t trivia) change(ctx context.Context, guild, id string, fn func(g *files.Game) error) error {
	return t.withLock(ctx, guild, id, func() error {
		g, err := t.game(ctx, guild, id)
		if err == nil {
			err = fn(&g)
		}
		if err != nil {
			return err
		}
		return t.put(ctx, guild, id, g)
	})
}

func (t trivia) Open(ctx context.Context, guild, id string, g state.NewGame) (made bool, err error) {
	err = t.withLock(ctx, guild, id, func() error {
		if _, err := t.game(ctx, guild, id); err != state.ErrNone {
			return err
		}
		if played, err := t.Played(ctx, guild, id); err != nil || played {
			return err
		}
		now := time.Now()
		made = true
		return t.put(ctx, guild, id, files.Game{Question: g.Question, Options: g.Options, Answer: g.Answer,
			ChannelID: state.ID(g.ChannelID), StartedAt: now.Unix(), EndsAt: now.Add(g.Lasts).Unix(), Status: "open"})
	})
	return made && err == nil, err
}

func (t trivia) Game(ctx context.Context, guild, id string) (state.Game, error) {
	g, err := t.game(ctx, guild, id)
	if err != nil {
		return state.Game{}, err
	}
	out := g.AsPlayed()
	answers, err := t.answers(guild, id).subs(ctx)
	out.Submissions = len(answers)
	return out, err
}

func (t trivia) answers(guild, id string) place {
	return t.at("trivia.trivia_submissions", guild, id)
}

func (t trivia) Played(ctx context.Context, guild, id string) (bool, error) {
	r, err := t.at("trivia.trivia_history", guild).get(ctx, id)
	return r != nil, err
}

func (t trivia) Posted(ctx context.Context, guild, id, message string) error {
	err := t.change(ctx, guild, id, func(g *files.Game) error { g.Message = message; return nil })
	if err == state.ErrNone {
		return nil
	}
	return err
}

func (t trivia) Submit(ctx context.Context, guild, id, user string, a state.Answer) (n int, err error) {
	err = t.withLock(ctx, guild, id, func() error {
		g, err := t.game(ctx, guild, id)
		if err != nil {
			return err
		}
		if g.Status == "closed" || time.Now().Unix() > g.EndsAt {
			return state.ErrClosed
		}
		if err := t.write(ctx, t.answers(guild, id).json(user, a)); err != nil {
			return err
		}
		all, err := t.answers(guild, id).subs(ctx)
		n = len(all)
		return err
	})
	return n, err
}

func (t trivia) Due(ctx context.Context, guild string) (due []string, err error) {
	active, err := t.at("trivia.trivia_active", guild).scores(ctx)
	now := time.Now().Unix()
	for _, id := range byScore(active) {
		if active[id] <= now {
			due = append(due, id)
		}
	}
	return due[:min(len(due), 1000)], err
}

func (t trivia) Close(ctx context.Context, guild, id string, early bool) error {
	return t.change(ctx, guild, id, func(g *files.Game) error { return g.Close(early) })
}

func (t trivia) Submissions(ctx context.Context, guild, id string) (map[string]state.Answer, error) {
	return decodedAll[state.Answer](ctx, t.answers(guild, id))
}

// Finish writes the result first, then the answers go, then the game: one that is killed in between
// is gone on with by the next, and the first result counts.
func (t trivia) Finish(ctx context.Context, guild, id string, r state.Result) error {
	return t.withLock(ctx, guild, id, func() error {
		played, err := t.Played(ctx, guild, id)
		if err != nil {
			return err
		}
		_, err = t.game(ctx, guild, id)
		if err != nil && err != state.ErrNone {
			return err
		}
		if err == nil && !played {
			if err := t.result(ctx, guild, id, r); err != nil {
				return err
			}
		}
		users, err := t.answers(guild, id).subs(ctx)
		if err != nil {
			return err
		}
		for some := range slices.Chunk(users, inOne) {
			var edits []edit
			for _, user := range some {
				edits = append(edits, t.answers(guild, id).deletion(user))
			}
			if err := t.write(ctx, edits...); err != nil {
				return err
			}
		}
		return t.write(ctx, t.at("trivia.trivia_game", guild, id).deletion(""),
			t.at("trivia.trivia_active", guild).deletion(id))
	})
}

// result writes a result and its place in the history, and drops those that are older than 30 days.
func (t trivia) result(ctx context.Context, guild, id string, r state.Result) error {
	text, err := state.Encode(r)
	if err != nil {
		return err
	}
	history := t.at("trivia.trivia_history", guild)
	played, err := history.scores(ctx)
	if err != nil {
		return err
	}
	edits := []edit{t.at("trivia.trivia_result", guild, id).is("", func(c *record.Record) {
		c.Value, c.Ends = text, r.EndedAt.Add(7*24*time.Hour)
	}), history.score(id, r.EndedAt.Unix())}
	for old, at := range played {
		if time.Since(time.Unix(at, 0)) > 30*24*time.Hour && len(edits) < inOne-2 {
			edits = append(edits, t.at("trivia.trivia_result", guild, old).deletion(""), history.deletion(old))
		}
	}
	return t.write(ctx, edits...)
}

func (t trivia) Result(ctx context.Context, guild, id string) (r state.Result, err error) {
	text, err := t.at("trivia.trivia_result", guild, id).text(ctx, "")
	if err == nil && text == "" {
		err = state.ErrNone
	}
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal([]byte(text), &r)
}
