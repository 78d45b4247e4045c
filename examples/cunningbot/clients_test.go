package cunningbot_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	bot "github.com/keywright/keywright/examples/cunningbot"
	"github.com/keywright/keywright/examples/cunningbot/local"
	"github.com/keywright/keywright/examples/cunningbot/outside"
	"github.com/keywright/keywright/examples/cunningbot/state"
	"github.com/keywright/keywright/examples/cunningbot/state/files"
	"github.com/keywright/keywright/keywrighttest"
)

// TestDiscord: limits are followed, what failed is repeated, a reply that is lost posts nothing twice,
// and a message is found among hundreds.
func TestDiscord(t *testing.T) {
	d := &local.Discord{Token: "t", Limit: 9, Fail: 23, Lose: 17}
	s := httptest.NewServer(d)
	t.Cleanup(s.Close)
	c, err := outside.NewDiscord(s.URL, "t")
	must(t, err)
	ctx, began := t.Context(), time.Now()
	for i := range 130 {
		_, err := c.Post(ctx, outside.Message{Channel: "7", Ref: fmt.Sprint("ref", i), Title: strings.Repeat("x", 300),
			Text: strings.Repeat("é", 5000)})
		must(t, err)
	}
	same(t, "messages", len(d.Messages()), 130)
	same(t, "requests that came too soon", d.TooSoon(), 0)
	if d.Stopped() == 0 {
		t.Error("no reply was lost")
	}
	for i, m := range d.Messages() {
		same(t, "found", got(c.Find(ctx, "7", fmt.Sprint("ref", i), began))(t), m.ID)
		if i == 3 {
			break
		}
	}
	same(t, "the last one", got(c.Find(ctx, "7", "ref129", began))(t), d.Messages()[129].ID)
	_, err = c.Find(ctx, "8", "ref1", began)
	same(t, "another channel", errors.Is(err, state.ErrNone), true)
	other, err := outside.NewDiscord(s.URL, "wrong")
	must(t, err)
	_, err = other.Post(ctx, outside.Message{Channel: "7"})
	var status *outside.StatusError
	if !errors.As(err, &status) || status.Code != 401 {
		t.Errorf("a wrong token: %v", err)
	}
}

// TestLimits: a server that wants to be left alone for long is: the error says for how long.
func TestLimits(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(429)
	}))
	t.Cleanup(s.Close)
	m := outside.NewOpenAI(s.URL, "k", "")
	for range 3 {
		_, err := m.Ask(t.Context(), "", "x")
		var limited *outside.LimitedError
		if !errors.As(err, &limited) || limited.After < 59*time.Minute {
			t.Errorf("%v", err)
		}
	}
	same(t, "requests", asked, 1)
}

