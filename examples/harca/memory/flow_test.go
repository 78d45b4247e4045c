package memory_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/examples/harca/harcakeys"
	"github.com/keywright/keywright/examples/harca/memory"
	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// TestFlow is what the memory does, over HTTP, on every kind of server.
func TestFlow(t *testing.T) {
	sitetest.OnBrands(t, func(t *testing.T, brand keywrighttest.Brand) {
		s := protected(t, brand)
		flow(t, options(t, sitetest.URL(s, user)), s)
		check(t, sitetest.URL(s, "test"))
		sitetest.Refusals(t, s)
	})
	t.Run("cluster", func(t *testing.T) {
		gate.Skip(t, "TestSecure has a cluster")
		t.Parallel()
		c := cluster(t, keywrighttest.Redis)
		flow(t, options(t, as(user, c.URL())), c.Nodes...)
		check(t, as("test", c.URL()))
		for _, n := range c.Nodes {
			sitetest.Refusals(t, n)
		}
	})
}

func flow(t *testing.T, o memory.Options, servers ...*keywrighttest.Server) {
	_, c := start(t, o)
	heard := c.events()
	items(t, c, servers, heard)
	contexts(t, c, servers, heard)
	usedByServer(t, c)
	changed(t, c, o, heard)
	batches(t, c)
	computed(t, c, servers)
	state(t, c)
	seen(t, c, len(servers))
}

// items: made, sealed, read, listed, changed by one of many, deleted.
func items(t *testing.T, c *client, servers []*keywrighttest.Server, heard *events) {
	// A content that is sealed, a TTL by priority or as asked, within its bounds.
	low, high := c.create("fact", "global", 1), c.create("fact", "global", 9)
	heard.await(t, "item created", low)
	key := func(id string) string { return "harca:memory:short:item:" + id }
	if text := fmt.Sprint(ask(servers, key(low), "HGETALL", key(low))); strings.Contains(text, "青い鳥") ||
		!strings.Contains(text, "fact") {
		t.Errorf("an item as it is stored: %s", text)
	}
	ttl := func(id string) time.Duration {
		return time.Duration(ask(servers, key(id), "PTTL", key(id)).(int64)) * time.Millisecond
	}
	if l, h := ttl(low), ttl(high); l > 5*time.Minute || l < 2*time.Minute || h > time.Hour || h < 30*time.Minute {
		t.Errorf("priority 1 lives for %v, priority 9 for %v", l, h)
	}
	var made memory.Written
	c.do(http.StatusCreated, "POST", "/items", `{"type":"fact","content":[],"ttl":86400}`, &made)
	if l := ttl(made.ID); l < 23*time.Hour {
		t.Errorf("lives for %v instead of a day", l)
	}
	for what, body := range map[string]string{
		"a TTL below the bounds":  `{"type":"fact","content":1,"ttl":59}`,
		"above them":              `{"type":"fact","content":1,"ttl":86401}`,
		"a priority that is none": `{"type":"fact","content":1,"priority":11}`,
		"a type that is none":     `{"type":"*","content":1}`, "no JSON": `{`, "no content": `{"type":"fact"}`,
	} {
		if status, text := c.try("POST", "/items", body, "", nil); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", what, status, text)
		}
	}
	var item memory.Item
	c.do(http.StatusOK, "GET", "/items/"+low, "", &item)
	if string(item.Content) != `{"secret":"青い鳥"}` || item.Version < 1 || item.CreatedAt.IsZero() || item.FromCopy {
		t.Errorf("%+v", item)
	}
	// The newest first, by page, and those of one millisecond in the order of their
	// ids; a change of the priority moves it.
	order := make([]memory.Item, 3)
	for i, id := range []string{low, high, made.ID} {
		c.do(http.StatusOK, "GET", "/items/"+id, "", &order[i])
	}
	slices.SortFunc(order, func(a, b memory.Item) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID, a.ID))
	})
	newest, next := c.ids("type=fact&limit=2")
	if more, _ := c.ids("type=fact&limit=2&after=" + url.QueryEscape(next)); !slices.Equal(append(newest, more...),
		[]string{order[0].ID, order[1].ID, order[2].ID}) {
		t.Errorf("newest first: %v %v", newest, more)
	}
	oneWins(t, c, item)
	heard.await(t, "item updated", low)
	if ids, _ := c.ids("priority=1"); len(ids) != 0 {
		t.Errorf("still of priority 1: %v", ids)
	}
	if ids, _ := c.ids("priority=8&type=fact&contextId=global"); !slices.Equal(ids, []string{low}) {
		t.Errorf("of priority 8: %v", ids)
	}
	for _, id := range []string{low, high, made.ID} {
		c.do(http.StatusOK, "DELETE", "/items/"+id, "", nil)
		heard.await(t, "item deleted", id)
		c.do(http.StatusNotFound, "GET", "/items/"+id, "", nil)
	}
	c.do(http.StatusBadRequest, "GET", "/items", "", nil)
}

