package outside

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/state"
)

// Discord represents the REST interface of Discord.
type Discord struct {
	web *web

	mu sync.Mutex
	me string // the bot's own id
}

// NewDiscord returns a client with a bot's token; base is "" for https://discord.com/api/v10.
func NewDiscord(base, token string) (*Discord, error) {
	if token == "" {
		return nil, errors.New("DISCORD_TOKEN is not set")
	}
	return &Discord{web: newWeb("Discord", cmp.Or(base, "https://discord.com/api/v10"), "Bot "+token)}, nil
}

// Limits of Discord.
const (
	maxTitle   = 256
	MaxText    = 4096
	MaxContent = 2000
	maxLabel   = 80
	maxFound   = 100 // messages of a page
	findPages  = 50
)

type discordMessage struct {
	ID         string         `json:"id,omitempty"`
	Embeds     []discordEmbed `json:"embeds"`
	Components []discordRow   `json:"components,omitempty"`
	Nonce      string         `json:"nonce,omitempty"`
	Enforce    bool           `json:"enforce_nonce,omitempty"`
	Mentions   map[string]any `json:"allowed_mentions,omitempty"`
	Author     *struct {
		ID string `json:"id"`
	} `json:"author,omitempty"`
}

type discordEmbed struct {
	Title       string         `json:"title,omitempty"`
	Description string         `json:"description"`
	Footer      *discordFooter `json:"footer,omitempty"`
}

type discordFooter struct {
	Text string `json:"text"`
}

type discordRow struct {
	Type       int             `json:"type"` // 1: a row
	Components []discordButton `json:"components"`
}

type discordButton struct {
	Type     int    `json:"type"`  // 2: a button
	Style    int    `json:"style"` // 2: grey
	Label    string `json:"label"`
	CustomID string `json:"custom_id"`
}

// Post posts a message. Its Ref is the nonce: Discord gives the message that is there when a
// nonce comes again within minutes. It is shown in the footer too, where Find looks for it.
func (d *Discord) Post(ctx context.Context, m Message) (string, error) {
	out := discordMessage{Embeds: []discordEmbed{{Cut(m.Title, maxTitle), Cut(m.Text, MaxText),
		&discordFooter{footer(m.Ref)}}},
		Nonce: m.Ref, Enforce: true, Mentions: map[string]any{"parse": []string{}}}
	for row := range slices.Chunk(m.Buttons, 5) {
		r := discordRow{Type: 1}
		for _, b := range row {
			r.Components = append(r.Components, discordButton{2, 2, Cut(b.Label, maxLabel), b.Data})
		}
		out.Components = append(out.Components, r)
	}
	var made discordMessage
	path := "/channels/" + m.Channel + "/messages"
	err := d.web.call(ctx, http.MethodPost, path, "POST "+path, out, &made)
	return made.ID, err
}

func footer(ref string) string { return "ref " + ref }

// epoch says where Discord's ids count milliseconds from.
const epoch = 1420070400000

// Find looks for a message of the bot among those that were posted since a time, by the clock of
// this machine, which may be wrong by five minutes.
func (d *Discord) Find(ctx context.Context, channel, ref string, since time.Time) (string, error) {
	me, err := d.self(ctx)
	if err != nil {
		return "", err
	}
	path := "/channels/" + channel + "/messages"
	after := max(since.Add(-5*time.Minute).UnixMilli()-epoch, 0) << 22
	for range findPages {
		var page []discordMessage
		if err := d.web.call(ctx, http.MethodGet, fmt.Sprintf("%s?limit=%d&after=%d", path, maxFound, after), "GET "+path,
			nil, &page); err != nil {
			return "", err
		}
		for _, m := range page {
			if id, err := strconv.ParseInt(m.ID, 10, 64); err == nil {
				after = max(after, id)
			}
			if m.Author == nil || m.Author.ID != me {
				continue
			}
			for _, e := range m.Embeds {
				if e.Footer != nil && e.Footer.Text == footer(ref) {
					return m.ID, nil
				}
			}
		}
		if len(page) < maxFound {
			return "", state.ErrNone
		}
	}
	return "", fmt.Errorf("Discord: more than %d messages were posted since, and it is among none of them",
		findPages*maxFound)
}

// Answer fills in the answer to a command, for at most 15 minutes after it was given. The token is no part of an error.
func (d *Discord) Answer(ctx context.Context, application, token, text string) error {
	path := "/webhooks/" + url.PathEscape(application) + "/" + url.PathEscape(token) + "/messages/@original"
	return d.web.call(ctx, http.MethodPatch, path, "PATCH an answer", map[string]any{"content": Cut(text, MaxContent),
		"allowed_mentions": map[string]any{"parse": []string{}}}, nil)
}

// self returns the bot's own id, which is asked for once.
func (d *Discord) self(ctx context.Context) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.me != "" {
		return d.me, nil
	}
	var me struct {
		ID string `json:"id"`
	}
	if err := d.web.call(ctx, http.MethodGet, "/users/@me", "GET /users/@me", nil, &me); err != nil {
		return "", err
	}
	d.me = me.ID
	return d.me, nil
}

// Register tells Discord the commands of the bot, as its JSON has them.
func (d *Discord) Register(ctx context.Context, commands any) error {
	id, err := d.self(ctx)
	if err != nil {
		return err
	}
	path := "/applications/" + id + "/commands"
	return d.web.call(ctx, http.MethodPut, path, "PUT "+path, commands, nil)
}

// OpenAI represents a language model with the interface of OpenAI.
type OpenAI struct {
	web   *web
	model string
}

// NewOpenAI returns a client; base is "" for https://api.openai.com, model "" for gpt-4o-mini.
func NewOpenAI(base, key, model string) *OpenAI {
	return &OpenAI{newWeb("the language model", cmp.Or(base, "https://api.openai.com"), "Bearer "+key),
		cmp.Or(model, "gpt-4o-mini")}
}

// Ask asks for a completion.
func (o *OpenAI) Ask(ctx context.Context, system, prompt string) (string, error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var answer struct {
		Choices []struct {
			Message message `json:"message"`
		} `json:"choices"`
	}
	const path = "/v1/chat/completions"
	err := o.web.call(ctx, http.MethodPost, path, path, map[string]any{"model": o.model, "messages": []message{{"system",
		system}, {"user", prompt}}}, &answer)
	if err != nil {
		return "", err
	}
	if len(answer.Choices) == 0 || strings.TrimSpace(answer.Choices[0].Message.Content) == "" {
		return "", errors.New("the language model says nothing")
	}
	return strings.TrimSpace(answer.Choices[0].Message.Content), nil
}