// TestReader: RSS and Atom are read, oldest first; a feed that has not changed is not sent again once
// all of it is stored; what is no feed is an error; a private address is refused.
func TestReader(t *testing.T) {
	n := &local.News{}
	s := httptest.NewServer(n)
	t.Cleanup(s.Close)
	for i := range 3 {
		n.Publish("x", local.NewsItem{Title: fmt.Sprintf("A <b>&</b> %d", i), URL: fmt.Sprintf("https://news.example/%d", i),
			Text: "more & more", At: time.Unix(int64(1e9+i), 0)})
	}
	r := outside.NewWeb(true)
	for _, kind := range []string{"rss", "atom"} {
		url := s.URL + "/x." + kind
		for range 2 {
			items := got(r.Read(t.Context(), url))(t)
			same(t, kind, len(items.List), 3)
			same(t, kind+", the oldest", items.List[0].Title+items.List[0].URL, "A & 0https://news.example/0")
			same(t, kind+", the time", items.List[0].Published.Unix(), int64(1e9))
		}
		got(r.Read(t.Context(), url))(t).Done()
		same(t, kind+", nothing new", len(got(r.Read(t.Context(), url))(t).List), 0)
	}
	for _, bad := range []string{s.URL + "/none", "file:///etc/passwd", "http://127.0.0.1:1/x"} {
		if _, err := r.Read(t.Context(), bad); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
	if _, err := outside.NewWeb(false).Read(t.Context(), s.URL+"/x.rss"); err == nil ||
		!strings.Contains(err.Error(), "private") {
		t.Errorf("a private address: %v", err)
	}
}

// TestInteractions: what Discord has not signed is refused; settings need the permission.
func TestInteractions(t *testing.T) {
	w := newWorld(t)
	store, err := files.New(t.TempDir())
	must(t, err)
	b := &bot.Bot{Store: store}
	s := httptest.NewServer(b.Handler(w.public))
	t.Cleanup(s.Close)
	w.http = strings.TrimPrefix(s.URL, "http://")
	answer, err := http.Post(s.URL+"/interactions", "application/json", strings.NewReader(`{"type":1}`))
	must(t, err)
	answer.Body.Close()
	same(t, "not signed", answer.StatusCode, 401)
	say := func(permissions, name string, options ...map[string]string) string {
		return w.interact(map[string]any{"type": 2, "guild_id": guild, "channel_id": channel,
			"data":   map[string]any{"name": name, "options": options},
			"member": map[string]any{"user": map[string]string{"id": "555000000000000001"}, "permissions": permissions}})
	}
	option := func(name, value string) map[string]string { return map[string]string{"name": name, "value": value} }
	for _, c := range []struct{ want, said string }{
		{"This needs the permission to manage the server.", say("0", "persona", option("text", "x"))},
		{"It is chosen.", say("8", "persona", option("text", "x"))},
		{"text is missing.", say("32", "persona")},
		{"This command is not known.", say("32", "nothing")},
		{"It must be 6 to 168 hours.", say("32", "window", option("hours", "169"))},
		{"The time must be like 18:30.", say("32", "daily", option("name", "x"), option("time", "24:00"),
			option("text", "x"))},
		{"There is a game each day.", say("32", "trivia", option("id", "quiz"), option("time", "18:30"),
			option("topic", "x"))},
		{"There is no such game.", say("32", "close", option("game", "quiz-20260101"))},
		{"The url must begin with https:// or http://.", say("32", "feed", option("name", "x"), option("url", "file:///x"))},
	} {
		same(t, "what the bot says", c.said, c.want)
	}
	got(store.Trivia.Open(t.Context(), guild, "quiz-1", state.NewGame{Question: "Which?", Options: []string{"a", "b"},
		Answer: "b", ChannelID: channel, Lasts: time.Hour}))(t)
	const unknown = "This button is not known."
	for button, want := range map[string]string{"x": unknown, "answer:quiz-1:-1": unknown, "answer:quiz-1:2": unknown,
		"answer:quiz-1:b": unknown, "answer:quiz-2:0": "There is no such game.",
		"answer:quiz-1:1": "Submitted. 1 have answered."} {
		same(t, "the button "+button, w.interact(map[string]any{"type": 3, "guild_id": guild,
			"data": map[string]string{"custom_id": button}, "user": map[string]string{"id": "555000000000000001"}}), want)
	}
	if got(store.Trivia.Registrations(context.Background(), guild))(t)["quiz"].Minute != 18*60+30 {
		t.Error("the registration is not there")
	}
}

// TestLog: at the level DEBUG each operation is one line in the page's form, with its entry and never its key.
func TestLog(t *testing.T) {
	s := keywrighttest.Start(t, keywrighttest.Redis)
	host, port, err := net.SplitHostPort(s.Addr())
	must(t, err)
	variables := map[string]string{"REDIS_HOST": host, "REDIS_PORT": port, "CUNNINGBOT_DEBUG": "true"}
	e, err := bot.Read(func(name string) string { return variables[name] })
	must(t, err)
	var said bytes.Buffer
	store, err := e.Open(t.Context(), "cunningbot-test", slog.New(slog.NewTextHandler(&said,
		&slog.HandlerOptions{Level: slog.LevelDebug})))
	must(t, err)
	t.Cleanup(store.Close)
	got(store.Feeds.Feeds(t.Context(), guild))(t)
	var about []string
	for line := range strings.Lines(said.String()) {
		if strings.Contains(line, "entry=rss_feeds") {
			about = append(about, line)
		}
	}
	if len(about) != 1 || !strings.Contains(about[0], "level=DEBUG msg=[Redis:") ||
		strings.Contains(said.String(), guild) {
		t.Errorf("logged was %s", &said)
	}
	same(t, "the server is named once", strings.Count(said.String(), "server="+s.Addr()), 1)
}
