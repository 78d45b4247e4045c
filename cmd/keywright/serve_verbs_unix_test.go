//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/keywright/keywright/keywrighttest"
)

// TestServeAppliesEachVerb: what operators can plan is planned, changes nothing until it is
// applied, and does then what the command does.
func TestServeAppliesEachVerb(t *testing.T) {
	t.Parallel()
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	dir := t.TempDir()
	declaration, ring := filepath.Join(dir, "keyspace.yaml"), filepath.Join(dir, "ring.json")
	if err := os.WriteFile(declaration, []byte(`keywright: 1
package: verbs
vars: {n: int}
keys:
  log: {key: "log:{n}", type: string, ttl: none}
  user: {key: "user:{n}", type: string, ttl: 1h}
  lk: {key: "lock:{n}", type: lock, ttl: 1m}
  note: {key: "note:{n}", type: entity, ttl: 1h, fields: {at: unix_ms}, index: {at: "notes:at"}}
  secret: {key: "s:{n}", type: hash, ttl: none, fields: {phone: text encrypted}}
cleanup: [{match: "log:*", keep: 2}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	if err := keywrightWith(t, &said, "seal", "key", ring).Run(); err != nil {
		t.Fatal(err, said.String())
	}
	for i := range 5 {
		s.Do("SET", fmt.Sprintf("log:%d", i), "x")
	}
	for i := range 3 {
		s.Do("SET", fmt.Sprintf("user:%d", i), "x")
	}
	s.Do("SET", "lock:1", "web-7/ABC", "PX", "600000")
	s.Do("ZADD", "notes:at", "5", "99")
	s.Do("HSET", "s:1", "phone", "plain")
	cmd := keywrightWith(t, &said, "serve", "--listen", "127.0.0.1:0", "-f", declaration, "-u", s.URL(), "--store", "none",
		"--allow-apply",
		"--plans", filepath.Join(dir, "plans"), "--keys-file", ring)
	p := opened(t, urlOf(t, cmd, &said))
	for _, c := range []struct {
		ask  string
		want int64
		is   func() bool // before it is applied it is not
	}{
		{`{"verb":"clean","select":{"entry":"log"}}`, 3,
			func() bool { return s.Do("EXISTS", "log:0", "log:1", "log:2", "log:3", "log:4") == int64(2) }},
		{`{"verb":"ttl","select":{"entry":"user"},"options":{"spread":"0"}}`, 3,
			func() bool { return s.Do("TTL", "user:2").(int64) > 0 }},
		{`{"verb":"locks.break","select":{"key":"lock:1"}}`, 1, func() bool { return s.Do("EXISTS", "lock:1") == int64(0) }},
		{`{"verb":"entities.repair","select":{"entry":"note"}}`, 1,
			func() bool { return s.Do("ZCARD", "notes:at") == int64(0) }},
		{`{"verb":"seal.adopt","select":{"entry":"secret"}}`, 1,
			func() bool { return s.Do("HGET", "s:1", "phone") != "plain" }},
	} {
		made := p.post("plans", c.ask, 200)
		made = p.until(made.ID, "planned", "refused")
		if made.State != "planned" || made.Change != c.want || c.is() {
			t.Errorf("%s: %+v, done %t", c.ask, made, c.is())
			continue
		}
		p.post("plans/"+made.ID+"/apply", "{}", 200)
		done := p.until(made.ID, "done", "failed")
		if done.State != "done" || done.Did == nil || done.Did.Changed != c.want || !c.is() {
			t.Errorf("%s: %+v %+v, done %t", c.ask, done, done.Did, c.is())
		}
	}
	none := p.post("plans", `{"verb":"seal.rotate","select":{"entry":"secret"}}`, 200)
	none = p.until(none.ID, "planned", "refused")
	if none.State != "planned" || none.Change != 0 {
		t.Errorf("%+v", none)
	}
	p.post("plans/"+none.ID+"/apply", "{}", 409)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
}
