package moving

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/state"
	"github.com/keywright/keywright/examples/cunningbot/state/files"
	"github.com/keywright/keywright/examples/cunningbot/state/redis"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

type feeds struct{ *Migration }

func (f feeds) Feeds(ctx context.Context, guild string) (map[string]state.Feed, error) {
	return decodedAll[state.Feed](ctx, f.at("feeds.rss_feeds", guild))
}

// PutFeed keeps the members of a feed that this program does not know.
func (f feeds) PutFeed(ctx context.Context, guild, name string, feed state.Feed) error {
	return f.under(ctx, "feeds."+guild, func() error {
		at := f.at("feeds.rss_feeds", guild)
		old, err := at.text(ctx, name)
		if err != nil {
			return err
		}
		members := map[string]json.RawMessage{}
		if old != "" {
			if err := json.Unmarshal([]byte(old), &members); err != nil {
				return fmt.Errorf("a feed that is stored cannot be read: %w", err)
			}
		}
		text, err := state.Encode(feed)
		if err == nil {
			err = json.Unmarshal(text, &members)
		}
		if err != nil {
			return err
		}
		return f.write(ctx, at.json(name, members))
	})
}

func (f feeds) RemoveFeed(ctx context.Context, guild, name string) error {
	return f.write(ctx, f.at("feeds.rss_feeds", guild).deletion(name))
}

func (f feeds) Unseen(ctx context.Context, guild, name string, items []string) (unseen []string, err error) {
	seen, err := f.at("feeds.rss_seen", guild, state.Slug(name)).scores(ctx)
	for _, item := range items {
		if _, known := seen[item]; !known {
			unseen = append(unseen, item)
		}
	}
	return unseen, err
}

func (f feeds) MarkSeen(ctx context.Context, guild, name string, items []string, keep int) error {
	return f.under(ctx, "seen."+guild+"."+state.Slug(name), func() error {
		at, now := f.at("feeds.rss_seen", guild, state.Slug(name)), time.Now().Unix()
		seen, err := at.scores(ctx)
		if err != nil {
			return err
		}
		fresh := map[string]bool{}
		for _, item := range items {
			if _, known := seen[item]; !known {
				seen[item], fresh[item] = now, true
			}
		}
		var edits []edit // a write has each record once: what is new may be too much, too
		for _, item := range files.Oldest(seen, len(seen)-keep) {
			if !fresh[item] {
				edits = append(edits, at.deletion(item))
			}
			delete(fresh, item)
		}
		for _, item := range slices.Sorted(maps.Keys(fresh)) {
			edits = append(edits, at.score(item, now))
		}
		return f.write(ctx, edits...)
	})
}

type pending struct{ *Migration }

// Channels leaves out those that have none: a channel stays in its list.
func (p pending) Channels(ctx context.Context, guild string) (out []string, err error) {
	all, err := p.at("pending.rss_channels", guild).subs(ctx)
	if err != nil {
		return nil, err
	}
	for _, channel := range all {
		waiting, err := p.of(guild, channel).order.all(ctx)
		if err != nil {
			return nil, err
		}
		if len(waiting) > 0 {
			out = append(out, channel)
		}
	}
	return out, nil
}

// channelPlace describes what there is of a channel.
type channelPlace struct{ articles, order, batch place }

func (p pending) of(guild, channel string) channelPlace {
	return channelPlace{p.at("pending.rss_pending", guild, channel), p.at("pending.rss_pending_order", guild, channel),
		p.at("pending.rss_batch", guild, channel)}
}

// withLock does something of a channel, one process at a time.
func (p pending) withLock(ctx context.Context, guild, channel string, fn func(c channelPlace) error) error {
	return p.under(ctx, "pending."+guild+"."+channel, func() error { return fn(p.of(guild, channel)) })
}

func (c channelPlace) drop(ids []string) (edits []edit) {
	for _, id := range ids {
		edits = append(edits, c.articles.deletion(id), c.order.deletion(id))
	}
	return edits
}

