package serve_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/audit"
	"github.com/keywright/keywright/cmd/keywright/internal/observe"
	"github.com/keywright/keywright/cmd/keywright/internal/serve"
)

// reader represents a client that has an answer, and asks for what is newer.
type reader struct {
	*rig
	tag   string
	has   map[string]any
	bytes int // that were sent, compressed
}

// asks gets the answer, by what is other in it where the server tells only that.
func (c *reader) asks(path string) (status int) {
	c.Helper()
	r := c.request(path, "A-IM", "rows", "If-None-Match", c.tag, "Accept-Encoding", "gzip")
	text, err := io.ReadAll(r.Body)
	if err != nil {
		c.Fatal(err)
	}
	c.bytes += len(text)
	if r.StatusCode == http.StatusNotModified {
		return r.StatusCode
	}
	if r.Header.Get("Content-Encoding") == "gzip" {
		plain, err := gzip.NewReader(strings.NewReader(string(text)))
		if err != nil {
			c.Fatal(err)
		}
		if text, err = io.ReadAll(plain); err != nil {
			c.Fatal(err)
		}
	}
	whole := map[string]any{}
	if r.StatusCode == http.StatusIMUsed {
		if r.Header.Get("IM") != "rows" || r.Header.Get("Delta-Base") != c.tag {
			c.Errorf("%v", r.Header)
		}
		var newer struct {
			Rows map[string][]any
			Rest map[string]any
		}
		if err := json.Unmarshal(text, &newer); err != nil {
			c.Fatal(err)
		}
		whole = newer.Rest
		for name, rows := range newer.Rows {
			list := []any{}
			for _, row := range rows {
				if span, ok := row.([]any); ok {
					list = append(list, c.has[name].([]any)[int(span[0].(float64)):int(span[1].(float64))+1]...)
				} else {
					list = append(list, row)
				}
			}
			whole[name] = list
		}
	} else if err := json.Unmarshal(text, &whole); err != nil {
		c.Fatal(err)
	}
	c.tag, c.has = r.Header.Get("ETag"), whole
	return r.StatusCode
}

// TestOnlyWhatIsNewerIsSent: of a keyspace of a thousand entries a client that has an answer gets, after each audit,
// the rows that are others by then, and nothing where nothing is; put together they are the whole answer.
func TestOnlyWhatIsNewerIsSent(t *testing.T) {
	t.Parallel()
	r := newRig(t, thousands(t))
	changes, stop := r.target.Subscribe()
	defer stop()
	r.until(changes, r.known)
	r.api = serve.New(serve.Options{Targets: []*observe.Target{r.target}, Rules: audit.Rules(), Now: time.Now})
	const path = "/api/v1/t/main/overview"
	c := &reader{rig: r}
	if status := c.asks(path); status != http.StatusOK {
		t.Fatal(status)
	}
	if status := c.asks(path); status != http.StatusNotModified {
		t.Errorf("%d for an answer that the client has", status)
	}
	whole := c.bytes
	for _, turn := range []struct {
		changes bool
		most    int
	}{{false, 15_000}, {true, 20_000}} {
		c.bytes = 0
		for i := range 10 {
			if turn.changes {
				r.redis.Do("SET", fmt.Sprint("shop:text7:", i), "v", "EX", "1000")
			}
			before := r.target.State().Audit
			r.target.AuditNow()
			r.until(changes, func(s observe.State) bool { return s.Audit != before })
			if status := c.asks(path); status != http.StatusIMUsed {
				t.Errorf("%d after an audit", status)
			}
		}
		t.Logf("ten audits, one row is another: %v: %d bytes; the whole answer has %d", turn.changes, c.bytes, whole)
		if c.bytes > turn.most {
			t.Errorf("%d bytes, of at most %d", c.bytes, turn.most)
		}
		var same map[string]any
		if err := json.Unmarshal([]byte(r.text(path)), &same); err != nil || !reflect.DeepEqual(same, c.has) {
			t.Error("what was put together is not the answer", err)
		}
	}
	lost := &reader{rig: r, tag: `W/"of-another-process"`}
	if status := lost.asks(path); status != http.StatusOK {
		t.Errorf("%d for a client whose answer is not known", status)
	}
}
