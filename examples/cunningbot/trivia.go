package cunningbot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/outside"
	"github.com/keywright/keywright/examples/cunningbot/state"
)

// TriviaPoster opens the games of a guild whose time has come and posts them, once each, up to an
// hour late after an outage. A game is there before it is posted: killed in between, it is posted
// by the next poll.
func (b *Bot) TriviaPoster(ctx context.Context, guild string) error {
	registrations, err := b.Store.Trivia.Registrations(ctx, guild)
	if err != nil {
		return err
	}
	for id, r := range registrations {
		s, is := due(time.Now(), b.zone(), r.Minute, time.Hour, r.Added)
		if !is {
			continue
		}
		failed := b.Store.Locks.Try(ctx, state.LockTrivia, guild, id, func(ctx context.Context) error {
			return b.openTrivia(ctx, guild, id+"-"+s.day.Format("20060102"), r, s)
		})
		if failed != nil && !errors.Is(failed, state.ErrHeld) {
			err = errors.Join(err, fmt.Errorf("trivia %s: %w", id, failed))
		}
	}
	return err
}

func (b *Bot) openTrivia(ctx context.Context, guild, id string, r state.Registration, s slot) error {
	game, err := b.Store.Trivia.Game(ctx, guild, id)
	again := err == nil
	if errors.Is(err, state.ErrNone) {
		played, err := b.Store.Trivia.Played(ctx, guild, id)
		if err != nil || played {
			return err
		}
		g := b.question(ctx, guild, id, r)
		g.ChannelID, g.Lasts = string(r.ChannelID), time.Duration(min(cmp.Or(r.Lasts, 3600), maxLasts))*time.Second
		if again, err = b.Store.Trivia.Open(ctx, guild, id, g); err != nil {
			return err
		}
		again = !again // another process has made it
		game, err = b.Store.Trivia.Game(ctx, guild, id)
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if game.Message != "" || game.Closed {
		return nil
	}
	m := outside.Message{Channel: game.ChannelID, Ref: triviaRef(guild, id), Title: "Trivia: " + r.Topic,
		Text: fmt.Sprintf("%s\n\nAnswers until <t:%d:t>.", game.Question, game.EndsAt.Unix())}
	for i, option := range game.Options {
		m.Buttons = append(m.Buttons, outside.Button{Label: option, Data: fmt.Sprintf("answer:%s:%d", id, i)})
	}
	message, err := outside.PostOnce(ctx, b.Discord, m, again, s.at)
	if err != nil {
		return err
	}
	return b.Store.Trivia.Posted(ctx, guild, id, message)
}

// maxLasts lists the seconds of a game at most: its key lives for a day.
const maxLasts = 43_200

// question asks the model for one; without, or if it answers something else, it is of the bank.
func (b *Bot) question(ctx context.Context, guild, id string, r state.Registration) state.NewGame {
	says := b.ask(ctx, guild, `Write a trivia question. Answer with JSON only: {"question": "...", `+
		`"options": ["...", "...", "...", "..."], "answer": "one of the options"}`, "Topic: "+r.Topic)
	var g struct {
		Question, Answer string
		Options          []string
	}
	if from, to := strings.Index(says, "{"), strings.LastIndex(says, "}"); from >= 0 && to > from {
		says = says[from : to+1]
	}
	ok := json.Unmarshal([]byte(says), &g) == nil && g.Question != "" && slices.Contains(g.Options, g.Answer) &&
		len(g.Options) > 1 && len(g.Options) <= 10
	if !ok {
		n := 0
		for _, c := range state.Hash(id) {
			n += int(c)
		}
		return bank[n%len(bank)]
	}
	return state.NewGame{Question: g.Question, Options: g.Options, Answer: g.Answer}
}

var bank = []state.NewGame{
	{Question: "Which planet has the shortest year?", Options: []string{"Mars", "Mercury", "Venus", "Jupiter"},
		Answer: "Mercury"},
	{Question: "How many strings has a violin?", Options: []string{"Four", "Five", "Six"}, Answer: "Four"},
	{Question: "Which metal is liquid at room temperature?", Options: []string{"Lead", "Tin", "Mercury", "Zinc"},
		Answer: "Mercury"},
	{Question: "Which ocean is the deepest?", Options: []string{"Atlantic", "Indian", "Pacific", "Arctic"},
		Answer: "Pacific"},
	{Question: "What does a lexicographer write?", Options: []string{"Maps", "Dictionaries", "Laws"},
		Answer: "Dictionaries"},
}

// TriviaCloser closes the games whose time is over: no answer after that, then the result is
// posted, then all of the game that is kept is written in one step. Killed in between, it does the
// same again: the answers are those that there were when the game was closed.
func (b *Bot) TriviaCloser(ctx context.Context, guild string) error {
	games, err := b.Store.Trivia.Due(ctx, guild)
	for _, id := range games {
		failed := b.Store.Locks.Try(ctx, state.LockTriviaGame, guild, id,
			func(ctx context.Context) error { return b.closeTrivia(ctx, guild, id) })
		if failed != nil && !errors.Is(failed, state.ErrHeld) {
			err = errors.Join(err, fmt.Errorf("game %s: %w", id, failed))
		}
	}
	return err
}

func (b *Bot) closeTrivia(ctx context.Context, guild, id string) error {
	switch err := b.Store.Trivia.Close(ctx, guild, id, false); {
	case errors.Is(err, state.ErrNone): // it was abandoned for a day
		return b.Store.Trivia.Finish(ctx, guild, id, state.Result{EndedAt: time.Now()})
	case errors.Is(err, state.ErrEarly): // by the clock of the store
		return nil
	case err != nil:
		return err
	}
	game, err := b.Store.Trivia.Game(ctx, guild, id)
	if err != nil {
		return err
	}
	answers, err := b.Store.Trivia.Submissions(ctx, guild, id)
	if err != nil {
		return err
	}
	r := result(game, answers)
	posted, err := b.wasPosted(ctx, guild, id, game)
	if err != nil {
		return err
	}
	if posted { // one that was not ends in silence
		m := outside.Message{Channel: game.ChannelID, Ref: state.Hash("result", guild, id),
			Title: "Trivia: the answer", Text: resultText(r)}
		if _, err := outside.PostOnce(ctx, b.Discord, m, true, game.EndsAt); err != nil {
			return err
		}
	}
	return b.Store.Trivia.Finish(ctx, guild, id, r)
}

// wasPosted reports whether users have seen a game: its poster may have died before it noted that.
func (b *Bot) wasPosted(ctx context.Context, guild, id string, g state.Game) (bool, error) {
	if g.Message != "" {
		return true, nil
	}
	_, err := b.Discord.Find(ctx, g.ChannelID, triviaRef(guild, id), g.StartedAt)
	if errors.Is(err, state.ErrNone) {
		return false, nil
	}
	return err == nil, err
}

// triviaRef names the message of a game.
func triviaRef(guild, id string) string { return state.Hash("trivia", guild, id) }

// result returns how a game ended: it depends on the answers only.
func result(g state.Game, answers map[string]state.Answer) state.Result {
	r := state.Result{Question: g.Question, Answer: g.Answer, Answers: len(answers), Right: []string{},
		EndedAt: g.EndsAt.UTC()}
	for user, a := range answers {
		if strings.EqualFold(strings.TrimSpace(a.Answer), g.Answer) {
			r.Right = append(r.Right, user)
		}
	}
	slices.SortFunc(r.Right, func(x, y string) int {
		return cmp.Or(answers[x].At.Compare(answers[y].At), cmp.Compare(x, y))
	})
	return r
}

func resultText(r state.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n**%s**\n%d answered, %d were right.", r.Question, r.Answer, r.Answers, len(r.Right))
	for _, user := range r.Right[:min(len(r.Right), 10)] {
		fmt.Fprintf(&b, "\n<@%s>", user)
	}
	return b.String()
}
