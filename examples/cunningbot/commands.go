package cunningbot

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/outside"
	"github.com/keywright/keywright/examples/cunningbot/state"
	"github.com/keywright/keywright/keyspace/key"
)

func askCommand(b *Bot, ctx context.Context, guild, _ string, o options) (string, error) {
	if b.Model == nil {
		return "There is no model to ask: OPENAI_API_KEY is not set.", nil
	}
	if says := b.ask(ctx, guild, "Answer in at most five sentences.", o["question"]); says != "" {
		return says, nil
	}
	return "The model did not answer. Try again in a moment.", nil
}

func personaCommand(b *Bot, ctx context.Context, guild, _ string, o options) (string, error) {
	return "It is chosen.", b.Store.Settings.SetPersona(ctx, guild, outside.Cut(o["text"], 2000))
}

func feedCommand(b *Bot, ctx context.Context, guild, channel string, o options) (string, error) {
	name := o["name"]
	if len(name) > 100 {
		return "", &usageError{"The name is too long."}
	}
	if o["url"] == "" {
		return "It is not read any more.", b.Store.Feeds.RemoveFeed(ctx, guild, name)
	}
	at, err := url.Parse(o["url"])
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || len(o["url"]) > 1000 {
		return "", &usageError{"The url must begin with https:// or http://."}
	}
	feeds, err := b.Store.Feeds.Feeds(ctx, guild)
	if err != nil {
		return "", err
	}
	for other := range feeds {
		if other != name && state.Slug(other) == state.Slug(name) {
			return "", &usageError{fmt.Sprintf("The name is too much like %q.", other)}
		}
	}
	if _, known := feeds[name]; !known && len(feeds) >= 100 {
		return "", &usageError{"There are 100 feeds already."}
	}
	return "It is read from now on.", b.Store.Feeds.PutFeed(ctx, guild, name,
		state.Feed{URL: o["url"], ChannelID: state.ID(channel)})
}

func topicCommand(b *Bot, ctx context.Context, guild, channel string, o options) (string, error) {
	word := strings.ToLower(o["word"])
	if len(word) > 100 {
		return "", &usageError{"The word is too long."}
	}
	if o["off"] != "" {
		return "It is a topic no more.", b.Store.Breaking.RemoveTopic(ctx, guild, word)
	}
	topics, err := b.Store.Breaking.Topics(ctx, guild)
	if err != nil {
		return "", err
	}
	if len(topics) >= 100 && !slices.Contains(topics, word) {
		return "", &usageError{"There are 100 topics already."}
	}
	return "It is a topic from now on.", b.Store.Breaking.PutTopic(ctx, guild, word, channel)
}

func windowCommand(b *Bot, ctx context.Context, guild, channel string, o options) (string, error) {
	hours, err := strconv.ParseInt(o["hours"], 10, 64)
	if err != nil || hours < 6 || hours > 168 {
		return "", &usageError{"It must be 6 to 168 hours."}
	}
	return "It is set.", b.Store.History.SetWindow(ctx, guild, channel, hours)
}

func triviaCommand(b *Bot, ctx context.Context, guild, channel string, o options) (string, error) {
	minute, err := clock(o["time"])
	if err != nil {
		return "", err
	}
	if key.Slug(o["id"]) != "" || len(o["id"]) > 40 {
		return "", &usageError{"The id must be of a-z, 0-9, - and _."}
	}
	lasts := 60
	if o["minutes"] != "" {
		if lasts, err = strconv.Atoi(o["minutes"]); err != nil || lasts < 1 || lasts > maxLasts/60 {
			return "", &usageError{"A game lasts 1 to 720 minutes."}
		}
	}
	now := time.Now().UTC()
	return "There is a game each day.", b.Store.Trivia.PutRegistration(ctx, guild, o["id"],
		state.Registration{ChannelID: state.ID(channel), Topic: outside.Cut(o["topic"], 200), Minute: minute,
			Lasts: lasts * 60, Added: &now})
}

func closeCommand(b *Bot, ctx context.Context, guild, _ string, o options) (string, error) {
	if key.Slug(o["game"]) != "" {
		return "There is no such game.", nil
	}
	err := b.Store.Trivia.Close(ctx, guild, o["game"], true)
	if errors.Is(err, state.ErrNone) {
		return "There is no such game.", nil
	}
	return "It is closed. The result comes in a minute.", err
}

func resultCommand(b *Bot, ctx context.Context, guild, _ string, o options) (string, error) {
	if key.Slug(o["game"]) != "" {
		return "There is no such game.", nil
	}
	r, err := b.Store.Trivia.Result(ctx, guild, o["game"])
	if errors.Is(err, state.ErrNone) {
		return "There is no such game, or it goes on.", nil
	}
	return resultText(r), err
}

func dailyCommand(b *Bot, ctx context.Context, guild, channel string, o options) (string, error) {
	minute, err := clock(o["time"])
	if err != nil {
		return "", err
	}
	if len(o["name"]) > 100 {
		return "", &usageError{"The name is too long."}
	}
	now := time.Now().UTC()
	return "It is posted each day.", b.Store.Daily.PutGame(ctx, guild, o["name"],
		state.DailyGame{ChannelID: state.ID(channel), Text: outside.Cut(o["text"], outside.MaxText), Added: &now,
			Minute: minute})
}

// clock reads a time as minutes of the day.
func clock(text string) (int, error) {
	at, err := time.Parse("15:04", text)
	if err != nil {
		return 0, &usageError{"The time must be like 18:30."}
	}
	return at.Hour()*60 + at.Minute(), nil
}
