package migrate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/keywright/keywright"
	"github.com/keywright/keywright/internal/gate"
	"github.com/keywright/keywright/keyspace/load"
	kt "github.com/keywright/keywright/keywrighttest"
	"github.com/keywright/keywright/migrate"
	"github.com/keywright/keywright/migrate/phase"
	"github.com/keywright/keywright/migrate/record"
)

// killed has what a file can have besides records: what except leaves out, and what no move reads.
const killed = `keywright: 1
vars: {g: slug, h: slug}
keys:
  guilds: {key: guilds, type: set, member: text, ttl: none}
  persona: {key: "persona:{g}", type: string, value: text, ttl: none}
  feeds: {key: "feeds:{g}", type: hash, field: text, value: json, ttl: none}
  story: {key: "story:{h}", type: string, value: json, ttl: 2d}
migrations:
  test:
    sources: {s: {file: s.json}}
    parts:
      p:
        moves:
          - {from: "s:/g/{g}", to: guilds, member: "{g}", except: {g: global}}
          - {from: "s:/g/{g}/persona", to: persona, value: ., except: {g: global}}
          - {from: "s:/g/{g}/feeds/{name}", to: feeds, field: "{name}", value: ., except: {g: global}}
          - {from: "s:/stories/{h}", to: story, value: ., ttl: {from: iso8601(.at)}}
`

func killedMap() (*record.Map, error) {
	ks, found := load.File(fstest.MapFS{"k.yaml": {Data: []byte(killed)}}, "k.yaml")
	if ks == nil || len(ks.Migrations) != 1 {
		return nil, fmt.Errorf("the declaration cannot be read: %v", found)
	}
	return record.Compile(ks.Migrations[0])
}

// left is what no write may change: what except leaves out, and what no move reads.
const left = `"global": {"persona":  "dry", "feeds": {"x": {"n": 1.0}}}`

const unread = `"reminders": {"a": [1,  2.50, "caf\u00e9"]}`

// writeDeclared writes a record of this process, or one that no file can have.
func (w *worker) writeDeclared(ctx context.Context, n int) {
	value := w.name + "-" + strconv.Itoa(n)
	i, r := record.ID{}, &record.Record{}
	switch w.r.IntN(6) {
	case 0:
		i = record.ID{Move: "p.guilds", Key: "guilds", Sub: value}
	case 1:
		i, r.Value = record.ID{Move: "p.persona", Key: "persona:" + w.name}, []byte(value)
	case 2:
		i, r.Value = record.ID{Move: "p.feeds", Key: "feeds:" + w.name, Sub: "f"}, fmt.Appendf(nil, `{"v":%q}`, value)
	case 3:
		text := time.Now().UTC().Format(time.RFC3339)
		i, r.Value = record.ID{Move: "p.story", Key: "story:" + w.name}, fmt.Appendf(nil, `{"at":%q,"v":%q}`, text, value)
	case 4:
		i, r.Value = record.ID{Move: "p.persona", Key: "persona:global"}, []byte("taken")
	case 5:
		i, r.Value = record.ID{Move: "p.story", Key: "story:" + w.name}, []byte(`{"at":"not a time"}`)
	}
	r.Move, r.Key, r.Sub = w.m.Move(i.Move), i.Key, i.Sub
	refused := strings.HasSuffix(i.Key, ":global") || strings.Contains(string(r.Value), "not a time")
	if !refused {
		w.line("try", i.Key+"|"+i.Sub, value)
	}
	changes := []migrate.Change{{ID: i, Records: []*record.Record{r}}}
	if g, ok := strings.CutPrefix(i.Key, "persona:"); ok || strings.HasPrefix(i.Key, "feeds:") {
		// In the file its name is a record, too: what is in a guild makes the guild.
		if !ok {
			g = strings.TrimPrefix(i.Key, "feeds:")
		}
		guild := &record.Record{Move: w.m.Move("p.guilds"), Key: "guilds", Sub: g}
		changes = append(changes, migrate.Change{ID: guild.ID(), Records: []*record.Record{guild}})
	}
	err := w.m.Write(ctx, changes...)
	if !refused {
		w.ended(err, i, value)
		return
	}
	switch class, _ := keywright.ClassOf(err); {
	case err == nil:
		w.line("wrong", i.Key, "was written")
	case class == keywright.Invalid && errors.As(err, new(*record.Reject)):
		w.line("refused")
	}
}