// oneWins: of writers that read the same version, one gets through.
func oneWins(t *testing.T, c *client, read memory.Item) {
	statuses := make(chan int, 10)
	for i := range cap(statuses) {
		go func() {
			status, _ := c.try("PATCH", "/items/"+read.ID, fmt.Sprintf(`{"priority":8,"content":%d}`, i),
				fmt.Sprint(read.Version), nil)
			statuses <- status
		}()
	}
	won := 0
	for range cap(statuses) {
		switch s := <-statuses; s {
		case http.StatusOK:
			won++
		case http.StatusConflict:
		default:
			t.Errorf("a writer was told %d", s)
		}
	}
	var item memory.Item
	if c.do(http.StatusOK, "GET", "/items/"+read.ID, "", &item); won != 1 || item.Version <= read.Version ||
		item.UpdatedAt == nil {
		t.Errorf("%d writers won, %+v", won, item)
	}
}

// contexts: the one used last comes first, and lives on; one that is gone takes no
// items.
func contexts(t *testing.T, c *client, servers []*keywrighttest.Server, heard *events) {
	make := func(name string, ttl int) (made memory.Context) {
		c.do(http.StatusCreated, "POST", "/contexts", fmt.Sprintf(`{"name":%q,"type":"conversation","ttl":%d}`, name, ttl),
			&made)
		heard.await(t, "ctx created", made.ID)
		return made
	}
	first, second := make("一", 900), make("二", 0)
	active := func() (ids []string) {
		var page struct{ Items []memory.Context }
		c.do(http.StatusOK, "GET", "/contexts?type=conversation", "", &page)
		for _, x := range page.Items {
			ids = append(ids, x.ID)
		}
		return ids
	}
	nextMillisecond(t) // the order is by the millisecond
	item := c.create("note", first.ID, 5)
	if got := active(); !slices.Equal(got, []string{first.ID, second.ID}) {
		t.Errorf("an item was written in %s; active are %v", first.ID, got)
	}
	long := make("長", 86400)
	c.do(http.StatusOK, "DELETE", "/items/"+c.create("note", long.ID, 5), "", nil)
	for id, least := range map[string]time.Duration{first.ID: 59 * time.Minute, long.ID: 23 * time.Hour} {
		key := "harca:memory:context:" + id
		if left := time.Duration(ask(servers, key, "PTTL", key).(int64)) * time.Millisecond; left < least ||
			left > least+time.Hour {
			t.Errorf("after a use a context has %v left", left)
		}
	}
	c.do(http.StatusNoContent, "DELETE", "/contexts/"+long.ID, "", nil)
	nextMillisecond(t)
	other := c.create("note", second.ID, 5)
	nextMillisecond(t)
	c.do(http.StatusOK, "GET", "/items/"+item, "", nil)
	if got := active(); !slices.Equal(got, []string{first.ID, second.ID}) {
		t.Errorf("an item of %s was read; active are %v", first.ID, got)
	}
	c.do(http.StatusNoContent, "DELETE", "/contexts/"+second.ID, "", nil)
	heard.await(t, "ctx deleted", second.ID)
	c.do(http.StatusUnprocessableEntity, "POST", "/items", fmt.Sprintf(`{"type":"note","content":1,"contextId":%q}`,
		second.ID), nil)
	c.do(http.StatusOK, "GET", "/items/"+other, "", nil) // an item of a context that is gone
	c.do(http.StatusOK, "DELETE", "/items/"+other, "", nil)
	c.do(http.StatusOK, "DELETE", "/items/"+item, "", nil)
	c.do(http.StatusNoContent, "DELETE", "/contexts/"+first.ID, "", nil)
	c.do(http.StatusNotFound, "GET", "/contexts/"+first.ID, "", nil)
}

