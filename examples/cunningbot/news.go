package cunningbot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/outside"
	"github.com/keywright/keywright/examples/cunningbot/state"
)

// RSSFeed reads the feeds of a guild. What is new is stored before it is marked as seen: killed in
// between it is stored again, which changes nothing. Each article goes one way: to the validator
// if a topic is in it, else into the summary of the feed's channel.
func (b *Bot) RSSFeed(ctx context.Context, guild string) error {
	feeds, err := b.Store.Feeds.Feeds(ctx, guild)
	if err != nil || len(feeds) == 0 {
		return err
	}
	topics, err := b.Store.Breaking.Topics(ctx, guild)
	if err != nil {
		return err
	}
	for name, f := range feeds {
		if f.On() && ctx.Err() == nil {
			if failed := b.feed(ctx, guild, name, f, topics); failed != nil {
				err = errors.Join(err, fmt.Errorf("the feed %q: %w", name, failed))
			}
		}
	}
	return err
}

// keepSeen says how many items of a feed are known at least; three times what it lists, if that is
// more.
const keepSeen = 1000

func (b *Bot) feed(ctx context.Context, guild, name string, f state.Feed, topics []string) error {
	items, err := b.Reader.Read(ctx, f.URL)
	if err != nil || len(items.List) == 0 {
		return err
	}
	ids := make([]string, len(items.List))
	byID := map[string]outside.FeedItem{}
	for i, item := range items.List {
		ids[i], byID[item.ID] = item.ID, item
	}
	unseen, err := b.Store.Feeds.Unseen(ctx, guild, name, ids)
	if err != nil {
		return err
	}
	var stored []string
	var wait []state.Article
	for _, id := range unseen {
		item := byID[id]
		a := state.Article{ID: state.StoryHash(item.URL), Item: id, Title: item.Title, URL: item.URL, Summary: item.Summary,
			Feed: name, Published: item.Published, Queued: time.Now().UTC()}
		topic := topicOf(a, topics)
		if topic == "" {
			wait = append(wait, a)
			continue
		}
		found := state.Item{Article: a, Topic: topic, ChannelID: f.ChannelID}
		if err := b.Store.Breaking.AddItem(ctx, guild, found); err != nil {
			return err
		}
		stored = append(stored, id)
	}
	n, err := b.Store.Pending.Add(ctx, guild, string(f.ChannelID), wait)
	for _, a := range wait[:n] {
		stored = append(stored, a.Item)
	}
	if len(stored) > 0 {
		err = errors.Join(err, b.Store.Feeds.MarkSeen(ctx, guild, name, stored, max(keepSeen, 3*len(ids))))
	}
	if err == nil && n < len(wait) {
		return fmt.Errorf("%d articles found no room in the channel, and are read again", len(wait)-n)
	}
	if err == nil {
		items.Done()
	}
	return err
}

// topicOf returns the first topic that is a part of the article's title or text.
func topicOf(a state.Article, topics []string) string {
	text := strings.ToLower(a.Title + "\n" + a.Summary)
	for _, topic := range topics {
		if strings.Contains(text, strings.ToLower(topic)) {
			return topic
		}
	}
	return ""
}

// inMessage says how many articles a message has at most.
const inMessage = 20

