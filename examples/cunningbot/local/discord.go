// Package local has servers that answer as Discord, OpenAI and news sites do, for tests and for
// trying: what is posted arrives there and is counted.
package local

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Message describes what was posted.
type Message struct {
	ID, Channel, Ref string
	Title, Text      string
	Buttons          []string // what they send
	At               time.Time
}

// Discord answers as Discord's REST interface does: messages with nonces, pages of messages,
// limits.
type Discord struct {
	Token string
	// Nonces is how long a nonce is remembered; 0: 3 minutes; negative: not at all, so that only
	// a look at the channel shows that a message is there.
	Nonces time.Duration
	// Every so many requests one is refused by a limit, one fails, and one has its reply lost
	// after it was done; 0: none.
	Limit, Fail, Lose int

	mu       sync.Mutex
	n        int
	last     int64
	down     bool
	messages []Message
	answers  map[string]string // to commands, by token
	again    int               // posts that a nonce has stopped
	commands json.RawMessage
	noRoom   map[string]time.Time // channels that must wait
	tooSoon  int                  // requests that came before they should
}

// Me is the id of the bot.
const Me = "700000000000000001"

type embed struct {
	Title       string `json:"title,omitempty"`
	Description string `json:"description"`
	Footer      *struct {
		Text string `json:"text"`
	} `json:"footer,omitempty"`
}

type posted struct {
	ID     string `json:"id"`
	Author struct {
		ID  string `json:"id"`
		Bot bool   `json:"bot"`
	} `json:"author"`
	Embeds []embed `json:"embeds"`
}

// ServeHTTP answers.
func (d *Discord) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /channels/{id}/messages", d.post)
	mux.HandleFunc("GET /channels/{id}/messages", d.list)
	mux.HandleFunc("PATCH /webhooks/{application}/{token}/messages/@original", d.answer)
	mux.HandleFunc("GET /users/@me", func(w http.ResponseWriter,
		_ *http.Request) {
		say(w, 200, map[string]any{"id": Me, "bot": true})
	})
	mux.HandleFunc("PUT /applications/{id}/commands", func(w http.ResponseWriter, r *http.Request) {
		var all json.RawMessage
		if json.NewDecoder(r.Body).Decode(&all) != nil {
			say(w, 400, nil)
			return
		}
		d.mu.Lock()
		d.commands = all
		d.mu.Unlock()
		say(w, 200, all)
	})
	if r.Header.Get("Authorization") != "Bot "+d.Token {
		say(w, 401, map[string]any{"message": "401: Unauthorized"})
		return
	}
	d.mu.Lock()
	d.n++
	n, down := d.n, d.down
	channel := r.URL.Path
	if until := d.noRoom[channel]; time.Now().Before(until) {
		d.tooSoon++
	}
	if d.Limit > 0 && n%d.Limit == 0 {
		if d.noRoom == nil {
			d.noRoom = map[string]time.Time{}
		}
		d.noRoom[channel] = time.Now().Add(15 * time.Millisecond)
	}
	d.mu.Unlock()
	switch {
	case down:
		panic(http.ErrAbortHandler)
	case d.Limit > 0 && n%d.Limit == 0:
		say(w, 429, map[string]any{"message": "You are being rate limited.", "retry_after": 0.02, "global": false})
	case d.Fail > 0 && n%d.Fail == 0:
		say(w, 502, map[string]any{"message": "bad gateway"})
	case d.Lose > 0 && n%d.Lose == 0:
		mux.ServeHTTP(&lostAnswer{h: http.Header{}}, r)
		panic(http.ErrAbortHandler) // it is done, and the reply is lost
	default:
		mux.ServeHTTP(w, r)
	}
}

