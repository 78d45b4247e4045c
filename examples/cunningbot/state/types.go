package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// ID represents an id of Discord: a text. The bot's old files have some as numbers, which no float64
// may ever hold.
type ID string

// UnmarshalJSON reads a text or a whole number.
func (id *ID) UnmarshalJSON(text []byte) error {
	digits := bytes.Trim(text, `"`)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return fmt.Errorf("an id of Discord has only digits")
		}
	}
	*id = ID(digits)
	return nil
}

// Feed represents a news feed of a guild.
type Feed struct {
	URL       string `json:"url"`
	ChannelID ID     `json:"channel_id"`
	Enabled   *bool  `json:"enabled,omitempty"` // true unless it says false
}

// On reports whether the feed is read.
func (f Feed) On() bool { return f.Enabled == nil || *f.Enabled }

// Article represents one item of a feed.
type Article struct {
	ID        string    `json:"id"` // StoryHash of its address
	Item      string    `json:"item"`
	Title     string    `json:"title"`
	URL       string    `json:"url"`
	Summary   string    `json:"summary,omitempty"`
	Feed      string    `json:"feed"`
	Published time.Time `json:"published"`
	Queued    time.Time `json:"queued_at"`
}

// Item represents an article that may be breaking news.
type Item struct {
	Article   Article `json:"article"`
	Topic     string  `json:"topic"`
	ChannelID ID      `json:"channel_id"` // of its feed, where it goes if it is not
}

// Story describes what was posted to a channel.
type Story struct {
	Hash     string    `json:"hash"`
	Title    string    `json:"title"`
	URL      string    `json:"url"`
	PostedAt time.Time `json:"posted_at"`
}

// Registration describes where and when a guild wants trivia.
type Registration struct {
	ChannelID ID         `json:"channel_id"`
	Topic     string     `json:"topic"`
	Minute    int        `json:"minute"`          // of the day, hour*60+minute
	Lasts     int        `json:"lasts_seconds"`   // 0: an hour
	Added     *time.Time `json:"added,omitempty"` // nothing is due before
}

// NewGame represents a game that is to be opened.
type NewGame struct {
	Question  string
	Options   []string
	Answer    string
	ChannelID string
	Lasts     time.Duration
}

// Game represents a game.
type Game struct {
	NewGame
	StartedAt, EndsAt time.Time
	Closed            bool
	Submissions       int
	Message           string // "": it is not posted yet
}

// Answer describes what a user says.
type Answer struct {
	Answer string    `json:"answer"`
	At     time.Time `json:"at"`
}

// Result describes how a game ended.
type Result struct {
	Question string    `json:"question"`
	Answer   string    `json:"answer"`
	Answers  int       `json:"answers"`
	Right    []string  `json:"right"` // users, the first one first
	EndedAt  time.Time `json:"ended_at"`
}

// DailyGame is posted once a day.
type DailyGame struct {
	ChannelID ID         `json:"channel_id"`
	Text      string     `json:"text"`
	Enabled   *bool      `json:"enabled,omitempty"`
	Added     *time.Time `json:"added,omitempty"`
	Minute    int        `json:"-"` // of the day: it is in the schedule
}

// On reports whether the game is posted.
func (g DailyGame) On() bool { return g.Enabled == nil || *g.Enabled }

// Hash returns a short hash of parts, as hexadecimal digits.
func Hash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// StoryHash names an article by its address.
func StoryHash(url string) string { return Hash(strings.TrimSpace(url)) }

// ItemID returns an item of a feed as it is marked as seen: as the feed names it, unless that is
// long.
func ItemID(id string) string {
	if len(id) > 512 || id == "" {
		return "hash-" + Hash(id)
	}
	return id
}

// Slug returns a feed's display name as it is in keys.
func Slug(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	slug := strings.TrimSuffix(b.String(), "_")
	if slug == "" || len(slug) > 100 {
		return "feed_" + Hash(name)
	}
	return slug
}

// Encode returns v as JSON.
func Encode(v any) (json.RawMessage, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("a %T cannot be stored: %w", v, err)
	}
	return text, nil
}

// Decoded reads what a hash has as JSON, by field.
func Decoded[T any](all map[string]json.RawMessage, err error) (map[string]T, error) {
	if err != nil {
		return nil, err
	}
	out := make(map[string]T, len(all))
	for name, text := range all {
		var v T
		if err := json.Unmarshal(text, &v); err != nil {
			return nil, fmt.Errorf("a %T that is stored cannot be read: %w", v, err)
		}
		out[name] = v
	}
	return out, nil
}