func (p pending) Add(ctx context.Context, guild, channel string, articles []state.Article) (n int, err error) {
	err = p.withLock(ctx, guild, channel, func(c channelPlace) error {
		queued, err := c.order.scores(ctx)
		if err != nil {
			return err
		}
		batch, err := c.batch.text(ctx, "")
		if err != nil {
			return err
		}
		now := time.Now().UTC().Truncate(time.Millisecond)
		if batch != "" { // what comes after a batch was taken is not in it
			now = state.Latest(now, state.Batch{ID: batch}.Taken().Add(time.Millisecond).UTC())
		}
		var edits []edit
		var over []string
		for id, at := range queued {
			if now.Sub(time.UnixMilli(at)) > state.PendingLife {
				over = append(over, id)
				delete(queued, id)
			}
		}
		for _, a := range articles {
			if _, there := queued[a.ID]; !there {
				if len(queued) >= state.MaxPending {
					break
				}
				a.Queued, queued[a.ID] = now, now.UnixMilli()
				edits = append(edits, c.articles.json(a.ID, a), c.order.score(a.ID, now.UnixMilli()))
			}
			n++
		}
		// A write has each record once: an old article that has come again is replaced.
		over = slices.DeleteFunc(over, func(id string) bool { _, again := queued[id]; return again })
		edits = append(c.drop(over), edits...) // pairs, so that a chunk has both of an article
		if len(edits) == 0 {
			return nil
		}
		if err := p.listed(ctx, guild, channel); err != nil {
			return err
		}
		return p.write(ctx, edits...)
	})
	if err != nil {
		n = 0
	}
	return n, err
}

// listed puts a channel into the list of those with articles.
func (p pending) listed(ctx context.Context, guild, channel string) error {
	channels := p.at("pending.rss_channels", guild)
	if there, err := channels.get(ctx, channel); err != nil || there != nil {
		return err
	}
	return p.write(ctx, channels.member(channel))
}

func (p pending) Take(ctx context.Context, guild, channel string) (b state.Batch, err error) {
	err = p.withLock(ctx, guild, channel, func(c channelPlace) error {
		queued, err := c.order.scores(ctx)
		if err != nil {
			return err
		}
		if len(queued) == 0 {
			return state.ErrNone
		}
		order := byScore(queued)
		name, err := c.batch.text(ctx, "")
		if err != nil {
			return err
		}
		b = state.Batch{Guild: guild, Channel: channel, ID: name, Again: true}
		if name != "" && queued[order[0]] <= b.Taken().UnixMilli() {
			return nil
		}
		b = state.Batch{Guild: guild, Channel: channel,
			ID: state.NewBatch(time.Now(), time.UnixMilli(queued[order[len(order)-1]]))}
		return p.write(ctx, c.batch.value("", b.ID))
	})
	return b, err
}

func (p pending) Next(ctx context.Context, b state.Batch, n int) (out []state.Article, err error) {
	c := p.of(b.Guild, b.Channel)
	if name, err := c.batch.text(ctx, ""); err != nil || name != b.ID {
		return nil, err
	}
	queued, err := c.order.scores(ctx)
	if err != nil {
		return nil, err
	}
	stored, err := c.articles.all(ctx)
	if err != nil {
		return nil, err
	}
	texts := map[string]*record.Record{}
	for _, r := range stored {
		texts[r.Sub] = r
	}
	var over []string
	for _, id := range byScore(queued) {
		at := queued[id]
		if at > b.Taken().UnixMilli() || len(out) == n {
			break
		}
		var a state.Article
		r := texts[id]
		if r == nil || time.Since(time.UnixMilli(at)) > state.PendingLife || json.Unmarshal(r.Value, &a) != nil {
			over = append(over, id)
			continue
		}
		a.ID = id
		out = append(out, a)
	}
	if len(over) > 0 {
		err = p.Drop(ctx, b, over)
	}
	return out, err
}

func (p pending) Drop(ctx context.Context, b state.Batch, ids []string) error {
	return p.withLock(ctx, b.Guild, b.Channel, func(c channelPlace) error {
		name, err := c.batch.text(ctx, "")
		if err == nil && name != b.ID {
			err = state.ErrStale
		}
		if err != nil {
			return err
		}
		return p.write(ctx, c.drop(ids)...)
	})
}

// breaking has each item in one place: what is new goes to the side that decides, and both
// are worked off. An item is no record that both sides could have: its lease would be on one.
type breaking struct {
	*Migration
	inFile state.Breaking
}

// inQueue returns the items in Redis.
func (m breaking) inQueue() (state.Breaking, error) {
	k, err := m.keys()
	return redis.NewBreaking(k), err
}

func (m breaking) Topics(ctx context.Context, guild string) ([]string, error) {
	return m.at("breaking.breaking_topics", guild).subs(ctx)
}

func (m breaking) Channel(ctx context.Context, guild, topic string) (string, error) {
	channel, err := m.at("breaking.breaking_channels", guild).text(ctx, topic)
	if err == nil && channel == "" {
		err = state.ErrNone
	}
	return channel, err
}