// usedByServer: a context that was just made is used after it was created, by the one clock that all
// share. The clock of its caller would be before that of its server now and then.
func usedByServer(t *testing.T, c *client) {
	for range 200 {
		var made memory.Context
		c.do(http.StatusCreated, "POST", "/contexts", `{"name":"時","type":"clock","ttl":900}`, &made)
		if made.UsedAt.Before(made.CreatedAt) || made.UsedAt.After(made.CreatedAt.Add(15*time.Minute)) {
			t.Fatalf("made at %v, used at %v", made.CreatedAt, made.UsedAt)
		}
		c.do(http.StatusNoContent, "DELETE", "/contexts/"+made.ID, "", nil)
	}
}

// changed: of writers that read the same version of a context one wins, a use is no change,
// and only a change has an event. A context that expires is announced.
func changed(t *testing.T, c *client, o memory.Options, heard *events) {
	var made, now, other memory.Context
	c.do(http.StatusCreated, "POST", "/contexts", `{"name":"前","type":"conversation","metadata":{"a":1}}`, &made)
	nextMillisecond(t)
	c.do(http.StatusOK, "DELETE", "/items/"+c.create("note", made.ID, 5), "", nil)
	c.do(http.StatusOK, "GET", "/contexts/"+made.ID, "", &now)
	if now.Version < 1 || now.Version != made.Version || !now.UsedAt.After(made.UpdatedAt) ||
		!now.UpdatedAt.Equal(made.UpdatedAt) {
		t.Errorf("made %+v, used %+v", made, now)
	}
	statuses := make(chan int, 10)
	for range cap(statuses) {
		go func() {
			status, _ := c.try("PATCH", "/contexts/"+made.ID, `{"name":"後","type":"talk"}`, fmt.Sprint(made.Version), nil)
			statuses <- status
		}()
	}
	won := 0
	for range cap(statuses) {
		switch s := <-statuses; s {
		case http.StatusOK:
			won++
		case http.StatusConflict:
		default:
			t.Errorf("a writer of a context was told %d", s)
		}
	}
	c.do(http.StatusOK, "GET", "/contexts/"+made.ID, "", &now)
	if won != 1 || now.Version <= made.Version || now.Name != "後" || now.Type != "talk" ||
		string(now.Metadata) != `{"a":1}` || !now.UpdatedAt.After(made.UpdatedAt) {
		t.Errorf("%d writers won: %+v", won, now)
	}
	c.do(http.StatusOK, "PATCH", "/contexts/"+made.ID, `{"metadata":{}}`, nil)
	c.do(http.StatusCreated, "POST", "/contexts", `{"name":"印","type":"conversation"}`, &other)
	c.do(http.StatusOK, "PATCH", "/contexts/"+other.ID, `{"name":"印二"}`, nil)
	if n := heard.until(t, "ctx updated", made.ID, other.ID); n != 2 {
		t.Errorf("%d events of two changes", n)
	}
	for body, want := range map[string]int{`{}`: http.StatusBadRequest, `{"type":"*"}`: http.StatusBadRequest,
		`{`: http.StatusBadRequest} {
		c.do(want, "PATCH", "/contexts/"+made.ID, body, nil)
	}
	c.do(http.StatusNotFound, "PATCH", "/contexts/01932f6e-7c1a-4d3e-8f60-000000000000", `{"name":"x"}`, nil)
	client, err := keywright.Open(t.Context(), o.URL, o.Client)
	must(t, err)
	defer client.Close()
	for _, id := range []string{made.ID, other.ID} {
		_, err := harcakeys.New(client).ContextStore().Shorten(t.Context(), id, time.Millisecond)
		must(t, err)
		heard.await(t, "ctx expired", id)
		c.do(http.StatusNotFound, "GET", "/contexts/"+id, "", nil)
	}
}

