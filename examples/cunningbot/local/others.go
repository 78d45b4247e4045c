package local

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Model answers as OpenAI's completions do. It says yes to what has the word urgent in it.
type Model struct {
	Key   string
	Limit int // every so many requests one is refused; 0: none

	mu sync.Mutex
	n  int
}

// ServeHTTP answers.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model    string
		Messages []struct{ Role, Content string }
	}
	m.mu.Lock()
	m.n++
	limited := m.Limit > 0 && m.n%m.Limit == 0
	m.mu.Unlock()
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions":
		say(w, 404, nil)
		return
	case r.Header.Get("Authorization") != "Bearer "+m.Key:
		say(w, 401, map[string]any{"error": map[string]any{"message": "Incorrect API key provided"}})
		return
	case limited:
		w.Header().Set("Retry-After", "0.02")
		say(w, 429, map[string]any{"error": map[string]any{"message": "Rate limit reached"}})
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Model == "" || len(in.Messages) == 0 {
		say(w, 400, nil)
		return
	}
	system, prompt := in.Messages[0].Content, in.Messages[len(in.Messages)-1].Content
	text := "In short: " + strings.SplitN(prompt, "\n", 2)[0]
	switch {
	case strings.Contains(system, "breaking news"):
		text = "No."
		if strings.Contains(prompt, "urgent") {
			text = "Yes."
		}
	case strings.Contains(system, "trivia question"):
		text = "Here it is:\n```json\n" +
			`{"question": "Two and two?", "options": ["three", "four", "five"], "answer": "four"}` + "\n```"
	}
	say(w, 200, map[string]any{"choices": []any{map[string]any{"message": map[string]string{"role": "assistant",
		"content": text}}}})
}

// News represents a site with feeds, at /NAME.rss and /NAME.atom.
type News struct {
	mu    sync.Mutex
	items map[string][]NewsItem
	reads int
	same  int
}

// NewsItem represents one item.
type NewsItem struct {
	Title, URL, Text string
	At               time.Time
}

// Publish puts an item into a feed.
func (n *News) Publish(feed string, i NewsItem) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.items == nil {
		n.items = map[string][]NewsItem{}
	}
	n.items[feed] = append(n.items[feed], i)
}

// Reads returns how often feeds were asked for, and how often the answer was that nothing has changed.
func (n *News) Reads() (reads, same int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.reads, n.same
}

// ServeHTTP answers.
func (n *News) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, isRSS := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/"), ".rss")
	name, isAtom := strings.CutSuffix(name, ".atom")
	n.mu.Lock()
	items := append([]NewsItem(nil), n.items[name]...)
	n.reads++
	etag := fmt.Sprintf(`"%s-%d"`, name, len(items))
	same := r.Header.Get("If-None-Match") == etag
	if same {
		n.same++
	}
	n.mu.Unlock()
	w.Header().Set("ETag", etag)
	switch {
	case !isRSS && !isAtom:
		w.WriteHeader(404)
	case same:
		w.WriteHeader(http.StatusNotModified)
	case isRSS:
		w.Header().Set("Content-Type", "application/rss+xml")
		_, _ = w.Write([]byte(rss(name, items)))
	default:
		w.Header().Set("Content-Type", "application/atom+xml")
		_, _ = w.Write([]byte(atom(name, items)))
	}
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text))
	return b.String()
}

func rss(name string, items []NewsItem) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>%s</title>`+
		`<link>https://news.example</link><description>News</description>`, escaped(name))
	for i := len(items) - 1; i >= 0; i-- {
		fmt.Fprintf(&b, `<item><title>%s</title><link>%s</link><guid isPermaLink="false">%s</guid>`+
			`<description>%s</description><pubDate>%s</pubDate></item>`,
			escaped(items[i].Title), escaped(items[i].URL), escaped("rss:"+items[i].URL),
			escaped("<p>"+items[i].Text+"</p>"), items[i].At.Format(time.RFC1123Z))
	}
	return b.String() + `</channel></rss>`
}

func atom(name string, items []NewsItem) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom">`+
		`<title>%s</title><id>urn:%s</id>`, escaped(name), escaped(name))
	for i := len(items) - 1; i >= 0; i-- {
		fmt.Fprintf(&b, `<entry><title>%s</title><link href="%s"/><id>%s</id><summary>%s</summary>`+
			`<updated>%s</updated></entry>`, escaped(items[i].Title), escaped(items[i].URL),
			escaped("urn:"+items[i].URL), escaped(items[i].Text), items[i].At.Format(time.RFC3339))
	}
	return b.String() + `</feed>`
}
