package cunningbot_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	bot "github.com/keywright/keywright/examples/cunningbot"
	"github.com/keywright/keywright/examples/cunningbot/local"
	"github.com/keywright/keywright/examples/cunningbot/state"
	"github.com/keywright/keywright/examples/cunningbot/state/redis"
	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// world describes what is around the bot: Discord, a model, a news site, and its users.
type world struct {
	t       *testing.T
	discord *local.Discord
	news    *local.News
	urls    map[string]string
	public  ed25519.PublicKey
	private ed25519.PrivateKey
	http    string // where the bot listens
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, discord: &local.Discord{Token: "a-token", Limit: 7, Fail: 11, Lose: 13}, news: &local.News{},
		urls: map[string]string{}, http: address(t)}
	for name, h := range map[string]http.Handler{"discord": w.discord, "openai": &local.Model{Key: "a-key", Limit: 9},
		"news": w.news} {
		s := httptest.NewServer(h)
		s.Config.ErrorLog = nil
		t.Cleanup(s.Close)
		w.urls[name] = s.URL
	}
	var err error
	w.public, w.private, err = ed25519.GenerateKey(nil)
	must(t, err)
	return w
}

// env returns the variables of a program, as the page names them.
func (w *world) env(s *keywrighttest.Server, user string) []string {
	host, port, err := net.SplitHostPort(s.Addr())
	must(w.t, err)
	return []string{"REDIS_HOST=" + host, "REDIS_PORT=" + port, "REDIS_DB=0", "REDIS_USERNAME=" + user,
		"REDIS_PASSWORD=" + word, "REDIS_HEALTH_PASSWORD=",
		"REDIS_MAX_CONNECTIONS=20", "USE_REDIS=true", "DISCORD_TOKEN=a-token", "DISCORD_API=" + w.urls["discord"],
		"OPENAI_API_KEY=a-key", "OPENAI_BASE_URL=" + w.urls["openai"],
		"DISCORD_PUBLIC_KEY=" + hex.EncodeToString(w.public), "CUNNINGBOT_HTTP=" +
			w.http, "CUNNINGBOT_PRIVATE_FEEDS=true", "TZ=UTC"}
}

// interact sends what a user does, signed as Discord signs it, and gives what the bot says; "" if
// it does not answer.
func (w *world) interact(body any) string {
	text, err := json.Marshal(body)
	must(w.t, err)
	at := strconv.FormatInt(time.Now().Unix(), 10)
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://"+w.http+"/interactions",
		bytes.NewReader(text))
	must(w.t, err)
	r.Header.Set("X-Signature-Timestamp", at)
	r.Header.Set("X-Signature-Ed25519", hex.EncodeToString(ed25519.Sign(w.private, append([]byte(at), text...))))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	var said struct{ Data struct{ Content string } }
	if answer.StatusCode != http.StatusOK || json.NewDecoder(answer.Body).Decode(&said) != nil {
		return ""
	}
	return said.Data.Content
}

// command sends a command of a user that may manage the guild, until the bot answers.
func (w *world) command(guild, channel, name string, options ...string) (said string) {
	w.t.Helper()
	var given []map[string]string
	for i := 0; i < len(options); i += 2 {
		given = append(given, map[string]string{"name": options[i], "value": options[i+1]})
	}
	await(w.t, "the bot answers /"+name, func() bool {
		said = w.interact(map[string]any{"type": 2, "guild_id": guild, "channel_id": channel,
			"data":   map[string]any{"name": name, "options": given},
			"member": map[string]any{"user": map[string]string{"id": "555000000000000001"}, "permissions": "32"}})
		return said != "" && !strings.HasPrefix(said, "This cannot be done now")
	})
	return said
}

// players press buttons of each game that is posted, and know which answers were accepted.
type players struct {
	mu       sync.Mutex
	accepted map[string]map[string]bool // by game and user
	closed   map[string]bool
}

func (p *players) play(w *world, users int, over <-chan struct{}) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		for _, m := range w.discord.Messages() {
			if len(m.Buttons) == 0 {
				continue
			}
			game := strings.Split(m.Buttons[0], ":")[1]
			for user := range users {
				p.press(w, m, game, fmt.Sprint(600000000000000000+user))
			}
		}
	}
}

func (p *players) press(w *world, m local.Message, game, user string) {
	p.mu.Lock()
	done := p.accepted[game][user] || p.closed[game]
	p.mu.Unlock()
	if done {
		return
	}
	n, _ := strconv.Atoi(user[15:])
	said := w.interact(map[string]any{"type": 3, "guild_id": guild, "channel_id": m.Channel,
		"data":   map[string]string{"custom_id": m.Buttons[n%len(m.Buttons)]},
		"member": map[string]any{"user": map[string]string{"id": user}, "permissions": "0"}})
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case strings.HasPrefix(said, "Submitted"):
		if p.accepted[game] == nil {
			p.accepted[game] = map[string]bool{}
		}
		p.accepted[game][user] = true
	case strings.HasPrefix(said, "There is no such game"), strings.HasPrefix(said, "The game is closed"):
		p.closed[game] = true
	}
}

const (
	newsChannel     = "944003671334977601"
	atomChannel     = "944003671334977602"
	breakingChannel = "944003671334977603"
	gamesChannel    = "944003671334977604"
)