// batches: many items are made and read at once; what cannot be made fails alone.
func batches(t *testing.T, c *client) {
	var made, found struct {
		Results []struct {
			ID, Error       string
			Status, Version int
			Item            memory.Item
		}
		Failed int
	}
	var items, ids []string
	for i := range 200 {
		items = append(items, fmt.Sprintf(`{"type":"batch","content":%d}`, i))
	}
	items[7] = `{"type":"batch","content":7,"priority":11}`
	items[8] = `{"type":"batch","content":8,"contextId":"01932f6e-7c1a-4d3e-8f60-000000000000"}`
	c.do(http.StatusMultiStatus, "POST", "/items/batch", `{"items":[`+strings.Join(items, ",")+`]}`, &made)
	if made.Failed != 2 || len(made.Results) != 200 || made.Results[7].Status != http.StatusBadRequest ||
		made.Results[8].Status != http.StatusUnprocessableEntity {
		t.Fatalf("%d failed of %d: %+v %+v", made.Failed, len(made.Results), made.Results[7], made.Results[8])
	}
	for _, r := range made.Results {
		ids = append(ids, fmt.Sprintf("%q", r.ID))
	}
	c.do(http.StatusMultiStatus, "POST", "/items/read", `{"ids":[`+strings.Join(ids, ",")+`]}`, &found)
	if found.Failed != 2 || len(found.Results) != 200 {
		t.Fatalf("%d missing of %d", found.Failed, len(found.Results))
	}
	for n, r := range found.Results {
		if n == 7 || n == 8 {
			if r.Status != http.StatusNotFound {
				t.Errorf("%d: %+v", n, r)
			}
		} else if string(r.Item.Content) != fmt.Sprint(n) || r.Version < 1 {
			t.Errorf("%d: %+v", n, r)
		}
	}
	c.do(http.StatusBadRequest, "POST", "/items/batch", `{"items":[]}`, nil)
	c.do(http.StatusBadRequest, "POST", "/items/read", `{"ids":[`+strings.Repeat(`"x",`, 1000)+`"x"]}`, nil)
	for _, r := range made.Results {
		if r.Status == http.StatusCreated {
			c.do(http.StatusOK, "DELETE", "/items/"+r.ID, "", nil)
		}
	}
}

// computed: once for all readers, void when an item changes, or with everything.
func computed(t *testing.T, c *client, servers []*keywrighttest.Server) {
	count := func() string { return c.metric("harca_digests_computed_total") }
	digest := func() (d memory.Digest) {
		c.do(http.StatusOK, "GET", "/contexts/global/digest", "", &d)
		return d
	}
	note := c.create("note", "global", 5)
	eventually(t, "the digest knows the first item", func() bool { return digest().Items == 1 })
	var before string
	eventually(t, "the event of the item has come, and nothing is computed without a reason", func() bool {
		before = count()
		for range 5 {
			digest()
		}
		return count() == before
	})
	id := c.create("wish", "global", 5)
	eventually(t, "an event makes the digest void", func() bool { return digest().ByType["wish"] == 1 })
	before = count()
	var now struct{ Generation int64 }
	c.do(http.StatusOK, "POST", "/outdate", "", &now)
	eventually(t, "a version makes it void", func() bool { digest(); return count() != before })
	eventually(t, "what took a moment to compute lives for a good minute, not for five", func() bool {
		key := fmt.Sprintf("harca:memory:computed:%d:digest-global", now.Generation)
		left := time.Duration(ask(servers, key, "PTTL", key).(int64)) * time.Millisecond
		if left >= 5*time.Minute { // the machine was busy, so that it took more than a moment
			c.do(http.StatusOK, "POST", "/outdate", "", &now)
		}
		digest() // an event that comes late makes it void, too
		return left > 30*time.Second && left < 5*time.Minute
	})
	for _, gone := range []string{id, note} {
		c.do(http.StatusOK, "DELETE", "/items/"+gone, "", nil)
	}
	eventually(t, "the digest knows of the deletes", func() bool { return digest().Items == 0 })
}

