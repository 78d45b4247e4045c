package cunningbot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// seenMember is where the seen items of a feed are in its settings, oldest first.
const seenMember = "seen_items"

// fileFeed is a feed with all its members: what this program does not know stays.
type fileFeed map[string]json.RawMessage

func (f fileFeed) seen() (items []string, err error) {
	if text := f[seenMember]; text != nil {
		err = json.Unmarshal(text, &items)
	}
	return items, err
}

type fileFeeds struct{ files }

func (f fileFeeds) Feeds(_ context.Context, guild string) (map[string]Feed, error) {
	return readMember[map[string]Feed](f.files, guild, "rss_feeds")
}

func (f fileFeeds) PutFeed(ctx context.Context, guild, name string, feed Feed) error {
	return changeMember(ctx, f.files, guild, "rss_feeds", func(feeds *map[string]fileFeed) (bool, error) {
		known := (*feeds)[name]
		var members map[string]json.RawMessage
		if err := json.Unmarshal(encode(feed), &members); err != nil {
			return false, err
		}
		for member, text := range members {
			put((*map[string]json.RawMessage)(&known), member, text)
		}
		put(feeds, name, known)
		return true, nil
	})
}

func (f fileFeeds) RemoveFeed(ctx context.Context, guild, name string) error {
	return changeMember(ctx, f.files, guild, "rss_feeds", func(feeds *map[string]fileFeed) (bool, error) {
		_, there := (*feeds)[name]
		delete(*feeds, name)
		return there, nil
	})
}

func (f fileFeeds) Unseen(_ context.Context, guild, name string, items []string) (unseen []string, err error) {
	feeds, err := readMember[map[string]fileFeed](f.files, guild, "rss_feeds")
	if err != nil {
		return nil, err
	}
	seen, err := feeds[name].seen()
	for _, item := range items {
		if !slices.Contains(seen, item) {
			unseen = append(unseen, item)
		}
	}
	return unseen, err
}

func (f fileFeeds) MarkSeen(ctx context.Context, guild, name string, items []string, keep int) error {
	return changeMember(ctx, f.files, guild, "rss_feeds", func(feeds *map[string]fileFeed) (bool, error) {
		feed := (*feeds)[name]
		if feed == nil {
			return false, nil // it was removed meanwhile
		}
		seen, err := feed.seen()
		n := len(seen)
		for _, item := range items {
			if !slices.Contains(seen, item) {
				seen = append(seen, item)
			}
		}
		if err != nil || len(seen) == n {
			return false, err
		}
		feed[seenMember] = encode(seen[max(0, len(seen)-keep):])
		return true, nil
	})
}

// waiting is pending_news.json: by guild, channel and feed.
type waiting map[string]map[string]map[string][]Article

// taken is pending_batches.json: by guild and channel.
type taken map[string]map[string]*fileBatch

type fileBatch struct {
	ID       string    `json:"id"`
	Articles []Article `json:"articles"` // oldest first
}

type filePending struct{ files }

func (f filePending) Channels(_ context.Context, guild string) ([]string, error) {
	w, err1 := read[waiting](f.files, pendingFile)
	t, err2 := read[taken](f.files, batchFile)
	all := map[string]bool{}
	for channel := range w[guild] {
		all[channel] = true
	}
	for channel := range t[guild] {
		all[channel] = true
	}
	return sorted(all), errors.Join(err1, err2)
}

// sorted gives the members of a set.
func sorted(set map[string]bool) (out []string) {
	for member := range set {
		out = append(out, member)
	}
	slices.Sort(out)
	return out
}

