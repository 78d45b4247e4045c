package outside

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/state"
	"github.com/mmcdole/gofeed"
)

// Bounds of a feed.
const (
	maxFeed      = 10 << 20 // bytes
	maxFeedItems = 500      // the newest count
	maxKept      = 1000     // feeds whose state is remembered
)

// Web reads feeds over HTTP: RSS, Atom and JSON Feed. A feed that has not changed is not sent
// again (ETag, Last-Modified).
type Web struct {
	client *http.Client

	mu    sync.Mutex
	known map[string]validators
}

type validators struct{ etag, modified string }

// NewWeb makes a reader. The addresses of feeds come from users: unless private is true it
// connects to none of the machine's own or of a private network.
func NewWeb(private bool) *Web {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if !private {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			if ip := at.Addr().Unmap(); !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() {
				return errors.New("the address is a private one")
			}
			return nil
		}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext, transport.Proxy = dialer.DialContext, nil
	return &Web{client: &http.Client{Timeout: 30 * time.Second, Transport: transport}, known: map[string]validators{}}
}

// Read reads a feed.
func (w *Web) Read(ctx context.Context, url string) (Items, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil || r.URL.Scheme != "http" && r.URL.Scheme != "https" {
		return Items{}, errors.New("the address of the feed cannot be used")
	}
	r.Header.Set("User-Agent", "CunningBot/1")
	w.mu.Lock()
	known := w.known[url]
	w.mu.Unlock()
	if known.etag != "" {
		r.Header.Set("If-None-Match", known.etag)
	}
	if known.modified != "" {
		r.Header.Set("If-Modified-Since", known.modified)
	}
	answer, err := w.client.Do(r)
	if err != nil {
		return Items{}, fmt.Errorf("the feed: %w", bare(err))
	}
	defer answer.Body.Close()
	nothing := Items{Done: func() {}}
	switch {
	case answer.StatusCode == http.StatusNotModified:
		return nothing, nil
	case answer.StatusCode == http.StatusTooManyRequests:
		after, _ := retryAfter(answer.Header, nil)
		return nothing, &LimitedError{"the feed", after}
	case answer.StatusCode != http.StatusOK:
		return nothing, &StatusError{"the feed", answer.StatusCode, ""}
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxFeed+1))
	if err != nil || len(body) > maxFeed {
		return nothing, errors.Join(err, fmt.Errorf("the feed cannot be read, or has more than %d bytes", maxFeed))
	}
	list, err := parse(body)
	return Items{list, func() {
		w.keep(url, validators{answer.Header.Get("ETag"),
			answer.Header.Get("Last-Modified")})
	}}, err
}

func (w *Web) keep(url string, v validators) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.known) >= maxKept {
		clear(w.known) // they are read in whole, once
	}
	w.known[url] = v
}

// parse reads the items of a feed, oldest first. What has neither id nor address is passed over.
func parse(body []byte) (list []FeedItem, err error) {
	feed, err := gofeed.NewParser().Parse(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("the feed cannot be read: %w", err)
	}
	for _, i := range feed.Items[:min(len(feed.Items), maxFeedItems)] {
		item := FeedItem{ID: cmp.Or(i.GUID, i.Link), Title: clean(i.Title), URL: i.Link,
			Summary: Cut(clean(i.Description), 500)}
		if item.URL == "" && strings.HasPrefix(i.GUID, "http") {
			item.URL = i.GUID
		}
		if at := cmp.Or(i.PublishedParsed, i.UpdatedParsed); at != nil && at.Year() > 0 && at.Year() < 9999 {
			item.Published = at.UTC()
		}
		if item.ID != "" && item.URL != "" {
			item.ID = state.ItemID(item.ID)
			list = append(list, item)
		}
	}
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b FeedItem) int { return a.Published.Compare(b.Published) })
	return list, nil
}

// clean returns a text on one line, without marks of HTML.
func clean(text string) string {
	var b strings.Builder
	depth := 0
	for _, c := range text {
		switch {
		case c == '<':
			depth++
		case c == '>' && depth > 0:
			depth--
			b.WriteByte(' ')
		case depth == 0:
			b.WriteRune(c)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
