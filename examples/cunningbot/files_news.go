package cunningbot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// The members of a guild that have its feeds, and what was seen of each: when, as Unix seconds, by
// slug and item.
const (
	feedsMember = "rss_feeds"
	seenMember  = "rss_seen"
)

// fileFeed represents a feed with all its members: what this program does not know stays.
type fileFeed map[string]json.RawMessage

// seenItems holds those of a guild.
type seenItems map[string]map[string]int64

type fileFeeds struct{ files }

func (f fileFeeds) Feeds(_ context.Context, guild string) (map[string]Feed, error) {
	return readMember[map[string]Feed](f.files, guild, feedsMember)
}

func (f fileFeeds) PutFeed(ctx context.Context, guild, name string, feed Feed) error {
	return changeMember(ctx, f.files, guild, feedsMember, func(feeds *map[string]fileFeed) (bool, error) {
		known := (*feeds)[name]
		text, err := encode(feed)
		if err != nil {
			return false, err
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(text, &members); err != nil {
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
	return changeMember(ctx, f.files, guild, feedsMember, func(feeds *map[string]fileFeed) (bool, error) {
		_, there := (*feeds)[name]
		delete(*feeds, name)
		return there, nil
	})
}

func (f fileFeeds) Unseen(_ context.Context, guild, name string, items []string) (unseen []string, err error) {
	seen, err := readMember[seenItems](f.files, guild, seenMember)
	for _, item := range items {
		if seen[Slug(name)][item] == 0 {
			unseen = append(unseen, item)
		}
	}
	return unseen, err
}

func (f fileFeeds) MarkSeen(ctx context.Context, guild, name string, items []string, keep int) error {
	return changeMember(ctx, f.files, guild, seenMember, func(seen *seenItems) (bool, error) {
		of, now := (*seen)[Slug(name)], time.Now().Unix()
		n := len(of)
		for _, item := range items {
			if of[item] == 0 {
				put(&of, item, now)
			}
		}
		if len(of) == n {
			return false, nil
		}
		for _, item := range oldest(of, len(of)-keep) {
			delete(of, item)
		}
		put((*map[string]map[string]int64)(seen), Slug(name), of)
		return true, nil
	})
}

// oldest gives the n items that were seen first.
func oldest(seen map[string]int64, n int) []string {
	if n <= 0 {
		return nil
	}
	items := slices.Collect(maps.Keys(seen))
	slices.SortFunc(items, func(a, b string) int { return cmp.Or(cmp.Compare(seen[a], seen[b]), cmp.Compare(a, b)) })
	return items[:n]
}

// waiting is pending_news.json: by guild, channel and feed.
type waiting map[string]map[string]map[string][]Article

// taken is pending_batches.json: by guild and channel, the batch that is being posted. Its name says up to
// when articles are in it.
type taken map[string]map[string]string

type filePending struct{ files }

func (f filePending) Channels(_ context.Context, guild string) ([]string, error) {
	w, err := read[waiting](f.files, pendingFile)
	all := map[string]bool{}
	for channel := range w[guild] {
		all[channel] = true
	}
	return sorted(all), err
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
		there, now := map[string]bool{}, time.Now().UTC()
		t, err := read[taken](f.files, batchFile)
		if err != nil {
			return false, err
		}
		if name := t[guild][channel]; name != "" { // what comes after a batch was taken is not in it
			now = latest(now, Batch{ID: name}.taken().Add(time.Millisecond))
		}
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

// latest returns the later one.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Take names a batch under the lock of the articles, so that none is queued in between.
func (f filePending) Take(ctx context.Context, guild, channel string) (b Batch, err error) {
	err = change(ctx, f.files, pendingFile, func(w *waiting) (bool, error) {
		return false, change(ctx, f.files, batchFile, func(t *taken) (bool, error) {
			all := inOrder((*w)[guild][channel])
			if len(all) == 0 {
				return false, ErrNone
			}
			b = Batch{guild, channel, (*t)[guild][channel], true}
			if b.ID != "" && !all[0].Queued.After(b.until()) {
				return false, nil
			}
			b = Batch{guild, channel, newBatch(time.Now(), all[len(all)-1].Queued), false}
			channels := (*t)[guild]
			put(&channels, channel, b.ID)
			put((*map[string]map[string]string)(t), guild, channels)
			return true, nil
		})
	})
	return b, err
}

// newBatch names a batch of all that was queued up to now, or to the last article if that is later.
func newBatch(now, last time.Time) string { return fmt.Sprintf("b%d", latest(now, last).UnixMicro()) }

// until returns the last moment of a batch: its last millisecond.
func (b Batch) until() time.Time { return b.taken().Add(time.Millisecond - 1) }

// inOrder returns the articles of all feeds, oldest first.
func inOrder(feeds map[string][]Article) (all []Article) {
	for _, list := range feeds {
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b Article) int {
		return cmp.Or(cmp.Compare(a.Queued.UnixMilli(), b.Queued.UnixMilli()), cmp.Compare(a.ID, b.ID))
	})
	return all
}

func (f filePending) Next(ctx context.Context, b Batch, n int) (out []Article, err error) {
	t, err1 := read[taken](f.files, batchFile)
	w, err2 := read[waiting](f.files, pendingFile)
	if err := errors.Join(err1, err2); err != nil || t[b.Guild][b.Channel] != b.ID {
		return nil, err
	}
	var over []string
	for _, a := range inOrder(w[b.Guild][b.Channel]) {
		switch {
		case a.Queued.After(b.until()):
		case time.Since(a.Queued) > pendingLife:
			over = append(over, a.ID)
		case len(out) < n:
			out = append(out, a)
		}
	}
	if len(over) > 0 {
		err = f.Drop(ctx, b, over)
	}
	return out, err
}

// Drop looks for the batch under the lock of the articles, as Take does.
func (f filePending) Drop(ctx context.Context, b Batch, ids []string) error {
	return change(ctx, f.files, pendingFile, func(w *waiting) (bool, error) {
		t, err := read[taken](f.files, batchFile)
		if err == nil && t[b.Guild][b.Channel] != b.ID {
			err = ErrStale
		}
		if err != nil {
			return false, err
		}
		feeds := (*w)[b.Guild][b.Channel]
		for feed, list := range feeds {
			feeds[feed] = slices.DeleteFunc(list, func(a Article) bool { return slices.Contains(ids, a.ID) })
			if len(feeds[feed]) == 0 {
				delete(feeds, feed)
			}
		}
		if len(feeds) == 0 {
			delete((*w)[b.Guild], b.Channel)
		}
		return true, nil
	})
}

// fileItem represents an item of pending_breaking_news.json, which counts its tries.
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
func (f fileBreaking) topics(ctx context.Context, guild, topic string,
	fn func([]string, map[string]ID) []string) error {
	return change(ctx, f.files, stateFile, func(s *state) (bool, error) {
		topics, err1 := member[[]string](*s, guild, "breaking_news_topics")
		channels, err2 := member[map[string]ID](*s, guild, "breaking_news_channels")
		if channels == nil {
			channels = map[string]ID{}
		}
		topics = fn(slices.DeleteFunc(topics, func(t string) bool { return t == topic }), channels)
		return true, errors.Join(err1, err2, s.set(guild, "breaking_news_topics", topics),
			s.set(guild, "breaking_news_channels", channels))
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
func (f fileBreaking) Work(ctx context.Context, guild string, handle func(context.Context, Item, int) error) (done int,
	err error) {
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
		put((*map[string][]fileItem)(all), guild, slices.DeleteFunc((*all)[guild],
			func(i fileItem) bool { return i.Article.ID == id }))
		return true, nil
	})
}
