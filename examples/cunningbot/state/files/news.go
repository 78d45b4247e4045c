package files

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/state"
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

type feeds struct{ Folder }

func (f feeds) Feeds(_ context.Context, guild string) (map[string]state.Feed, error) {
	return readMember[map[string]state.Feed](f.Folder, guild, feedsMember)
}

func (f feeds) PutFeed(ctx context.Context, guild, name string, feed state.Feed) error {
	return changeMember(ctx, f.Folder, guild, feedsMember, func(feeds *map[string]fileFeed) (bool, error) {
		known := (*feeds)[name]
		text, err := state.Encode(feed)
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

func (f feeds) RemoveFeed(ctx context.Context, guild, name string) error {
	return changeMember(ctx, f.Folder, guild, feedsMember, func(feeds *map[string]fileFeed) (bool, error) {
		_, there := (*feeds)[name]
		delete(*feeds, name)
		return there, nil
	})
}

func (f feeds) Unseen(_ context.Context, guild, name string, items []string) (unseen []string, err error) {
	seen, err := readMember[seenItems](f.Folder, guild, seenMember)
	for _, item := range items {
		if seen[state.Slug(name)][item] == 0 {
			unseen = append(unseen, item)
		}
	}
	return unseen, err
}

func (f feeds) MarkSeen(ctx context.Context, guild, name string, items []string, keep int) error {
	return changeMember(ctx, f.Folder, guild, seenMember, func(seen *seenItems) (bool, error) {
		of, now := (*seen)[state.Slug(name)], time.Now().Unix()
		n := len(of)
		for _, item := range items {
			if of[item] == 0 {
				put(&of, item, now)
			}
		}
		if len(of) == n {
			return false, nil
		}
		for _, item := range Oldest(of, len(of)-keep) {
			delete(of, item)
		}
		put((*map[string]map[string]int64)(seen), state.Slug(name), of)
		return true, nil
	})
}

// Oldest gives the n items that were seen first.
func Oldest(seen map[string]int64, n int) []string {
	if n <= 0 {
		return nil
	}
	items := slices.Collect(maps.Keys(seen))
	slices.SortFunc(items, func(a, b string) int { return cmp.Or(cmp.Compare(seen[a], seen[b]), cmp.Compare(a, b)) })
	return items[:n]
}

// waiting is pending_news.json: by guild, channel and feed.
type waiting map[string]map[string]map[string][]state.Article

// taken is pending_batches.json: by guild and channel, the batch that is being posted. Its name says up to
// when articles are in it.
type taken map[string]map[string]string

type pending struct{ Folder }

func (f pending) Channels(_ context.Context, guild string) ([]string, error) {
	w, err := readJSON[waiting](f.Folder, pendingFile)
	all := map[string]bool{}
	for channel := range w[guild] {
		all[channel] = true
	}
	return slices.Sorted(maps.Keys(all)), err
}

func (f pending) Add(ctx context.Context, guild, channel string, articles []state.Article) (n int, err error) {
	err = change(ctx, f.Folder, pendingFile, func(w *waiting) (bool, error) {
		feeds := (*w)[guild][channel]
		there, now := map[string]bool{}, time.Now().UTC()
		t, err := readJSON[taken](f.Folder, batchFile)
		if err != nil {
			return false, err
		}
		if name := t[guild][channel]; name != "" { // what comes after a batch was taken is not in it
			now = state.Latest(now, state.Batch{ID: name}.Taken().Add(time.Millisecond))
		}
		for feed, list := range feeds {
			feeds[feed] = slices.DeleteFunc(list, func(a state.Article) bool { return now.Sub(a.Queued) > state.PendingLife })
			for _, a := range feeds[feed] {
				there[a.ID] = true
			}
		}
		for _, a := range articles {
			if !there[a.ID] {
				if len(there) >= state.MaxPending {
					break
				}
				a.Queued, there[a.ID] = now, true
				put(&feeds, a.Feed, append(feeds[a.Feed], a))
			}
			n++
		}
		channels := (*w)[guild]
		put(&channels, channel, feeds)
		put((*map[string]map[string]map[string][]state.Article)(w), guild, channels)
		return n > 0, nil
	})
	return n, err
}

// Take names a batch under the lock of the articles, so that none is queued in between.
func (f pending) Take(ctx context.Context, guild, channel string) (b state.Batch, err error) {
	err = change(ctx, f.Folder, pendingFile, func(w *waiting) (bool, error) {
		return false, change(ctx, f.Folder, batchFile, func(t *taken) (bool, error) {
			all := inOrder((*w)[guild][channel])
			if len(all) == 0 {
				return false, state.ErrNone
			}
			b = state.Batch{Guild: guild, Channel: channel, ID: (*t)[guild][channel], Again: true}
			if b.ID != "" && !all[0].Queued.After(b.Until()) {
				return false, nil
			}
			b = state.Batch{Guild: guild, Channel: channel,
				ID: state.NewBatch(time.Now(), all[len(all)-1].Queued)}
			channels := (*t)[guild]
			put(&channels, channel, b.ID)
			put((*map[string]map[string]string)(t), guild, channels)
			return true, nil
		})
	})
	return b, err
}

// inOrder returns the articles of all feeds, oldest first.
func inOrder(feeds map[string][]state.Article) (all []state.Article) {
	for _, list := range feeds {
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b state.Article) int {
		return cmp.Or(cmp.Compare(a.Queued.UnixMilli(), b.Queued.UnixMilli()), cmp.Compare(a.ID, b.ID))
	})
	return all
}

func (f pending) Next(ctx context.Context, b state.Batch, n int) (out []state.Article, err error) {
	t, err1 := readJSON[taken](f.Folder, batchFile)
	w, err2 := readJSON[waiting](f.Folder, pendingFile)
	if err := errors.Join(err1, err2); err != nil || t[b.Guild][b.Channel] != b.ID {
		return nil, err
	}
	var over []string
	for _, a := range inOrder(w[b.Guild][b.Channel]) {
		switch {
		case a.Queued.After(b.Until()):
		case time.Since(a.Queued) > state.PendingLife:
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
func (f pending) Drop(ctx context.Context, b state.Batch, ids []string) error {
	return change(ctx, f.Folder, pendingFile, func(w *waiting) (bool, error) {
		t, err := readJSON[taken](f.Folder, batchFile)
		if err == nil && t[b.Guild][b.Channel] != b.ID {
			err = state.ErrStale
		}
		if err != nil {
			return false, err
		}
		feeds := (*w)[b.Guild][b.Channel]
		for feed, list := range feeds {
			feeds[feed] = slices.DeleteFunc(list, func(a state.Article) bool { return slices.Contains(ids, a.ID) })
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
	state.Item
	Tries  int       `json:"retry_count"`
	Queued time.Time `json:"queued_at"`
}

// toCheck is pending_breaking_news.json: by guild, oldest first.
type toCheck map[string][]fileItem

type breaking struct{ Folder }

func (f breaking) Topics(_ context.Context, guild string) ([]string, error) {
	topics, err := readMember[[]string](f.Folder, guild, "breaking_news_topics")
	slices.Sort(topics)
	return topics, err
}

func (f breaking) Channel(_ context.Context, guild, topic string) (string, error) {
	channels, err := readMember[map[string]state.ID](f.Folder, guild, "breaking_news_channels")
	if err == nil && channels[topic] == "" {
		err = state.ErrNone
	}
	return string(channels[topic]), err
}

func (f breaking) PutTopic(ctx context.Context, guild, topic, channel string) error {
	return f.topics(ctx, guild, topic, func(topics []string, channels map[string]state.ID) []string {
		channels[topic] = state.ID(channel)
		return append(topics, topic)
	})
}

func (f breaking) RemoveTopic(ctx context.Context, guild, topic string) error {
	return f.topics(ctx, guild, topic, func(topics []string, channels map[string]state.ID) []string {
		delete(channels, topic)
		return topics
	})
}

// topics changes both lists; fn gets the topics without the one that it is about.
func (f breaking) topics(ctx context.Context, guild, topic string,
	fn func([]string, map[string]state.ID) []string) error {
	return change(ctx, f.Folder, stateFile, func(s *appState) (bool, error) {
		topics, err1 := member[[]string](*s, guild, "breaking_news_topics")
		channels, err2 := member[map[string]state.ID](*s, guild, "breaking_news_channels")
		if channels == nil {
			channels = map[string]state.ID{}
		}
		topics = fn(slices.DeleteFunc(topics, func(t string) bool { return t == topic }), channels)
		return true, errors.Join(err1, err2, s.set(guild, "breaking_news_topics", topics),
			s.set(guild, "breaking_news_channels", channels))
	})
}

func (f breaking) AddItem(ctx context.Context, guild string, item state.Item) error {
	return change(ctx, f.Folder, breakingFile, func(all *toCheck) (bool, error) {
		list := (*all)[guild]
		if slices.ContainsFunc(list, func(i fileItem) bool { return i.Article.ID == item.Article.ID }) {
			return false, nil
		}
		put((*map[string][]fileItem)(all), guild, append(list, fileItem{Item: item, Queued: time.Now()}))
		return true, nil
	})
}

// Work counts a try before it is made, so that a process that dies has had it.
func (f breaking) Work(ctx context.Context, guild string,
	handle func(context.Context, state.Item, int) error) (done int, err error) {
	all, err := readJSON[toCheck](f.Folder, breakingFile)
	if err != nil {
		return 0, err
	}
	for _, item := range all[guild] {
		id := item.Article.ID
		err := locks(f).Try(ctx, "breaking", guild, id, func(ctx context.Context) error {
			tries, err := f.count(ctx, guild, id, 1)
			if err != nil || tries == 0 {
				return err // another process has done it
			}
			switch err := handle(ctx, item.Item, min(tries, state.MaxTries)); {
			case errors.Is(err, state.ErrLater):
				_, err = f.count(ctx, guild, id, -1)
				return err
			case err != nil:
				return nil // it stays, with its try
			}
			done++
			return f.remove(ctx, guild, id)
		})
		if err != nil && !errors.Is(err, state.ErrHeld) {
			return done, err
		}
		if ctx.Err() != nil {
			return done, context.Cause(ctx)
		}
	}
	return done, nil
}

// count counts tries of an item and gives how many there were; 0 if the item is gone.
func (f breaking) count(ctx context.Context, guild, id string, by int) (tries int, err error) {
	err = change(ctx, f.Folder, breakingFile, func(all *toCheck) (there bool, err error) {
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

func (f breaking) remove(ctx context.Context, guild, id string) error {
	return change(ctx, f.Folder, breakingFile, func(all *toCheck) (bool, error) {
		put((*map[string][]fileItem)(all), guild, slices.DeleteFunc((*all)[guild],
			func(i fileItem) bool { return i.Article.ID == id }))
		return true, nil
	})
}

// NewBreaking returns the breaking news of a folder alone.
func NewBreaking(d Folder) state.Breaking { return breaking{d} }

// Checking returns how many breaking news wait to be checked, by guild, and the file that they are in.
func (d Folder) Checking() (n map[string]int, file string, err error) {
	all, err := readJSON[toCheck](d, breakingFile)
	n = map[string]int{}
	for guild, list := range all {
		n[guild] = len(list)
	}
	return n, breakingFile, err
}