func (m breaking) PutTopic(ctx context.Context, guild, topic, channel string) error {
	return m.write(ctx, m.at("breaking.breaking_channels", guild).value(topic, channel),
		m.at("breaking.breaking_topics", guild).member(topic))
}

func (m breaking) RemoveTopic(ctx context.Context, guild, topic string) error {
	return m.write(ctx, m.at("breaking.breaking_topics", guild).deletion(topic),
		m.at("breaking.breaking_channels", guild).deletion(topic))
}

func (m breaking) AddItem(ctx context.Context, guild string, item state.Item) error {
	is, err := m.Phase("breaking")
	if err != nil {
		return err
	}
	if phase.Of(is.Phase).Authority == phase.Redis {
		queue, err := m.inQueue()
		if err != nil {
			return err
		}
		return queue.AddItem(ctx, guild, item)
	}
	return m.inFile.AddItem(ctx, guild, item)
}

// Work works off the file first: what is in it is older.
func (m breaking) Work(
	ctx context.Context, guild string, handle func(context.Context, state.Item, int) error,
) (int, error) {
	done, err := m.inFile.Work(ctx, guild, handle)
	if err != nil {
		return done, err
	}
	is, err := m.Phase("breaking")
	if err != nil {
		return done, err
	}
	n := 0
	queue, err := m.inQueue()
	if err == nil {
		n, err = queue.Work(ctx, guild, handle)
	}
	if phase.Of(is.Phase).Authority != phase.Redis {
		err = nil // Redis need not be there yet; what a rollback has left there is worked off when it is
	}
	return done + n, err
}

type history struct{ *Migration }

func (h history) stories(guild, channel string) place {
	return h.at("history.history_stories", guild, channel)
}

func (h history) Known(ctx context.Context, guild, channel string, hashes []string) (map[string]bool, error) {
	window, err := h.Window(ctx, guild, channel)
	if err != nil {
		return nil, err
	}
	posted, err := h.stories(guild, channel).scores(ctx)
	known, since := map[string]bool{}, time.Now().Add(-window).Unix()
	for _, hash := range hashes {
		if at, there := posted[hash]; there && at > since {
			known[hash] = true
		}
	}
	return known, err
}

// Record writes the story itself for a day from when it was posted, as the declaration has it.
func (h history) Record(ctx context.Context, guild, channel string, stories []state.Story) error {
	return h.under(ctx, "history."+guild+"."+channel, func() error {
		posted, err := h.stories(guild, channel).scores(ctx)
		if err != nil {
			return err
		}
		var edits []edit
		for _, s := range stories {
			if _, known := posted[s.Hash]; known {
				continue
			}
			posted[s.Hash] = s.PostedAt.Unix()
			text, err := state.Encode(s)
			if err != nil {
				return err
			}
			edits = append(edits, h.stories(guild, channel).score(s.Hash, s.PostedAt.Unix()),
				h.at("history.history_story", guild, s.Hash).is("", func(r *record.Record) {
					r.Value, r.Ends = text, s.PostedAt.Add(storyLife)
				}))
		}
		return h.write(ctx, edits...)
	})
}

// storyLife is the TTL that the declaration gives a story.
const storyLife = 24 * time.Hour

func (h history) Window(ctx context.Context, guild, channel string) (time.Duration, error) {
	text, err := h.at("history.history_dedup_window", guild).text(ctx, channel)
	hours := int64(24)
	if text != "" {
		hours = wholeScore(text)
	}
	return time.Duration(hours) * time.Hour, err
}

func (h history) SetWindow(ctx context.Context, guild, channel string, hours int64) error {
	return h.write(ctx, h.at("history.history_dedup_window", guild).value(channel, fmt.Sprint(hours)))
}

func (h history) Cleanup(ctx context.Context, guild, channel string) (n int, err error) {
	window, err := h.Window(ctx, guild, channel)
	if err != nil {
		return 0, err
	}
	err = h.under(ctx, "history."+guild+"."+channel, func() error {
		posted, err := h.stories(guild, channel).scores(ctx)
		if err != nil {
			return err
		}
		var edits []edit
		for _, hash := range byScore(posted) {
			if time.Since(time.Unix(posted[hash], 0)) > window {
				edits = append(edits, h.stories(guild, channel).deletion(hash),
					h.at("history.history_story", guild, hash).deletion(""))
				n++
			}
		}
		return h.write(ctx, edits...)
	})
	return n, err
}