// answer fills in the answer to a command.
func (d *Discord) answer(w http.ResponseWriter, r *http.Request) {
	var is struct {
		Content string `json:"content"`
	}
	if json.NewDecoder(r.Body).Decode(&is) != nil || is.Content == "" || len(is.Content) > 4*2000 {
		say(w, 400, nil)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.answers == nil {
		d.answers = map[string]string{}
	}
	d.answers[r.PathValue("token")] = is.Content
	say(w, 200, map[string]any{"id": r.PathValue("token")})
}

// Answer returns the answer to the command of a token, "" while there is none.
func (d *Discord) Answer(token string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.answers[token]
}

// lostAnswer returns a writer whose answer is lost.
type lostAnswer struct{ h http.Header }

func (n *lostAnswer) Header() http.Header         { return n.h }
func (n *lostAnswer) Write(p []byte) (int, error) { return len(p), nil }
func (n *lostAnswer) WriteHeader(int)             {}

func say(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

func (d *Discord) post(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Nonce      string  `json:"nonce"`
		Enforce    bool    `json:"enforce_nonce"`
		Content    string  `json:"content"`
		Embeds     []embed `json:"embeds"`
		Components []struct {
			Components []struct {
				CustomID string `json:"custom_id"`
			} `json:"components"`
		} `json:"components"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Nonce) > 25 || len(in.Embeds) > 10 ||
		in.Content == "" && len(in.Embeds) == 0 {
		say(w, 400, map[string]any{"message": "Invalid Form Body", "code": 50035})
		return
	}
	m := Message{Channel: r.PathValue("id"), Ref: in.Nonce, Text: in.Content, At: time.Now()}
	for _, e := range in.Embeds {
		if len([]rune(e.Description)) > 4096 || len([]rune(e.Title)) > 256 {
			say(w, 400, map[string]any{"message": "Invalid Form Body", "code": 50035})
			return
		}
		m.Title, m.Text = e.Title, m.Text+e.Description
	}
	for _, row := range in.Components {
		for _, b := range row.Components {
			m.Buttons = append(m.Buttons, b.CustomID)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	window := d.Nonces
	if window == 0 {
		window = 3 * time.Minute
	}
	if in.Enforce {
		for _, old := range slices.Backward(d.messages) {
			if old.Ref == m.Ref && old.Channel == m.Channel && time.Since(old.At) < window {
				d.again++
				say(w, 200, shown(old))
				return
			}
		}
	}
	d.last = max(d.last+1, (time.Now().UnixMilli()-1420070400000)<<22)
	m.ID = strconv.FormatInt(d.last, 10)
	d.messages = append(d.messages, m)
	say(w, 200, shown(m))
}

func shown(m Message) (p posted) {
	p.ID, p.Author.ID, p.Author.Bot = m.ID, Me, true
	e := embed{Title: m.Title, Description: m.Text}
	e.Footer = &struct {
		Text string `json:"text"`
	}{"ref " + m.Ref}
	p.Embeds = []embed{e}
	return p
}

func (d *Discord) list(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || limit < 1 || limit > 100 {
		say(w, 400, nil)
		return
	}
	page := []posted{}
	for _, m := range d.Messages() {
		if id, _ := strconv.ParseInt(m.ID, 10, 64); m.Channel == r.PathValue("id") && id > after && len(page) < limit {
			page = append(page, shown(m))
		}
	}
	slices.Reverse(page) // newest first, as Discord does
	say(w, 200, page)
}

// Messages returns all that were posted, oldest first.
func (d *Discord) Messages() []Message {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.messages)
}

// Stopped returns how many posts were those of a nonce that was there.
func (d *Discord) Stopped() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.again
}

// TooSoon returns how many requests came although their route had to wait.
func (d *Discord) TooSoon() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tooSoon
}

// Commands returns those that the bot has registered.
func (d *Discord) Commands() json.RawMessage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.commands
}

// Down lets every request fail, or none.
func (d *Discord) Down(down bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = down
}

var link = regexp.MustCompile(`\]\((https?://[^)]+)\)`)

// Links counts how often each address was posted to each channel, as "CHANNEL ADDRESS".
func (d *Discord) Links() map[string]int {
	links := map[string]int{}
	for _, m := range d.Messages() {
		for _, l := range link.FindAllStringSubmatch(m.Text, -1) {
			links[fmt.Sprintf("%s %s", m.Channel, l[1])]++
		}
	}
	return links
}