func (f filePending) Add(ctx context.Context, guild, channel string, articles []Article) (n int, err error) {
	err = change(ctx, f.files, pendingFile, func(w *waiting) (bool, error) {
		feeds := (*w)[guild][channel]
		there, now := map[string]bool{}, time.Now()
		for feed, list := range feeds {
			feeds[feed] = slices.DeleteFunc(list, func(a Article) bool { return now.Sub(a.Queued) > pendingLife })
			for _, a := range feeds[feed] {
				there[a.ID] = true
			}
		}
		for _, a := range articles {
			if !there[a.ID] {
				if len(there) >= maxPending {
					break
				}
				a.Queued, there[a.ID] = now, true
				put(&feeds, a.Feed, append(feeds[a.Feed], a))
			}
			n++
		}
		channels := (*w)[guild]
		put(&channels, channel, feeds)
		put((*map[string]map[string]map[string][]Article)(w), guild, channels)
		return n > 0, nil
	})
	return n, err
}

// Take writes the batch first: killed before the articles leave their file, they are in both, and
// the history keeps them from being posted again.
func (f filePending) Take(ctx context.Context, guild, channel string) (b Batch, err error) {
	err = change(ctx, f.files, pendingFile, func(w *waiting) (bool, error) {
		var all []Article
		for _, list := range (*w)[guild][channel] {
			all = append(all, list...)
		}
		slices.SortFunc(all, func(a, b Article) int {
			if c := a.Queued.Compare(b.Queued); c != 0 {
				return c
			}
			return strings.Compare(a.ID, b.ID)
		})
		again := true
		if err := change(ctx, f.files, batchFile, func(t *taken) (bool, error) {
			channels := (*t)[guild]
			batch := channels[channel]
			if again = batch != nil; again {
				b = Batch{guild, channel, batch.ID, true}
				return false, nil
			}
			if len(all) == 0 {
				return false, ErrNone
			}
			b = Batch{guild, channel, fmt.Sprintf("b%d", time.Now().UnixMicro()), false}
			put(&channels, channel, &fileBatch{b.ID, all})
			put((*map[string]map[string]*fileBatch)(t), guild, channels)
			return true, nil
		}); err != nil {
			return false, err
		}
		if !again {
			delete((*w)[guild], channel)
		}
		return !again, nil
	})
	return b, err
}

func (f filePending) Next(ctx context.Context, b Batch, n int) (out []Article, err error) {
	t, err := read[taken](f.files, batchFile)
	if err != nil {
		return nil, err
	}
	batch := t[b.Guild][b.Channel]
	if batch == nil || batch.ID != b.ID {
		return nil, nil
	}
	var over []string
	for _, a := range batch.Articles {
		if time.Since(a.Queued) > pendingLife {
			over = append(over, a.ID)
		} else if len(out) < n {
			out = append(out, a)
		}
	}
	if len(over) > 0 {
		err = f.Drop(ctx, b, over)
	}
	return out, err
}

func (f filePending) Drop(ctx context.Context, b Batch, ids []string) error {
	return change(ctx, f.files, batchFile, func(t *taken) (bool, error) {
		batch := (*t)[b.Guild][b.Channel]
		if batch == nil || batch.ID != b.ID {
			return false, ErrStale
		}
		batch.Articles = slices.DeleteFunc(batch.Articles, func(a Article) bool { return slices.Contains(ids, a.ID) })
		if len(batch.Articles) == 0 {
			delete((*t)[b.Guild], b.Channel)
		}
		return true, nil
	})
}

// fileItem is an item of pending_breaking_news.json, which counts its tries.
type fileItem struct {
	Item
	Tries  int       `json:"retry_count"`
	Queued time.Time `json:"queued_at"`
}

// toCheck is pending_breaking_news.json: by guild, oldest first.
type toCheck map[string][]fileItem

type fileBreaking struct{ files }

func (f fileBreaking) Topics(_ context.Context, guild string) ([]string, error) {
	topics, err := readMember[[]string](f.files, guild, "breaking_news_topics")
	slices.Sort(topics)
	return topics, err
}

