package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/cunningbot/cunningkeys"
	"github.com/keywright/keywright/examples/cunningbot/state"
	"github.com/keywright/keywright/queue"
)

// Of an item that may be breaking news.
const (
	maxCrashes = 2 // of processes in it, before it is given up
	later      = 10 * time.Second
)

type feeds struct{ k *cunningkeys.Keyspace }

func (f feeds) Feeds(ctx context.Context, guild string) (map[string]state.Feed, error) {
	return state.Decoded[state.Feed](f.k.RSSFeeds(guild).All().Do(ctx))
}

func (f feeds) PutFeed(ctx context.Context, guild, name string, feed state.Feed) error {
	text, err := state.Encode(feed)
	if err == nil {
		_, err = f.k.RSSFeeds(guild).Set(name, text).Do(ctx)
	}
	return err
}

func (f feeds) RemoveFeed(ctx context.Context, guild, name string) error {
	_, err := f.k.RSSFeeds(guild).Remove(name).Do(ctx)
	return err
}

func (f feeds) Unseen(ctx context.Context, guild, name string, items []string) ([]string, error) {
	seen := f.k.RSSSeen(guild, state.Slug(name))
	unseen, err := missing(ctx, f.k, items, func(item string) keywright.Op[time.Time] { return seen.Score(item) })
	return unseen, err
}

// missing gives those of which an operation finds nothing, in their order.
func missing[T any](ctx context.Context, k *cunningkeys.Keyspace, items []string,
	ask func(string) keywright.Op[T]) ([]string, error) {
	var out []string
	for some := range slices.Chunk(items, piece) {
		var b keywright.Batch
		asked := make([]*keywright.Pending[T], len(some))
		for i, item := range some {
			asked[i] = keywright.Queue(&b, ask(item))
		}
		if err := b.Run(ctx); err != nil {
			return nil, err
		}
		for i, item := range some {
			if _, err := asked[i].Result(); errors.Is(err, keywright.ErrNotFound) {
				out = append(out, item)
			}
		}
	}
	return out, nil
}

