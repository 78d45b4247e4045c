// Package outside has what CunningBot talks to, over HTTP: Discord, a language model and news feeds.
//
// It knows no store.
package outside

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/state"
)

// Messenger posts to channels of Discord.
type Messenger interface {
	// Post posts a message and gives its id. A message of the same Ref that was posted in the
	// last minutes is given instead, so Post may be repeated.
	Post(ctx context.Context, m Message) (id string, err error)
	// Find gives the message of a Ref that was posted since a time; ErrNone.
	Find(ctx context.Context, channel, ref string, since time.Time) (id string, err error)
	// Answer answers a command whose answer was announced to Discord for later. It may be repeated.
	Answer(ctx context.Context, application, token, text string) error
}

// Message describes what is posted.
type Message struct {
	Channel string
	Ref     string // names it; at most 25 characters
	Title   string
	Text    string
	Buttons []Button
}

// Button represents something to press below a message.
type Button struct{ Label, Data string }

// Model represents a language model.
type Model interface {
	Ask(ctx context.Context, system, prompt string) (string, error)
}

// Reader reads news feeds.
type Reader interface {
	// Read gives the items of a feed, oldest first; nothing if it has not changed since this
	// Reader has read it and Done was called.
	Read(ctx context.Context, url string) (Items, error)
}

// Items describes what a feed has.
type Items struct {
	List []FeedItem
	Done func() // all of them are stored: the feed need not be read again until it changes
}

// FeedItem represents one item of a feed.
type FeedItem struct {
	ID, Title, URL, Summary string
	Published               time.Time
}

// LimitedError represents an answer that says to come back later.
type LimitedError struct {
	Server string
	After  time.Duration
}

func (e *LimitedError) Error() string {
	return fmt.Sprintf("%s wants no more requests for %s", e.Server, e.After.Round(time.Millisecond))
}

// StatusError represents an answer other than 2xx.
type StatusError struct {
	Server string
	Code   int
	Says   string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s answers %d: %s", e.Server, e.Code, e.Says)
}

// PostOnce posts a message once. again: it may have been posted, since some time.
func PostOnce(ctx context.Context, to Messenger, m Message, again bool, since time.Time) (id string, err error) {
	if again {
		id, err = to.Find(ctx, m.Channel, m.Ref, since)
		if !errors.Is(err, state.ErrNone) {
			return id, err
		}
	}
	return to.Post(ctx, m)
}
