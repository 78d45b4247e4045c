package memory_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keywright/keywright/entity"
	"github.com/keywright/keywright/examples/harca/memory"
	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/kernel/guard"
	"github.com/keywright/keywright/keyspace/load"
	"github.com/keywright/keywright/value/seal"
)

var must, eventually = sitetest.Must, sitetest.Await

var nextMillisecond = expect.NextMillisecond

// ringText is the key ring of all processes of these tests.
var ringText = sync.OnceValue(func() []byte {
	text, _, err := seal.Generate()
	if err != nil {
		panic(err)
	}
	return text
})

// options returns those of a process whose guard refuses what is not declared, and that waits for a busy server.
func options(t *testing.T, url string) memory.Options {
	t.Helper()
	ks, findings := load.File(os.DirFS(".."), "keyspace.yaml")
	if len(findings) > 0 {
		t.Fatal(findings[0].Message)
	}
	g, err := guard.New(ks, guard.Options{})
	must(t, err)
	ring, err := seal.Parse(ringText())
	must(t, err)
	o := memory.Options{URL: url, Patience: time.Minute, Note: time.Nanosecond, Sweep: entity.SweepOptions{Every: 20 * time.Millisecond}}
	o.Client.Wrap, o.Client.Sealer, o.Client.Attempts = g.Wrap, ring, 16
	return o
}

// start runs a memory in this process, and gives it as what its clients see.
func start(t *testing.T, o memory.Options) (*memory.Memory, *client) {
	t.Helper()
	m, err := memory.Open(t.Context(), o)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := m.Serve(ctx); err != nil && ctx.Err() == nil {
			t.Errorf("serve: %v", err)
		}
	})
	web := httptest.NewServer(m.Handler(ctx, 2*time.Minute))
	t.Cleanup(func() {
		cancel()
		web.Close()
		serving.Wait()
		must(t, m.Close())
	})
	return m, &client{t, web.URL}
}

// client asks a memory over HTTP.
type client struct {
	t   *testing.T
	url string
}

// try sends a request and reads the answer; status is 0 if there is none.
func (c *client) try(method, path, body, version string, into any) (status int, text string) {
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	must(c.t, err)
	if version != "" {
		request.Header.Set("If-Match", version)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	if into != nil && response.StatusCode < 300 {
		if err := json.Unmarshal(all, into); err != nil {
			return response.StatusCode, err.Error()
		}
	}
	return response.StatusCode, string(bytes.TrimSpace(all))
}

// do returns try that must have a status.
func (c *client) do(want int, method, path, body string, into any) string {
	c.t.Helper()
	status, text := c.try(method, path, body, "", into)
	if status != want {
		c.t.Fatalf("%s %s: %d instead of %d: %s", method, path, status, want, text)
	}
	return text
}

// create makes an item, and gives its id.
func (c *client) create(kind, contextID string, priority int) string {
	c.t.Helper()
	var made memory.Written
	c.do(http.StatusCreated, "POST", "/items",
		fmt.Sprintf(`{"type":%q,"content":{"secret":"青い鳥"},"contextId":%q,"priority":%d}`, kind, contextID, priority), &made)
	return made.ID
}

// ids returns those of a page of items.
func (c *client) ids(query string) (ids []string, next string) {
	c.t.Helper()
	var page struct {
		Items []memory.Item
		Next  string
	}
	c.do(http.StatusOK, "GET", "/items?"+query, "", &page)
	for _, i := range page.Items {
		ids = append(ids, i.ID)
	}
	return ids, page.Next
}

// check demands that every index holds exactly what it should, once what has
// expired is swept.
func check(t testing.TB, url string) {
	t.Helper()
	m, err := memory.Open(t.Context(), memory.Options{URL: url})
	must(t, err)
	defer m.Close()
	if n, err := m.Check(t.Context(), entity.CheckOptions{Found: func(p entity.Problem) {
		t.Errorf("%+v",
			p)
	}}); err != nil || n != 0 {
		t.Errorf("%d problems, %v", n, err)
	}
}