func (f feeds) MarkSeen(ctx context.Context, guild, name string, items []string, keep int) error {
	for some := range slices.Chunk(items, piece) {
		text, err := state.Encode(some)
		if err == nil {
			_, err = f.k.BatchAddSeen(guild, state.Slug(name), int64(keep), text).Do(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type pending struct{ k *cunningkeys.Keyspace }

func (p pending) Channels(ctx context.Context, guild string) ([]string, error) {
	channels, err := p.k.RSSChannels(guild).Members().Do(ctx)
	slices.Sort(channels)
	return channels, err
}

func (p pending) Add(ctx context.Context, guild, channel string, articles []state.Article) (n int, err error) {
	for some := range slices.Chunk(articles, piece) {
		var list []string
		for _, a := range some {
			text, err := state.Encode(a)
			if err != nil {
				return n, err
			}
			list = append(list, a.ID, string(text))
		}
		text, err := state.Encode(list)
		if err != nil {
			return n, err
		}
		there, err := p.k.AddPending(guild, channel, channel, state.MaxPending, text).Do(ctx)
		if n += int(there); err != nil || int(there) < len(some) {
			return n, err
		}
	}
	return n, nil
}

func (p pending) Take(ctx context.Context, guild, channel string) (state.Batch, error) {
	text, err := p.k.TakePending(guild, channel).Do(ctx)
	if err != nil {
		return state.Batch{}, err
	}
	word, id, _ := strings.Cut(text, " ")
	if id == "" {
		return state.Batch{}, state.ErrNone
	}
	return state.Batch{Guild: guild, Channel: channel, ID: id, Again: word == "again"}, nil
}

func (p pending) Next(ctx context.Context, b state.Batch, n int) ([]state.Article, error) {
	for {
		first, err := p.k.RSSPendingOrder(b.Guild, b.Channel).Between(time.UnixMilli(0), b.Taken(), int64(n)).Do(ctx)
		if err != nil || len(first) == 0 {
			return nil, err
		}
		var over []string
		var all keywright.Batch
		articles := p.k.RSSPending(b.Guild, b.Channel)
		asked := map[string]*keywright.Pending[json.RawMessage]{}
		for _, at := range first {
			if time.Since(at.Score) > state.PendingLife {
				over = append(over, at.Member)
			} else {
				asked[at.Member] = keywright.Queue(&all, articles.Get(at.Member))
			}
		}
		if err := all.Run(ctx); err != nil {
			return nil, err
		}
		var out []state.Article
		for _, at := range first {
			if asked[at.Member] == nil {
				continue
			}
			var a state.Article
			text, err := asked[at.Member].Result()
			if err == nil {
				err = json.Unmarshal(text, &a)
			}
			if err != nil { // it has no article, or what cannot be read: it would hold up all others
				over = append(over, at.Member)
				continue
			}
			a.ID = at.Member
			out = append(out, a)
		}
		if len(over) == 0 {
			return out, nil
		}
		if err := p.Drop(ctx, b, over); err != nil {
			return nil, err
		}
	}
}

func (p pending) Drop(ctx context.Context, b state.Batch, ids []string) error {
	for some := range slices.Chunk(ids, piece) {
		text, err := state.Encode(some)
		if err != nil {
			return err
		}
		left, err := p.k.DropBatch(b.Guild, b.Channel, b.ID, b.Channel, text).Do(ctx)
		if err != nil {
			return err
		}
		if left < 0 {
			return state.ErrStale
		}
	}
	return nil
}

type breaking struct{ k *cunningkeys.Keyspace }

func (r breaking) Topics(ctx context.Context, guild string) ([]string, error) {
	topics, err := r.k.BreakingTopics(guild).Members().Do(ctx)
	slices.Sort(topics)
	return topics, err
}

func (r breaking) Channel(ctx context.Context, guild, topic string) (string, error) {
	channel, err := r.k.BreakingChannels(guild).Get(topic).Do(ctx)
	return channel, none(err)
}

// PutTopic writes the channel first, RemoveTopic removes it last: a topic always has one.
func (r breaking) PutTopic(ctx context.Context, guild, topic, channel string) error {
	if _, err := r.k.BreakingChannels(guild).Set(topic, channel).Do(ctx); err != nil {
		return err
	}
	_, err := r.k.BreakingTopics(guild).Add(topic).Do(ctx)
	return err
}

func (r breaking) RemoveTopic(ctx context.Context, guild, topic string) error {
	if _, err := r.k.BreakingTopics(guild).Remove(topic).Do(ctx); err != nil {
		return err
	}
	_, err := r.k.BreakingChannels(guild).Remove(topic).Do(ctx)
	return err
}

func (r breaking) AddItem(ctx context.Context, guild string, item state.Item) error {
	text, err := state.Encode(item)
	if err != nil {
		return err
	}
	_, err = r.k.BreakingPending(guild).Enqueue(ctx, queue.Task[json.RawMessage]{ID: item.Article.ID, Payload: text})
	if errors.Is(err, queue.ErrExists) {
		return nil
	}
	return err
}

// Work looks what there is, and runs a worker until there is nothing more that can be done now.
func (r breaking) Work(
	ctx context.Context, guild string, handle func(context.Context, state.Item, int) error,
) (int, error) {
	q := r.k.BreakingPending(guild)
	if todo, err := ready(ctx, q); err != nil || todo == 0 {
		return 0, err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	var done atomic.Int64
	w := q.Worker(func(ctx context.Context, job *queue.Job[json.RawMessage]) error {
		var item state.Item
		if err := json.Unmarshal(job.Payload, &item); err != nil {
			return queue.Discard(fmt.Errorf("it cannot be read: %w", err))
		}
		tries := int(job.Attempt)
		if job.Crashes > maxCrashes {
			tries = state.MaxTries
		}
		err := handle(ctx, item, tries)
		switch {
		case err == nil:
			done.Add(1)
		case errors.Is(err, state.ErrLater):
			return queue.Later(later, err)
		}
		return err
	}, queue.WorkerOptions{Concurrency: 1, Grace: 5 * time.Second})
	watched := make(chan struct{})
	go func() { // ends the worker when nothing is left to be done now
		defer close(watched)
		defer stop()
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-working.Done():
				return
			case <-tick.C:
			}
			if todo, err := ready(working, q); err != nil || todo == 0 {
				return
			}
		}
	}()
	err := w.Run(working)
	stop()
	<-watched
	return int(done.Load()), err
}

// ready counts what waits, is due, or is being worked on.
func ready(ctx context.Context, q queue.Queue[json.RawMessage]) (int64, error) {
	s, err := q.Stats(ctx)
	n := s.Waiting() + s.Leased
	if s.Delayed > 0 && s.NextDue <= 0 {
		n++
	}
	return n, err
}

type history struct{ k *cunningkeys.Keyspace }

func (h history) Known(ctx context.Context, guild, channel string, hashes []string) (map[string]bool, error) {
	window, err := h.Window(ctx, guild, channel)
	if err != nil {
		return nil, err
	}
	stories, since := h.k.HistoryStories(guild, channel), time.Now().Add(-window)
	known := map[string]bool{}
	for some := range slices.Chunk(hashes, piece) {
		var b keywright.Batch
		asked := make([]*keywright.Pending[time.Time], len(some))
		for i, story := range some {
			asked[i] = keywright.Queue(&b, stories.Score(story))
		}
		if err := b.Run(ctx); err != nil {
			return nil, err
		}
		for i, story := range some {
			if at, err := asked[i].Result(); err == nil && at.After(since) {
				known[story] = true
			}
		}
	}
	return known, nil
}

func (h history) Record(ctx context.Context, guild, channel string, stories []state.Story) error {
	window, err := h.Window(ctx, guild, channel)
	if err != nil {
		return err
	}
	hours := int64(window / time.Hour)
	for some := range slices.Chunk(stories, piece) {
		var b keywright.Batch
		for _, s := range some {
			text, err := state.Encode(s)
			if err != nil {
				return err
			}
			keywright.Queue(&b, h.k.RecordStory(guild, channel, s.Hash, s.Hash, hours, text))
		}
		if err := b.Run(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (h history) Window(ctx context.Context, guild, channel string) (time.Duration, error) {
	hours, err := or(h.k.HistoryDedupWindow(guild).Get(channel).Do(ctx))(24)
	return time.Duration(hours) * time.Hour, err
}

func (h history) SetWindow(ctx context.Context, guild, channel string, hours int64) error {
	_, err := h.k.HistoryDedupWindow(guild).Set(channel, hours).Do(ctx)
	return err
}

func (h history) Cleanup(ctx context.Context, guild, channel string) (int, error) {
	window, err := h.Window(ctx, guild, channel)
	if err != nil {
		return 0, err
	}
	for all := 0; ; {
		n, err := h.k.CleanupHistory(guild, channel, int64(window/time.Hour)).Do(ctx)
		if all += int(n); err != nil || n < 1000 {
			return all, err
		}
	}
}

// NewBreaking returns the breaking news of a keyspace alone.
func NewBreaking(k *cunningkeys.Keyspace) state.Breaking { return breaking{k} }
