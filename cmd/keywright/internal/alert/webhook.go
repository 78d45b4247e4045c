package alert

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Webhook describes where messages go. Its address is a secret: with it anyone can post.
type Webhook struct {
	Form string // "slack" or "json"
	url  string
	name string // for people: its place in the file and its host
	id   string // a digest of its form and address: where it is in the messages is kept by it
}

// Bounds of webhooks and of one request.
const (
	maxWebhooks    = 20
	maxWebhookFile = 1 << 16
	requestTime    = 10 * time.Second
	mostTries      = 6
	firstPause     = time.Second // doubled with each try
	mostPause      = time.Minute
	maxReply       = 4 << 10
)

// ReadWebhooks reads lines of a form and an address: `slack https://…` or `json https://…`.
func ReadWebhooks(path string) ([]Webhook, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []Webhook
	text, err := readSome(f, path, maxWebhookFile)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) != 2 || words[0] != "slack" && words[0] != "json" {
			return nil, fmt.Errorf("%s:%d: a line is slack or json, and an address", path, n)
		}
		u, err := url.Parse(words[1])
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" { // err shows the address
			return nil, fmt.Errorf("%s:%d: the address must begin with https:// or http://", path, n)
		}
		if len(out) == maxWebhooks {
			return nil, fmt.Errorf("%s: there are more than %d webhooks", path, maxWebhooks)
		}
		id := fmt.Sprintf("%x", sha256.Sum256([]byte(words[0]+" "+words[1])))[:16]
		if slices.ContainsFunc(out, func(h Webhook) bool { return h.id == id }) {
			return nil, fmt.Errorf("%s:%d: this webhook is there twice", path, n)
		}
		out = append(out, Webhook{words[0], words[1], fmt.Sprintf("webhook %d (%s)", len(out)+1, u.Host), id})
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no webhook", path)
	}
	return out, nil
}

// Sender posts the messages of a book.
type Sender struct {
	Book  *Tracker
	Hooks []Webhook
	Tell  func(format string, args ...any) // what an operator should know; it never has an address
	Pause func(ctx context.Context, d time.Duration) error
}

// Run posts until ctx ends. Each webhook gets the messages in order, and none waits for another
// one. What is not taken after some tries is given up, and that is reported.
func (s *Sender) Run(ctx context.Context) {
	client := &http.Client{Timeout: requestTime, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	defer client.CloseIdleConnections()
	var ids []string
	for i := range s.Hooks {
		ids = append(ids, s.Hooks[i].id)
	}
	s.Book.connect(ids)
	var work sync.WaitGroup
	for i := range s.Hooks {
		work.Go(func() { s.serve(ctx, client, &s.Hooks[i]) })
	}
	work.Wait()
}

// serve posts to one webhook.
func (s *Sender) serve(ctx context.Context, client *http.Client, to *Webhook) {
	for ctx.Err() == nil {
		m, ok := s.Book.first(to.id)
		if !ok {
			select {
			case <-ctx.Done():
			case <-s.Book.posted[to.id]:
			}
			continue
		}
		err := s.post(ctx, client, to, &m)
		if err != nil && ctx.Err() != nil {
			return // it is sent again: its number tells that it is the same
		}
		if err != nil {
			s.Tell("an alert was not sent: %s: %v", to.name, err)
		}
		if err := s.Book.sent(to.id, &m); err != nil {
			s.Tell("the file of alerts cannot be written: %v", err)
		}
	}
}

// post tries some times.
func (s *Sender) post(ctx context.Context, client *http.Client, to *Webhook, m *Message) error {
	body, err := to.body(m)
	if err != nil {
		return err
	}
	pause := firstPause
	for try := 1; ; try++ {
		again, err := to.once(ctx, client, body)
		if err == nil || !again || try == mostTries {
			return err
		}
		if s.Pause(ctx, pause) != nil {
			return ctx.Err()
		}
		pause = min(2*pause, mostPause)
	}
}

// once posts once; again reports whether another try may help.
func (h *Webhook) once(ctx context.Context, client *http.Client, body []byte) (again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("the address cannot be used")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "keywright")
	answer, err := client.Do(r)
	var failed *url.Error // it has the address
	if errors.As(err, &failed) {
		err = failed.Err
	}
	if err != nil {
		return true, err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxReply))
	switch code := answer.StatusCode; {
	case code >= 200 && code < 300:
		return false, nil
	default:
		again = code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout
		return again, fmt.Errorf("it answered with status %d", code)
	}
}

// slackText keeps Slack from reading names of keys as links and mentions
// (https://api.slack.com/reference/surfaces/formatting#escaping).
var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

var slackWord = map[string]string{"begun": "BEGUN", "grown": "GROWN", "ended": "ENDED", "more": "MORE"}

// body returns the message in the form of the webhook.
func (h *Webhook) body(m *Message) ([]byte, error) {
	if h.Form == "json" {
		return json.Marshal(struct {
			Version int `json:"version"`
			*Message
		}{1, m})
	}
	text := slackWord[m.Event] + " " + m.Target + ": " + m.Text
	if m.Event == "ended" {
		text += " (since " + m.Since.UTC().Format(time.RFC3339) + ")"
	}
	return json.Marshal(map[string]string{"text": slackText.Replace(text)})
}