func state(t *testing.T, c *client) {
	c.do(http.StatusNotFound, "GET", "/state/unheard-of", "", nil)
	c.do(http.StatusNoContent, "PUT", "/state/indexer?ttl=3600", `{"at":[]}`, nil)
	if text := c.do(http.StatusOK, "GET", "/state/indexer", "", nil); text != `{"at":[]}` {
		t.Errorf("the state is %s", text)
	}
	c.do(http.StatusBadRequest, "PUT", "/state/indexer?ttl=299", `1`, nil)
}

// seen: what operators look at.
func seen(t *testing.T, c *client, servers int) {
	var h memory.Health
	c.do(http.StatusOK, "GET", "/health", "", &h)
	if h.Status != "healthy" || h.ResponseTime <= 0 || h.MemoryUsage <= 0 || h.ConnectedClients < 1 ||
		len(h.Servers) != servers || h.Fallback != "up" {
		t.Errorf("%+v", h)
	}
	text := c.do(http.StatusOK, "GET", "/metrics", "", nil)
	for _, name := range []string{"harca_redis_memory_bytes{", "harca_redis_hit_rate{", "harca_redis_expired_keys{",
		`harca_entities{entity="item"}`, `keywright_operations_total{entry="item"`, "harca_fallback_pending 0"} {
		if !strings.Contains(text, name) {
			t.Errorf("no metric %s", name)
		}
	}
}

// metric returns the value of one, "" if there is none yet.
func (c *client) metric(name string) string {
	c.t.Helper()
	for line := range strings.Lines(c.do(http.StatusOK, "GET", "/metrics", "", nil)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// ask sends a command to the server that has the key.
func ask(servers []*keywrighttest.Server, key string, command ...string) any {
	for _, s := range servers {
		if n, err := s.Try("EXISTS", key); err == nil && n == int64(1) {
			return s.Do(command...)
		}
	}
	return int64(-2)
}

// events holds those that a client has received.
type events struct{ all chan memory.Event }

// events listens; when it returns nothing is missed any more.
func (c *client) events() *events {
	c.t.Helper()
	response, err := http.Get(c.url + "/events")
	must(c.t, err)
	c.t.Cleanup(func() { response.Body.Close() })
	e := &events{make(chan memory.Event, 10_000)}
	go func() {
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			var one memory.Event
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok && json.Unmarshal([]byte(text), &one) == nil {
				e.all <- one
			}
		}
	}()
	return e
}

// await waits for an event of an item or a context.
func (e *events) await(t *testing.T, name, id string) memory.Event {
	t.Helper()
	for timeout := time.After(2 * time.Minute); ; {
		select {
		case one := <-e.all:
			if one.Name == name && one.ID == id {
				if one.Time.IsZero() || one.Type == "" {
					t.Errorf("%+v", one)
				}
				return one
			}
		case <-timeout:
			t.Fatalf("no event %q of %s in two minutes", name, id)
		}
	}
}

// until waits for an event of the last one and for two of id, which another server of a cluster
// may tell later, and says how many of id came.
func (e *events) until(t *testing.T, name, id, last string) (n int) {
	t.Helper()
	ended := false
	for timeout := time.After(2 * time.Minute); !ended || n < 2; {
		select {
		case one := <-e.all:
			switch {
			case one.Name == name && one.ID == id:
				n++
			case one.Name == name && one.ID == last:
				ended = true
			}
		case <-timeout:
			t.Fatalf("no event %q of %s in two minutes, and %d of %s", name, last, n, id)
		}
	}
	return n
}