// TestSystem: the bot and two of each task, each under the user that is printed for it, the default
// user off. Whatever is killed, each article is posted once, to the channel that it belongs to;
// each game is posted once and ends once, with all answers that were accepted; each daily game is
// posted once.
func TestSystem(t *testing.T) {
	gate.Skip(t, "kills programs")
	onBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		if brand != keywrighttest.Redis && os.Getenv("KEYWRIGHT_KILLS") == "" {
			return // its seven programs take as much again; the stores are tested on both
		}
		s := protected(t, brand)
		w := newWorld(t)
		running := map[string]*sitetest.Process{}
		begin := func(name string) {
			verb := strings.TrimRight(name, "-0123456789")
			user, args := "cunningbot", []string{verb}
			if verb != "bot" {
				user, args = bot.Tasks[verb].User, append(args, "-poll", "200ms")
			}
			running[name] = start(t, w.env(s, user), program(t, "cunningbotd"), args...)
		}
		names := []string{"bot"}
		for verb := range bot.Tasks {
			names = append(names, verb+"-1", verb+"-2")
		}
		slices.Sort(names)
		for _, name := range names {
			begin(name)
		}
		w.command(guild, newsChannel, "feed", "name", "San Diego", "url", w.urls["news"]+"/diego.rss")
		w.command(guild, atomChannel, "feed", "name", "東京", "url", w.urls["news"]+"/tokyo.atom")
		w.command(guild, breakingChannel, "topic", "word", "hurricane")
		same(t, "a second feed of that name", w.command(guild, newsChannel, "feed", "name", "san-diego", "url",
			"https://x.example"), `The name is too much like "San Diego".`)

		// What is due today was chosen yesterday.
		n := sitetest.Kills(t, 10)
		store := redis.New(open(t, sitetest.URL(s, "test")))
		now := time.Now().UTC()
		minute := now.Hour()*60 + now.Minute()
		for i := range 4 {
			must(t, store.Trivia.PutRegistration(t.Context(), guild, fmt.Sprint("reg", i),
				state.Registration{ChannelID: gamesChannel, Topic: "sums", Minute: minute, Lasts: 6 + i}))
			must(t, store.Daily.PutGame(t.Context(), guild, fmt.Sprint("daily ", i),
				state.DailyGame{ChannelID: gamesChannel, Text: "play", Minute: minute}))
		}

		p, over := &players{accepted: map[string]map[string]bool{}, closed: map[string]bool{}}, make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() { p.play(w, 5, over) })
		want := map[string]int{}
		published := 0
		publish := func(count int) {
			for range count {
				published++
				feed, to := "diego", newsChannel
				if published%2 == 0 {
					feed, to = "tokyo", atomChannel
				}
				title := fmt.Sprint("Item ", published)
				switch published % 5 {
				case 3:
					title, to = "urgent: hurricane "+title, breakingChannel
				case 4:
					title += " after the hurricane"
				}
				at := fmt.Sprintf("https://news.example/%d", published)
				want[to+" "+at] = 1
				w.news.Publish(feed, local.NewsItem{Title: title, URL: at, Text: "More.", At: time.Now()})
			}
		}
		random, order := gate.Rand(t), []int(nil)
		for range n { // each time when there is something to lose
			before := len(w.discord.Links())
			publish(11)
			await(t, "some of it is posted", func() bool { return len(w.discord.Links()) > before })
			if len(order) == 0 {
				order = random.Perm(len(names))
			}
			victim := names[order[0]]
			order = order[1:]
			running[victim].Kill()
			t.Logf("%s killed %s", time.Now().Format(time.TimeOnly+".000"), victim)
			begin(victim)
		}
		await(t, "all is posted", func() bool {
			titles := map[string]int{}
			for _, m := range w.discord.Messages() {
				titles[strings.Fields(m.Title)[0]+m.Channel]++
			}
			for i := range 4 {
				if !got(store.Trivia.Played(t.Context(), guild, fmt.Sprintf("reg%d-%s", i, now.Format("20060102"))))(t) {
					return false
				}
			}
			return len(w.discord.Links()) == len(want) && titles["daily"+gamesChannel] >= 4
		})
		await(t, "no game is left", func() bool { return s.Do("EXISTS", "trivia:"+guild+":games:active") == int64(0) })
		close(over)
		all.Wait()

		for at, n := range w.discord.Links() {
			if n == want[at] {
				continue
			}
			t.Errorf("%s was posted %d times", at, n)
			for _, m := range w.discord.Messages() {
				if _, address, _ := strings.Cut(at, " "); strings.Contains(m.Text, "("+address+")") {
					t.Logf("%s %s %s in %s", m.At.Format(time.TimeOnly+".000"), m.Title, m.Ref, m.Channel)
				}
			}
		}
		refs := map[string]int{}
		for _, m := range w.discord.Messages() {
			if refs[m.Ref]++; refs[m.Ref] > 1 {
				t.Errorf("%s was posted %d times", m.Title, refs[m.Ref])
			}
		}
		p.check(t, store, w)
		for name, p := range running {
			if err := p.Stop(); err != nil {
				t.Errorf("%s was asked to stop: %v", name, err)
			}
		}
		t.Logf("%d messages, %d repetitions stopped, %d articles", len(refs), w.discord.Stopped(), len(want))
		sitetest.Keywright(t, sitetest.URL(s, "test"), "audit", "--values=all", "--quiet")
		sitetest.Refusals(t, s)
	})
}

// check compares what was accepted with the results.
func (p *players) check(t *testing.T, store *state.Store, w *world) {
	t.Helper()
	games := 0
	for _, m := range w.discord.Messages() {
		if len(m.Buttons) == 0 {
			continue
		}
		games++
		game := strings.Split(m.Buttons[0], ":")[1]
		r := got(store.Trivia.Result(t.Context(), guild, game))(t)
		if r.Answers < len(p.accepted[game]) {
			t.Errorf("game %s: %d answers, %d were accepted", game, r.Answers, len(p.accepted[game]))
		}
	}
	results := 0
	for _, m := range w.discord.Messages() {
		if m.Title == "Trivia: the answer" {
			results++
		}
	}
	same(t, "results of games that were posted", results, games)
}
