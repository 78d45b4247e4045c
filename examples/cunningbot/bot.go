package cunningbot

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/outside"
	"github.com/keywright/keywright/examples/cunningbot/state"
)

// Handler returns what Discord sends to the bot, and its health:
//
//	POST /interactions  commands and buttons, signed by Discord
//	GET /health         200 if the store can be used, else 503
func (b *Bot) Handler(key ed25519.PublicKey) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /interactions", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil || !signed(key, r.Header, body) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var i interaction
		if err := json.Unmarshal(body, &i); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		reply(w, http.StatusOK, b.interact(r.Context(), i))
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		ctx, stop := context.WithTimeout(r.Context(), 3*time.Second)
		defer stop()
		h := b.Store.Health(ctx)
		code := http.StatusOK
		if h.Status != "healthy" {
			code = http.StatusServiceUnavailable
		}
		reply(w, code, h)
	})
	return mux
}

func reply(w http.ResponseWriter, code int, v any) {
	text, err := state.Encode(v)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(text, '\n')) // the other side is gone otherwise
}

// signed checks the signature of Discord.
func signed(key ed25519.PublicKey, h http.Header, body []byte) bool {
	sig, err := hex.DecodeString(h.Get("X-Signature-Ed25519"))
	return err == nil && len(key) == ed25519.PublicKeySize && len(sig) == ed25519.SignatureSize &&
		ed25519.Verify(key, append([]byte(h.Get("X-Signature-Timestamp")), body...), sig)
}

// interaction describes what a user does: type 1 is a ping of Discord, 2 a command, 3 a button.
type interaction struct {
	Type int `json:"type"`
	// of the answer that comes later
	Application string `json:"application_id"`
	Token       string `json:"token"`
	GuildID     string `json:"guild_id"`
	Channel     string `json:"channel_id"`
	Data        struct {
		Name     string   `json:"name"`
		Options  []option `json:"options"`
		CustomID string   `json:"custom_id"`
	} `json:"data"`
	Member *struct {
		User        user   `json:"user"`
		Permissions string `json:"permissions"`
	} `json:"member"`
	User *user `json:"user"` // outside of a guild
}

type user struct {
	ID string `json:"id"`
}

type option struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

type answer struct {
	Type int         `json:"type"` // 1: pong, 4: a message, 5: a message that comes later
	Data *answerData `json:"data,omitempty"`
}

type answerData struct {
	Content string `json:"content,omitempty"`
	Flags   int    `json:"flags"`
}

// onlyUser is the flag of an answer that only its user sees.
const onlyUser = 64

func says(format string, values ...any) answer {
	return answer{4, &answerData{outside.Cut(fmt.Sprintf(format, values...), outside.MaxContent), onlyUser}}
}

func (b *Bot) interact(ctx context.Context, i interaction) answer {
	if i.Type == 1 {
		return answer{Type: 1}
	}
	guild, user := i.GuildID, ""
	switch {
	case i.Member != nil:
		user = i.Member.User.ID
	case i.User != nil:
		user = i.User.ID
	}
	if guild == "" {
		guild = state.Global // as the page writes a missing guild
	}
	if i.Type != 3 && slow(i.Data.Name) && i.Token != "" {
		return b.later(ctx, guild, user, i)
	}
	ctx, stop := context.WithTimeout(ctx, 2500*time.Millisecond) // Discord waits for 3 s
	defer stop()
	return says("%s", b.does(ctx, guild, user, i))
}

// A slow command may be answered for so long, and so many are at a time.
const (
	slowTime = 30 * time.Second
	mostSlow = 16
)

// later says that the answer comes, and gives it when the command is done.
func (b *Bot) later(ctx context.Context, guild, user string, i interaction) answer {
	if b.waiting.Add(1) > mostSlow {
		b.waiting.Add(-1)
		return says("%s", tryAgain)
	}
	b.late.Go(func() {
		defer b.waiting.Add(-1)
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*slowTime)
		defer stop()
		does, end := context.WithTimeout(ctx, slowTime)
		text := b.does(does, guild, user, i)
		end()
		if err := b.Discord.Answer(ctx, i.Application, i.Token, text); err != nil {
			b.Log.Warn("an answer was not given", "guild", guild, "error", err)
		}
	})
	return answer{5, &answerData{Flags: onlyUser}}
}

// Wait waits for the answers that come later: a minute at most.
func (b *Bot) Wait() { b.late.Wait() }

// tryAgain is shown to the user where something went wrong that may go well the next time.
const tryAgain = "This cannot be done now. Try again in a moment."

// does does what a user wants, and returns what to say.
func (b *Bot) does(ctx context.Context, guild, user string, i interaction) string {
	text, err := "", error(nil)
	if i.Type == 3 {
		text, err = b.press(ctx, guild, user, i.Data.CustomID)
	} else {
		text, err = b.command(ctx, guild, i)
	}
	var wrong *usageError
	switch {
	case errors.As(err, &wrong):
		return wrong.Error()
	case err != nil:
		b.Log.Warn("a command failed", "guild", guild, "error", err)
		return tryAgain
	}
	return text
}