// TestKillsOfADeclaredMigration: processes are killed, start while Redis is away, and have to write what no file
// can have, while others give TTLs to keys and take them: no acknowledged write is lost, the file can be read at each
// moment, what no move reads is there byte by byte, and both sides are equal at the end.
func TestKillsOfADeclaredMigration(t *testing.T) {
	t.Parallel()
	server := kt.Start(t, kt.Redis, kt.Config("appendonly", "yes"), kt.Config("appendfsync", "always"))
	c := &crowd{t: t, root: t.TempDir(), url: server.URL(), env: []string{"MIGRATE_DECLARED=1"}}
	file := filepath.Join(c.root, "s.json")
	writeFile(t, c.root, "s.json", `{"g": {`+left+`, "first": {"persona": "p0-0"}}, `+unread+`, "stories": {}}`)
	moves, err := killedMap()
	if err != nil {
		t.Fatal(err)
	}
	m, err := migrate.Open(t.Context(), migrate.Config{Name: "test", Root: c.root, Map: moves, Client: dial(t, c.url),
		Lease: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	goTo(t, m, "p", phase.Shadow)
	r := gate.Rand(t)
	var all [3]*running
	for i := range all {
		all[i] = c.start("", 1+r.IntN(400), true)
	}
	for n := range gate.Count(t, "KEYWRIGHT_KILLS", 3, 12) {
		i := n % len(all)
		c.ended(all[i])
		away := n%3 == 2
		if away {
			server.Kill()
		}
		all[i] = c.start("", 1+r.IntN(400), true)
		if away {
			second := c.start("", 1+r.IntN(400), true)
			<-all[i].ready // without Redis
			<-second.ready
			server.Restart()
			c.ended(second)
		}
		for _, words := range [][]string{{"PERSIST", "story:p1"}, {"EXPIRE", "persona:p2", "9000"},
			{"EXPIRE", "guilds", "9000"}} {
			_, _ = server.Try(words...) // a program that knows nothing of the migration
		}
		c.readable(file)
	}
	for _, p := range all {
		<-p.ready
		p.stdin.Close()
		c.ended(p)
	}
	eventually(t, func() error {
		_, left, err := m.Replay(t.Context())
		is, failed := m.Phase("p")
		if err = errors.Join(err, failed); err == nil && (left > 0 || is.Intent != nil) {
			err = fmt.Errorf("%d marks are left, the phase is %+v", left, is)
		}
		return err
	})
	if _, err := m.Verify(t.Context(), "p", migrate.VerifyOptions{Repair: true}); err != nil {
		t.Fatal(err)
	}
	Run(t, m, "p")
	c.readable(file)
	c.declared(m)
	t.Logf("%d kills, %d acknowledged writes, %d refused, %d changes of phase, %d not done", c.killed, c.count("ack"),
		c.count("refused"), c.count("changed"), c.count("failed"))
	if c.count("ack") == 0 || c.count("refused") == 0 {
		t.Error("nothing was written, or nothing refused")
	}
}

// readable fails unless the file can be read, with what no write may change.
func (c *crowd) readable(file string) {
	c.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil || !json.Valid(text) {
		c.t.Fatalf("the file cannot be read: %v\n%s", err, text)
	}
	for _, part := range []string{left, unread} {
		if strings.Count(string(text), part) != 1 {
			c.t.Fatalf("it was changed: %s\n%s", part, text)
		}
	}
	if strings.Count(string(text), `"global"`) != 1 || strings.Contains(string(text), "taken") ||
		strings.Contains(string(text), "not a time") {
		c.t.Fatalf("it has what no file can have:\n%s", text)
	}
}

// declared compares what each record is with what was acknowledged.
func (c *crowd) declared(m *migrate.Migration) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	acked, tried := map[string]int{}, map[string]int{}
	for _, l := range c.lines {
		words := strings.Fields(l)
		switch words[0] {
		case "old", "wrong":
			c.t.Error(l)
		case "try", "ack":
			_, n := split(words[2])
			map[string]map[string]int{"try": tried, "ack": acked}[words[0]][words[1]] = n
		}
	}
	for name, last := range acked {
		key, sub, _ := strings.Cut(name, "|")
		kind, _, _ := strings.Cut(key, ":")
		i := record.ID{Move: "p." + kind, Key: key, Sub: sub}
		has, err := m.Read(c.t.Context(), i)
		if err != nil || len(has) != 1 {
			c.t.Errorf("%s: %d records, %v, and write %d was acknowledged", name, len(has), err, last)
			continue
		}
		value := string(has[0].Value)
		if kind == "guilds" {
			continue // it is there
		}
		if at := strings.LastIndex(value, "-"); at >= 0 {
			n, err := strconv.Atoi(strings.TrimRight(value[at+1:], `"} `))
			if err != nil || n < last || n > tried[name] {
				c.t.Errorf("%s is %s, and write %d was acknowledged, %d tried", name, value, last, tried[name])
			}
		}
	}
}