// RSSSummary posts what waits in the channels of a guild, and counts it in the log.
func (b *Bot) RSSSummary(ctx context.Context, guild string) error {
	channels, err := b.Store.Pending.Channels(ctx, guild)
	if err != nil {
		return err
	}
	for _, channel := range channels {
		failed := b.Store.Locks.Try(ctx, state.LockRSS, guild, channel, func(ctx context.Context) error {
			n, err := b.Summary(ctx, guild, channel)
			if n > 0 {
				b.Log.Info("articles were posted", "guild", guild, "channel", channel, "articles", n)
			}
			return err
		})
		if failed != nil && !errors.Is(failed, state.ErrHeld) {
			err = errors.Join(err, fmt.Errorf("channel %s: %w", channel, failed))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return err
}

// Summary takes all that waits for a channel in one step, posts it, and gives how many articles
// were posted.
//
// An article leaves the batch when it was posted and recorded. A process that dies in between
// leaves a batch whose first message may be posted: the next one looks for it. The messages of a
// batch have the same articles each time, and so the same Ref, since only what was posted, or is
// known to the channel before anything of the message was, leaves the batch.
func (b *Bot) Summary(ctx context.Context, guild, channel string) (posted int, err error) {
	batch, err := b.Store.Pending.Take(ctx, guild, channel)
	if errors.Is(err, state.ErrNone) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	taken, again := batch.Taken(), batch.Again
	for ctx.Err() == nil {
		articles, err := b.Store.Pending.Next(ctx, batch, inMessage)
		if err != nil || len(articles) == 0 {
			_, failed := b.Store.History.Cleanup(ctx, guild, channel)
			return posted, errors.Join(err, failed)
		}
		articles, lines := fitting(articles)
		ids := idsOf(articles)
		m := outside.Message{Channel: channel,
			Ref:   state.Hash(append([]string{"summary", guild, channel, batch.ID}, ids...)...),
			Title: fmt.Sprintf("%d articles", len(articles))}
		there := false
		if again {
			_, err := b.Discord.Find(ctx, channel, m.Ref, taken)
			if there = err == nil; !there && !errors.Is(err, state.ErrNone) {
				return posted, err
			}
			again = false
		}
		if !there {
			if gone, err := b.dropKnown(ctx, batch, ids); err != nil {
				return posted, err
			} else if gone {
				continue
			}
			m.Text = strings.TrimSpace(outside.Cut(b.ask(ctx, guild, "Summarise these articles in three sentences.",
				titlesOf(articles)), 700) + "\n\n" + lines)
			if _, err := b.Discord.Post(ctx, m); err != nil {
				return posted, err
			}
		}
		if err := b.Store.History.Record(ctx, guild, channel, storiesOf(articles)); err != nil {
			return posted, err
		}
		if err := b.Store.Pending.Drop(ctx, batch, ids); err != nil {
			return posted, err
		}
		posted += len(articles)
	}
	return posted, context.Cause(ctx)
}

// dropKnown takes what the channel has had out of the batch.
func (b *Bot) dropKnown(ctx context.Context, batch state.Batch, ids []string) (bool, error) {
	known, err := b.Store.History.Known(ctx, batch.Guild, batch.Channel, ids)
	if err != nil || len(known) == 0 {
		return false, err
	}
	return true, b.Store.Pending.Drop(ctx, batch, slices.Sorted(maps.Keys(known)))
}

// fitting gives the first articles that find room in a message, one at least, and their lines.
func fitting(articles []state.Article) ([]state.Article, string) {
	var b strings.Builder
	for i, a := range articles {
		line := line(a)
		if i > 0 && b.Len()+len(line) > outside.MaxText-800 {
			return articles[:i], b.String()
		}
		b.WriteString(line)
	}
	return articles, b.String()
}

func line(a state.Article) string {
	title := strings.NewReplacer("[", "(", "]", ")").Replace(outside.Cut(a.Title, 150))
	if len(a.URL) > 1500 || strings.ContainsAny(a.URL, " )\n") {
		return fmt.Sprintf("• %s\n", title)
	}
	return fmt.Sprintf("• [%s](%s)\n", title, a.URL)
}

// titlesOf returns what the model reads of articles: no addresses, which it would repeat.
func titlesOf(articles []state.Article) string {
	var b strings.Builder
	for _, a := range articles {
		fmt.Fprintf(&b, "%s. %s\n", a.Title, outside.Cut(a.Summary, 200))
	}
	return b.String()
}

func idsOf(articles []state.Article) []string {
	ids := make([]string, len(articles))
	for i, a := range articles {
		ids[i] = a.ID
	}
	return ids
}

func storiesOf(articles []state.Article) []state.Story {
	stories := make([]state.Story, len(articles))
	for i, a := range articles {
		stories[i] = state.Story{Hash: a.ID, Title: a.Title, URL: a.URL, PostedAt: time.Now().UTC().Truncate(time.Second)}
	}
	return stories
}

// BreakingNews asks the model about what waits, and posts what is breaking. What is not, or could
// not be judged three times, goes into the summary of the feed's channel.
func (b *Bot) BreakingNews(ctx context.Context, guild string) error {
	n, err := b.Store.Breaking.Work(ctx, guild, func(ctx context.Context, item state.Item, tries int) error {
		err := b.breaking(ctx, guild, item, tries)
		b.warn(ctx, "guild", guild, err)
		var unsure *unsureError
		if err != nil && !errors.As(err, &unsure) {
			err = fmt.Errorf("%w: %w", state.ErrLater, err) // the item cannot be blamed
		}
		return err
	})
	if n > 0 {
		b.Log.Info("items were checked", "guild", guild, "items", n)
	}
	return err
}

func (b *Bot) breaking(ctx context.Context, guild string, item state.Item, tries int) error {
	a := item.Article
	if time.Since(a.Queued) > state.PendingLife {
		return nil // as in the summary
	}
	channel, err := b.Store.Breaking.Channel(ctx, guild, item.Topic)
	if err != nil && !errors.Is(err, state.ErrNone) {
		return err
	}
	if channel != "" {
		known, err := b.Store.History.Known(ctx, guild, channel, []string{a.ID})
		if err != nil || known[a.ID] {
			return err
		}
		is, err := b.isBreaking(ctx, item)
		if err != nil && tries < state.MaxTries {
			return &unsureError{err}
		}
		if is && err == nil {
			return b.postBreaking(ctx, guild, channel, item)
		}
	}
	n, err := b.Store.Pending.Add(ctx, guild, string(item.ChannelID), []state.Article{a})
	if err == nil && n == 0 {
		return errors.New("the channel has no room")
	}
	return err
}

// unsureError represents a model that did not answer: a try.
type unsureError struct{ error }

func (b *Bot) isBreaking(ctx context.Context, item state.Item) (bool, error) {
	if b.Model == nil {
		return true, nil // the topic is all there is to go by
	}
	says, err := b.Model.Ask(ctx, "Say yes if this is breaking news about the topic, else no. One word.",
		fmt.Sprintf("Topic: %s\nTitle: %s\n%s", item.Topic, item.Article.Title, item.Article.Summary))
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(says)), "yes"), err
}

// postBreaking looks first whether an earlier try has posted it: crashes are no tries.
func (b *Bot) postBreaking(ctx context.Context, guild, channel string, item state.Item) error {
	a := item.Article
	m := outside.Message{Channel: channel, Ref: state.Hash("breaking", guild, channel, a.ID),
		Title: "Breaking: " + item.Topic, Text: line(a) + a.Summary}
	if _, err := outside.PostOnce(ctx, b.Discord, m, true, a.Queued); err != nil {
		return err
	}
	return b.Store.History.Record(ctx, guild, channel, storiesOf([]state.Article{a}))
}