// join notes a guild in which something is done, and is nothing for a direct message.
func (b *Bot) join(ctx context.Context, guild string) error {
	if guild == state.Global {
		return nil
	}
	return b.Store.Settings.AddGuild(ctx, guild)
}

// usageError is shown to the user.
type usageError struct{ says string }

func (e *usageError) Error() string { return e.says }

const unknownButton = "This button is not known."

// press returns an answer to a game: answer:GAME:OPTION.
func (b *Bot) press(ctx context.Context, guild, user, data string) (string, error) {
	parts := strings.Split(data, ":")
	if len(parts) != 3 || parts[0] != "answer" {
		return "", &usageError{unknownButton}
	}
	game, err := b.Store.Trivia.Game(ctx, guild, parts[1])
	if errors.Is(err, state.ErrNone) {
		return "There is no such game.", nil
	}
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(parts[2])
	if err != nil || n < 0 || n >= len(game.Options) {
		return "", &usageError{unknownButton}
	}
	if err := b.join(ctx, guild); err != nil {
		return "", err
	}
	all, err := b.Store.Trivia.Submit(ctx, guild, parts[1], user,
		state.Answer{Answer: game.Options[n], At: time.Now().UTC()})
	switch {
	case errors.Is(err, state.ErrNone):
		return "There is no such game.", nil
	case errors.Is(err, state.ErrClosed):
		return "The game is closed.", nil
	}
	return fmt.Sprintf("Submitted. %d have answered.", all), err
}

// Command represents a command as it is registered with Discord.
type Command struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Options     []CommandOption `json:"options,omitempty"`
	Permissions string          `json:"default_member_permissions,omitempty"`

	run func(b *Bot, ctx context.Context, guild, channel string, o options) (string, error)
}

// CommandOption represents an argument; all are texts (type 3).
type CommandOption struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        int    `json:"type"`
	Required    bool   `json:"required"`
}

// options holds the arguments of a command.
type options map[string]string

// manage is the permission that changing settings needs: to manage the guild.
const manage = "32"

func command(name, does, permission string, run func(*Bot, context.Context, string, string, options) (string, error),
	args ...string) Command {
	c := Command{Name: name, Description: does, Permissions: permission, run: run}
	for _, a := range args {
		arg, optional := strings.CutSuffix(a, "?")
		c.Options = append(c.Options, CommandOption{arg, arg, 3, !optional})
	}
	return c
}

// Commands lists those of the bot. Those that change settings need the permission to manage the
// guild, which Discord checks before it sends them, and the bot again.
var Commands = []Command{
	command("ask", "Ask the bot", "", askCommand, "question"),
	command("persona", "Choose the personality of the bot", manage, personaCommand, "text"),
	command("feed", "Read a feed into this channel; without a url: no more", manage, feedCommand, "name", "url?"),
	command("topic", "Post news about a topic here at once; with off: no more", manage, topicCommand, "word", "off?"),
	command("window", "Hours in which this channel does not repeat a story", manage, windowCommand, "hours"),
	command("trivia", "A game in this channel each day", manage, triviaCommand, "id", "time", "topic", "minutes?"),
	command("close", "Close a game now", manage, closeCommand, "game"),
	command("result", "How a game ended", "", resultCommand, "game"),
	command("daily", "Post a text in this channel each day", manage, dailyCommand, "name", "time", "text"),
}

func (b *Bot) command(ctx context.Context, guild string, i interaction) (string, error) {
	at := slices.IndexFunc(Commands, func(c Command) bool { return c.Name == i.Data.Name })
	if at < 0 {
		return "", &usageError{"This command is not known."}
	}
	c := Commands[at]
	if c.Permissions != "" && !mayManage(i) {
		return "", &usageError{"This needs the permission to manage the server."}
	}
	given := options{}
	for _, o := range i.Data.Options {
		text := string(o.Value)
		if json.Unmarshal(o.Value, &text) != nil {
			text = string(o.Value)
		}
		given[o.Name] = strings.TrimSpace(text)
	}
	for _, o := range c.Options {
		if o.Required && given[o.Name] == "" {
			return "", &usageError{o.Name + " is missing."}
		}
	}
	if err := b.join(ctx, guild); err != nil { // a command that was refused has done nothing
		return "", err
	}
	return c.run(b, ctx, guild, i.Channel, given)
}

// slow reports whether a command may take longer than Discord waits: it asks the model.
func slow(name string) bool { return name == "ask" }

// mayManage reports whether a user is an administrator (8) or may manage the guild (32).
func mayManage(i interaction) bool {
	if i.Member == nil {
		return false
	}
	n, err := strconv.ParseUint(i.Member.Permissions, 10, 64)
	return err == nil && n&(8|32) != 0
}
