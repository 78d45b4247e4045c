//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/keywright/keywright/internal/expect"
	"github.com/keywright/keywright/keywrighttest"
)

// applied represents a plan as the API answers.
type applied struct {
	ID, State, Problem  string
	Done, Total, Change int64
	Did                 *struct{ Changed, Unknown int64 }
}

// page represents a client of a server: it knows what must be sent with what changes something.
type page struct {
	*testing.T
	url, csrf string
}

func opened(t *testing.T, url string) *page {
	t.Helper()
	text, _ := get(t, url+"api/v1/me", http.StatusOK)
	var me struct{ CSRF string }
	if err := json.Unmarshal([]byte(text), &me); err != nil || me.CSRF == "" {
		t.Fatal(err, text)
	}
	return &page{t, url, me.CSRF}
}

func (p *page) post(path, body string, code int) applied {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), http.MethodPost, p.url+"api/v1/t/default/"+path,
		strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Keywright-CSRF", p.csrf)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != code {
		p.Fatalf("%s %s: %d, not %d: %s", path, body, answer.StatusCode, code, text)
	}
	var out applied
	if err := json.Unmarshal(text, &out); err != nil {
		p.Fatal(err)
	}
	return out
}

// until asks for a plan until it is in a state.
func (p *page) until(id string, state ...string) (out applied) {
	p.Helper()
	changing(p.T, p.url, func() bool {
		text, _ := get(p.T, p.url+"api/v1/t/default/plans/"+id, http.StatusOK)
		out = applied{}
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			p.Fatal(err)
		}
		return slices.Contains(state, out.State)
	})
	return out
}

// TestServeApplies: dead jobs that match are retried by a plan: looked at, applied, killed in
// the middle, gone on with, and stopped. Each job is changed once, no other is, and the log
// says which user did what.
func TestServeApplies(t *testing.T) {
	t.Parallel()
	const refusedJobs, otherJobs = 6000, 500
	s := keywrighttest.Start(t, keywrighttest.Valkey)
	s.Do("EVAL", `for i = 1, tonumber(ARGV[1]) do
  local id = 'job-'..i
  redis.call('SET', '{jobs}:job:'..id, 'q1 1 - 0 - -\nx')
  redis.call('HSET', '{jobs}:runs', id,
    '- 7 3 1 0 0 r1\n'..(i <= tonumber(ARGV[2]) and 'dial 10.0.0.'..i..': refused' or 'mailbox full')..'\n')
  redis.call('ZADD', '{jobs}:dead', 1700000000000 + i, id)
end`, "0", fmt.Sprint(refusedJobs+otherJobs), fmt.Sprint(refusedJobs))
	dir := t.TempDir()
	declaration := filepath.Join(dir, "keyspace.yaml")
	if err := os.WriteFile(declaration, []byte("keywright: 1\nkeys:\n  jobs: {key: jobs, type: queue, ttl: none}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"-f", declaration, "-u", s.URL(), "--store", "none", "--allow-apply", "--plans",
		filepath.Join(dir, "plans")}
	start := func(more ...string) (*page, func(os.Signal)) {
		var said bytes.Buffer
		cmd := keywrightWith(t, &said, append(append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...),
			more...)...)
		url := urlOf(t, cmd, &said)
		return opened(t, url), func(sig os.Signal) {
			_ = cmd.Process.Signal(sig)
			_ = cmd.Wait()
		}
	}
	p, end := start("--apply-rate", "300") // for 20 s
	for _, bad := range []struct {
		path, body string
		code       int
	}{
		{"plans", `{"verb":"flush"}`, 400}, {"plans", `{"verb":"queues.retry"}`, 400}, {"plans",
			`{"verb":"clean","select":{"error":"x"}}`, 400},
		{"plans", `{"verb":"ttl","options":{"spread":"x"}}`, 400}, {"plans", `{"verb":"ttl"} x`, 400}, {"plans",
			`{"verb":"ttl","more":1}`, 400},
		{"plans", `{"verb":"` + strings.Repeat("x", 70<<10) + `"}`, 413}, {"plans/nosuch/apply", `{}`, 404},
		{"plans/nosuch/stop", `{}`, 404},
	} {
		p.post(bad.path, bad.body, bad.code)
	}
	ask := `{"verb":"queues.retry","select":{"entry":"jobs","instance":"-","error":"dial N.N.N.N: refused"}}`
	made := p.post("plans", ask, 200)
	made = p.until(made.ID, "planned", "refused")
	if made.State != "planned" || made.Change != refusedJobs || s.Do("ZCARD",
		"{jobs}:dead") != int64(refusedJobs+otherJobs) {
		t.Fatalf("%+v", made)
	}
	p.post("plans/"+made.ID+"/apply", "{}", 200)
	p.post("plans/"+made.ID+"/apply", "{}", 409)
	expect.Eventually(t, "it begins", func() bool {
		return s.Do("ZCARD", "{jobs}:dead").(int64) <= refusedJobs+otherJobs-500
	})
	end(syscall.SIGKILL)
	left := s.Do("ZCARD", "{jobs}:dead").(int64)
	if left <= otherJobs {
		t.Fatalf("it was killed too late: %d are dead", left)
	}

	p, end = start("--apply-rate", "300")
	if was := p.until(made.ID, "interrupted"); was.Problem == "" {
		t.Errorf("%+v", was)
	}
	p.post("plans/"+made.ID+"/apply", "{}", 200)
	expect.Eventually(t, "it goes on", func() bool { return s.Do("ZCARD", "{jobs}:dead").(int64) <= left-300 })
	p.post("plans/"+made.ID+"/stop", "{}", 200)
	if is := p.until(made.ID, "stopped"); is.Did == nil {
		t.Errorf("%+v", is)
	}
	if n := s.Do("ZCARD", "{jobs}:dead").(int64); n <= otherJobs {
		t.Fatalf("it did not stop: %d are dead", n)
	}
	end(syscall.SIGTERM)

	p, end = start()
	p.post("plans/"+made.ID+"/apply", "{}", 200)
	done := p.until(made.ID, "done", "failed")
	if done.State != "done" || done.Did == nil || done.Did.Changed+done.Did.Unknown < refusedJobs ||
		done.Did.Unknown > 256 {
		t.Errorf("%+v %+v", done, done.Did)
	}
	p.post("plans/"+made.ID+"/apply", "{}", 409)
	end(syscall.SIGINT)
	if dead, waits := s.Do("ZCARD", "{jobs}:dead"), s.Do("LLEN", "jobs"); dead != int64(otherJobs) ||
		waits != int64(refusedJobs) {
		t.Errorf("%v are dead and %v wait", dead, waits)
	}
	log, err := os.ReadFile(filepath.Join(dir, "plans", "changes.log"))
	if err != nil {
		t.Fatal(err)
	}
	for action, n := range map[string]int{"plan": 0, "apply": 3, "stop": 1, "end": 2} {
		if got := strings.Count(string(log), `"action":"`+action+`"`); got != n {
			t.Errorf("%s is logged %d times, not %d:\n%s", action, got, n, log)
		}
	}
	if !strings.Contains(string(log), `"user":"local","from":"127.0.0.1"`) {
		t.Errorf("%s", log)
	}
}