func (f fileBreaking) Channel(_ context.Context, guild, topic string) (string, error) {
	channels, err := readMember[map[string]ID](f.files, guild, "breaking_news_channels")
	if err == nil && channels[topic] == "" {
		err = ErrNone
	}
	return string(channels[topic]), err
}

func (f fileBreaking) PutTopic(ctx context.Context, guild, topic, channel string) error {
	return f.topics(ctx, guild, topic, func(topics []string, channels map[string]ID) []string {
		channels[topic] = ID(channel)
		return append(topics, topic)
	})
}

func (f fileBreaking) RemoveTopic(ctx context.Context, guild, topic string) error {
	return f.topics(ctx, guild, topic, func(topics []string, channels map[string]ID) []string {
		delete(channels, topic)
		return topics
	})
}

// topics changes both lists; fn gets the topics without the one that it is about.
func (f fileBreaking) topics(ctx context.Context, guild, topic string, fn func([]string, map[string]ID) []string) error {
	return change(ctx, f.files, stateFile, func(s *state) (bool, error) {
		topics, err1 := member[[]string](*s, guild, "breaking_news_topics")
		channels, err2 := member[map[string]ID](*s, guild, "breaking_news_channels")
		if channels == nil {
			channels = map[string]ID{}
		}
		topics = fn(slices.DeleteFunc(topics, func(t string) bool { return t == topic }), channels)
		s.set(guild, "breaking_news_topics", topics)
		s.set(guild, "breaking_news_channels", channels)
		return true, errors.Join(err1, err2)
	})
}

func (f fileBreaking) AddItem(ctx context.Context, guild string, item Item) error {
	return change(ctx, f.files, breakingFile, func(all *toCheck) (bool, error) {
		list := (*all)[guild]
		if slices.ContainsFunc(list, func(i fileItem) bool { return i.Article.ID == item.Article.ID }) {
			return false, nil
		}
		put((*map[string][]fileItem)(all), guild, append(list, fileItem{Item: item, Queued: time.Now()}))
		return true, nil
	})
}

// Work counts a try before it is made, so that a process that dies has had it.
func (f fileBreaking) Work(ctx context.Context, guild string, handle func(context.Context, Item, int) error) (done int, err error) {
	all, err := read[toCheck](f.files, breakingFile)
	if err != nil {
		return 0, err
	}
	for _, item := range all[guild] {
		id := item.Article.ID
		err := fileLocks(f).Try(ctx, "breaking", guild, id, func(ctx context.Context) error {
			tries, err := f.count(ctx, guild, id, 1)
			if err != nil || tries == 0 {
				return err // another process has done it
			}
			switch err := handle(ctx, item.Item, min(tries, maxTries)); {
			case errors.Is(err, ErrLater):
				_, err = f.count(ctx, guild, id, -1)
				return err
			case err != nil:
				return nil // it stays, with its try
			}
			done++
			return f.remove(ctx, guild, id)
		})
		if err != nil && !errors.Is(err, ErrHeld) {
			return done, err
		}
		if ctx.Err() != nil {
			return done, context.Cause(ctx)
		}
	}
	return done, nil
}

// count counts tries of an item and gives how many there were; 0 if the item is gone.
func (f fileBreaking) count(ctx context.Context, guild, id string, by int) (tries int, err error) {
	err = change(ctx, f.files, breakingFile, func(all *toCheck) (there bool, err error) {
		for i := range (*all)[guild] {
			if item := &(*all)[guild][i]; item.Article.ID == id {
				item.Tries, there = item.Tries+by, true
				tries = item.Tries
			}
		}
		return there, nil
	})
	return tries, err
}

func (f fileBreaking) remove(ctx context.Context, guild, id string) error {
	return change(ctx, f.files, breakingFile, func(all *toCheck) (bool, error) {
		put((*map[string][]fileItem)(all), guild, slices.DeleteFunc((*all)[guild], func(i fileItem) bool { return i.Article.ID == id }))
		return true, nil
	})
}
