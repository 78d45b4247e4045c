package memory_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keywright/keywright/examples/harca/memory"
	"github.com/keywright/keywright/examples/internal/sitetest"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keywrighttest"
)

// TestFailover: the primary is killed while clients write and read. None of them
// is turned away; what was accepted for later is there afterwards.
func TestFailover(t *testing.T) {
	gate.Skip(t, "sentinels choose another primary")
	t.Parallel()
	s := keywrighttest.StartSentinel(t, keywrighttest.Redis, 1, 3, sitetest.Users(t, users(t))...)
	o := options(t, as(user, s.URL()))
	o.Patience = 0
	_, c := start(t, o)
	var seen memory.Item
	known := c.create("fact", "global", 9)
	c.do(http.StatusOK, "GET", "/items/"+known, "", &seen)
	s.Primary.Copied(s.Replicas...) // the item is on the replica, which a failover can lose otherwise
	copies(t, c, 1)

	s.Primary.Kill()
	var later []string
	for answered := 0; answered < 5; { // again by a server, several times
		var made memory.Written
		status, text := c.try("POST", "/items", `{"type":"note","content":"x","priority":9}`, "", &made)
		switch status {
		case http.StatusAccepted:
			later = append(later, made.ID)
		case http.StatusCreated:
			answered++
		default:
			t.Fatalf("a write was answered %d: %s", status, text)
		}
		if status, text := c.try("GET", "/items/"+known, "", "", &seen); status != http.StatusOK ||
			string(seen.Content) != `{"secret":"青い鳥"}` {
			t.Fatalf("a read was answered %d: %s", status, text)
		}
		<-time.After(20 * time.Millisecond)
	}
	if len(later) == 0 {
		t.Error("no write had to wait: was there a failover?")
	}
	eventually(t, "everything that waited is written", func() bool {
		var h memory.Health
		status, _ := c.try("GET", "/health", "", "", &h)
		return status == http.StatusOK && h.Pending == 0 && h.Fallback == "up"
	})
	for _, id := range later {
		c.do(http.StatusOK, "GET", "/items/"+id, "", nil)
	}
	t.Logf("%d writes waited", len(later))
	check(t, as("test", s.URL()))
	sitetest.Refusals(t, s.Replicas[0])
}

// copies waits until the second store has so many.
func copies(t *testing.T, c *client, n int) {
	t.Helper()
	eventually(t, "the copies are in the second store", func() bool {
		var h memory.Health
		_, _ = c.try("GET", "/health", "", "", &h)
		return h.Copies >= n
	})
}

// TestAway: Redis is killed, and the memory too; what was accepted in between is
// written when both are back, and never over newer data.
func TestAway(t *testing.T) {
	gate.Skip(t, "runs programs")
	t.Parallel()
	s := protected(t, keywrighttest.Valkey, keywrighttest.Config("appendonly", "yes"),
		keywrighttest.Config("appendfsync", "always"))
	backup := filepath.Join(t.TempDir(), "harcad.db")
	p := harcad(t, sitetest.URL(s, user), "-backup", backup)
	var contested memory.Item
	item, other := p.create("fact", "global", 9), p.create("fact", "global", 9)
	p.do(http.StatusOK, "GET", "/items/"+item, "", nil)
	p.do(http.StatusOK, "GET", "/items/"+other, "", &contested)
	copies(t, p.client, 2)

	s.Kill()
	var copied memory.Item
	p.do(http.StatusOK, "GET", "/items/"+item, "", &copied)
	if !copied.FromCopy || copied.AsOf == nil || string(copied.Content) != `{"secret":"青い鳥"}` {
		t.Errorf("while Redis is away: %+v", copied)
	}
	var made memory.Written
	p.do(http.StatusAccepted, "POST", "/items", `{"type":"note","content":"later","priority":9}`, &made)
	p.do(http.StatusAccepted, "PATCH", "/items/"+item, `{"content":"changed"}`, nil)
	p.do(http.StatusAccepted, "PATCH", "/items/"+other, `{"content":"loses"}`, nil)
	p.do(http.StatusServiceUnavailable, "GET", "/items?type=fact", "", nil)
	var h memory.Health
	if status, _ := p.try("GET", "/health", "", "", nil); status != http.StatusServiceUnavailable {
		t.Errorf("health is %d without Redis", status)
	}
	for _, line := range []string{"ERROR Redis connection error error=", "WARN reconnecting to Redis attempt=1 ",
		"WARN reconnecting to Redis attempt=2 ",
		"Redis does not answer; reads are from the second store"} {
		eventually(t, "the log says "+line, func() bool { return strings.Contains(p.log.String(), line) })
	}
	p.kill()
	if file, err := os.ReadFile(backup); err != nil || bytes.Contains(file, []byte("青い鳥")) ||
		!bytes.Contains(file, []byte(item)) {
		t.Errorf("the second store has what is sealed in Redis as plain text, or nothing: %v", err)
	}

	s.Restart()
	writer := harcad(t, sitetest.URL(s, user)) // changes an item before the other one is back
	if status, text := writer.try("PATCH", "/items/"+other, `{"content":"newer"}`, fmt.Sprint(contested.Version),
		nil); status != http.StatusOK {
		t.Fatal(status, text)
	}
	p = harcad(t, sitetest.URL(s, user), "-backup", backup)
	eventually(t, "what waited is written", func() bool {
		_, _ = p.try("GET", "/health", "", "", &h)
		return h.Status == "healthy" && h.Pending == 0
	})
	for id, want := range map[string]string{made.ID: `"later"`, item: `"changed"`, other: `"newer"`} {
		var got memory.Item
		if writer.do(http.StatusOK, "GET", "/items/"+id, "", &got); string(got.Content) != want {
			t.Errorf("%s is %s, not %s", id, got.Content, want)
		}
	}
	if h.Conflicts != 1 {
		t.Errorf("%d conflicts", h.Conflicts)
	}
	s.Restart() // of the second one, it is said that it is back
	eventually(t, "the log says that the connection is ready", func() bool {
		_, _ = p.try("GET", "/health", "", "", nil)
		return strings.Count(p.log.String(), "INFO Redis connection ready") == 2 &&
			strings.Contains(p.log.String(), "INFO Redis connection ready away=")
	})
	check(t, sitetest.URL(s, "test"))
}
